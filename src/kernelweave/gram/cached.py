"""Grams that compute rows as they are asked for and keep the latest ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isqrt

import numpy as np

from ..kernels import Kernel
from ..parallel import blocks
from ..views import Views
from .base import BLOCK_BYTES, Gram, apply_each_at, block_rows, finite, support_of
from .dense import SMALL_BYTES
from .offer import ROWS, SECOND_ORDER, SPARE_BYTES, Bytes, Held, Offer, Room, second_order_bytes, working_set_bytes

#: Rows that a cache must hold at the least for a solver to make headway.
MIN_CACHED_ROWS = 64
#: Rows are computed in blocks of this part of the cache, of which a few are there at a time.
BLOCKS_IN_CACHE = 16


#: Which terms a row has the values of, and which row it is.
Key = tuple[tuple[int, ...], int]


class CachedGram(Gram):
    """Rows of all K_m on demand, least recently used ones dropped beyond `cache_bytes`.

    Grams of some of the terms (`only`) keep their rows in the same cache.
    """

    def __init__(
        self, terms: Sequence[Kernel], X: Views, cache_bytes: int = 2**28, factors: np.ndarray | None = None
    ) -> None:
        super().__init__(terms, X, factors)
        self.cache_bytes = cache_bytes
        whole = max(SMALL_BYTES, 8 * self.n**2 * self.n_terms // BLOCKS_IN_CACHE)
        self.block_bytes = min(BLOCK_BYTES, cache_bytes // BLOCKS_IN_CACHE, whole)
        # a step of second order then takes half as much as the cache
        self.held = Held(second_order=min(SECOND_ORDER, isqrt(cache_bytes // 20)))
        #: Which terms these are, of all that share the cache.
        self._numbers = tuple(range(self.n_terms))
        #: Per row i, the values K_m[i, :] of all terms, without factors: independent of weights.
        self._rows: OrderedDict[Key, np.ndarray] = OrderedDict()

    @classmethod
    def bound(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Gram:
        return cls(terms, X, room.share)

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        gram = cls(terms, X, room.budget // 2)
        fits = 2 * smallest_cache(terms, len(X)) <= room.budget and gram.bytes.peak <= max(room.budget, SPARE_BYTES)
        return Offer.of(gram, "rows on demand, the latest kept", "no matrices fit", ROWS) if fits else None

    @classmethod
    def offer_rows(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer:
        return Offer.of(cls.bound(terms, X, room), "rows on demand, the latest kept", "descent needs some rows only")

    @property
    def capacity(self) -> int:
        """How many rows the cache holds."""
        return max(1, self.cache_bytes // (8 * self.n * self.n_terms))

    def rescaled(self, factors: np.ndarray) -> Gram:
        return self._sharing(range(self.n_terms), factors)

    def only(self, picked: Sequence[int]) -> Gram:
        return self._sharing(picked, self.factors[list(picked)])

    def _sharing(self, picked: Sequence[int], factors: np.ndarray) -> Gram:
        twin = CachedGram([self.terms[m] for m in picked], self.X, self.cache_bytes, factors)
        twin._rows, twin._numbers = self._rows, tuple(self._numbers[m] for m in picked)
        return twin

    def sampled(self, rows: np.ndarray) -> Gram | None:
        return CachedGram(self.terms, self.X.rows(rows), self.cache_bytes)

    def rows_each(self, rows: np.ndarray) -> np.ndarray:
        """Return K_m[rows, :] as (len(rows), n_terms, n), without factors, through the cache."""
        keys = [(self._numbers, int(i)) for i in rows]
        missing = [key[1] for key in keys if key not in self._rows]
        for key in keys:
            if key in self._rows:  # the latest, so that others make room
                self._rows.move_to_end(key)
        out = np.empty((len(rows), self.n_terms, self.n))
        self._make_room(len(missing), keep=len(keys) - len(missing))
        for part in blocks(len(missing), block_rows(self.block_bytes, self.n * self.n_terms)):
            index = np.array(missing[part])
            some = self.X.rows(index)
            # one by one, so that one by one may go
            fresh = {(self._numbers, int(i)): np.empty((self.n_terms, self.n)) for i in index}
            for m, term in enumerate(self.terms):
                for row, values in zip(fresh.values(), finite(term.compute(some, self.X), term), strict=True):
                    row[m] = values
            self._rows |= fresh
        for position, key in enumerate(keys):
            self._rows.move_to_end(key)
            out[position] = self._rows[key]
        self._make_room(0)
        return out

    def _make_room(self, n_rows: int, keep: int = 0) -> None:
        """Drop the rows that were not used for longest, until so many more fit; the last `keep` stay."""
        held = sum(len(numbers) for numbers, _ in self._rows) + n_rows * self.n_terms
        while held > self.cache_bytes // (8 * self.n) and len(self._rows) > keep:
            (numbers, _), _ = self._rows.popitem(last=False)
            held -= len(numbers)

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        support = support_of(coef)
        if at is not None or len(support) > self.capacity:  # rows that would push each other out are not kept
            return apply_each_at(self, coef, self.X if at is None else at)
        out = np.zeros((self.n_terms, *coef.shape))
        for part in self._parts(support):
            out += np.einsum("smn,s...->mn...", self.rows_each(support[part]), coef[support[part]])
        return out * self.factors.reshape((-1,) + (1,) * coef.ndim)

    def apply_some(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return apply_each_at(self.only(picked.tolist()), coef, self.X.rows(at))  # few rows: none is worth keeping

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        support = support_of(coef)
        total, some = np.zeros((self.n_terms, coef.shape[1])), coef[support]
        kept = len(support) <= self.capacity
        for part in self._parts(support):
            rows = support[part]
            block = self.rows_each(rows)[:, :, support] if kept else self.block_each(rows, support).swapaxes(0, 1)
            total += np.einsum("smc,sc->mc", block @ some, some[part])
        return total * self.factors[:, None] if kept else total

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        scaled = weights * self.factors
        out = np.empty((len(rows), self.n if cols is None else len(cols)))
        for part in self._parts(rows):
            if cols is not None and len(rows) > self.capacity:  # rows that would push each other out are not kept
                out[part] = np.tensordot(weights, self.block_each(rows[part], cols), axes=1)
            else:
                mixed = np.tensordot(scaled, self.rows_each(rows[part]), axes=(0, 1))
                out[part] = mixed if cols is None else mixed[:, cols]
        return out

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n, *coef.shape[1:]))
        for part in self._parts(rows):
            out += self.block(rows[part], None, weights).T @ coef[part]
        return out

    def _parts(self, rows: np.ndarray) -> Iterator[slice]:
        return blocks(len(rows), min(self.capacity, block_rows(self.block_bytes, self.n * self.n_terms)))

    @property
    def bytes(self) -> Bytes:
        # rows that are kept, and blocks: as they are computed, as they are read, added up
        whole = 8 * self.n**2 * self.n_terms
        rows = min(self.cache_bytes, whole) + 3 * min(self.block_bytes, whole)
        second = second_order_bytes(self.n, self.n_terms, self.held.second_order)
        return replace(super().bytes, held=rows, solving=max(working_set_bytes(self.n), second))


def smallest_cache(terms: Sequence[Kernel], n: int) -> int:
    """Return the bytes of the smallest cache that a solver makes headway with."""
    return 8 * n * len(terms) * MIN_CACHED_ROWS
