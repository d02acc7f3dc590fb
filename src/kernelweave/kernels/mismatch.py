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
from .explicit import check_key, single_letters
from .pair_rules import PairRule
from .profiles import Profile, wildcard_weights
from .strings import whole_number
from .values import many
from .vocabulary import KeyVocabulary, Shape, Vocabulary
from .word_pairs import WordPairKernel

if TYPE_CHECKING:
    from ..sequences import Alphabet

#: Neighbours of one k-mer beyond which listing them is hopeless.
MAX_NEIGHBOURS = 100_000
#: Words with letters left out take the place of neighbours where they are fewer by this factor.
WORTHWHILE = 2


@dataclass(eq=False, repr=False)
class Mismatch(WordPairKernel):
    """k(x, y) = Σ_u φ_u(x) φ_u(y), φ_u(x) = how many k-mers of x differ from u in at most `mismatches` letters.

    u runs over all words of k letters of the alphabet, whether they occur or not: a k-mer has
    Σ_i C(k, i) (letters − 1)^i neighbours. They are listed where they are few, as for DNA. With many letters the same
    values come from fewer features, without any error: a pair of k-mers counts by the number of letters in which it
    differs, and so do words of which up to 2 · mismatches letters are left out, as in `GappedKmer`.

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
    definite = True
    always_shown = ("k", "mismatches")

    def shortest_word(self) -> int:
        return whole_number(self, "k")

    def _sizes(self) -> tuple[int, int]:
        k, m = whole_number(self, "k"), whole_number(self, "mismatches", 0)
        if m >= k:
            raise InputError(f"Mismatch needs fewer mismatches than letters; got k={k} and mismatches={m}.")
        return k, m

    def profile(self, size: int) -> Profile:
        k, m = self._sizes()
        return [shared_neighbours(k, m, size, d) for d in range(k + 1)]

    def rule(self, alphabet: Alphabet) -> PairRule:
        self._bits(alphabet)  # before a profile of very long words is computed
        return super().rule(alphabet)

    def _bits(self, alphabet: Alphabet) -> int:
        return check_key(self, self._sizes()[0], alphabet, "lists words as numbers: it")

    def parts(self, alphabet: Alphabet, degree: int | None = None) -> list[tuple[float, Vocabulary]]:
        from .._fast.features import mismatch_keys

        (k, m), bits = self._sizes(), self._bits(alphabet)
        n_neighbours = sum(comb(k, i) * (alphabet.size - 1) ** i for i in range(m + 1))
        if n_neighbours > MAX_NEIGHBOURS:
            raise InputError(
                f"{self!r} has {many(n_neighbours)} neighbours for every word of {k} letters of {alphabet.name}; at "
                f"most {MAX_NEIGHBOURS:,} are listed. Take fewer mismatches, a smaller k, or Spectrum or GappedKmer."
            )
        weights = wildcard_weights(self.profile(alphabet.size)) if 2 * m < k else [-1]
        n_choices = sum(comb(k, left_out) for left_out in range(2 * m + 1))
        if min(weights) >= 0 and WORTHWHILE * n_choices <= n_neighbours:
            return _with_wildcards(weights, k, alphabet)
        places, changes = _neighbours(k, m, alphabet.size)
        given = {"k": k, "bits": alphabet.bits, "size": alphabet.size, "places": places, "changes": changes}
        return [(1.0, KeyVocabulary(partial(mismatch_keys, **given), bits, n_neighbours, Shape.run(k)))]

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        from ..sequences import as_sequences

        alphabet = as_sequences([sequence], self.alphabet).alphabet
        for _, word in self.words(sequence, self.k):
            word = single_letters(word, alphabet)
            for other in product(alphabet.letters, repeat=self.k):
                if sum(a != b for a, b in zip(word, other, strict=True)) <= self.mismatches:
                    yield 0, "".join(other), 1.0


def shared_neighbours(k: int, m: int, size: int, d: int) -> int:
    """Return how many words of k letters are within m letters of both of two words that differ in d places."""
    total = 0
    for same in range(min(m, k - d) + 1):  # changes where the two agree: they count for both
        room, ways = m - same, comb(k - d, same) * (size - 1) ** same
        # where the two differ, a place is as in the first, as in the second, or as in neither
        for first in range(d + 1):
            for second in range(d - first + 1):
                if d - first <= room and d - second <= room:
                    neither = d - first - second
                    total += ways * comb(d, first) * comb(d - first, second) * (size - 2) ** neither
    return total


def _with_wildcards(weights: Profile, k: int, alphabet: Alphabet) -> list[tuple[float, Vocabulary]]:
    """Return words with some letters left out, in all ways, with the weight that their number has."""
    from .._fast.features import gapped_keys

    given = {"length": k, "bits": alphabet.bits, "size": alphabet.size, "complement": np.zeros(256, np.uint8)}
    found: list[tuple[float, Vocabulary]] = []
    for left_out, weight in enumerate(weights):
        for columns in combinations(range(k), k - left_out) if weight else ():
            keys, shape = partial(gapped_keys, columns=np.array(columns), both=False, **given), np.array([columns])
            found.append((float(weight), KeyVocabulary(keys, len(columns) * alphabet.bits, shape=Shape(k, shape))))
    return found


def _neighbours(k: int, m: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which letters to move on, and by how much, for every neighbour; moving on by 0 fills the rows."""
    found = [
        (places + (0,) * (m - i), changes + (0,) * (m - i))
        for i in range(m + 1)
        for places in combinations(range(k), i)
        for changes in product(range(1, size), repeat=i)
    ]
    return tuple(np.array([pair[j] for pair in found], np.int64).reshape(len(found), m) for j in (0, 1))  # type: ignore[return-value]
