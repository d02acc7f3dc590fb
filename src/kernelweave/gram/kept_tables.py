"""Words of many sequences added up once and kept, for any number of queries and for windows of long sequences."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..sequences import SequenceSet
from .tables import Words, add_up

#: Words with one beginning that are compared one by one; where there are more, they get a row of all places. Measured
#: on windows of 141 letters and 10,000 support sequences: a word takes as long as 11 places of a row in the cache.
LISTED = 48
#: Numbers in all rows, at most: for every letter of the support, and for any.
ROW_NUMBERS, FEWEST_ROWS = 4, 1 << 20


class Tables:
    """Σ_q coef[q] k(support q, ·), added up once and kept: tables of all positions, for any number of queries."""

    def __init__(self, words: Words, n_jobs: int = 1) -> None:
        self.words, self.exact = words, words.exact
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

        words = self.words
        most = max(FEWEST_ROWS, ROW_NUMBERS * words.letters.size)
        return build_rows(words.letters, words.coef, words.table, LISTED, most)

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
        borders = np.flatnonzero(np.diff(starts) != 1) + 1
        for first, last in zip(np.append(0, borders), np.append(borders, len(starts)), strict=True):
            slide_run(self.rows, places, int(starts[first]), out[first:last])
        return out
