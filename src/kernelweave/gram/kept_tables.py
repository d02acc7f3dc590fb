"""Words of many sequences added up once and kept, for any number of queries and for windows of long sequences."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..sequences import SequenceSet
from .tables import Words, add_up

#: Words with one beginning that are compared one by one; where there are more, they get a trie with rows of all places.
LISTED = 48
#: The same where rows hold bounds of 16 bits, and nothing is compared.
BOUNDED = 64
#: Numbers in all rows, at most: for every letter of the support, and for any.
ROW_NUMBERS, FEWEST_ROWS = 4, 1 << 20
#: Random windows that show whether bounds pay, and the share of them that may reach a threshold at which they do not:
#: one that may is looked up on its own, which takes a dozen times as long as to score it beside its neighbours.
TRIED, TOO_MANY = 8192, 0.06


class Tables:
    """Σ_q coef[q] k(support q, ·), added up once and kept: tables of all positions, for any number of queries."""

    def __init__(self, words: Words, n_jobs: int = 1) -> None:
        self.words, self.exact = words, words.exact
        self._rare: dict[float, bool] = {}
        self.wave = words.build_all(words.used(), n_jobs)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(array.nbytes for _, forest in self.wave for array in (forest.levels, forest.roots, forest.rows))

    def scores(self, queries: SequenceSet, n_jobs: int = 1) -> np.ndarray:
        """Return the score of every query, (n,)."""
        out = np.zeros(len(queries))
        add_up(self.wave, queries, self.exact, out, n_jobs)
        return out

    @cached_property
    def rows(self) -> Any:
        """What every word adds to all windows that hold it (`WordRows`), or None where words are too long for them."""
        from .._fast.word_rows import build_rows

        return build_rows(self._sorted(), LISTED, self._most)

    @cached_property
    def bounds(self) -> Any:
        """What every word may add at most to all windows that hold it (`WordBounds`)."""
        from .._fast.word_bounds import build_bounds

        return build_bounds(self._sorted(), BOUNDED, self._most)

    def _sorted(self) -> Any:
        from .._fast.word_trie import sort_words

        return sort_words(self.words.letters, self.words.coef, self.words.table)

    @property
    def _most(self) -> int:
        return max(FEWEST_ROWS, ROW_NUMBERS * self.words.letters.size)

    def slide(self, places: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the score of the windows that start at `starts` in a sequence, (n,).

        places : the 32 letters from every place of the sequence on (`pack_places`), all of the windows' known
        """
        from .._fast.linadd import slide

        out = np.zeros(len(starts))
        for _, forest in self.wave:
            slide(forest, places, starts, out)
        return out

    def slide_along(self, places: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Do what `slide` does for starts that mostly follow each other, by rows where there are any."""
        from .._fast.word_rows import slide_run

        if self.rows is None:
            return self.slide(places, starts)
        out = np.zeros(len(starts))
        for first, last in _runs(starts):
            slide_run(self.rows, places, int(starts[first]), out[first:last])
        return out

    def may_reach(self, places: np.ndarray, starts: np.ndarray, threshold: float) -> np.ndarray:
        """Return which windows may score at least a threshold, (n,): surely all that do, and few others."""
        from .._fast.word_bounds import may_reach

        found = np.empty(len(starts), bool)
        for first, last in _runs(starts):
            may_reach(self.bounds, places, int(starts[first]), threshold, found[first:last])
        return found

    def is_rare(self, threshold: float) -> bool:
        """Say whether few windows of random letters may score at least a threshold, so that bounds pay."""
        if threshold not in self._rare:
            from .._fast.linadd import pack_places

            letters = self.words.letters
            counts = np.bincount(letters[letters < 4], minlength=4) + 1.0
            n = TRIED + len(self.words.table) - 1
            codes = np.random.default_rng(0).choice(4, n, p=counts / counts.sum()).astype(np.uint8)
            may = self.may_reach(pack_places(codes), np.arange(TRIED), threshold)
            self._rare[threshold] = bool(may.mean() <= TOO_MANY)
        return self._rare[threshold]


def _runs(starts: np.ndarray) -> list[tuple[int, int]]:
    """Where starts begin and end to follow each other."""
    if not len(starts):
        return []
    borders = [0, *(np.flatnonzero(np.diff(starts) != 1) + 1).tolist(), len(starts)]
    return list(pairwise(borders))
