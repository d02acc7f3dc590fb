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
from .offer import Bytes, Held
from .prepared import Prepared, PreparedTogether


class StackedGram(Gram):
    """The terms of several grams on the same samples, one after another."""

    def __init__(self, grams: Sequence[Gram]) -> None:
        self.grams = list(grams)
        self.held = Held.of_all([gram.held for gram in grams], [gram.n_terms for gram in grams])
        self._ends = np.cumsum([gram.n_terms for gram in grams])
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
        parts = zip(self.grams, self._split(weights), strict=True)
        return np.sum([gram.apply(coef, part, at) for gram, part in parts], axis=0)

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
        return np.concatenate([gram.quad(coef) for gram in self.grams])

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
        parts = [gram.sampled(rows) for gram in self.grams]
        return None if any(part is None for part in parts) else StackedGram([p for p in parts if p is not None])

    @property
    def bytes(self) -> Bytes:
        return reduce(add, (gram.bytes for gram in self.grams))

    def _coordinates(self, rows: np.ndarray) -> Coordinates:
        terms = [slice(end - gram.n_terms, end) for gram, end in zip(self.grams, self._ends, strict=True)]
        parts = [gram._coordinates(rows) for gram in self.grams]
        return JoinedCoordinates(list(zip(parts, terms, strict=True)))

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
