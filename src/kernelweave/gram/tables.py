"""Words of many sequences added up once and then looked up: what products without a matrix are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..kernels.weighted_degree import code_matrix, planes_of
from ..parallel import blocks, for_blocks
from ..sequences import SequenceSet
from .base import BLOCK_BYTES
from .families import Family, block_of, is_even

#: With fewer support sequences than the first, or fewer new ones than the second, comparing pairs is quicker. Measured
#: on windows of DNA of 64 to 400 letters, degrees 3 to 20, one thread: looking one up takes as long as 110 to 240 pairs
#: where 1,500 are in the tables (to 900 where 60,000 are), adding one to them as long as 360 to 1,800.
FEW_SUPPORT, FEW_QUERIES = 200, 1_000
#: How many times longer, as measured there: a pair where positions differ in weight (12 to 35), a pair that counts
#: every degree apart (1.4 to 3.1), and a look-up that does (2.8 to 6.4).
UNEVEN_PAIR, APART_PAIR, APART_LOOKUP = 20.0, 2.0, 5.5
#: Positions whose tables are built in one go, at most; fewer for more than this many support letters.
MAX_POSITIONS, MAX_LETTERS = 24, 2_400_000
#: Bytes of every different word that is longer than tables are deep: of at most 64 bits (measured: 32 to 38), and of
#: any other (60).
TRIE_BYTES, LONG_TRIE_BYTES = 38, 60
#: Bytes of tables that are held at a time; where all positions take more, queries pass several times.
WAVE_BYTES = 512 * 2**20
#: Queries that pass the tables together, and up to how many they are remembered in the form that tables read.
CHUNK, REMEMBERED = 1 << 17, 200_000
#: Fewer queries than this do not make up for bringing the tables into the cache once more.
SMALLEST_CHUNK = 1 << 14


class Words:
    """The words of the support with their weights, ready to be built into tables, one range of positions at a time.

    Parameters
    ----------
    table : array of shape (length, degree)
        The weight of every position and degree.
    apart : bool
        Leave the weights of the degrees out, so that queries get one value for each.
    """

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
        self.letters, self.coef = _moved(_letters(support), coef, moves)
        self.exact = self.n_letters == 4 and table.shape[1] <= 32

    def ranges(self, first: int, last: int) -> list[slice]:
        """Cut positions into ranges whose tables are built in one go."""
        parts = blocks(last - first, positions_at_once(len(self.coef)))
        return [slice(first + part.start, first + part.stop) for part in parts]

    def used(self) -> list[slice]:
        """Return the ranges of the positions that have any weight."""
        starts = np.flatnonzero(self.table.any(axis=1))
        return self.ranges(int(starts[0]), int(starts[-1]) + 1) if len(starts) else []

    def waves(self, ranges: Sequence[slice], n_jobs: int, most: int = WAVE_BYTES) -> Iterator[list[tuple[slice, Any]]]:
        """Yield ranges with their tables: all of them at once where they fit, else as many as do."""
        if not ranges:
            return
        width = ranges[0].stop - ranges[0].start
        one = table_bytes(len(self.coef), self.n_letters, width, self.table.shape[1])
        size = max(n_jobs, most // one)
        for wave in blocks(len(ranges), size):
            yield self.build_all(ranges[wave], n_jobs)

    def build_all(self, ranges: Sequence[slice], n_jobs: int = 1) -> list[tuple[slice, Any]]:
        """Return some ranges with their tables."""
        built: list[Any] = [None] * len(ranges)

        def work(part: slice) -> None:
            for r in range(part.start, part.stop):
                built[r] = self.build(ranges[r])

        for_blocks(work, len(ranges), 1, n_jobs)
        return list(zip(ranges, built, strict=True))

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
        from .._fast.linadd import add_degree_scores, add_scores

        asked = queries_of(queries, slice(0, len(queries)), self.exact)
        (add_degree_scores if self.apart else add_scores)(forest, asked, out)

    def compare(self, positions: slice, queries: SequenceSet, out: np.ndarray) -> None:
        """Do what `build` and `look_up` do where degrees are apart, without tables: for a few queries."""
        first, size, degree = positions.start, positions.stop - positions.start, self.table.shape[1]
        letters = self.letters[first : positions.stop + degree - 1]
        known, values = letters < self.n_letters, out.reshape(size, degree, -1)
        for j, codes in enumerate(code_matrix(queries)):
            same = (letters == codes[first : first + len(letters), None]) & known
            for k in range(min(degree, len(letters))):
                values[: len(same), k, j] += same[:size] @ self.coef
                same = same[:-1] & same[1:]  # k letters from here on, and k from the next place on


def _letters(support: SequenceSet) -> np.ndarray:
    """The letters of the support, (length, n); of many sequences, nothing else is kept."""
    if len(support) <= REMEMBERED:
        return np.ascontiguousarray(code_matrix(support).T)
    out = np.empty((support.require_length(), len(support)), np.uint8)
    for part in blocks(len(support), CHUNK):
        out[:, part] = code_matrix(support.rows(part)).T
    return out


def _moved(letters: np.ndarray, coef: np.ndarray, moves: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Letters (L, Q) of the support, once per shift, with the weight of the shift in its coefficients."""
    if moves == [(0, 1.0)]:
        return letters, coef
    length = len(letters)
    copies = np.full((length, len(moves), letters.shape[1]), 255, np.uint8)
    for number, (shift, _) in enumerate(moves):
        if abs(shift) < length:
            low, high = max(0, -shift), min(length, length - shift)
            copies[low:high, number] = letters[low + shift : high + shift]
    weights = np.array([weight for _, weight in moves])
    return copies.reshape(length, -1), np.multiply.outer(weights, coef).ravel()


def positions_at_once(n_words: int) -> int:
    """Return of how many positions tables are built in one go."""
    return max(2, min(MAX_POSITIONS, MAX_LETTERS // max(1, n_words)))


def table_bytes(n_words: int, n_letters: int, n_positions: int, degree: int) -> int:
    """Return what the tables of so many random words at every position take: hardly less than those of any others."""
    from .._fast.forest import level_offset, table_depth

    depth = table_depth(n_words, n_letters, degree)
    most = float(n_letters) ** min(degree, 64)
    each = TRIE_BYTES if n_letters == 4 and degree <= 32 else LONG_TRIE_BYTES
    tries = -each * most * np.expm1(-n_words / most) if degree > depth else 0.0  # of the words that differ
    return int(n_positions * (8 * level_offset(n_letters, depth + 1) + 4 * n_letters**depth + tries))


def words_of(family: Family, table: np.ndarray, support: SequenceSet, coef: np.ndarray) -> Words:
    """Return the words of Σ_q coef[q] k(support q, ·) with a weight per position and degree."""
    used = np.flatnonzero(table.any(axis=0))[-1] + 1 if table.any() else 1
    return Words(support, coef, family.moves(), np.ascontiguousarray(table[:, :used]))


# -- queries ---------------------------------------------------------------------------------------------------------


def queries_of(queries: SequenceSet, part: slice, exact: bool) -> Any:
    """Return some queries as tables read them: words of 64 bits (exact) or codes.

    Of many, only these rows are ever unpacked, and nothing of them is kept.
    """
    from .._fast.linadd import take_queries

    if len(queries) > REMEMBERED:
        some = queries.rows(part)
        return _packed(some) if exact else code_matrix(some)
    if not exact:
        return code_matrix(queries)[part]
    whole = queries.derived("queries", _packed)
    return whole if part == slice(0, len(queries)) else take_queries(whole, part.start, part.stop)


def _packed(queries: SequenceSet) -> Any:
    """Sequences of DNA as words; those that are packed already need only their few unknown letters unpacked."""
    from .._fast.bits import valid_runs
    from .._fast.linadd import Packed, pack_queries, pack_rows

    rows = queries.packed_rows()
    if rows is None:
        return pack_queries(code_matrix(queries))
    length = queries.require_length()
    doubtful = np.unique(queries.unknown // length)
    runs = valid_runs(code_matrix(queries.rows(doubtful)), np.arange(len(doubtful)), 4)
    return Packed(pack_rows(rows, length), doubtful, runs)


def chunk_size(n: int, n_jobs: int) -> int:
    """Return how many of n queries should pass together, so that every thread has some."""
    return max(1, min(CHUNK, max(SMALLEST_CHUNK, -(-n // n_jobs))))


def add_up(wave: Sequence[tuple[slice, Any]], queries: SequenceSet, exact: bool, out: np.ndarray, n_jobs: int) -> None:
    """Add what these tables say of every query to out (n,); the order of the sums does not depend on the threads."""
    from .._fast.linadd import add_scores

    def work(part: slice) -> None:
        asked, values = queries_of(queries, part, exact), out[None, part].copy()
        for _, forest in wave:
            add_scores(forest, asked, values)
        out[part] = values[0]

    for_blocks(work, len(queries), chunk_size(len(queries), n_jobs), n_jobs)


# -- one family, one vector ------------------------------------------------------------------------------------------


def scores(
    family: Family,
    table: np.ndarray,
    support: SequenceSet,
    coef: np.ndarray,
    queries: SequenceSet,
    n_jobs: int = 1,
    most: int = WAVE_BYTES,
) -> np.ndarray:
    """Return Σ_q coef[q] k(support q, query) with a weight per position and degree, (n,); `most`: bytes of tables."""
    out = np.zeros(len(queries))
    if not (table.any() and len(support) and len(queries)):
        return out
    if are_few(len(support), len(queries), pair_time(table)):
        return _compared(family, table, support, coef, queries, n_jobs)
    words = words_of(family, table, support, coef)
    for wave in words.waves(words.used(), n_jobs, most):
        add_up(wave, queries, words.exact, out, n_jobs)
        del wave  # before the next one is built
    return out


def pair_time(table: np.ndarray) -> float:
    """How long a pair takes with these weights, in units of one with even weights."""
    return 1.0 if is_even(table) else UNEVEN_PAIR


def are_few(n_support: int, n_queries: int, pair: float = 1.0, lookup: float = 1.0) -> bool:
    """Whether comparing all pairs is quicker than building tables; pair and lookup: how much longer these take."""
    return n_support * n_queries * pair < FEW_SUPPORT * n_queries * lookup + FEW_QUERIES * n_support


def scores_each(
    family: Family,
    support: SequenceSet,
    coef: np.ndarray,
    queries: SequenceSet,
    left: np.ndarray | None,
    n_jobs: int = 1,
    most: int = WAVE_BYTES,
) -> np.ndarray:
    """Return the scores of every term, (n_terms, n), or their products with `left`, (n_terms,)."""
    scales, base = np.array(family.scales), family.base(support.require_length())
    if not family.by_degree and not family.by_position:
        row = scores(family, base, support, coef, queries, n_jobs, most)
        return np.multiply.outer(scales, row if left is None else row @ left)
    at_once = family.by_degree and not family.by_position and not family.core.shift and is_even(base)
    pairs = APART_PAIR if at_once else len(scales) * (pair_time(base) if not family.by_position else UNEVEN_PAIR)
    if are_few(len(support), len(queries), pairs, APART_LOOKUP if family.by_degree else 1.0):
        each = (_counted if at_once else _compared_each)(family, base, support, coef, queries, n_jobs)
        return each if left is None else each @ left
    words = Words(support, coef, family.moves(), base, apart=family.by_degree)
    ranges = {part.start: _Rows(family, base, part) for part in words.used()}
    served = [part for part in words.used() if len(ranges[part.start].terms)]
    # chunks, and the order of all sums, depend neither on the threads nor on how many tables are held at a time
    size = max(1, min(CHUNK, BLOCK_BYTES // (8 * max((rows.n_rows for rows in ranges.values()), default=1))))
    out = np.zeros((len(scales), -(-len(queries) // size) if left is not None else len(queries)))
    for wave in words.waves(served, n_jobs, most):

        def work(part: slice, wave: Sequence[tuple[slice, Any]] = wave) -> None:
            asked = queries_of(queries, part, words.exact)
            for positions, forest in wave:
                rows = ranges[positions.start]
                values = rows.look_up(forest, asked, part.stop - part.start)
                if left is None:
                    out[rows.terms, part] += values
                else:
                    out[rows.terms, part.start // size] += values @ left[part]

        for_blocks(work, len(queries), size, n_jobs)
        del wave, work
    return scales[:, None] * out if left is None else scales * out.sum(axis=1)


def _compared(
    family: Family, table: np.ndarray, support: SequenceSet, coef: np.ndarray, queries: SequenceSet, n_jobs: int
) -> np.ndarray:
    """`scores` from pairs."""
    out = np.zeros(len(queries))

    def compare(part: slice) -> None:
        out[part] = block_of(family, table, queries.rows(part), support) @ coef

    for_blocks(compare, len(queries), max(1, BLOCK_BYTES // (16 * max(1, len(support)))), n_jobs)
    return out


def _compared_each(
    family: Family, base: np.ndarray, support: SequenceSet, coef: np.ndarray, queries: SequenceSet, n_jobs: int
) -> np.ndarray:
    """`scores_each` from pairs, term by term."""
    out = np.zeros((len(family.scales), len(queries)))
    for t, unit in enumerate(np.eye(len(out))):
        table = family.table(len(base), unit)
        if table.any():
            out[t] = _compared(family, table, support, coef, queries, n_jobs)
    return out


def _counted(
    family: Family, base: np.ndarray, support: SequenceSet, coef: np.ndarray, queries: SequenceSet, n_jobs: int
) -> np.ndarray:
    """`scores_each` from pairs, where terms are degrees: what agrees is counted for all of them at once."""
    from .._fast.weighted_degree import wd_block_degrees

    known, degree = planes_of(support), base.shape[1]
    out = np.zeros((degree, len(queries)))

    def compare(part: slice) -> None:
        counts = np.empty((degree, part.stop - part.start, len(support)))
        wd_block_degrees(planes_of(queries.rows(part)), known, counts)
        out[:, part] = counts @ coef

    for_blocks(compare, len(queries), max(1, BLOCK_BYTES // (16 * degree * max(1, len(support)))), n_jobs)
    picked = np.array(family.degrees, dtype=np.int64) - 1
    return (family.scales * base[0, picked])[:, None] * out[picked]


class _Rows:
    """Which terms a range of positions serves, and which row of the values from its tables is whose."""

    def __init__(self, family: Family, table: np.ndarray, positions: slice) -> None:
        self.by_degree, self.by_position = family.by_degree, family.by_position
        self.degree = table.shape[1]
        by_place = family.by_position or not is_even(table)
        self.weights = table[positions] if by_place else table[:1]
        self.n_rows = len(self.weights) * (self.degree if family.by_degree else 1)
        terms, rows = [], []
        for t, (k, i) in enumerate(zip(family.degrees, family.positions, strict=True)):
            if i is None or positions.start <= i < positions.stop:
                place = 0 if i is None else i - positions.start
                terms.append(t)
                rows.append(place if k is None else place * self.degree + k - 1)
        self.terms, self.rows = np.array(terms, dtype=np.int64), np.array(rows, dtype=np.int64)

    def look_up(self, forest: Any, asked: Any, n: int) -> np.ndarray:
        """Return the values of the terms, (n_terms served, n)."""
        from .._fast.linadd import add_degree_scores, add_scores

        values = np.zeros((self.n_rows, n))
        (add_degree_scores if self.by_degree else add_scores)(forest, asked, values)
        if self.by_degree:  # the forest keeps degrees apart by leaving their weights to us
            values *= self.weights.reshape(-1, 1)
            if not self.by_position:
                values = values.reshape(-1, self.degree, n).sum(axis=0)
        return values[self.rows]
