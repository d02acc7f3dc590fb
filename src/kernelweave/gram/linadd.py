"""Grams of weighted degree kernels that never form a matrix: all support sequences at once, position by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.weighted_degree import code_matrix, same_length
from ..parallel import blocks, for_blocks
from ..sequences import SequenceSet
from ..views import Views
from .base import BLOCK_BYTES, Gram, support_of
from .families import Family, block_of, families_of, is_even

#: With fewer support sequences than the first, or fewer new ones than the second, comparing pairs is quicker.
FEW_SUPPORT, FEW_QUERIES = 200, 10_000
#: How many times longer a pair takes where positions differ in weight.
UNEVEN_PAIR = 100.0
#: Positions whose tables are held at a time, at most; fewer for more than this many support letters.
MAX_POSITIONS, MAX_LETTERS = 24, 2_400_000


class LinaddGram(Gram):
    """K_m @ coef by adding up the words of the support: Σ_q coef[q] k(q, x) = Σ over words of x of their weights.

    All parts of one kernel (by degree, by position) come out of one pass, whatever their number. Positions are
    shared among threads; results do not depend on how many there are.

    Parameters
    ----------
    n_jobs : int
        Threads.
    """

    def __init__(self, terms: Sequence[Kernel], X: Views, n_jobs: int = 1, factors: np.ndarray | None = None) -> None:
        super().__init__(terms, X, factors)
        self.n_jobs = n_jobs
        self.families = families_of(self.terms)
        self._roots: dict[str, np.ndarray | None] = {}

    def rescaled(self, factors: np.ndarray) -> Gram:
        twin = LinaddGram(self.terms, self.X, self.n_jobs, factors)
        twin._roots = self._roots
        return twin

    def only(self, picked: Sequence[int]) -> Gram:
        part = LinaddGram([self.terms[m] for m in picked], self.X, self.n_jobs, self.factors[list(picked)])
        part._roots = self._roots
        return part

    # -- products ----------------------------------------------------------------------------------------------------

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        scaled, columns = weights * self.factors, coef.reshape(len(coef), -1)
        out = np.zeros((self.n if at is None else len(at), columns.shape[1]))
        for family in self.families:
            if scaled[family.numbers].any():
                for c, column in enumerate(columns.T):
                    out[:, c] += self._mixed(family, column, scaled[family.numbers], at)
        return out.reshape(len(out), *coef.shape[1:])

    def _mixed(self, family: Family, coef: np.ndarray, weights: np.ndarray, at: Views | None) -> np.ndarray:
        """Σ_t weights[t] · term t (at, X) @ coef: one kernel, with its own weight for every position and degree."""
        own = family.sequences(self.X)
        support, coef = self._scaled_support(family, coef)
        queries, roots = self._queries(family, own, at)
        table = family.table(own.require_length(), weights)
        out = scores(family, table, own.rows(support), coef, queries, self.n_jobs)
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
                    each = scores_each(family, own.rows(support), some, queries, None, self.n_jobs)
                    out[family.numbers, :, c] = each if roots is None else each * roots
        return (out * self.factors[:, None, None]).reshape(self.n_terms, -1, *coef.shape[1:])

    def apply_some(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return self.only(picked.tolist()).apply_each(coef, self.X.rows(at))

    def quad_columns(self, coef: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n_terms, coef.shape[1]))
        for family in self.families:
            own = family.sequences(self.X)
            for c, column in enumerate(coef.T):
                support, some = self._scaled_support(family, column)
                if len(support):
                    found = own.rows(support)
                    out[family.numbers, c] = scores_each(family, found, some, found, some, self.n_jobs)
        return out * self.factors[:, None]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        scaled = weights * self.factors
        out = np.zeros((len(rows), self.n if cols is None else len(cols)))
        for family in self.families:
            if not scaled[family.numbers].any():
                continue
            own, roots = family.sequences(self.X), self._roots_of(family)
            others = own if cols is None else own.rows(cols)
            part = block_of(family, family.table(own.require_length(), scaled[family.numbers]), own.rows(rows), others)
            if roots is not None:
                part *= roots[rows][:, None]
                part *= roots if cols is None else roots[cols]
            out += part
        return out

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        full = np.zeros((self.n, *coef.shape[1:]))
        full[rows] = coef
        return self.apply(full, weights)

    # -- what travels with a family ----------------------------------------------------------------------------------

    def _roots_of(self, family: Family) -> np.ndarray | None:
        key = repr(family.norms)
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
        same_length(code_matrix(queries), code_matrix(own))
        return queries, family.roots(at)


# -- one family, one vector ------------------------------------------------------------------------------------------


def scores(
    family: Family, table: np.ndarray, support: SequenceSet, coef: np.ndarray, queries: SequenceSet, n_jobs: int = 1
) -> np.ndarray:
    """Return Σ_q coef[q] k(support q, query) with a weight per position and degree, (n,)."""
    if not (table.any() and len(support)):
        return np.zeros(len(queries))
    pair = 1.0 if is_even(table) else UNEVEN_PAIR
    if _few(len(support), len(queries), pair):
        out = np.empty(len(queries))

        def compare(part: slice) -> None:
            out[part] = block_of(family, table, queries.rows(part), support) @ coef

        for_blocks(compare, len(queries), max(1, BLOCK_BYTES // (16 * len(support))), n_jobs)
        return out
    used = np.flatnonzero(table.any(axis=0))[-1] + 1
    starts = np.flatnonzero(table.any(axis=1))
    words = Words(support, coef, family.moves(), np.ascontiguousarray(table[:, :used]))
    ranges = words.ranges(int(starts[0]), int(starts[-1]) + 1)
    parts = np.zeros((len(ranges), 1, len(queries)))

    def work(part: slice) -> None:
        for r in range(part.start, part.stop):
            words.look_up(words.build(ranges[r]), queries, parts[r])

    for_blocks(work, len(ranges), 1, n_jobs)
    return parts.sum(axis=(0, 1))


def scores_each(
    family: Family,
    support: SequenceSet,
    coef: np.ndarray,
    queries: SequenceSet,
    left: np.ndarray | None,
    n_jobs: int = 1,
) -> np.ndarray:
    """Return the scores of every term, (n_terms, n), or their products with `left`, (n_terms,)."""
    length, scales = code_matrix(support).shape[1], np.array(family.scales)
    base = family.base(length)
    if not family.by_degree and not family.by_position:
        row = scores(family, base, support, coef, queries, n_jobs)
        return np.multiply.outer(scales, row if left is None else row @ left)
    words = Words(support, coef, family.moves(), base, apart=family.by_degree)
    ranges = words.ranges(0, length)
    picks = [_rows_of(family, part, base.shape[1]) for part in ranges]
    parts: list[Any] = [None] * len(ranges)

    def work(part: slice) -> None:
        for r in range(part.start, part.stop):
            parts[r] = _range_each(family, words, ranges[r], picks[r], queries, left)

    for_blocks(work, len(ranges), 1, n_jobs)
    out = np.zeros((len(scales),) + (() if left is not None else (len(queries),)))
    for (terms, _), part in zip(picks, parts, strict=True):
        out[terms] += part
    return (out.T * scales).T


def _few(n_support: int, n_queries: int, pair: float) -> bool:
    return n_support * n_queries * pair < FEW_SUPPORT * n_queries + FEW_QUERIES * n_support


def _rows_of(family: Family, positions: slice, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Which terms a range of positions serves, and which row of its scores is whose."""
    terms, rows = [], []
    for t, (k, i) in enumerate(zip(family.degrees, family.positions, strict=True)):
        if i is None or positions.start <= i < positions.stop:
            place = 0 if i is None else i - positions.start
            terms.append(t)
            rows.append(place if k is None else place * degree + k - 1 if i is not None else k - 1)
    return np.array(terms, dtype=np.int64), np.array(rows, dtype=np.int64)


def _range_each(
    family: Family,
    words: Words,
    positions: slice,
    pick: tuple[np.ndarray, np.ndarray],
    queries: SequenceSet,
    left: np.ndarray | None,
) -> np.ndarray:
    """The part of one range of positions in the scores of every term that it serves."""
    terms, rows = pick
    out = np.zeros((len(terms),) + (() if left is not None else (len(queries),)))
    if not len(terms):
        return out
    size, degree = positions.stop - positions.start, words.table.shape[1]
    by_place = family.by_position or not is_even(words.table)
    n_rows = (size if by_place else 1) * (degree if family.by_degree else 1)
    forest = words.build(positions)
    for chunk in blocks(len(queries), max(1, BLOCK_BYTES // (8 * n_rows))):
        values = np.zeros((n_rows, chunk.stop - chunk.start))
        words.look_up(forest, queries.rows(chunk), values)
        if family.by_degree:  # the forest keeps degrees apart by leaving their weights to us
            weights = words.table[positions] if by_place else words.table[:1]
            values *= weights.reshape(-1, 1)
            if not family.by_position:
                values = values.reshape(-1, degree, values.shape[1]).sum(axis=0)
        if left is None:
            out[:, chunk] = values[rows]
        else:
            out += values[rows] @ left[chunk]
    return out


class Words:
    """The words of the support with their weights, ready to be looked up, one range of positions at a time."""

    def __init__(
        self,
        support: SequenceSet,
        coef: np.ndarray,
        moves: list[tuple[int, float]],
        table: np.ndarray,
        apart: bool = False,
    ) -> None:
        self.table, self.apart = table, apart
        self.n_letters = support.alphabet.size
        self.letters, self.coef = _moved(code_matrix(support).T, coef, moves)
        self.exact = self.n_letters == 4 and table.shape[1] <= 32

    def ranges(self, first: int, last: int) -> list[slice]:
        """Cut positions into ranges whose tables fit side by side into memory."""
        size = max(2, min(MAX_POSITIONS, MAX_LETTERS // max(1, len(self.coef))))
        return [slice(first + part.start, first + part.stop) for part in blocks(last - first, size)]

    def build(self, positions: slice) -> Any:
        """Return the tables and tries of some positions."""
        from .._fast.forest import build_forest, table_depth

        short = table_depth(len(self.coef), self.n_letters, self.table.shape[1])
        first, last = positions.start, positions.stop
        return build_forest(
            self.letters, self.coef, self.table, first, last, short, self.n_letters, self.exact, not self.apart
        )

    def look_up(self, forest: Any, queries: SequenceSet, out: np.ndarray) -> None:
        """Add the scores of the queries to out: (1 or positions, n), each times the degrees where they are apart."""
        from .._fast.linadd import add_degree_scores, add_scores, pack_queries

        codes = code_matrix(queries)
        packed = queries.derived("queries", lambda _: pack_queries(codes)) if self.exact else None
        (add_degree_scores if self.apart else add_scores)(forest, codes, out, packed)


def _moved(letters: np.ndarray, coef: np.ndarray, moves: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Letters (L, Q) of the support, once per shift, with the weight of the shift in its coefficients."""
    length = len(letters)
    copies = np.full((length, len(moves), letters.shape[1]), 255, np.uint8)
    for number, (shift, _) in enumerate(moves):
        low, high = max(0, -shift), min(length, length - shift)
        copies[low:high, number] = letters[low + shift : high + shift]
    weights = np.array([weight for _, weight in moves])
    return copies.reshape(length, -1), np.multiply.outer(weights, coef).ravel()
