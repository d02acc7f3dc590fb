import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave._fast import bits, jit


@jit
def _counts(values, out):
    for i in range(len(values)):
        out[i, 0] = bits.popcount(values[i])
        out[i, 1] = bits.leading_zeros(values[i])


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
@settings(deadline=None)
def test_bit_counts(numbers):
    values = np.array([0, 1, 2**63, *numbers], np.uint64)
    out = np.empty((len(values), 2), np.int64)
    _counts(values, out)
    for value, row in zip(values.tolist(), out.tolist(), strict=True):
        text = f"{value:064b}"
        assert row == [text.count("1"), len(text) - len(text.lstrip("0"))]


def random_codes(rng, n, length, n_letters, ambiguous=0.1):
    codes = rng.integers(0, n_letters, (n, length)).astype(np.uint8)
    codes[rng.random(codes.shape) < ambiguous] = bits.AMBIGUOUS
    return codes


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 64, 65, 141, 160, 161, 999, 2001])
@pytest.mark.parametrize("n", [1, 16, 70])
def test_planes_hold_every_letter(length, n):
    codes = random_codes(np.random.default_rng(length + n), n, length, 20)
    planes = bits.pack_planes(codes, 5)
    n_words = -(-length // 32)
    assert planes.shape == (6, n_words, -(-n // 16) * 16)
    assert planes.ctypes.data % 64 == 0
    for i in range(length):
        column = (planes[:, i % n_words, :n] >> np.uint32(i // n_words)) & 1
        valid = codes[:, i] != bits.AMBIGUOUS
        np.testing.assert_array_equal(column[5], valid)
        np.testing.assert_array_equal((column[:5].T @ (1 << np.arange(5)))[valid], codes[valid, i])
    assert not planes[5, :, n:].any()
    assert sum(int(word).bit_count() for word in planes[5].ravel()) == (codes != bits.AMBIGUOUS).sum()


@pytest.mark.parametrize("length", [1, 31, 32, 33, 96, 141])
def test_words_hold_two_bits_a_letter(length):
    codes = random_codes(np.random.default_rng(length), 5, length, 4)
    words = bits.pack_words(codes)
    for j in range(5):
        number = "".join(f"{int(word):064b}" for word in words[:, j])
        expected = "".join(f"{0 if c == bits.AMBIGUOUS else c:02b}" for c in codes[j])
        assert number == expected.ljust(len(number), "0")


def test_ambiguous_rows_and_runs():
    codes = np.array([[0, 1, 2], [255, 0, 255], [3, 3, 4], [1, 1, 1]], np.uint8)
    rows = bits.ambiguous_rows(codes, 4)
    assert rows.tolist() == [1, 2]
    assert bits.valid_runs(codes, rows, 4).T.tolist() == [[0, 1, 0], [2, 1, 0]]
