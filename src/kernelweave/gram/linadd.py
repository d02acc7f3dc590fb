"""Grams of weighted degree kernels that never form a matrix: all support sequences at once, position by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..kernels import Kernel
from ..kernels.pieces import pieces
from ..kernels.weighted_degree import same_length
from ..sequences import SequenceSet
from ..views import Views
from .base import BLOCK_BYTES, Gram, support_of
from .coordinates import Coordinates, JoinedCoordinates, WordCoordinates
from .families import Family, block_of, families_of
from .kept_tables import Tables
from .offer import NO_MATRIX, Bytes, Held, Offer, Room, n_active
from .pair_rows import Pairs, RowRoom, WordPairs, pair_time, row_bytes
from .prepared import Prepared, PreparedPlacedWords
from .stores import placed_scores
from .tables import (
    APART_LOOKUP,
    APART_PAIR,
    WAVE_BYTES,
    are_few,
    positions_at_once,
    scores,
    scores_each,
    table_bytes,
    words_of,
)

#: Letters of the longest words that count where about is good enough.
ABOUT = 6


class LinaddGram(Gram):
    """K_m @ coef by adding up the words of the support: Σ_q coef[q] k(q, x) = Σ over words of x of their weights.

    All parts of one kernel (by degree, by position) come out of one pass, whatever their number. Ranges of positions
    are built, and chunks of sequences looked up, on threads; results do not depend on how many there are. Of large
    sets only chunks are ever unpacked, so that a mapped file may be larger than memory.

    Parameters
    ----------
    n_jobs : int
        Threads.
    wave_bytes : int
        Bytes of tables that are held at a time; where all positions take more, sequences pass several times.
    row_bytes : float
        Bytes of rows that solvers keep; only said, so that estimates have them.
    """

    special = True

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        n_jobs: int = 1,
        factors: np.ndarray | None = None,
        wave_bytes: int = WAVE_BYTES,
        row_bytes: float = 0.0,
    ) -> None:
        super().__init__(terms, X, factors)
        self.n_jobs = n_jobs
        self.wave_bytes, self.row_bytes = wave_bytes, row_bytes
        self.families = families_of([piece for term in self.terms for piece in pieces(term, X)])
        self._roots: dict[str, np.ndarray | None] = {}
        self._room: RowRoom | None = None
        self.held = Held(coordinates=frozenset({"features"}), words=True, blas=False)

    @classmethod
    def takes(cls, term: Kernel, X: Views) -> bool:
        return term.gram_kind == "linadd"

    @classmethod
    def bound(cls, terms: Sequence[Kernel], X: Views, room: Room) -> LinaddGram:
        share, rows = min(WAVE_BYTES, room.share), row_bytes(len(X), room)
        return cls(terms, X, room.needs.n_jobs, wave_bytes=share, row_bytes=rows)

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        gram = cls.bound(terms, X, room)
        return Offer.of(gram, NO_MATRIX, "words of the support are added up", quicker=True)

    def rescaled(self, factors: np.ndarray) -> Gram:
        twin = LinaddGram(self.terms, self.X, self.n_jobs, factors, self.wave_bytes, self.row_bytes)
        twin._roots = self._roots
        return twin

    def only(self, picked: Sequence[int]) -> Gram:
        terms, factors = [self.terms[m] for m in picked], self.factors[list(picked)]
        part = LinaddGram(terms, self.X, self.n_jobs, factors, self.wave_bytes, self.row_bytes)
        part._roots = self._roots
        return part

    def sampled(self, rows: np.ndarray) -> Gram | None:
        return LinaddGram(self.terms, self.X.rows(rows), self.n_jobs, None, self.wave_bytes)

    @property
    def bytes(self) -> Bytes:
        letters = sum(family.sequences(self.X).require_length() * len(family.moves()) for family in self.families)
        most = max(self._product_bytes(family) for family in self.families)
        found = Bytes(most, per_sample=24.0 * letters)  # 4 for every leaf, the rest for shared words
        rows = self.row_bytes if np.isfinite(self.pair_time(np.ones(self.n_terms))) else 0.0
        # where all samples are active at once, rows take the place of coordinates
        instead = found.coordinates(self.n) if self.n <= n_active(self.n) else 0.0
        return replace(found, solving=max(0.0, rows - instead))

    def _product_bytes(self, family: Family) -> float:
        """Return the bytes of products with the terms of one family."""
        own, n_rows = family.sequences(self.X), n_active(self.n)
        n_words, length = n_rows * len(family.moves()), own.require_length()
        size, degree = own.alphabet.size, family.core.degree
        apart = (APART_PAIR, APART_LOOKUP) if family.by_degree else (1.0, 1.0)
        if not family.by_position and are_few(n_rows, self.n, *apart):  # pairs are compared
            return float(min(BLOCK_BYTES, 8 * n_rows * self.n * (degree if family.by_degree else 1)))
        # at the least those that are built in one go, on every thread
        least = self.n_jobs * table_bytes(n_words, size, min(length, positions_at_once(n_words)), degree)
        return float(min(table_bytes(n_words, size, length, degree), max(least, self.wave_bytes)))

    def _coordinates(self, rows: np.ndarray) -> Coordinates:
        X = self.X.rows(rows)
        parts = [WordCoordinates(family, X, self.factors) for family in self.families]
        return parts[0] if len(parts) == 1 else JoinedCoordinates([(part, slice(None)) for part in parts])

    def pair_time(self, weights: np.ndarray) -> float:
        scaled = weights * self.factors
        each = [(family, family.sequences(self.X).require_length()) for family in self.families]
        times = [length * pair_time(family, length, scaled[family.numbers]) for family, length in each]
        return sum(times) / sum(length for _, length in each)

    def pairs(self, rows: np.ndarray, weights: np.ndarray, budget: float, dtype: type = np.float64) -> Pairs:
        X, scaled = self.X.rows(rows), weights * self.factors
        parts = [WordPairs(family, X, scaled[family.numbers]) for family in self.families]
        size = max(budget, 16 * len(rows))
        if self._room is None or 8 * len(self._room.numbers) < size - 8:
            self._room = RowRoom(size)
        return Pairs(parts, rows, weights, self._room, dtype, self.n_jobs)

    # -- products ----------------------------------------------------------------------------------------------------

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        scaled, columns = weights * self.factors, coef.reshape(len(coef), -1)
        out = np.zeros((self.n if at is None else len(at), columns.shape[1]))
        for family in self.families:
            if scaled[family.numbers].any():
                for c, column in enumerate(columns.T):
                    out[:, c] += self._mixed(family, column, scaled[family.numbers], at)
        return out.reshape(len(out), *coef.shape[1:])

    def apply_about(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        """Return `apply` without words that are longer than tables are deep: few samples share those."""
        scaled, out = weights * self.factors, np.zeros(self.n if at is None else len(at))
        for family in self.families:
            if scaled[family.numbers].any():
                out += self._mixed(family, coef, scaled[family.numbers], at, ABOUT)
        return out

    def _mixed(
        self, family: Family, coef: np.ndarray, weights: np.ndarray, at: Views | None, most: int | None = None
    ) -> np.ndarray:
        """Σ_t weights[t] · term t (at, X) @ coef: one kernel, with its own weight for every position and degree."""
        own = family.sequences(self.X)
        support, coef = self._scaled_support(family, coef)
        queries, roots = self._queries(family, own, at)
        table = family.table(own.require_length(), weights)[:, :most]
        out = scores(family, table, own.rows(support), coef, queries, self.n_jobs, self.wave_bytes)
        return out if roots is None else out * roots

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        columns = coef.reshape(len(coef), -1)
        out = np.zeros((self.n_terms, self.n if at is None else len(at), columns.shape[1]))
        for family in self.families:
            own = family.sequences(self.X)
            queries, roots = self._queries(family, own, at)
            for c, column in enumerate(columns.T):
                support, some = self._scaled_support(family, column)
                if len(support):
                    each = scores_each(family, own.rows(support), some, queries, None, self.n_jobs, self.wave_bytes)
                    out[family.numbers, :, c] = each if roots is None else each * roots
        return (out * self.factors[:, None, None]).reshape(self.n_terms, -1, *coef.shape[1:])

    def apply_some(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return self.only(picked.tolist()).apply_each(coef, self.X.rows(at))

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n_terms, coef.shape[1]))
        for family in self.families:
            own = family.sequences(self.X)
            for c, column in enumerate(coef.T):
                support, some = self._scaled_support(family, column)
                if len(support):
                    found = own.rows(support)
                    out[family.numbers, c] = scores_each(family, found, some, found, some, self.n_jobs, self.wave_bytes)
        return out * self.factors[:, None]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        scaled = weights * self.factors
        out: np.ndarray | None = None
        for family in self.families:
            if not scaled[family.numbers].any():
                continue
            own, roots = family.sequences(self.X), self._roots_of(family)
            some = own.rows(rows)
            others = own if cols is None else some if cols is rows else own.rows(cols)
            part = block_of(family, family.table(own.require_length(), scaled[family.numbers]), some, others)
            if roots is not None:
                part *= roots[rows][:, None]
                part *= roots if cols is None else roots[cols]
            out = part if out is None else np.add(out, part, out=out)
        return np.zeros((len(rows), self.n if cols is None else len(cols))) if out is None else out

    def diag(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n)  # one term at a time: there may be thousands of them
        for weight, term in zip(weights * self.factors, self.terms, strict=True):
            if weight:
                total += weight * term.compute_diag(self.X)
        return total

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        full = np.zeros((self.n, *coef.shape[1:]))
        full[rows] = coef
        return self.apply(full, weights)

    def rows_times_in(self, store: str, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        scaled, columns = weights * self.factors, coef[:, None] if coef.ndim == 1 else coef
        out = np.zeros((self.n, columns.shape[1]))
        for family in self.families:
            own, roots = family.sequences(self.X), self._roots_of(family)
            table = family.table(own.require_length(), scaled[family.numbers])
            for c, column in enumerate(columns.T if table.any() and len(rows) else ()):
                some = column if roots is None else column * roots[rows]
                words = words_of(family, table, own.rows(rows), some)
                found = placed_scores(store, family.core, words, own, self.n_jobs)
                out[:, c] += found if roots is None else found * roots
        return out.reshape(self.n, *coef.shape[1:])

    def prepare(self, coef: np.ndarray, weights: np.ndarray) -> Prepared:
        return PreparedPlacedWords(self, coef, weights)

    # -- tables to keep ----------------------------------------------------------------------------------------------

    def tables(self, family: Family, coef: np.ndarray, weights: np.ndarray) -> Tables:
        """Return Σ_t weights[t] · term t (·, X) @ coef of one family's terms, without the norms of what is asked."""
        own, (support, coef) = family.sequences(self.X), self._scaled_support(family, coef)
        table = family.table(own.require_length(), weights * self.factors[family.numbers])
        return Tables(words_of(family, table, own.rows(support), coef), self.n_jobs)

    def table_bytes(self, family: Family, coef: np.ndarray) -> int:
        """Return what `tables` would take, roughly."""
        own = family.sequences(self.X)
        n_words, length = len(support_of(coef)) * len(family.moves()), own.require_length()
        return table_bytes(n_words, own.alphabet.size, length, family.core.degree)

    # -- what travels with a family ----------------------------------------------------------------------------------

    def _roots_of(self, family: Family) -> np.ndarray | None:
        key = repr(family.piece.norms)
        if key not in self._roots:
            self._roots[key] = family.roots(self.X)
        return self._roots[key]

    def _scaled_support(self, family: Family, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        support, roots = support_of(coef), self._roots_of(family)
        return support, coef[support] if roots is None else coef[support] * roots[support]

    def _queries(self, family: Family, own: SequenceSet, at: Views | None) -> tuple[SequenceSet, np.ndarray | None]:
        if at is None:
            return own, self._roots_of(family)
        queries = family.sequences(at, like=own)
        same_length(queries, own)
        return queries, family.roots(at)
