"""Shuffled letters keep their pairs, and all orders that do are equally likely; maxima are those found by hand."""

from collections import Counter
from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from kernelweave._fast.shuffle import STRETCH, local_maxima, shuffle_pairs


def pairs(codes):
    return Counter(zip(codes[:-1].tolist(), codes[1:].tolist(), strict=True))


@given(st.lists(st.integers(0, 4), max_size=80), st.integers(0, 2**63))
@settings(max_examples=200, deadline=None)
def test_pairs_and_unknown_letters_stay(codes, seed):
    before = np.array(codes, np.uint8)
    after = before.copy()
    shuffle_pairs(after, 4, np.uint64(seed))
    assert pairs(after) == pairs(before)
    np.testing.assert_array_equal(after == 4, before == 4)


def test_stretches_keep_their_own_letters(rng):
    before = rng.integers(0, 4, 3 * STRETCH // 2).astype(np.uint8)
    before[STRETCH:] = rng.integers(0, 2, STRETCH // 2)
    after = before.copy()
    shuffle_pairs(after, 4, np.uint64(7))
    assert pairs(after) == pairs(before)
    assert after[STRETCH:].max() == 1
    assert (after != before).mean() > 0.3


def test_all_orders_with_the_same_pairs_are_equally_likely():
    codes = np.array([0, 1, 2, 0, 2, 1, 0, 0, 1], np.uint8)
    wanted = pairs(codes)
    orders = {order for order in permutations(codes.tolist()) if pairs(np.array(order)) == wanted and order[0] == 0}
    seen = Counter()
    for seed in range(40 * len(orders)):
        drawn = codes.copy()
        shuffle_pairs(drawn, 3, np.uint64(seed * 7919))
        seen[tuple(drawn.tolist())] += 1
    assert set(seen) == orders
    assert chisquare(list(seen.values())).pvalue > 1e-4


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 4)), max_size=30),
    st.integers(1, 12),
)
def test_maxima_are_those_found_pair_by_pair(rows, width):
    rows = sorted(rows, key=lambda row: row[0])
    starts = np.array([row[0] for row in rows], np.int64)
    scores = np.array([row[1] for row in rows], np.float64)
    expected = [
        not any(
            abs(starts[other] - starts[t]) < width and (scores[other], -other) > (scores[t], -t)
            for other in range(len(rows))
            if other != t
        )
        for t in range(len(rows))
    ]
    assert local_maxima(starts, scores, width).tolist() == expected
