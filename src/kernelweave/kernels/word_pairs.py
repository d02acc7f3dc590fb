"""Kernels that compare all words of one length in pairs, by the number of letters in which they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from .. import clock
from ..parallel import blocks, for_blocks
from ..views import Views
from .explicit import ExplicitKernel
from .profiles import eigenvalues, wildcard_weights
from .sparse_rows import BURST, DENSE_BYTES, DENSE_COST, MAX_SINGLE

if TYPE_CHECKING:
    from ..sequences import Alphabet, SequenceSet

#: Different words of one length that are numbered in tables, at the most: of DNA up to 12 letters, of proteins 5.
MAX_TABLE = 1 << 24
#: Pairs of words of one sequence that are compared one by one, for every entry of a table of all words: beyond that the
#: table is quicker (measured).
PAIRS_PER_ENTRY = 8
#: And at the least so many, so that values of short sequences are exact.
MIN_LONG = 4 * 10**6
#: What a feature of a word costs against a pair of words (measured).
FEATURE_COST = 6
#: The share of words that a sequence shows again above which they are counted first.
MAX_REPEATS = 0.2
#: Pairs that are compared between two looks at the clock: a tenth of a second.
PAIR_BURST = 5 * 10**7


@dataclass(frozen=True)
class PairRule:
    """What pairs of words count: profile[d] for words of `length` letters that differ in d of them."""

    length: int
    size: int
    profile: np.ndarray
    #: (256,) complements of the letters where words are read on both strands, else None.
    complement: np.ndarray | None = None

    @property
    def n_words(self) -> int:
        """How many different words there are."""
        return self.size**self.length

    @property
    def fits(self) -> bool:
        """Whether all words can be numbered in a table."""
        return self.n_words <= MAX_TABLE

    @cached_property
    def values(self) -> np.ndarray:
        """The eigenvalues of the profile, by the letters at which an eigenvector varies."""
        return np.array(eigenvalues(self.profile, self.size), dtype=np.float64)

    @property
    def n_choices(self) -> int:
        """How many choices of columns make up the profile."""
        found = enumerate(wildcard_weights(self.profile))
        return sum(comb(self.length, left_out) for left_out, weight in found if weight != 0.0)

    def choices(self) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Yield (weight, columns): Σ weight · (words agree at these columns) is the profile; for a both-strand sum.

        Read from the other strand, a choice of columns is its mirror image, so that one of both is enough.
        """
        for left_out, weight in enumerate(wildcard_weights(self.profile)):
            if weight == 0.0:
                continue
            for columns in combinations(range(self.length), self.length - left_out):
                mirror = tuple(self.length - 1 - c for c in reversed(columns))
                if self.complement is None:
                    yield weight, columns
                elif columns <= mirror:
                    yield (0.5 if columns == mirror else 1.0) * weight, columns


@dataclass
class WordList:
    """The words of sequences as numbers, in order; with a weight each where `weights` is not empty."""

    numbers: np.ndarray
    starts: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What jitted functions take."""
        return self.numbers, self.starts, self.weights

    def both_strands(self, rule: PairRule) -> WordList:
        """Return the words with their reverse complements, where the rule reads both strands."""
        if rule.complement is None:
            return self
        from .._fast.word_pairs import flip_words

        numbers = np.repeat(self.numbers, 2)
        numbers[1::2] = flip_words(self.numbers, rule.length, rule.size, rule.complement)
        return WordList(numbers, 2 * self.starts, np.repeat(self.weights, 2))

    def take(self, chosen: np.ndarray) -> WordList:
        """Return the words of some sequences."""
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        picked = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], sizes)
        return WordList(self.numbers[picked], starts, self.weights[picked] if len(self.weights) else self.weights)


class WordPairKernel(ExplicitKernel):
    """k(x, y) = Σ_{u in x, v in y} w_u w_v profile[letters in which u and v differ]; subclasses say `profile`.

    With both strands, v runs over the words of y and of its other strand. Where all words of one length fit into a
    table, values come from the words themselves: a profile is a sum over choices of columns at which words agree, and
    words that agree are found by their letters there. Elsewhere the same sums are taken over listed features.
    """

    def profile(self, size: int) -> np.ndarray:
        """Return what two words count by the letters in which they differ, of an alphabet of that size."""
        raise NotImplementedError

    def place_weights(self, places: np.ndarray, n_places: np.ndarray) -> np.ndarray | None:
        """Return w of words at these places, of so many in their sequence; None where all weigh 1."""
        return None

    def rule(self, alphabet: Alphabet) -> PairRule:
        """Return what pairs of words of an alphabet count."""
        complement = alphabet.complement_table if getattr(self, "reverse_complement", False) else None
        return PairRule(self.shortest_word(), alphabet.size, self.profile(alphabet.size), complement)

    def word_list(self, sequences: SequenceSet, rule: PairRule) -> WordList:
        """Return the words of sequences, on one strand."""
        from .._fast.word_pairs import word_numbers

        numbers, places, starts = word_numbers(sequences.flat_codes(), sequences.offsets, rule.length, rule.size)
        n_places = np.repeat(sequences.lengths - rule.length + 1, np.diff(starts))
        weights = self.place_weights(places, n_places)
        return WordList(numbers, starts, np.empty(0, np.float32) if weights is None else weights.astype(np.float32))

    def compute_part(self, X: Views, Y: Views | None, **chosen: int | None) -> np.ndarray:
        at, known = self.pair(X, Y)
        rule = self.rule(known.alphabet)
        if not rule.fits:
            return super().compute_part(X, Y, **chosen)
        B = self.word_list(known, rule).both_strands(rule)
        A = B if Y is None else self.word_list(at, rule).both_strands(rule)
        return pair_matrix(rule, A, B)

    def part_diag(self, X: Views, **chosen: int | None) -> np.ndarray:
        sequences = self.sequences(X)
        rule = self.rule(sequences.alphabet)
        if not rule.fits or (self.word_kind == "free" and _few_features(rule, sequences)):
            return super().part_diag(X, **chosen)
        return own_values(self, sequences, rule)


def _few_features(rule: PairRule, sequences: SequenceSet) -> bool:
    """Say whether features of sequences are listed sooner than all pairs of their words are compared."""
    n_pairs = (sequences.lengths.astype(np.float64) ** 2).sum() / 2
    return FEATURE_COST * rule.n_choices * sequences.n_letters < n_pairs


def pair_matrix(rule: PairRule, A: WordList, B: WordList) -> np.ndarray:
    """Return Σ over pairs of words of A_i and B_j; the words of both strands where the rule reads both."""
    from .._fast.sparse import mirror

    low_size = rule.size ** (rule.length // 2)
    left = _Halves.of(A, low_size)
    right = left if A is B else _Halves.of(B, low_size)
    out: np.ndarray = np.zeros((len(A), len(B)))
    for weight, columns in rule.choices():
        keys = _key_tables(rule, columns, low_size)
        n_keys = rule.size ** len(columns)
        if _is_dense(left, right, n_keys):
            _add_dense(left, right, keys, n_keys, weight, out)
        else:
            _add_shared(left, right, keys, n_keys, weight, out, triangle=A is B)
    if A is B:
        mirror(out)
    return out


@dataclass
class _Halves:
    """Words as their upper and their lower letters."""

    high: np.ndarray
    low: np.ndarray
    starts: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, words: WordList, low_size: int) -> _Halves:
        from .._fast.word_pairs import split_words

        return cls(*split_words(words.numbers, low_size), words.starts, words.weights)

    @property
    def mean(self) -> float:
        """Words of a sequence, on average."""
        return len(self.high) / max(1, len(self.starts) - 1)

    @cached_property
    def most(self) -> float:
        """The largest sum of weights of a sequence, at the most."""
        return float(np.diff(self.starts).max(initial=0) * self.weights.max(initial=1.0))


def _key_tables(rule: PairRule, columns: tuple[int, ...], low_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what upper and lower letters add to the key of a word: the number that its letters at `columns` spell."""
    n_low, size = rule.length // 2, rule.size
    place = {column: size ** (len(columns) - 1 - i) for i, column in enumerate(columns)}
    tables = []
    for first, n_letters in ((0, rule.length - n_low), (rule.length - n_low, n_low)):
        numbers, out = np.arange(size**n_letters), np.zeros(size**n_letters, np.int32)
        for i in range(n_letters):
            letter = numbers // size ** (n_letters - 1 - i) % size
            out += (place.get(first + i, 0) * letter).astype(np.int32)
        tables.append(out)
    return tables[0], tables[1]


def _is_dense(left: _Halves, right: _Halves, n_keys: int) -> bool:
    """Say whether keys are so few that a product of dense matrices is quicker than a sum over shared keys."""
    n = len(left.starts) + len(right.starts)
    shared = left.mean * min(1.0, right.mean / n_keys)
    return 4 * DENSE_COST * n_keys < shared and 8 * n_keys * n <= DENSE_BYTES


def _add_dense(left: _Halves, right: _Halves, keys: tuple, n_keys: int, weight: float, out: np.ndarray) -> None:
    from .._fast.word_pairs import spread_words

    exact = left.most * right.most <= MAX_SINGLE
    spread = [np.zeros((len(one.starts) - 1, n_keys), np.float32 if exact else np.float64) for one in (left, right)]
    for one, counts in zip((left, right), spread, strict=True):
        spread_words(one.high, one.low, *keys, one.starts, one.weights, counts)
        if left is right:
            break
    clock.check()
    product = spread[0] @ (spread[0] if left is right else spread[1]).T
    out += np.multiply(product, weight, dtype=np.float64)


def _add_shared(
    left: _Halves, right: _Halves, keys: tuple, n_keys: int, weight: float, out: np.ndarray, triangle: bool
) -> None:
    from .._fast.word_pairs import add_pairs, bucket_rows, merge_rows

    *found, repeats = bucket_rows(right.high, right.low, *keys, right.starts, right.weights, n_keys)
    rows, sums, buckets = merge_rows(*found) if repeats > MAX_REPEATS * len(right.high) else found
    shared = max(1.0, len(left.high) * len(rows) / n_keys)
    given = left.high, left.low, *keys, left.starts, left.weights
    for part in blocks(len(out), max(1, int(len(out) * BURST / shared))):
        add_pairs(*given, part.start, rows, sums, buckets, triangle, weight, out[part])


def own_values(kernel: WordPairKernel, sequences: SequenceSet, rule: PairRule) -> np.ndarray:
    """Return k(x, x): pair by pair, and of long sequences through a table of all words."""
    out, n_pairs = np.zeros(len(sequences)), sequences.lengths.astype(np.float64) ** 2
    is_long = n_pairs > max(MIN_LONG, PAIRS_PER_ENTRY * rule.n_words)
    for r in np.flatnonzero(is_long):
        words = kernel.word_list(sequences.rows(np.array([r])), rule)
        table = summed_table(rule, words, np.zeros(1, np.int64), np.ones(1))
        out[r] = table_scores(words, table)[0]
    chosen = np.flatnonzero(~is_long)
    mean = max(1.0, n_pairs[chosen].sum() / max(1, len(chosen)))
    for part in blocks(len(chosen), max(1, int(PAIR_BURST / mean))):
        out[chosen[part]] = _by_pairs(kernel, sequences.rows(chosen[part]), rule)
    return out


def _by_pairs(kernel: WordPairKernel, some: SequenceSet, rule: PairRule) -> np.ndarray:
    from .._fast.word_pairs import own_values

    places = np.arange(some.n_letters) - np.repeat(some.offsets[:-1], some.lengths)
    weights = kernel.place_weights(places, np.repeat(some.lengths - rule.length + 1, some.lengths))
    both, values = rule.complement is not None, np.empty(len(some))
    own_values(
        some.flat_codes(),
        some.offsets,
        np.empty(0) if weights is None else weights.astype(np.float64),
        rule.length,
        rule.size,
        rule.profile[: np.flatnonzero(rule.profile).max(initial=0) + 1],
        rule.complement if both else np.zeros(256, np.uint8),
        both,
        values,
    )
    return values


# -- tables of all words ---------------------------------------------------------------------------------------------


def summed_table(
    rule: PairRule, words: WordList, rows: np.ndarray, coef: np.ndarray, n_jobs: int = 1
) -> np.ndarray:
    """Return s(u) = Σ_q coef[q] Σ_{v in sequence rows[q]} w_v profile[d(u, v)] for every word u, (size^length,).

    Sums of the coefficients of every word are taken to the eigenvectors of the profile, multiplied by its eigenvalues,
    and taken back: a few passes over the table, however many sequences there are.
    """
    from .._fast.word_pairs import add_words, flip_words

    table = np.zeros(rule.n_words)
    given = words.starts, words.weights, rows, coef
    add_words(words.numbers, *given, table)
    if rule.complement is not None:
        add_words(flip_words(words.numbers, rule.length, rule.size, rule.complement), *given, table)
    transform(rule, table, n_jobs)
    return table


def transform(rule: PairRule, table: np.ndarray, n_jobs: int = 1) -> None:
    """Multiply a table of all words, in place, by the matrix profile[d(u, v)]."""
    from .._fast.word_pairs import reflect_columns, reflect_rows, scale_levels

    view = table.reshape(-1, rule.size ** (rule.length // 2))
    for_rows = max(1, (1 << 16) // view.shape[1])

    def turn(columns: bool) -> None:
        if columns:
            for_blocks(lambda part: reflect_columns(view, rule.size, part.start, part.stop), view.shape[1], 32, n_jobs)
        else:
            for_blocks(lambda part: reflect_rows(view, rule.size, part.start, part.stop), len(view), for_rows, n_jobs)

    turn(False)
    turn(True)
    for_blocks(lambda part: scale_levels(view, rule.size, rule.values, part.start, part.stop), len(view), for_rows, n_jobs)
    turn(True)
    turn(False)


def table_scores(words: WordList, table: np.ndarray, n_jobs: int = 1) -> np.ndarray:
    """Return Σ_{u in x} w_u s(u) of every sequence."""
    from .._fast.word_pairs import look_up_words

    out = np.empty(len(words))
    size = max(1, len(words) * (1 << 20) // max(1, len(words.numbers)))
    for_blocks(lambda part: look_up_words(*words.arrays, table, part.start, out[part]), len(words), size, n_jobs)
    return out
