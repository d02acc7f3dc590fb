"""Rows of one kernel among some samples, from pairs that are compared bit by bit: made when asked for, and kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.weighted_degree import planes_of
from ..parallel import for_blocks
from ..views import Views
from .base import Combined
from .families import Family, is_even
from .offer import Room

#: Rows that are made in one go, all columns of them or some; and columns of a product that one thread adds up: a
#: millisecond or less.
ROWS, BLOCK_ROWS, COLUMNS = 16, 64, 1 << 11
#: Fewer pairs than this are made, and fewer values of rows added up, sooner than another thread takes part.
MANY_PAIRS, MANY_VALUES = 50_000, 400_000
#: Bytes of rows that are kept, and the part of the budget that they may take; rows that are needed, as a share of the
#: samples (measured: 0.2 to 0.8).
ROW_BYTES, ROW_SHARE, NEEDED = 5 * 2**27, 0.5, 0.6
#: How long a pair takes beside one visit of descent to one of the two samples (measured: 1 ns against 2.4 µs).
PAIR = 1 / 2400


class PairPart:
    """Values of pairs of some samples, which add up with those of other parts."""

    def write(self, rows: np.ndarray, cols: np.ndarray | None, out: np.ndarray) -> None:
        """Write K[rows, cols] to out; all columns where None."""
        raise NotImplementedError


class WordPairs(PairPart):
    """The pairs of one family of terms at given weights, whose positions all weigh the same."""

    def __init__(self, family: Family, X: Views, weights: np.ndarray) -> None:
        own = family.sequences(X)
        from .._fast.weighted_degree import moved_planes

        self.roots = family.roots(X)
        self.beta = family.table(own.require_length(), weights)[0].copy()
        self.delta = family.core.distance_weights()
        self.planes = planes_of(own) if len(self.delta) == 1 else moved_planes(planes_of(own), len(self.delta) - 1)

    def write(self, rows: np.ndarray, cols: np.ndarray | None, out: np.ndarray) -> None:
        from .._fast.weighted_degree import wd_block, wd_shift_rows

        some = np.ascontiguousarray(self.planes[:, :, rows])
        others = self.planes if cols is None else np.ascontiguousarray(self.planes[:, :, cols])
        if len(self.delta) == 1:
            wd_block(some, others, self.beta, out)
        else:
            wd_shift_rows(some, others, self.beta, self.delta, out)
        if self.roots is not None:
            out *= self.roots[rows][:, None].astype(out.dtype)
            out *= (self.roots if cols is None else self.roots[cols]).astype(out.dtype)


def pair_time(family: Family, length: int, weights: np.ndarray) -> float:
    """Return how long a pair takes beside a visit to one of the two; without end where positions differ in weight.

    Shifts make both dearer alike.
    """
    return PAIR if is_even(family.table(length, weights)) else np.inf


def row_room(budget: float) -> float:
    """Return how many bytes of rows may be kept where so many are left."""
    return min(ROW_BYTES, ROW_SHARE * budget)


def row_bytes(n: int, room: Room) -> float:
    """Return the bytes of the rows that a machine of n samples needs."""
    # in single precision; how many samples are active at the end depends on the data: ten times fewer, say
    return min(4.0 * NEEDED * min(n, max(room.needs.by_rows)) ** 2, row_room(room.budget))


class Pairs(Combined):
    """K at given weights on n samples, of which rows are kept as they are needed, as many as there is room for.

    Where there is no room for more, all of them go. What threads do does not change a bit.

    Parameters
    ----------
    parts : what computes values, to be added up
    n : int
        Samples.
    room : array of numbers in one row, which rows are kept in
        Of float64, or of float32 where products are made anew some other way in the end.
    n_jobs : int
        Threads.
    """

    def __init__(self, parts: Sequence[PairPart], n: int, room: np.ndarray, n_jobs: int = 1) -> None:
        self.matrix, self.factor, self.store, self.ridge = None, 1.0, "auto", None
        self.n, self.n_jobs = n, n_jobs
        self._parts = parts
        capacity = min(n, len(room) // max(1, n))
        self._kept = room[: capacity * n].reshape(capacity, n)
        self._slot = np.full(n, -1, np.int64)
        self._next = 0

    def block(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return K[rows, cols]: quicker made than gathered."""
        out = np.empty((len(rows), len(cols)))
        for_blocks(
            lambda part: self._write(rows if len(rows) <= BLOCK_ROWS else rows[part], cols, out[part]),
            len(rows),
            BLOCK_ROWS,
            self._threads(len(rows) * len(cols)),
        )
        return out

    def _write(self, rows: np.ndarray, cols: np.ndarray | None, out: np.ndarray) -> None:
        self._parts[0].write(rows, cols, out)
        for part in self._parts[1:]:
            more = np.empty_like(out)
            part.write(rows, cols, more)
            out += more

    def rows_times(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return K[:, rows] @ coef."""
        from .._fast.rows import add_rows

        out = np.zeros(self.n)
        for start in range(0, len(rows), len(self._kept)):
            some, change = rows[start : start + len(self._kept)], coef[start : start + len(self._kept)]
            slots = self._slots_of(some)

            def add(part: slice, slots: np.ndarray = slots, change: np.ndarray = change) -> None:
                add_rows(self._kept, slots, change, part.start, part.stop, out)

            for_blocks(add, self.n, COLUMNS, self.n_jobs if len(some) * self.n > MANY_VALUES else 1)
        return out

    def apply(self, coef: np.ndarray) -> np.ndarray:
        """Return K @ coef."""
        support = np.flatnonzero(coef)
        return self.rows_times(support, coef[support])

    def _threads(self, n_pairs: int) -> int:
        """Return on how many threads so many pairs are made: it takes a while to start them."""
        return self.n_jobs if n_pairs > MANY_PAIRS else 1

    def _slots_of(self, rows: np.ndarray) -> np.ndarray:
        """Return where rows are kept, once they are; no more of them than there is room for."""
        missing = rows[self._slot[rows] < 0]
        if self._next + len(missing) > len(self._kept):
            self._slot[:], self._next, missing = -1, 0, rows
        target = slice(self._next, self._next + len(missing))
        kept = self._kept[target]

        def make(part: slice) -> None:
            self._write(missing[part], None, kept[part])

        for_blocks(make, len(missing), ROWS, self._threads(len(missing) * self.n))
        self._slot[missing], self._next = np.arange(target.start, target.stop), target.stop
        return self._slot[rows]
