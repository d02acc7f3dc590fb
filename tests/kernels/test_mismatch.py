"""The mismatch kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_kmers as naive
from kernelweave import InputError, Mismatch, Spectrum
from kernelweave.sequences import ALPHABETS, Alphabet
from kernelweave.testing import check_kernel

pytestmark = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.errors.DataWarning")
#: Alphabet, letters to draw from, and the longest words whose twin is still quick.
CASES = [
    ("dna", "ACGTN", 4),
    ("rna", "ACGU", 3),
    ("protein", "ACWYX", 2),
    ("bytes", "ab\xff", 1),
    (Alphabet("abc", name="abc"), "abc", 4),
]


@settings(max_examples=40)
@given(st.sampled_from(CASES), st.data())
def test_it_is_its_naive_twin(case, data):
    alphabet, letters, longest = case
    rows = st.lists(st.text(letters, min_size=1, max_size=9), min_size=1, max_size=3)
    X, Y, k = data.draw(rows), data.draw(rows), data.draw(st.integers(1, longest))
    m = data.draw(st.integers(0, k - 1))
    known = ALPHABETS[alphabet] if isinstance(alphabet, str) else alphabet
    kernel = Mismatch(k, m, alphabet)
    np.testing.assert_array_equal(kernel(X, Y), naive.matrix(naive.mismatch, X, Y, known, k, m))
    own = naive.matrix(naive.mismatch, X, X, known, k, m)
    np.testing.assert_array_equal(kernel.diag(X), np.diagonal(own))


def test_text_of_any_bytes():
    X, Y = ["é é", "ab"], ["ab", "aé"]
    np.testing.assert_array_equal(Mismatch(1, 0, "text")(X, Y), Spectrum(1, alphabet="text")(X, Y))
    # two words with one letter in common share the 256 words that keep it, two without it none but each other's mixes
    assert Mismatch(2, 1, "bytes")([b"ab"], [b"ab", b"ac", b"cb", b"cd"]).tolist() == [[511, 256, 256, 2]]


@pytest.mark.parametrize("kernel", [Mismatch(), Mismatch(12, 1), Mismatch(4, 2).normalized()], ids=repr)
def test_it_is_a_kernel(kernel, rng):
    X = ["".join(rng.choice(list("ACGT"), rng.integers(1, 40))) for _ in range(12)]
    check_kernel(kernel, [*X, X[0], "A" * 30])


def test_no_mismatch_is_the_spectrum(rng):
    X = ["".join(rng.choice(list("ACGT"), rng.integers(1, 40))) for _ in range(12)]
    np.testing.assert_array_equal(Mismatch(5, 0)(X), Spectrum(5)(X))


def test_readable_features():
    kernel, X = Mismatch(3, 1, "dna"), ["ACGTN", "ACT", "TT"]
    vectors = [naive.vector_of(kernel, x) for x in X]
    np.testing.assert_array_equal(kernel(X), [[naive.dot(a, b) for b in vectors] for a in vectors])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Mismatch(3, 3), "fewer mismatches than letters; got k=3 and mismatches=3"),
        (Mismatch(3, -1), "whole number mismatches ≥ 0"),
        (Mismatch(33, 1, "dna"), "at most 32 letters"),
        (Mismatch(5, 2, "text"), "651,526 neighbours for every word of 5 letters of text"),
    ],
)
def test_errors_teach(kernel, message):
    with pytest.raises(InputError, match=message):
        kernel(["ACGT", "GATTACA"])
