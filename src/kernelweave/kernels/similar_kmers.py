"""Words of similar letters: for proteins, whose letters replace each other more or less often."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..errors import InputError
from ..parallel import blocks
from ..sequences import PROTEIN, SequenceSet
from ..views import Views
from .strings import StringKernel, whole_number

#: BLOSUM62 (Henikoff and Henikoff 1992): half-bits by which two letters replace each other more often than by chance,
#: below the diagonal, each plus 4 as a hexadecimal digit; and the order of its letters.
BLOSUM62 = (
    "8 39 24a 225a 4111d 354419 3446069 4243122a 24531442c 3111311018 32103210168 364315523129 3321342125639 "
    "2111211134414a 32231332211320b 5354344432243238 43433332233332359 11002212212135012f 222123216332371226b "
    "41113221175253224138"
)
ORDER = "ARNDCQEGHILKMFPSTWYV"
#: Letters of a word at the most: there are 20^k coordinates.
MAX_K = 3
#: Sequences whose coordinates are held at a time.
BLOCK_ROWS = 512


@dataclass(eq=False, repr=False)
class SimilarKmers(StringKernel):
    """k(x, y) = Σ over words u of x and v of y, of k letters, of Π_i S(u_i, v_i), where S is high for similar letters.

    S(a, b) = 2^(BLOSUM62(a, b) / 2) is how many times as often a and b replace each other as by chance. Its negative
    eigenvalues are set to 0, and it is scaled to S(a, a) = 1, so that it is the product of vectors of the letters, and
    the kernel one of their tensor products: positive semi-definite. `Spectrum` is the same with S(a, b) = [a = b].

    Parameters
    ----------
    k : int
        Letters of a word, from 1 to 3.

    Examples
    --------
    >>> from kernelweave import SimilarKmers
    >>> SimilarKmers(k=2).normalized()(["ILVK", "LIVR", "WCGP"]).round(2)
    array([[1.  , 0.64, 0.01],
           [0.64, 1.  , 0.01],
           [0.01, 0.01, 1.  ]])
    """

    k: int = 3
    alphabet = PROTEIN
    definite = True
    always_shown = ("k",)

    def shortest_word(self) -> int:
        return whole_number(self, "k", most=MAX_K)

    def check(self, X: Views) -> None:
        self.shortest_word()
        self.sequences(X)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        a, b = self.pair(X, Y)
        out = np.empty((len(a), len(b)))
        for cols in blocks(len(b), BLOCK_ROWS):
            known = self._coordinates(b, cols)
            for rows in blocks(len(a), BLOCK_ROWS):
                out[rows, cols] = self._coordinates(a, rows) @ known.T
        return out

    def compute_diag(self, X: Views) -> np.ndarray:
        found = self.sequences(X)
        parts = [self._coordinates(found, rows) for rows in blocks(len(found), BLOCK_ROWS)]
        return np.concatenate([np.einsum("ij,ij->i", part, part) for part in parts])

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        k, vectors = self.shortest_word(), letter_vectors()
        for _, word in self.words(sequence, k):
            whole = np.ones(1)
            for letter in word:
                whole = np.outer(whole, vectors[PROTEIN.letters.index(letter)]).ravel()
            yield from ((0, place, float(value)) for place, value in enumerate(whole))

    def _coordinates(self, sequences: SequenceSet, rows: slice) -> np.ndarray:
        """Return the tensor products of letter vectors, summed over all words: (n, 20^k)."""
        k, size, vectors = self.shortest_word(), PROTEIN.size, letter_vectors()
        if sequences.alphabet != PROTEIN:
            raise InputError(f"SimilarKmers compares proteins; these sequences are {sequences.alphabet!r}.")
        counts = np.array([_counts(sequences.codes(i), k, size) for i in range(*rows.indices(len(sequences)))])
        found = counts.reshape(-1, *[size] * k)
        for _ in range(k):  # the first letter is turned into coordinates and goes to the end
            found = np.tensordot(found, vectors, axes=(1, 0))
        return found.reshape(len(counts), -1)


def _counts(codes: np.ndarray, k: int, size: int) -> np.ndarray:
    """Return how often every word of known letters occurs, (size^k,)."""
    if len(codes) < k:
        return np.zeros(size**k)
    windows = np.lib.stride_tricks.sliding_window_view(codes.astype(np.int64), k)
    words = windows[(windows < size).all(axis=1)] @ (size ** np.arange(k - 1, -1, -1))
    return np.bincount(words, minlength=size**k).astype(np.float64)


@cache
def letter_vectors() -> np.ndarray:
    """Return a vector of length 1 for every letter of a protein, (20, 20), whose products are S."""
    scores = np.zeros((len(ORDER), len(ORDER)))
    for i, row in enumerate(BLOSUM62.split()):
        scores[i, : i + 1] = scores[: i + 1, i] = [int(digit, 16) - 4 for digit in row]
    order = [ORDER.index(letter) for letter in PROTEIN.letters]
    values, vectors = np.linalg.eigh(2.0 ** (scores[np.ix_(order, order)] / 2.0))
    found = vectors * np.sqrt(np.maximum(values, 0.0))
    return found / np.linalg.norm(found, axis=1, keepdims=True)
