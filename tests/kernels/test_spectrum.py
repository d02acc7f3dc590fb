"""The spectrum kernel: its twin, its readable features, SHOGUN's matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_kmers as naive
from kernelweave import InputError, Spectrum, parse
from kernelweave.kernels import Only
from kernelweave.sequences import ALPHABETS, BYTES, DNA, PROTEIN, RNA, TEXT, Alphabet
from kernelweave.testing import check_kernel
from kernelweave.views import as_views
from naive_strings import oracle

#: Letters to draw from (few, so that words repeat), some of them unknown; the ÿ of "bytes" has the code 255.
LETTERS = {"dna": "ACGTN", "rna": "ACGU", "protein": "ACWYX", "bytes": "ab\x00\xff", "text": "ab é"}
pytestmark = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.errors.DataWarning")


@st.composite
def sets(draw, names=tuple(LETTERS)):
    """An alphabet's name and two lists of sequences over it: short, long, repeated, of any length from 1."""
    name = draw(st.sampled_from(names))
    text = st.text(LETTERS[name], min_size=1, max_size=14)
    repeats = st.builds(str.__mul__, st.text(LETTERS[name], min_size=1, max_size=3), st.integers(1, 12))
    rows = st.lists(text | repeats, min_size=1, max_size=5)
    return name, draw(rows), draw(rows)


@given(sets(), st.integers(1, 14), st.sampled_from(["count", "binary", "frequency"]))
def test_it_is_its_naive_twin(data, k, values):
    name, X, Y = data
    kernel = Spectrum(k, values, alphabet=name)
    expected = naive.matrix(naive.spectrum, X, Y, ALPHABETS[name], k, values)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12)
    own = naive.matrix(naive.spectrum, X, X, ALPHABETS[name], k, values)
    np.testing.assert_allclose(kernel(X), own, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(own), rtol=1e-12)
    other = naive.matrix(naive.spectrum, Y, Y, ALPHABETS[name], k, values)
    cosine = naive.cosine(expected, np.diagonal(own), np.diagonal(other))
    np.testing.assert_allclose(kernel.normalized()(X, Y), cosine, rtol=1e-12, atol=1e-15)


@given(sets(("dna", "rna")), st.integers(1, 6))
def test_both_strands_are_one(data, k):
    name, X, Y = data
    if name == "rna":
        X, Y = ([s.replace("U", "T") for s in rows] for rows in (X, Y))
        name = "dna"
    kernel = Spectrum(k, reverse_complement=True, alphabet=name)
    expected = naive.matrix(naive.spectrum, X, Y, DNA, k, "count", True)
    np.testing.assert_array_equal(kernel(X, Y), expected)
    flip = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}
    turned = ["".join(flip[c] for c in reversed(s)) for s in X]
    np.testing.assert_array_equal(kernel(turned, Y), expected)


@given(sets(), st.integers(1, 4), st.integers(0, 2), st.data())
def test_lengths_add_up(data, least, more, draw):
    name, X, Y = data
    weights = draw.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=more + 1, max_size=more + 1))
    kernel = Spectrum(least + more, min_k=least, weights=weights, alphabet=name)
    single = [w * Spectrum(least + i, alphabet=name)(X, Y) for i, w in enumerate(weights)]
    np.testing.assert_allclose(kernel(X, Y), sum(single), rtol=1e-12)
    terms = kernel.split("degree").terms(as_views(X))
    assert [term.degree for term in terms] == list(range(least, least + more + 1))
    for term, K in zip(terms, single, strict=True):
        np.testing.assert_allclose(term(X, Y), K, rtol=1e-12)
        assert parse(repr(term)) == term
    parts = kernel.normalized().split("degree").terms(as_views(X))
    whole = kernel.normalized()(X, Y)
    np.testing.assert_allclose(sum(part(X, Y) for part in parts), whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(3),
        Spectrum(2, "binary"),
        Spectrum(3, "frequency", 1, [1.0, 0.5, 2.0]),
        Spectrum(3, reverse_complement=True),
        Spectrum(40),
        2.0 * Spectrum(4, min_k=2).normalized(),
    ],
    ids=repr,
)
def test_it_is_a_kernel(kernel, rng):
    X = ["".join(rng.choice(list("ACGT"), rng.integers(1, 90))) for _ in range(15)] + ["ACGT" * 15, "ACGT" * 15]
    check_kernel(kernel, X)
    check_kernel(kernel, X, ["ACGT", "A" * 80])


@pytest.mark.parametrize(
    "kernel",
    [Spectrum(3), Spectrum(2, "binary"), Spectrum(3, "frequency", 2, [1.0, 0.5]), Spectrum(4, reverse_complement=True)],
    ids=repr,
)
def test_readable_features(kernel):
    X = ["GATTACANGATTACA", "ACGTACGT", "TTT"]
    vectors = [naive.vector_of(kernel, x) for x in X]
    K = [[naive.dot(a, b) for b in vectors] for a in vectors]
    np.testing.assert_allclose(kernel(X), K, rtol=1e-12)


@pytest.mark.parametrize("k", [3, 6, 8])
def test_matrices_of_shogun(k):
    data = oracle()
    X = data["sequences"]
    np.testing.assert_allclose(Spectrum(k)(X), data["kernels"][f"Spectrum(k={k})"], rtol=1e-9)
    binary = data["kernels"][f"Spectrum(k={k}, presence only)"]
    np.testing.assert_allclose(Spectrum(k, "binary")(X), binary, rtol=1e-9)


@pytest.mark.parametrize("alphabet", [DNA, RNA, PROTEIN, BYTES, TEXT, Alphabet("abc", name="abc")], ids=str)
def test_alphabets_may_be_given_whole(alphabet):
    X = ["".join(alphabet.letters[i % alphabet.size] for i in range(n)) for n in (3, 9, 40)]
    expected = naive.matrix(naive.spectrum, X, X, alphabet, 3)
    np.testing.assert_array_equal(Spectrum(3, alphabet=alphabet)(X), expected)


def test_short_sequences_are_like_nothing():
    X = ["ACG", "ACGTACGT", "AC"]
    assert (Spectrum(4)(X)[[0, 2]] == 0).all()
    assert Spectrum(4).normalized()(X)[0, 0] == 0
    np.testing.assert_array_equal(Spectrum(4).normalized().diag(X), [0, 1, 0])


def test_many_blocks_give_the_same(monkeypatch, rng):
    X = ["".join(rng.choice(list("ACGTN"), n, p=[0.24] * 4 + [0.04])) for n in rng.integers(1, 40, 30)]
    kernels = [Spectrum(3), Spectrum(12), Spectrum(3, alphabet="text"), Spectrum(40)]
    expected = [kernel(X, X[::2]) for kernel in kernels]
    monkeypatch.setattr("kernelweave.kernels.vocabulary.BLOCK_KEYS", 50)
    for kernel, K in zip(kernels, expected, strict=True):
        np.testing.assert_array_equal(kernel(X, X[::2]), K)


def test_dense_and_sparse_products_agree(monkeypatch, rng):
    X = ["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(1, 80, 30)]
    K = {}
    for cost in (0.0, np.inf):
        monkeypatch.setattr("kernelweave.kernels.sparse_rows.DENSE_COST", cost)
        K[cost] = Spectrum(3)(X, X[:7])
    np.testing.assert_array_equal(K[0.0], K[np.inf])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Spectrum(0), "whole number k ≥ 1; got 0"),
        (Spectrum(2.5), "whole number k"),
        (Spectrum(3, min_k=4), "min_k ≤ k; got min_k=4 and k=3"),
        (Spectrum(3, "presence"), "choose one of count, binary, frequency"),
        (Spectrum(3, min_k=2, weights=[1.0]), "weights must be 2 finite numbers"),
        (Spectrum(3, weights=[-1.0]), "finite numbers ≥ 0"),
        (Spectrum(33, reverse_complement=True), "at most 32 letters of the dna alphabet"),
        (Only(Spectrum(3), degree=2), "has words of 3 to 3 letters, not of 2"),
    ],
)
def test_errors_teach(kernel, message):
    with pytest.raises(InputError, match=message):
        kernel(["ACGT", "GATTACA"])


def test_no_complement():
    with pytest.raises(InputError, match="protein alphabet has no complement"):
        Spectrum(3, reverse_complement=True, alphabet="protein")(["ACDE"])
    with pytest.raises(InputError, match="split it by 'degree'"):
        Spectrum(3).split("position")
