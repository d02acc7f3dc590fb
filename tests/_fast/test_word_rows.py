"""Windows that slide over a sequence by rows of all places, against letters compared one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave._fast.linadd import pack_places
from kernelweave._fast.word_bounds import build_bounds, may_reach
from kernelweave._fast.word_rows import CHUNK, _slide, build_rows, slide_run
from kernelweave._fast.word_trie import sort_words

UNKNOWN = 255


def naive(letters, coef, beta, codes, starts):
    """Every window against every support sequence: from each place on, letters agree until two differ."""
    length, degree = beta.shape
    scores = np.zeros(len(starts))
    for n, start in enumerate(starts):
        for q, weight in enumerate(coef):
            for i in range(length):
                for k in range(min(degree, length - i)):
                    letter = letters[i + k, q]
                    if letter == UNKNOWN or letter != codes[start + i + k]:
                        break
                    scores[n] += weight * beta[i, k]
    return scores


def slid(rows, codes, first, n):
    out = np.zeros(n)
    slide_run(rows, pack_places(codes), first, out)
    return out


def drawn(rng, length, n, letters=4, unknown=0.0):
    codes = rng.integers(0, letters, (length, n)).astype(np.uint8)
    codes[rng.random((length, n)) < unknown] = UNKNOWN
    return codes


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 20),
    st.integers(1, 12),
    st.integers(1, 25),
    st.integers(1, 6),
    st.integers(1, 4),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_windows_are_those_compared_letter_by_letter(seed, length, degree, n, cap, n_letters, even):
    rng = np.random.default_rng(seed)
    letters = drawn(rng, length, n, n_letters, 0.05)
    coef, beta = rng.normal(size=n), rng.random((length, degree))
    beta = np.tile(beta[:1], (length, 1)) if even else beta
    codes = drawn(rng, length + 9, 1, n_letters)[:, 0]
    expected = naive(letters, coef, beta, codes, range(10))
    rows = build_rows(sort_words(letters, coef, beta), cap, 1 << 20)
    np.testing.assert_allclose(slid(rows, codes, 0, 10), expected, rtol=1e-12, atol=1e-12 * np.abs(coef).sum())


def test_support_sequences_that_repeat_each_other(rng):
    """Words that more sequences share than a list may have, down to the last letter."""
    letters = np.repeat(drawn(rng, 14, 3), 7, axis=1)
    coef, beta, codes = rng.normal(size=21), rng.random((14, 6)), letters[:, 0].copy()
    rows = build_rows(sort_words(letters, coef, beta), 2, 1 << 20)
    assert len(rows.rows) > 1
    np.testing.assert_allclose(slid(rows, codes, 0, 1), naive(letters, coef, beta, codes, [0]), rtol=1e-12)


def test_words_that_agree_in_more_letters_than_are_sorted(rng):
    codes = drawn(rng, 60, 1)[:, 0]
    letters = np.stack([codes[s : s + 40] for s in range(12)] * 3, axis=1)
    letters[rng.random(letters.shape) < 0.02] ^= 1
    coef, beta = rng.normal(size=36), rng.random((40, 25))
    expected = naive(letters, coef, beta, codes, range(21))
    for cap in (2, 100):
        rows = build_rows(sort_words(letters, coef, beta), cap, 1 << 20)
        np.testing.assert_allclose(slid(rows, codes, 0, 21), expected, rtol=1e-12, atol=1e-12 * np.abs(coef).sum())


def test_fewer_rows_where_there_is_no_room_for_more(rng):
    letters, coef, beta = np.repeat(drawn(rng, 12, 60), 5, axis=1), rng.normal(size=300), rng.random((12, 11))
    codes = np.append(letters[:, 0], drawn(rng, 28, 1)[:, 0])
    many, few = (
        build_rows(sort_words(letters, coef, beta), 2, 1 << 20),
        build_rows(sort_words(letters, coef, beta), 2, 400),
    )
    assert len(few.rows) <= 400 // 12 < len(many.rows)
    np.testing.assert_allclose(slid(few, codes, 0, 29), slid(many, codes, 0, 29), rtol=1e-12, atol=1e-12)


def test_long_sequences_pass_in_chunks(rng):
    """Words of one chunk are sorted; windows across two chunks are sums of both."""
    letters, coef, beta = drawn(rng, 30, 300), rng.normal(size=300), rng.random((30, 9))
    codes = drawn(rng, 20_000, 1)[:, 0]
    rows = build_rows(sort_words(letters, coef, beta), 4, 1 << 20)
    whole = slid(rows, codes, 0, 19_971)
    for chunk in (1, 29, 30, 999, 19_970, 19_971, 20_000, 30_000):
        out = np.zeros(19_971 if chunk > 100 else 200)
        _slide(rows, pack_places(codes), 0, chunk, out)
        np.testing.assert_array_equal(out, whole[: len(out)])
    some = rng.integers(0, 19_971, 20)
    np.testing.assert_allclose(whole[some], naive(letters, coef, beta, codes, some), rtol=1e-12, atol=1e-12)


def test_the_same_bits_wherever_a_sequence_is_cut(rng):
    letters, coef, beta = drawn(rng, 30, 50, unknown=0.02), rng.normal(size=50), rng.random((30, 5))
    codes = drawn(rng, CHUNK + 77, 1)[:, 0]
    rows = build_rows(sort_words(letters, coef, beta), 4, 1 << 20)
    n = len(codes) - 29
    whole = slid(rows, codes, 0, n)
    for first, last in ((0, 1), (5, CHUNK + 5), (CHUNK - 1, n), (CHUNK // 2, CHUNK // 2 + 1), (n - 3, n)):
        np.testing.assert_array_equal(slid(rows, codes, first, last - first), whole[first:last])


def test_words_without_room_for_their_place_have_no_rows(rng):
    letters, beta = drawn(rng, 40, 3), np.ones((40, 32))
    assert build_rows(sort_words(letters, np.ones(3), beta), 4, 1 << 20) is None


@pytest.mark.parametrize("coef", [np.zeros(4), np.array([1e300, -1e300, 1.0, 0.0]), np.full(4, 1e-300)])
def test_coefficients_of_any_size(coef, rng):
    letters, beta, codes = drawn(rng, 10, 4, 2), rng.random((10, 4)), drawn(rng, 12, 1, 2)[:, 0]
    found = slid(build_rows(sort_words(letters, coef, beta), 1, 1 << 20), codes, 0, 3)
    unit = np.abs(coef).max() * 1e-12
    np.testing.assert_allclose(found, naive(letters, coef, beta, codes, range(3)), rtol=1e-9, atol=unit)


# -- bounds ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 12), st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_no_window_that_reaches_a_threshold_is_missed(seed, length, degree, cap, n_letters):
    rng = np.random.default_rng(seed)
    letters = drawn(rng, length, 15, n_letters, 0.05)
    coef, beta = rng.normal(size=15), rng.random((length, degree))
    codes = drawn(rng, length + 9, 1, n_letters)[:, 0]
    scores = naive(letters, coef, beta, codes, range(10))
    bounds, may = build_bounds(sort_words(letters, coef, beta), cap, 1 << 20), np.empty(10, bool)
    for threshold in (*scores, -1e9, 1e9):
        may_reach(bounds, pack_places(codes), 0, threshold, may)
        assert may[scores >= threshold].all()


def test_bounds_are_close(rng):
    """Without lists, which may add something, only the rounding to 16 bits is between a bound and the score."""
    letters, coef, beta = drawn(rng, 20, 200), rng.normal(size=200), rng.random((20, 4))
    codes = drawn(rng, 2067, 1)[:, 0]
    words = sort_words(letters, coef, beta)
    scores = slid(build_rows(words, 1, 1 << 20), codes, 0, 2048)
    bounds, may = build_bounds(words, 0, 1 << 20), np.empty(2048, bool)
    for threshold in np.quantile(scores, (0.5, 0.9, 0.99)):
        may_reach(bounds, pack_places(codes), 0, threshold, may)
        assert may[scores >= threshold].all()
        assert not may[scores < threshold - 45 * bounds.unit].any()
