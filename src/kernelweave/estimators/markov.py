"""`PositionalMarkovChain`: the classical way to recognise signals in sequences, to be measured against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..kernels import WeightedDegree
from ..kernels.weighted_degree import code_matrix
from ..sequences import Alphabet, SequenceSet
from ..validation import check_labels, check_positive, check_sample_weight, check_X

#: Most probabilities that a class may hold.
MAX_PROBABILITIES = 1 << 27


class PositionalMarkovChain(ClassifierMixin, BaseEstimator):
    """Classify sequences of one length by one Markov chain per class, with its own transitions at every position.

    log P(x | class) = Σ_i log P_i(x[i] | x[i − order], ..., x[i − 1]); a letter that is unknown, or follows one,
    adds nothing. Probabilities are counts plus `pseudocount`.

    Parameters
    ----------
    order : int
        Letters that the next one depends on.
    pseudocount : float
        Added to every count.
    alphabet : str or Alphabet
        "dna", "rna", "protein", "bytes", "text", or "auto" to guess it from the data.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_log_prior_ : array of shape (n_classes,)
    log_probabilities_ : array of shape (n_classes, length, n_letters ** order, n_letters)
        By class, position, letters before, letter.
    alphabet_ : Alphabet
    n_features_in_ : int
        1: the column of sequences.

    Examples
    --------
    >>> from kernelweave import PositionalMarkovChain
    >>> model = PositionalMarkovChain(order=1).fit(["ACAC", "ACAT", "GTGT", "GTGC"], [0, 0, 1, 1])
    >>> model.predict(["ACAA", "GTGG"])
    array([0, 1])
    """

    def __init__(self, order: int = 4, *, pseudocount: float = 1.0, alphabet: Any = "auto") -> None:
        self.order = order
        self.pseudocount = pseudocount
        self.alphabet = alphabet

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PositionalMarkovChain:
        """Count transitions; a sample weight of 2 is the same as being there twice."""
        if not (isinstance(self.order, (int, np.integer)) and self.order >= 0):
            raise InputError(f"order must be a whole number ≥ 0; got {self.order!r}.")
        pseudocount = check_positive("pseudocount", self.pseudocount)
        views = check_X(self, X, self._reader(), reset=True)
        weight = check_sample_weight(sample_weight, len(views))
        self.classes_, codes = check_labels(y, len(views))
        sequences = views.sequences(self.alphabet)
        self.alphabet_: Alphabet = sequences.alphabet
        length, size = code_matrix(sequences).shape[1], self.alphabet_.size
        if length * size ** (self.order + 1) > MAX_PROBABILITIES:
            raise InputError(
                f"A chain of order {self.order} on {length} letters of {self.alphabet_!r} has "
                f"{length * size ** (self.order + 1):.2g} probabilities; use a smaller order."
            )
        sums = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        with np.errstate(divide="ignore"):  # a class whose samples weigh nothing is never predicted
            self.class_log_prior_ = np.log(sums / sums.sum())
        counts = np.zeros((len(self.classes_), length, size ** (self.order + 1)))
        for i, known, words in self._words(sequences):
            for c in range(len(self.classes_)):
                rows = known & (codes == c)
                counts[c, i] = np.bincount(words[rows], weights=weight[rows], minlength=counts.shape[2])
        tables = counts.reshape(len(self.classes_), length, -1, size) + pseudocount
        self.log_probabilities_ = np.log(tables / tables.sum(axis=-1, keepdims=True))
        return self

    def _reader(self) -> WeightedDegree:
        """Return a kernel that reads what the chains read."""
        return WeightedDegree(degree=1, alphabet=self.alphabet)

    def _words(self, sequences: SequenceSet) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield (position, which letters are known, number of the letter and those before it)."""
        codes, size = code_matrix(sequences), sequences.alphabet.size
        for i in range(codes.shape[1]):
            part = codes[:, max(0, i - self.order) : i + 1].astype(np.int64)
            known = np.all(part < size, axis=1)
            yield i, known, part @ (size ** np.arange(part.shape[1] - 1, -1, -1))

    def _joint(self, X: Any) -> np.ndarray:
        """Return log P(x, class), (n, n_classes)."""
        check_is_fitted(self)
        sequences = check_X(self, X, self._reader(), reset=False).sequences(self.alphabet_)
        length = self.log_probabilities_.shape[1]
        if code_matrix(sequences).shape[1] != length:
            raise InputError(f"The chains are for {length} letters; got sequences of {sequences.length}.")
        out = np.tile(self.class_log_prior_, (len(sequences), 1))
        tables = self.log_probabilities_.reshape(len(self.classes_), length, -1)
        for i, known, words in self._words(sequences):
            out[known] += tables[:, i, words[known]].T
        return out

    def decision_function(self, X: Any) -> np.ndarray:
        """Return log-odds: (n,) for two classes; log-probabilities (n, n_classes) for more."""
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if len(self.classes_) == 2 else log_softmax(joint, axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of every sequence."""
        likeliest = self._joint(X).argmax(axis=1)
        return self.classes_[likeliest]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of `predict_proba`."""
        return log_softmax(self._joint(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities."""
        return np.exp(self.predict_log_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags
