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
#: How many times as many samples as are asked for may be along, where their rows are there.
MOST_ALONG = 1.5
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
        if self.roots is not None and len(X) and (self.roots == self.roots[0]).all():  # windows without unknown letters
            self.beta *= self.roots[0] ** 2
            self.roots = None
        self.delta = family.core.distance_weights()
        self.planes = planes_of(own) if len(self.delta) == 1 else moved_planes(planes_of(own), len(self.delta) - 1)

    def write(self, rows: np.ndarray, cols: np.ndarray | None, out: np.ndarray) -> None:
        from .._fast.weighted_degree import wd_block, wd_shift_rows

        some = np.take(self.planes, rows, axis=2)
        others = self.planes if cols is None else _in_vectors(self.planes, cols)
        if len(self.delta) == 1:
            wd_block(some, others, self.beta, out)
        else:
            wd_shift_rows(some, others, self.beta, self.delta, out)
        if self.roots is not None:
            out *= self.roots[rows][:, None].astype(out.dtype)
            out *= (self.roots if cols is None else self.roots[cols]).astype(out.dtype)


def _in_vectors(planes: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Return the planes of some sequences, with room behind the last for whole vectors."""
    from .._fast.bits import empty_planes

    out = empty_planes(planes.shape[0], planes.shape[1], len(some))
    out[:, :, : len(some)] = np.take(planes, some, axis=2)
    return out


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


def in_places(rows: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return samples that hold all of `rows`, those that are in `before` where they are there.

    The others take the places of those that are not asked for any more. Where there are more of these they stay: it
    costs less to have them along than to make all rows anew.
    """
    left = np.flatnonzero(~np.isin(before, rows))
    new = np.setdiff1d(rows, before)
    out = np.concatenate([before, new[len(left) :]])
    out[left[: len(new)]] = new[: len(left)]
    return out if len(out) <= MOST_ALONG * len(rows) else rows


class RowRoom:
    """Memory for rows, and whose rows are in it: it is taken from the system only as rows come, and only once."""

    def __init__(self, n_bytes: float) -> None:
        self.numbers = np.empty(int(n_bytes // 8))
        self.owner: Pairs | None = None


class Pairs(Combined):
    """K at given weights on n samples, of which rows are kept as they are needed, as many as there is room for.

    Where there is no room for more, all of them go. What threads do does not change a bit. The rows of one may be taken
    over by another, with other samples in some of the places: only what is new in them is made.

    Parameters
    ----------
    parts : what computes values, to be added up
    samples : array of shape (n,)
        Which samples these are, for whoever asks.
    weights : array of shape (n_terms,)
        At which weights, for the same.
    room : where rows are kept
        They are gone as soon as rows of others are.
    dtype : type
        Of the rows: float64, or float32 where products are made anew some other way in the end.
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        parts: Sequence[PairPart],
        samples: np.ndarray,
        weights: np.ndarray,
        room: RowRoom,
        dtype: type = np.float64,
        n_jobs: int = 1,
    ) -> None:
        self.matrix, self.factor, self.store, self.ridge = None, 1.0, "auto", None
        self.samples, self.weights, self.n, self.n_jobs = samples, weights, len(samples), n_jobs
        self._parts = parts
        self._keep_in(room, dtype)
        self._forget()

    def _keep_in(self, room: RowRoom, dtype: type) -> None:
        numbers: np.ndarray = room.numbers.view(dtype)
        capacity = len(numbers) // max(1, self.n)
        self._room, self._kept = room, numbers[: capacity * self.n].reshape(capacity, self.n)

    def _forget(self) -> None:
        self._slot, self._next = np.full(self.n, -1, np.int64), 0

    @property
    def has_rows(self) -> bool:
        """Whether any row is kept."""
        return self._next > 0 and self._room.owner is self

    def take_over(self, other: Pairs) -> None:
        """Take the rows that another one keeps, where it still does; it has none any more.

        Samples of the other stand in the same places here, or are gone: what is new in their places is made.
        """
        used, n, dtype = other._next, other.n, other._kept.dtype
        numbers: np.ndarray = other._room.numbers.view(dtype)
        if not other.has_rows or dtype != self._kept.dtype or used > len(numbers) // self.n or n > self.n:
            return
        for r in range(used - 1, 0, -1) if self.n > n else ():  # the last first: what moves lands behind all others
            numbers[r * self.n : r * self.n + n] = numbers[r * n : r * n + n]
        self._keep_in(other._room, dtype.type)
        self._room.owner = self
        stays = self.samples[:n] == other.samples
        self._slot[:n], self._next = np.where(stays, other._slot, -1), used
        new = np.concatenate([np.flatnonzero(~stays), np.arange(n, self.n)])
        if len(new):
            self._make_columns(np.flatnonzero(self._slot >= 0), new)

    def _make_columns(self, rows: np.ndarray, cols: np.ndarray) -> None:
        """Make some columns of rows that are kept."""
        from .._fast.rows import put_columns

        def make(part: slice) -> None:
            block = np.empty((part.stop - part.start, len(cols)), self._kept.dtype)
            self._write(rows[part], cols, block)
            put_columns(block, self._slot[rows[part]], cols, self._kept)

        for_blocks(make, len(rows), BLOCK_ROWS, self._threads(len(rows) * len(cols)))

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
        if self._room.owner is not self:
            self._forget()
            self._room.owner = self
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
