"""Coordinates of samples under a kernel, and a kernel that several views agree on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..gram import Gram, bind
from ..kernels import Auto, Kernel, as_kernel, learned_kernel
from ..kernels.low_rank import with_landmarks
from ..memory import budget_bytes
from ..mkl.alignment import Pairs
from ..parallel import blas_threads, blocks, count_jobs
from ..validation import check_X
from .expressions import learned_expression
from .tags import input_tags

#: How the terms are weighed.
WEIGHTS = ("consensus", "equal", "given")
#: Similarities to training samples that are computed at a time, in bytes.
BLOCK_BYTES = 2**25
#: Of the largest eigenvalue: what is less is rounding, and has no coordinate.
ROUNDING = 1e-12


class WeaveTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates of samples under a weighted sum of kernels, the ones that keep most of their similarities.

    The terms are weighed without any target, and the sum is taken apart by kernel principal components: coordinate c of
    x is Σ_i v_ci k̄(x, x_i) / √λ_c, for eigenvectors v_c and eigenvalues λ_c of the centred matrix k̄ of the training
    samples. With `MKLClassifier(...).fit(X, y).kernel_` as the kernel and `weights="given"`, it shows what a
    classifier has learned.

    Parameters
    ----------
    kernel : Kernel, str or None
        None chooses a term for every view by its look, as `MKLClassifier()` does.
    n_components : int
        Coordinates; 0 where there is nothing left to tell samples apart.
    weights : {"consensus", "equal", "given"}
        "consensus": with A_ml the cosine of the centred matrices of the terms m and l, the weights are the leading
        eigenvector of A: the sum that is most like all terms, of all sums of weights of length 1. A view that agrees
        with none of the others gets little. "equal": all the same. In both, every term is divided by the norm of its
        centred matrix first. "given": the kernel as it stands.
    memory : str, int or None
        Most memory for matrices, such as "2GB"; by default half of what is free.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    kernel_ : Kernel
        The weighted sum, to be used elsewhere.
    weights_ : array of shape (n_terms,)
        Of the terms as scaled; they add up to 1. With "given", the shares of the norms of their centred matrices.
    term_names_ : list of str
    alignment_ : array of shape (n_terms, n_terms)
        A: how far any two terms agree, from 0 to 1.
    eigenvalues_, shares_ : arrays of shape (n_components,)
        λ, and its share in all of them.
    base_kernel_ : Kernel
        The kernel with what it took from the training samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import RBF, Linear, WeaveTransformer
    >>> rng = np.random.default_rng(0)
    >>> t = np.linspace(0, 1, 50)[:, None]
    >>> X = {"one": t + 0.05 * rng.normal(size=(50, 3)), "other": t**2, "noise": rng.normal(size=(50, 3))}
    >>> woven = WeaveTransformer(Linear().on("one") + RBF(3.0).on("other") + Linear().on("noise")).fit(X)
    >>> woven.weights_.round(2)
    array([0.49, 0.49, 0.01])
    >>> woven.transform(X).shape
    (50, 2)
    """

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        weights: str = "consensus",
        memory: str | int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.weights = weights
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> WeaveTransformer:
        """Weigh the terms, and find the coordinates; y is not read."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Return the coordinates of the samples that they are found from."""
        return self._fit(X) * np.sqrt(self.eigenvalues_)

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples, (n_samples, n_components)."""
        check_is_fitted(self)
        views = check_X(self, X, self.base_kernel_, reset=False)
        out = np.empty((len(views), len(self.eigenvalues_)))
        with blas_threads(count_jobs(self.n_jobs)):
            for part in blocks(len(views), max(1, BLOCK_BYTES // (8 * len(self._views)))):
                K = self.kernel_.compute(views.rows(np.arange(part.start, part.stop)), self._views)
                out[part] = (K - K.mean(axis=1, keepdims=True) - self._means) @ self._directions
        return out

    def _fit(self, X: Any) -> np.ndarray:
        """Set all that is fitted, and return the eigenvectors."""
        self._check()
        kernel = self._kernel()
        views = check_X(self, X, kernel, reset=True)
        with blas_threads(count_jobs(self.n_jobs)):
            self.base_kernel_, self.notes_ = learned_kernel(kernel, views)
            gram = bind(with_landmarks(self.base_kernel_, views), views, memory=budget_bytes(self.memory))
            self.term_names_ = [repr(term) for term in gram.terms]
            self.weights_, scales = self._weigh(gram)
            self.kernel_ = learned_expression(gram.terms, scales, self.weights_)
            if self.weights == "given":
                self.kernel_ = self.base_kernel_
            K = gram.block(np.arange(gram.n), None, self.weights_ / scales / gram.factors)
        self._views = views
        return self._decompose(np.array(K, dtype=np.float64))

    def _weigh(self, gram: Gram) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and what every term is divided by, and set how far terms agree."""
        share = np.ones(gram.n)
        moments = Pairs(gram, np.arange(gram.n), share, np.zeros((gram.n, 1)), diagonal=True).moments()
        sizes = np.sqrt(np.maximum(moments.G.diagonal(), 0.0)) / gram.n
        known = sizes > ROUNDING * sizes.max(initial=0.0)
        scales = np.where(known, sizes, 1.0) / gram.factors
        cosines = moments.G / np.outer(*2 * [np.where(known, sizes, np.inf) * gram.n])
        self.alignment_ = np.where(np.eye(len(known), dtype=bool), 1.0 * known, np.clip(cosines, 0.0, 1.0))
        weights = known * 1.0
        if self.weights == "given":
            weights = np.where(known, sizes, 0.0) / max(sizes.sum(), ROUNDING)
            return weights, np.where(known, weights, 1.0)
        if self.weights == "consensus" and known.any():
            # products of positive semi-definite matrices are ≥ 0, so the leading eigenvector has one sign
            weights = np.abs(eigh(self.alignment_)[1][:, -1]) * known
        return weights / max(weights.sum(), ROUNDING), scales

    def _decompose(self, K: np.ndarray) -> np.ndarray:
        n, size = len(K), int(self.n_components)
        self._means = K.mean(axis=0) - K.mean()
        K -= K.mean(axis=1, keepdims=True)
        K -= K.mean(axis=0)
        trace = max(float(np.trace(K)), 0.0)
        values, vectors = eigh(0.5 * (K + K.T), subset_by_index=[max(0, n - size), n - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
        found = values > ROUNDING * max(float(values[0]), 1e-300)
        values, vectors = np.where(found, values, 0.0), vectors * found
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
        vectors = vectors * np.where(signs == 0, 1.0, signs)
        pad = size - len(values)
        self.eigenvalues_ = np.pad(values, (0, pad))
        self.shares_ = self.eigenvalues_ / trace if trace > 0 else np.zeros(size)
        vectors = np.pad(vectors, ((0, 0), (0, pad)))
        roots = np.sqrt(self.eigenvalues_)
        self._directions = np.divide(vectors, roots, out=np.zeros_like(vectors), where=roots > 0)
        return vectors

    def _kernel(self) -> Kernel:
        return Auto(several=False) if self.kernel is None else as_kernel(self.kernel)

    def _check(self) -> None:
        if self.weights not in WEIGHTS:
            raise InputError(f"weights of WeaveTransformer is one of {WEIGHTS}; got {self.weights!r}.")
        whole = isinstance(self.n_components, (int, np.integer)) and not isinstance(self.n_components, bool)
        if not whole or self.n_components < 1:
            raise InputError(f"n_components must be a whole number ≥ 1; got {self.n_components!r}.")

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def __sklearn_tags__(self) -> Any:
        return input_tags(super().__sklearn_tags__(), self._kernel)
