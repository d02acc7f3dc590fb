"""Grams of different kinds side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np

from ..parallel import blocks
from ..views import Views
from .base import BLOCK_BYTES, Gram, block_rows
from .coordinates import Coordinates, JoinedCoordinates
from .dense import DenseGram
from .offer import Bytes, Held
from .pair_rows import PairPart
from .prepared import Prepared, PreparedTogether

#: Some of the samples get matrices where they are so few, in so many bytes at the most.
HELD_SAMPLES, HELD_BYTES = 3_000, 2**28


class StackedGram(Gram):
    """The terms of several grams on the same samples, one after another."""

    def __init__(self, grams: Sequence[Gram]) -> None:
        self.grams = list(grams)
        self.held = Held.of_all([gram.held for gram in grams], [gram.n_terms for gram in grams])
        self._ends = np.cumsum([gram.n_terms for gram in grams])
        #: coef, and K coef of grams of one term, by number, as they were asked for last.
        self._products: tuple[np.ndarray, dict[int, np.ndarray]] | None = None
        self.n_jobs = max(gram.n_jobs for gram in grams)
        super().__init__(
            [term for gram in grams for term in gram.terms],
            grams[0].X,
            np.concatenate([gram.factors for gram in grams]),
        )

    def _split(self, values: np.ndarray) -> list[np.ndarray]:
        return np.split(values, self._ends[:-1])

    def rescaled(self, factors: np.ndarray) -> Gram:
        return StackedGram([g.rescaled(part) for g, part in zip(self.grams, self._split(factors), strict=True)])

    def only(self, picked: Sequence[int]) -> Gram:
        chosen = np.asarray(picked, dtype=np.int64)
        of = np.searchsorted(self._ends, chosen, side="right")
        within = chosen - (self._ends - [gram.n_terms for gram in self.grams])[of]
        runs = np.split(np.arange(len(chosen)), np.flatnonzero(np.diff(of)) + 1)  # in any order of terms
        kept = [self.grams[of[run[0]]].only(within[run].tolist()) for run in runs]
        return kept[0] if len(kept) == 1 else StackedGram(kept)

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        parts = zip(range(len(self.grams)), self._split(weights), strict=True)
        return np.sum([self._product(number, coef, part, at) for number, part in parts], axis=0)

    def _product(self, number: int, coef: np.ndarray, weights: np.ndarray, at: Views | None) -> np.ndarray:
        """Return the part of one gram: K coef of a gram of one term is kept, as weights change more often than coef."""
        gram = self.grams[number]
        if at is not None or gram.n_terms > 1 or not weights.any():
            return gram.apply(coef, weights, at)
        known = self._products
        if known is None or not np.array_equal(known[0], coef):
            known = self._products = coef.copy(), {}
        kept = known[1]
        if number not in kept:
            kept[number] = gram.apply(coef, np.ones(1))
        return np.asarray(weights[0] * kept[number])

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        return np.concatenate([gram.apply_each(coef, at) for gram in self.grams])

    def in_double(self, budget: float = 0.0) -> Gram | None:
        found = [gram.in_double(budget / len(self.grams)) for gram in self.grams]
        return None if None in found else StackedGram([gram for gram in found if gram is not None])

    def prepare(self, coef: np.ndarray, weights: np.ndarray) -> Prepared:
        shares = np.split(weights, self._ends[:-1], axis=1)
        parts = [gram.prepare(coef, share) for gram, share in zip(self.grams, shares, strict=True)]
        return PreparedTogether(parts, coef.shape[1])

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        return np.concatenate([self._quads(number, coef) for number in range(len(self.grams))])

    def _quads(self, number: int, coef: np.ndarray) -> np.ndarray:
        gram = self.grams[number]
        known = self._products
        if known is None or gram.held.single or not np.array_equal(known[0], coef[:, 0]):
            return gram.quad(coef)
        f = known[1].get(number)
        return gram.quad(coef) if f is None or coef.shape[1] > 1 else np.atleast_2d(coef[:, 0] @ f)

    def apply_some(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        out = np.empty((len(picked), len(at)))
        for gram, end in zip(self.grams, self._ends, strict=True):
            where = np.flatnonzero((picked >= end - gram.n_terms) & (picked < end))
            if len(where):
                out[where] = gram.apply_some(picked[where] - (end - gram.n_terms), at, coef)
        return out

    def anew(self, m: int, coef: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        of = int(np.searchsorted(self._ends, m, side="right"))
        gram = self.grams[of]
        return gram.anew(m - int(self._ends[of]) + gram.n_terms, coef, at)

    def hidden(self, coef: np.ndarray) -> np.ndarray:
        return np.concatenate([gram.hidden(coef) for gram in self.grams])

    def sampled(self, rows: np.ndarray) -> Gram | None:
        parts = [part for part in (gram.sampled(rows) for gram in self.grams) if part is not None]
        if len(parts) < len(self.grams):
            return None
        if len(rows) <= HELD_SAMPLES and 8 * self.n_terms * len(rows) ** 2 <= HELD_BYTES:
            return DenseGram.compute(self.terms, self.X.rows(rows), n_jobs=self.n_jobs)
        return StackedGram(parts)

    @property
    def bytes(self) -> Bytes:
        return reduce(add, (gram.bytes for gram in self.grams))

    def _coordinates(self, rows: np.ndarray) -> Coordinates:
        terms = [slice(end - gram.n_terms, end) for gram, end in zip(self.grams, self._ends, strict=True)]
        parts = [gram._coordinates(rows) for gram in self.grams]
        return JoinedCoordinates(list(zip(parts, terms, strict=True)))

    def pair_time(self, weights: np.ndarray) -> float:
        parts = zip(self.grams, self._split(weights), strict=True)
        return sum(gram.pair_time(part) for gram, part in parts if part.any())

    def pair_parts(self, rows: np.ndarray, weights: np.ndarray) -> list[PairPart]:
        parts = zip(self.grams, self._split(weights), strict=True)
        return [one for gram, part in parts if part.any() for one in gram.pair_parts(rows, part)]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        parts = zip(self.grams, self._split(weights), strict=True)
        out = np.zeros((len(rows), self.n if cols is None else len(cols)))
        for gram, part in parts:
            out += gram.block(rows, cols, part)
        return out

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        parts = zip(self.grams, self._split(weights), strict=True)
        return np.sum([gram.rows_times(rows, coef, part) for gram, part in parts], axis=0)

    def rows_times_in(self, store: str, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if not self.held.words:
            return super().rows_times_in(store, rows, coef, weights)
        out = np.zeros((self.n, *coef.shape[1:]))
        for gram, part in zip(self.grams, self._split(weights), strict=True):  # numbers have no words to keep
            words = gram.held.words
            out += gram.rows_times_in(store, rows, coef, part) if words else gram.rows_times(rows, coef, part)
        return out

    def block_each(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return np.concatenate([gram.block_each(rows, cols) for gram in self.grams])

    def diag_each(self) -> np.ndarray:
        return np.concatenate([gram.diag_each() for gram in self.grams])

    def ridge(self, weights: np.ndarray) -> np.ndarray | None:
        found = [gram.ridge(part) for gram, part in zip(self.grams, self._split(weights), strict=True)]
        return next((one for one in found if one is not None), None)

    def matrix(self, weights: np.ndarray) -> tuple[np.ndarray, float] | None:
        total: np.ndarray | None = None
        diagonal = self.ridge(weights)
        for gram, part in zip(self.grams, self._split(weights), strict=True):
            if gram.ridge(part) is not None or not part.any():
                continue
            held = gram.matrix(part)
            if held is None:
                return None
            K, factor = held
            if total is None:
                total = np.multiply(K, factor, dtype=np.float64)
            else:
                for rows in blocks(self.n, block_rows(BLOCK_BYTES, self.n)):
                    total[rows] += factor * K[rows]
        if total is None:
            total = np.zeros((self.n, self.n))
        if diagonal is not None:
            total.flat[:: self.n + 1] += diagonal
        return total, 1.0


def joined(grams: Sequence[Gram]) -> Gram:
    """Return several grams as one."""
    return grams[0] if len(grams) == 1 else StackedGram(grams)
