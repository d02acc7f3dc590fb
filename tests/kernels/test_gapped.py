"""The gapped k-mer kernel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_kmers as naive
from kernelweave import GappedKmer, InputError, Spectrum
from kernelweave.sequences import ALPHABETS, DNA
from kernelweave.testing import check_kernel

LETTERS = {"dna": "ACGTN", "rna": "ACGU", "protein": "ACWYX", "bytes": "ab\x00\xff", "text": "ab é"}
pytestmark = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.errors.DataWarning")


@given(st.sampled_from(sorted(LETTERS)), st.data())
def test_it_is_its_naive_twin(name, data):
    rows = st.lists(st.text(LETTERS[name], min_size=1, max_size=12), min_size=1, max_size=4)
    X, Y, length = data.draw(rows), data.draw(rows), data.draw(st.integers(1, 6))
    k = data.draw(st.integers(1, length))
    kernel = GappedKmer(length, k, alphabet=name)
    expected = naive.matrix(naive.gapped, X, Y, ALPHABETS[name], length, k)
    np.testing.assert_array_equal(kernel(X, Y), expected)
    np.testing.assert_array_equal(naive.matrix(naive.gapped_features, X, Y, ALPHABETS[name], length, k), expected)
    own = naive.matrix(naive.gapped, X, X, ALPHABETS[name], length, k)
    np.testing.assert_array_equal(kernel(X), own)
    np.testing.assert_array_equal(kernel.diag(X), np.diagonal(own))


@given(st.data())
def test_both_strands(data):
    rows = st.lists(st.text("ACGTN", min_size=1, max_size=12), min_size=1, max_size=4)
    X, Y, length = data.draw(rows), data.draw(rows), data.draw(st.integers(1, 6))
    k = data.draw(st.integers(1, length))
    kernel = GappedKmer(length, k, reverse_complement=True, alphabet="dna")
    np.testing.assert_allclose(kernel(X, Y), naive.matrix(naive.gapped, X, Y, DNA, length, k, True), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [GappedKmer(), GappedKmer(6, 4, True), GappedKmer(12, 11), GappedKmer(7, 3).normalized()], ids=repr
)
def test_it_is_a_kernel(kernel, rng):
    X = ["".join(rng.choice(list("ACGT"), rng.integers(1, 50))) for _ in range(12)]
    check_kernel(kernel, [*X, X[0], "A" * 30])


def test_without_gaps_it_is_the_spectrum(rng):
    X = ["".join(rng.choice(list("ACGT"), rng.integers(1, 50))) for _ in range(12)]
    np.testing.assert_array_equal(GappedKmer(6, 6)(X), Spectrum(6)(X))


@pytest.mark.parametrize("both", [False, True])
def test_readable_features(both):
    kernel, X = GappedKmer(4, 2, both, "dna"), ["ACGTNACGT", "ACTT", "TT"]
    vectors = [naive.vector_of(kernel, x) for x in X]
    np.testing.assert_allclose(kernel(X), [[naive.dot(a, b) for b in vectors] for a in vectors], rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (GappedKmer(4, 5), "k ≤ length; got k=5 and length=4"),
        (GappedKmer(0, 1), "whole number length ≥ 1"),
        (GappedKmer(40, 20), "choices of columns; at most 20,000"),
        (GappedKmer(11, 9, alphabet="text"), "at most 8 letters of the text alphabet"),
    ],
)
def test_errors_teach(kernel, message):
    with pytest.raises(InputError, match=message):
        kernel(["ACGT", "GATTACA"])
