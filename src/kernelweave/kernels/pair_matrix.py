"""Sums over pairs of words of many sequences: those that agree at some columns are found by their letters there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import clock
from ..parallel import blocks
from .pair_rules import PairRule, WordList
from .sparse_rows import BURST, DENSE_BYTES, DENSE_COST, MAX_SINGLE

#: The share of words that a sequence shows again above which they are counted first.
MAX_REPEATS = 0.2


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
        high, low = np.divmod(words.numbers, np.int32(low_size))
        return cls(high, low, words.starts, words.weights)

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


def _add_dense(
    left: _Halves, right: _Halves, keys: tuple[np.ndarray, np.ndarray], n_keys: int, weight: float, out: np.ndarray
) -> None:
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
    left: _Halves,
    right: _Halves,
    keys: tuple[np.ndarray, np.ndarray],
    n_keys: int,
    weight: float,
    out: np.ndarray,
    triangle: bool,
) -> None:
    from .._fast.word_pairs import add_pairs, bucket_rows, merge_rows

    *found, repeats = bucket_rows(right.high, right.low, *keys, right.starts, right.weights, n_keys)
    rows, sums, buckets = merge_rows(*found) if repeats > MAX_REPEATS * len(right.high) else found
    shared = max(1.0, len(left.high) * len(rows) / n_keys)
    given = left.high, left.low, *keys, left.starts, left.weights
    for part in blocks(len(out), max(1, int(len(out) * BURST / shared))):
        add_pairs(*given, part.start, rows, sums, buckets, triangle, weight, out[part])
