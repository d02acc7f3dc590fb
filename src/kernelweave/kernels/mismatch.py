"""The mismatch kernel: k-mers that agree but for a few letters."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .explicit import ExplicitKernel, check_key, single_letters
from .strings import whole_number
from .vocabulary import KeyVocabulary, Vocabulary

if TYPE_CHECKING:
    from ..sequences import Alphabet

#: Neighbours of one k-mer beyond which listing them is hopeless.
MAX_NEIGHBOURS = 100_000


@dataclass(eq=False, repr=False)
class Mismatch(ExplicitKernel):
    """k(x, y) = Σ_u φ_u(x) φ_u(y), φ_u(x) = how many k-mers of x differ from u in at most `mismatches` letters.

    u runs over all words of k letters of the alphabet, whether they occur or not: every k-mer is expanded into its
    Σ_i C(k, i) (letters − 1)^i neighbours.

    Parameters
    ----------
    k : int
        Letters of a word, at least 1.
    mismatches : int
        At least 0, below k.
    alphabet : str or Alphabet
        "auto" guesses it from the data.

    Examples
    --------
    >>> from kernelweave import Mismatch
    >>> Mismatch(k=3, mismatches=1)(["ACG", "ACT", "TTT"])
    array([[10.,  4.,  0.],
           [ 4., 10.,  2.],
           [ 0.,  2., 10.]])
    """

    k: int = 5
    mismatches: int = 1
    alphabet: str | Alphabet = "auto"
    always_shown = ("k", "mismatches")

    def parts(self, alphabet: Alphabet, degree: int | None = None) -> list[tuple[float, Vocabulary]]:
        from .._fast.features import mismatch_keys

        k, m = whole_number(self, "k"), whole_number(self, "mismatches", 0)
        if m >= k:
            raise InputError(f"Mismatch needs fewer mismatches than letters; got k={k} and mismatches={m}.")
        bits = check_key(self, k, alphabet, "lists words as numbers: it")
        n_neighbours = sum(comb(k, i) * (alphabet.size - 1) ** i for i in range(m + 1))
        if n_neighbours > MAX_NEIGHBOURS:
            raise InputError(
                f"{self!r} has {n_neighbours:,} neighbours for every word of {k} letters of {alphabet.name}; at most "
                f"{MAX_NEIGHBOURS:,} are listed. Take fewer mismatches, a smaller k, or Spectrum or GappedKmer."
            )
        places, changes = _neighbours(k, m, alphabet.size)
        given = {"k": k, "bits": alphabet.bits, "size": alphabet.size, "places": places, "changes": changes}
        return [(1.0, KeyVocabulary(partial(mismatch_keys, **given), bits, n_neighbours))]

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        from ..sequences import as_sequences

        alphabet = as_sequences([sequence], self.alphabet).alphabet
        for _, word in self.words(sequence, self.k):
            word = single_letters(word, alphabet)
            for other in product(alphabet.letters, repeat=self.k):
                if sum(a != b for a, b in zip(word, other, strict=True)) <= self.mismatches:
                    yield 0, "".join(other), 1.0


def _neighbours(k: int, m: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which letters to move on, and by how much, for every neighbour; moving on by 0 fills the rows."""
    found = [
        (places + (0,) * (m - i), changes + (0,) * (m - i))
        for i in range(m + 1)
        for places in combinations(range(k), i)
        for changes in product(range(1, size), repeat=i)
    ]
    return tuple(np.array([pair[j] for pair in found], np.int64).reshape(len(found), m) for j in (0, 1))  # type: ignore[return-value]
