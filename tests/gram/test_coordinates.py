"""Features for coordinate descent: the normal reads and takes samples exactly as the matrix says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave import RBF, GappedKmer, Laplacian, Linear, Mismatch, Spectrum, WeightedDegree
from kernelweave.gram import Needs, bind
from kernelweave.gram.coordinates import fitting, short_letters
from kernelweave.views import as_views


def sequences(rng, n, length, letters="ACGT", unknown=0.0):
    """Sequences with much in common: a few parents, copied with changes."""
    parents = rng.choice(list(letters), (3, length))
    rows = parents[rng.integers(0, 3, n)]
    changed = rng.random(rows.shape) < 0.2
    rows[changed] = rng.choice(list(letters), int(changed.sum()))
    rows[rng.random(rows.shape) < unknown] = "N" if unknown else letters[0]
    return ["".join(row) for row in rows]


KERNELS = {
    "plain": WeightedDegree(degree=5, alphabet="dna"),
    "long words": WeightedDegree(degree=40, alphabet="dna"),
    "one letter": WeightedDegree(degree=1, alphabet="dna"),
    "normalised": WeightedDegree(degree=6, alphabet="dna").normalized(),
    "positions weigh": WeightedDegree(degree=4, position_weights=np.linspace(0, 2, 12), alphabet="dna"),
    "by degree": WeightedDegree(degree=4, alphabet="dna").split("degree"),
    "by position": WeightedDegree(degree=4, alphabet="dna").split("position"),
    "by both": WeightedDegree(degree=3, alphabet="dna").split("position", "degree"),
    "shifted": WeightedDegree(degree=5, shift=2, alphabet="dna"),
    "shifted, normalised": WeightedDegree(
        degree=4, shift=3, shift_weights=[1, 0.3, 0, 0.2], alphabet="dna"
    ).normalized(),
    "shifted, by degree": WeightedDegree(degree=4, shift=1, alphabet="dna").split("degree"),
    "spectrum": Spectrum(k=3, alphabet="dna"),
    "spectra": Spectrum(k=3, min_k=1, alphabet="dna").split("degree"),
    "normalised spectrum": Spectrum(k=2, alphabet="dna").normalized(),
    "mismatch": Mismatch(k=3, mismatches=1, alphabet="dna"),
    "gapped": GappedKmer(length=4, k=2, alphabet="dna"),
    "two families": WeightedDegree(degree=5, alphabet="dna").normalized() + WeightedDegree(degree=3, alphabet="dna"),
    "words and lists": WeightedDegree(degree=5, alphabet="dna").split("degree") + Spectrum(k=2, alphabet="dna"),
    "lists, words, lists": Spectrum(k=2, alphabet="dna").normalized()
    + WeightedDegree(degree=2, alphabet="dna")
    + GappedKmer(length=4, k=2, alphabet="dna"),
}


def gram_of(kernel, X):
    return bind(kernel, as_views(X), needs=Needs(no_matrix=True))


@pytest.mark.parametrize("unknown", [0.0, 0.03])
@pytest.mark.parametrize("name", KERNELS)
def test_reads_and_takes_as_the_matrix_says(name, unknown):
    rng = np.random.default_rng(len(name))
    gram = gram_of(KERNELS[name], sequences(rng, 60, 12, unknown=unknown))
    gram = gram.rescaled(rng.uniform(0.5, 2.0, gram.n_terms))
    rows = np.sort(rng.choice(60, 40, replace=False))
    assert gram.held.lists
    for _ in range(2):  # other weights on the same structure
        weights = rng.uniform(0.0, 1.0, gram.n_terms)
        K = gram.block(rows, rows, weights)
        descent = gram.coordinates(rows).at(weights)
        a = rng.normal(size=len(rows)) * (rng.random(len(rows)) < 0.6)
        assert np.allclose(descent.diag, np.diag(K), rtol=1e-12, atol=1e-12)
        descent.set(a)
        assert np.allclose(descent.f(a), K @ a, rtol=1e-10, atol=1e-10)


def test_adding_one_by_one_is_the_same_as_starting_afresh():
    from kernelweave._fast.coordinate import add

    rng = np.random.default_rng(0)
    gram = gram_of(KERNELS["plain"], sequences(rng, 50, 12))
    rows, a = np.arange(50), rng.normal(size=50)
    first, second = (gram._coordinates(rows).at(np.ones(1)) for _ in range(2))
    first.set(a)
    for i in rng.permutation(50):
        add(second.spaces[0], i, 0.25 * a[i])
        add(second.spaces[0], i, 0.75 * a[i])
    assert np.allclose(first.f(a), second.f(a), rtol=1e-10)


@settings(max_examples=25)
@given(
    st.integers(0, 2**20), st.integers(1, 8), st.integers(2, 9), st.integers(0, 10),
    st.sampled_from(["ACGT", "AC", "ARNDCQEGHILKMFPSTWYV"]),
)  # fmt: skip
def test_any_alphabet_length_degree_and_shift(seed, degree, length, shift, letters):
    rng = np.random.default_rng(seed)
    alphabet = "protein" if len(letters) > 4 else "dna"
    gram = gram_of(WeightedDegree(degree=degree, shift=shift, alphabet=alphabet), sequences(rng, 25, length, letters))
    a, rows = rng.normal(size=25), np.arange(25)
    descent = gram.coordinates(rows).at(np.ones(1))
    descent.set(a)
    K = gram.block(rows, rows, np.ones(1))
    assert np.allclose(descent.f(a), K @ a, atol=1e-10)
    assert np.allclose(descent.diag, np.diag(K), rtol=1e-12)
    assert np.allclose(gram.apply(a, np.ones(1)), K @ a, atol=1e-10)


def test_words_of_a_single_sequence_are_not_stored():
    # the first two share their start, the third has nothing in common with them at any position
    gram = gram_of(WeightedDegree(degree=3, alphabet="dna"), ["AAAA", "AAAC", "GGTG"])
    coordinates = gram.coordinates(np.arange(3))
    assert coordinates.short == 2
    shared = set(zip(coordinates.positions.tolist(), *coordinates.spans.T.tolist(), strict=True))
    assert shared == {(0, 2, 3)}  # AAA at 0; all else is read off the sequences or belongs to one of them
    listed = gram_of(Spectrum(k=2, alphabet="dna"), ["AACC", "AAGG", "TTTT"]).coordinates(np.arange(3))
    assert len(listed.term_of) == 1  # AA


def test_the_last_coordinates_are_kept():
    gram = gram_of(KERNELS["plain"], sequences(np.random.default_rng(1), 30, 12))
    once = gram.coordinates(np.arange(20))
    assert gram.coordinates(np.arange(20)) is once
    assert gram.coordinates(np.arange(21)) is not once


def test_features_are_listed_with_numbers_beside_them_or_not():
    X = as_views({"s": sequences(np.random.default_rng(2), 10, 12), "x": np.arange(10.0)[:, None]})
    words, shifted = (WeightedDegree(degree=3, shift=shift, alphabet="dna").on("s") for shift in (0, 2))
    listed = Spectrum(k=2, alphabet="dna").on("s")
    for kernel, explicit in (
        (words + listed, True),
        (words + shifted, True),
        (shifted, True),
        (listed + Linear().on("x"), True),
        (shifted + Linear().on("x"), True),
        (Linear().on("x") + RBF().on("x"), True),
        (Laplacian().on("x") + RBF().on("x"), False),
    ):
        assert bind(kernel, X, needs=Needs(no_matrix=True)).held.lists == explicit


def test_two_columns_are_two_families():
    rng = np.random.default_rng(3)
    X = as_views({"left": sequences(rng, 30, 9), "right": sequences(rng, 30, 12, unknown=0.02)})
    words = WeightedDegree(degree=4, alphabet="dna")
    kernel = words.on("left") + words.on("right") + Spectrum(k=2, alphabet="dna").on("left")
    gram = bind(kernel, X, needs=Needs(no_matrix=True))
    rows, a, weights = np.arange(0, 30, 2), rng.normal(size=15), np.array([0.2, 0.0, 0.8])
    descent = gram.coordinates(rows).at(weights)
    descent.set(a)
    assert len(descent.spaces) == 3
    assert np.allclose(descent.f(a), gram.block(rows, rows, weights) @ a, atol=1e-12)
    assert gram.bytes.coordinates(30) > bind(words.on("left"), X, needs=Needs(no_matrix=True)).bytes.coordinates(30)


def test_numbers_beside_words():
    rng = np.random.default_rng(4)
    X = as_views({"s": sequences(rng, 40, 9), "x": rng.normal(size=(40, 2))})
    kernel = RBF(0.3).on("x") + WeightedDegree(degree=4, alphabet="dna").on("s") + Laplacian().on("x")
    gram = bind(kernel, X, needs=Needs(no_matrix=True)).rescaled(np.array([0.5, 2.0, 3.0]))
    rows, a = np.sort(rng.choice(40, 25, replace=False)), rng.normal(size=25)
    for weights in (np.array([0.2, 0.5, 0.3]), np.array([0.0, 1.0, 0.0])):
        K, descent = gram.block(rows, rows, weights), gram.coordinates(rows).at(weights)
        descent.set(a)
        assert np.allclose(descent.diag, np.diag(K), atol=1e-12)
        assert np.allclose(descent.f(a), K @ a, atol=1e-10)
        assert np.allclose(descent.alone, gram.grams[1].coordinates(rows).at(weights[1:2]).alone), "nothing of numbers"


def test_letters_that_are_read_off_grow_with_the_samples():
    sizes = [short_letters(n, 20) for n in (10, 10_000, 100_000, 10_000_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] >= 2
    assert all(s % 2 == 0 for s in sizes)
    assert short_letters(10**6, 5) <= 5
    assert short_letters(10**6, 1) == 0


def test_words_that_would_leave_the_window_weigh_nothing():
    assert np.array_equal(fitting(np.ones((3, 2))), [[1, 1], [1, 1], [1, 0]])
