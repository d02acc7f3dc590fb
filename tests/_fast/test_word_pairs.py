"""Pairs of words: every compiled loop against a few obvious lines."""

import numpy as np
import pytest

from kernelweave._fast import word_pairs as fast
from kernelweave.kernels.pair_rules import PairRule, WordList
from kernelweave.kernels.pair_tables import summed_table, table_scores, transform
from kernelweave.sequences import DNA, as_sequences


def digits(number, length, size):
    return [number // size ** (length - 1 - i) % size for i in range(length)]


def apart(length, size):
    """How many letters differ, for all pairs of words."""
    every = np.array([digits(number, length, size) for number in range(size**length)])
    return (every[:, None] != every[None]).sum(axis=2)


def flip(numbers, length):
    return PairRule(length, 4, [1] * (length + 1), DNA.complement_table).flipped(numbers)


def test_words_are_numbers_and_skip_what_is_unknown():
    codes = np.array([0, 1, 2, 9, 3, 3, 0, 1, 1], np.uint8)
    numbers, places, starts = fast.word_numbers(codes, np.array([0, 7, 7, 9]), 2, 4)
    assert numbers.tolist() == [1, 6, 15, 12, 5]
    assert places.tolist() == [0, 1, 4, 5, 0]
    assert starts.tolist() == [0, 4, 4, 5]
    flipped = flip(numbers, 2)
    assert flipped.dtype == np.int32
    assert [digits(n, 2, 4) for n in flipped] == [[2, 3], [1, 2], [0, 0], [3, 0], [2, 2]]


@pytest.mark.parametrize(("length", "size"), [(1, 4), (2, 3), (4, 4), (3, 5), (5, 2)])
def test_a_table_times_the_matrix_of_all_pairs(length, size, rng):
    profile = [int(value) for value in rng.integers(-5, 9, length + 1)]
    rule, table = PairRule(length, size, profile), rng.normal(size=size**length)
    expected = np.array(profile, dtype=float)[apart(length, size)] @ table
    for n_jobs in (1, 2):
        found = table.copy()
        transform(rule, found, n_jobs)
        np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_the_other_strand_of_a_word(length, rng):
    numbers = rng.integers(0, 4**length, 20).astype(np.int32)
    for number, other in zip(numbers, flip(numbers, length), strict=True):
        expected = [DNA.complement_table[letter] for letter in reversed(digits(number, length, 4))]
        assert digits(other, length, 4) == expected


@pytest.mark.parametrize(("length", "size"), [(3, 3), (2, 4), (4, 2), (1, 5)])
def test_reflections_undo_themselves(length, size, rng):
    block = rng.normal(size=(size**length, 7))
    turned = block.copy()
    fast.reflect(turned, size)
    assert np.abs(turned - block).max() > 0.1
    np.testing.assert_allclose(np.linalg.norm(turned), np.linalg.norm(block))
    v = np.eye(size)[0] - size**-0.5
    along = np.eye(size) - 2.0 * np.outer(v, v) / (v @ v)
    expected = block.reshape(*[size] * length, 7)
    for letter in range(length):
        expected = np.moveaxis(np.tensordot(along, expected, (1, letter)), 0, letter)
    np.testing.assert_allclose(turned, expected.reshape(block.shape), atol=1e-13)
    fast.reflect(turned, size)
    np.testing.assert_allclose(turned, block, atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_by_a_table(weighted, rng):
    numbers, starts = rng.integers(0, 64, 30).astype(np.int32), np.array([0, 10, 10, 30])
    weights = rng.integers(1, 9, 30 if weighted else 0).astype(np.float32)
    words, coef = WordList(numbers, starts, weights), rng.normal(size=3)
    rule = PairRule(3, 4, [7, 3, 1, 0], DNA.complement_table)
    found = table_scores(words, summed_table(rule, words, np.arange(3), coef))
    w = weights if weighted else np.ones(30)
    owner, profile = np.repeat(np.arange(3), np.diff(starts)), np.array([7.0, 3.0, 1.0, 0.0])[apart(3, 4)]
    both = [numbers, flip(numbers, 3)]
    pairs = sum(profile[np.ix_(numbers, strand)] for strand in both) * np.outer(w, w)
    each = [[pairs[np.ix_(owner == i, owner == j)].sum() for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(found, np.array(each) @ coef, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("triangle", [False, True])
def test_shared_keys(weighted, merged, triangle, rng):
    numbers, starts = rng.integers(0, 12, 40).astype(np.int32), np.array([0, 15, 15, 22, 40])
    weights = rng.integers(1, 9, 40 if weighted else 0).astype(np.float32)
    high, low = np.divmod(numbers, np.int32(4))
    upper, lower = np.array([0, 2, 0], np.int32), np.array([0, 0, 1, 1], np.int32)  # a key of two bits
    keys, w = upper[high] + lower[low], weights if weighted else np.ones(40)
    *found, repeats = fast.bucket_rows(high, low, upper, lower, starts, weights, 4)
    assert repeats > 0
    rows, sums, buckets = fast.merge_rows(*found) if merged else found
    out = np.zeros((2, 4))
    fast.add_pairs(high, low, upper, lower, starts, weights, 2, rows, sums, buckets, triangle, 0.5, out)
    owner = np.repeat(np.arange(4), np.diff(starts))
    counts = np.array([[w[(owner == r) & (keys == key)].sum() for key in range(4)] for r in range(4)])
    expected = 0.5 * counts[2:] @ counts.T
    if triangle:
        expected[0, 3] = 0.0
    np.testing.assert_allclose(out, expected)
    dense = np.zeros((4, 4))
    fast.spread_words(high, low, upper, lower, starts, weights, dense)
    np.testing.assert_allclose(dense, counts)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_own_pairs(both, weighted, rng):
    X = as_sequences(
        [
            "".join(rng.choice(list("ACGTN"), n, p=[0.3, 0.22, 0.22, 0.25, 0.01]))
            for n in (2, 3, 9, 24, 25, 63, 64, 130, 200)
        ],
        "dna",
    )
    codes, offsets = X.flat_codes(), X.offsets
    weights = rng.integers(1, 9, len(codes)).astype(np.float64) if weighted else np.ones(len(codes))
    numbers, places, starts = fast.word_numbers(codes, offsets, 3, 4)
    known = np.repeat(offsets[:-1], np.diff(starts)) + places
    weights = np.where(np.isin(np.arange(len(codes)), known), weights, 0.0)
    profile = np.array([5.0, 2.0, 1.0])
    values = fast.own_values(codes, offsets, weights, 3, 2, profile, DNA.complement_table, both)
    strands = [numbers, flip(numbers, 3)][: 1 + both]
    whole = np.append(profile, 0.0)[apart(3, 4)]
    for r in range(len(X)):
        mine = slice(starts[r], starts[r + 1])
        w = weights[offsets[r] + places[mine]]
        expected = sum(w @ whole[np.ix_(numbers[mine], strand[mine])] @ w for strand in strands)
        np.testing.assert_allclose(values[r], expected)
