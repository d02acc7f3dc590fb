"""What pairs of words count, and the words of sequences as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from .profiles import Profile, eigenvalues, wildcard_weights

#: Different words of one length that are numbered in tables, at the most: of DNA up to 12 letters, of proteins 5.
MAX_TABLE = 1 << 24


@dataclass(frozen=True)
class PairRule:
    """What pairs of words count: profile[d] for words of `length` letters that differ in d of them."""

    length: int
    size: int
    exact: Profile
    #: (256,) complements of the letters where words are read on both strands, else None.
    complement: np.ndarray | None = None

    @property
    def n_words(self) -> int:
        """How many different words there are."""
        return self.size**self.length

    @property
    def fits(self) -> bool:
        """Whether all words can be numbered in a table."""
        return self.n_words <= MAX_TABLE

    @cached_property
    def profile(self) -> np.ndarray:
        """What pairs count, as numbers, up to the last that is not 0."""
        found = np.array([float(value) for value in self.exact])
        return found[: np.flatnonzero(found).max(initial=0) + 1]

    @cached_property
    def values(self) -> np.ndarray:
        """The eigenvalues of the profile, by the letters at which an eigenvector varies."""
        return np.array([float(value) for value in eigenvalues(self.exact, self.size)])

    @property
    def n_choices(self) -> int:
        """How many choices of columns make up the profile."""
        found = enumerate(wildcard_weights(self.exact))
        return sum(comb(self.length, left_out) for left_out, weight in found if weight)

    def flipped(self, numbers: np.ndarray) -> np.ndarray:
        """Return the reverse complements of words, int32: those of their halves are listed first."""
        n_low = self.length // 2
        high, low = np.divmod(numbers, np.int32(self.size**n_low))
        return (
            self._flips(n_low)[low] * np.int32(self.size ** (self.length - n_low))
            + self._flips(self.length - n_low)[high]
        )

    def _flips(self, length: int) -> np.ndarray:
        """Return the reverse complements of all words of a length."""
        assert self.complement is not None
        found, letters = np.zeros(1, np.int32), self.complement[: self.size].astype(np.int32)
        for i in range(length):  # a letter at the end of a word is the first one of the other strand
            found = (found[:, None] + letters * np.int32(self.size**i)).ravel()
        return found

    def choices(self) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Yield (weight, columns): Σ weight · (words agree at these columns) is the profile; for a both-strand sum.

        Read from the other strand, a choice of columns is its mirror image, so that one of both is enough.
        """
        for left_out, weight in enumerate(wildcard_weights(self.exact)):
            for columns in combinations(range(self.length), self.length - left_out) if weight else ():
                mirror = tuple(self.length - 1 - c for c in reversed(columns))
                if self.complement is None:
                    yield float(weight), columns
                elif columns <= mirror:
                    yield (0.5 if columns == mirror else 1.0) * float(weight), columns


@dataclass
class WordList:
    """The words of sequences as numbers, in order; with a weight each where `weights` is not empty."""

    numbers: np.ndarray
    starts: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What jitted functions take."""
        return self.numbers, self.starts, self.weights

    def both_strands(self, rule: PairRule) -> WordList:
        """Return the words with their reverse complements, where the rule reads both strands."""
        if rule.complement is None:
            return self
        numbers = np.repeat(self.numbers, 2)
        numbers[1::2] = rule.flipped(self.numbers)
        return WordList(numbers, 2 * self.starts, np.repeat(self.weights, 2))

    def take(self, chosen: np.ndarray) -> WordList:
        """Return the words of some sequences."""
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        picked = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], sizes)
        return WordList(self.numbers[picked], starts, self.weights[picked] if len(self.weights) else self.weights)
