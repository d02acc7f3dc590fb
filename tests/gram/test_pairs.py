"""Rows that are made from pairs: they are those of the matrix, whatever room there is, and whoever makes them."""

import numpy as np
import pytest

from kernelweave import RBF, Laplacian, WeightedDegree
from kernelweave._fast.rows import add_rows, put_columns
from kernelweave.gram import DenseGram, LinaddGram, StackedGram, TiledGram
from kernelweave.gram.pair_rows import in_places
from kernelweave.views import as_views

KERNELS = {
    "plain": WeightedDegree(degree=6, alphabet="dna"),
    "normalised": WeightedDegree(degree=20, alphabet="dna").normalized(),
    "shifted": WeightedDegree(degree=5, shift=2, alphabet="dna").normalized(),
    "by degree": WeightedDegree(degree=4, alphabet="dna").split("degree"),
    "two families": WeightedDegree(degree=5, alphabet="dna").normalized() + WeightedDegree(degree=3, alphabet="dna"),
}


def gram_of(kernel, n=150, length=40, n_jobs=1):
    letters = np.random.default_rng(3).choice(list("ACGTN"), (n, length), p=[0.3, 0.25, 0.2, 0.24, 0.01])
    X = as_views(["".join(row) for row in letters])
    return LinaddGram(kernel.terms(X), X, n_jobs)


@pytest.mark.parametrize("room", [30, 1000])
@pytest.mark.parametrize("name", KERNELS)
def test_products_and_blocks_are_those_of_the_matrix(name, room):
    gram = gram_of(KERNELS[name])
    rng = np.random.default_rng(1)
    weights, rows = rng.uniform(0.5, 1.0, gram.n_terms), np.sort(rng.choice(150, 120, replace=False))
    K = gram.block(rows, rows, weights)
    pairs = gram.pairs(rows, weights, 8 * 120 * room)
    for _ in range(4):  # some rows are there already, and with little room all go
        some = np.sort(rng.choice(120, 25, replace=False))
        change = rng.normal(size=25)
        assert np.allclose(pairs.rows_times(some, change), K[:, some] @ change, rtol=1e-12, atol=1e-12)
    a = rng.normal(size=120) * (rng.random(120) < 0.5)
    assert np.allclose(pairs.apply(a), K @ a, rtol=1e-12, atol=1e-12)
    assert np.allclose(pairs.block(some, some), K[np.ix_(some, some)], rtol=1e-12)
    single = gram.pairs(rows, weights, 8 * 120 * room, np.float32)
    assert np.allclose(single.apply(a), K @ a, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_new", [0, 17, 60])
def test_rows_that_are_taken_over_have_what_is_new_in_their_places(name, n_new):
    gram, rng = gram_of(KERNELS[name]), np.random.default_rng(n_new)
    weights, order = np.ones(gram.n_terms), rng.permutation(150)
    first, later = np.sort(order[:80]), np.sort(np.concatenate([order[17:80], order[80 : 80 + n_new]]))
    pairs = gram.pairs(first, weights, 8 * 150 * 150)
    pairs.rows_times(np.arange(0, 80, 2), np.ones(40))
    samples = in_places(later, first)
    moved = gram.pairs(samples, weights, 8 * 150 * 150)
    moved.take_over(pairs)
    assert moved.has_rows
    assert not pairs.has_rows
    K = gram.block(samples, samples, weights)
    a = rng.normal(size=len(samples))
    kept = np.flatnonzero(moved._slot >= 0)
    assert len(kept) == np.isin(samples, first[::2]).sum(), "the rows of all that stayed"
    assert np.allclose(moved._kept[moved._slot[kept]], K[kept], rtol=1e-12)
    assert np.allclose(moved.apply(a), K @ a, rtol=1e-12, atol=1e-12)


def test_rows_for_which_there_is_no_room_are_made_anew():
    gram = gram_of(KERNELS["normalised"])
    pairs = gram.pairs(np.arange(60), np.ones(1), 8 * 60 * 60)
    pairs.apply(np.ones(60))
    wider = gram.pairs(np.arange(120), np.ones(1), 8 * 60 * 60)
    wider.take_over(pairs)
    assert not wider.has_rows
    assert np.allclose(wider.apply(np.ones(120)), gram.block(np.arange(120), np.arange(120), np.ones(1)).sum(axis=1))


def test_rows_of_others_are_not_taken_for_own():
    gram = gram_of(KERNELS["normalised"])
    first = gram.pairs(np.arange(60), np.ones(1), 8 * 60 * 60)
    expected = first.apply(np.ones(60))
    gram.pairs(np.arange(40, 100), np.ones(1), 8 * 60 * 60).apply(np.ones(60))
    later = gram.pairs(np.arange(60), np.ones(1), 8 * 60 * 60)
    later.take_over(first)
    np.testing.assert_array_equal(later.apply(np.ones(60)), expected)
    np.testing.assert_array_equal(first.apply(np.ones(60)), expected)


def test_samples_stay_in_their_places():
    before = np.array([5, 2, 9, 7])
    np.testing.assert_array_equal(in_places(np.array([2, 5, 7, 11]), before), [5, 2, 11, 7])
    np.testing.assert_array_equal(in_places(np.array([1, 2, 3, 5, 7, 11]), before), [5, 2, 1, 7, 3, 11])
    np.testing.assert_array_equal(in_places(np.array([2, 5, 7]), before), before, "who is not needed may stay")
    np.testing.assert_array_equal(in_places(np.array([2, 8]), before), [2, 8], "but not as many")


def test_columns_are_put_where_they_belong():
    rng = np.random.default_rng(0)
    kept, slots, cols = rng.normal(size=(6, 9)), np.array([4, 1]), np.array([8, 0, 3])
    block, expected = rng.normal(size=(2, 3)), kept.copy()
    expected[np.ix_(slots, cols)] = block
    put_columns(block, slots, cols, kept)
    np.testing.assert_array_equal(kept, expected)


@pytest.mark.parametrize("name", ["normalised", "shifted"])
def test_threads_change_no_bit(name):
    found = []
    for n_jobs in (1, 2):
        gram = gram_of(KERNELS[name], n_jobs=n_jobs)
        pairs = gram.pairs(np.arange(150), np.ones(1), 10**7, np.float32)
        a = np.random.default_rng(2).normal(size=150)
        found.append((pairs.apply(a), pairs.block(np.arange(100), np.arange(100))))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_pairs_cost_without_end_where_positions_weigh_differently():
    gram = gram_of(WeightedDegree(degree=3, alphabet="dna").split("position"), length=9)
    assert np.isfinite(gram.pair_time(np.ones(gram.n_terms)))
    assert np.isinf(gram.pair_time(np.arange(gram.n_terms) / gram.n_terms))


def test_rows_are_added_up():
    rng = np.random.default_rng(0)
    kept, slots, change = rng.normal(size=(7, 2500)), np.array([5, 0, 3]), rng.normal(size=3)
    f = rng.normal(size=2500)
    expected = f.copy()
    expected[100:2400] += change @ kept[slots, 100:2400]
    add_rows(kept, slots, change, 100, 2400, f)
    assert np.allclose(f, expected, rtol=1e-12, atol=1e-12)


@pytest.fixture
def beside():
    """Words and two numbers of every sample, one gram each."""
    rng = np.random.default_rng(4)
    letters = ["".join(row) for row in rng.choice(list("ACGT"), (150, 30))]
    X = as_views({"s": letters, "x": rng.normal(size=(150, 3))})
    words = LinaddGram([WeightedDegree(degree=5).on("s")], X)
    numbers = TiledGram.of([RBF(0.5).on("x"), Laplacian(0.2).on("x")], X, dtype=np.float64)
    return StackedGram([words, numbers]).rescaled(np.array([0.5, 2.0, 3.0]))


@pytest.mark.parametrize("weights", [(0.2, 0.5, 0.3), (0.0, 0.5, 0.5), (1.0, 0.0, 0.0)])
def test_numbers_add_their_values_to_those_of_words(beside, weights):
    rows, a = np.arange(20, 140), np.random.default_rng(1).normal(size=120)
    K = beside.block(rows, rows, np.array(weights))
    pairs = beside.pairs(rows, np.array(weights), 10**6)
    assert np.allclose(pairs.block(np.arange(60), np.arange(50)), K[:60, :50], rtol=1e-10)
    assert np.allclose(pairs.apply(a), K @ a, rtol=1e-10)
    assert np.allclose(beside.pairs(rows, np.array(weights), 10**6, np.float32).apply(a), K @ a, rtol=1e-4, atol=1e-4)
    assert np.isfinite(beside.pair_time(np.array(weights)))


def test_products_that_are_kept_are_those_of_these_weights_and_this_coef(beside):
    rng, every = np.random.default_rng(2), np.arange(150)
    for coef in (rng.normal(size=150), rng.normal(size=150), rng.normal(size=(150, 2))):
        for weights in (np.array([0.2, 0.5, 0.3]), np.array([0.0, 0.5, 0.5]), np.array([0.9, 0.1, 0.0])):
            K = beside.block(every, every, weights)
            assert np.allclose(beside.apply(coef, weights), K @ coef, rtol=1e-4, atol=1e-4)
        quad = np.einsum("i...,mij,j...->m...", coef, beside.block_each(every, every), coef)
        if coef.ndim == 1:
            assert np.allclose(beside.quad(coef), quad, rtol=1e-4)


def test_a_part_of_words_and_numbers_has_matrices(beside):
    rows = np.arange(0, 150, 3)
    part = beside.sampled(rows)
    assert isinstance(part, DenseGram)
    assert np.allclose(
        part.rescaled(beside.factors).block_each(np.arange(50), np.arange(50)), beside.block_each(rows, rows), rtol=1e-5
    )
