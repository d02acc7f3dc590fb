"""Kernels whose vectors are written out: a table of features gives the products of the matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kernelweave import RBF, Frozen, InputError, Laplacian, Linear, LowRank, Polynomial, Spectrum, per_feature
from kernelweave._fast.coordinate import read_all
from kernelweave.gram import DenseFeatureGram, DenseGram, Needs, StackedGram, TiledGram, bind
from kernelweave.gram.rounding import exact_apply, safe_quad
from kernelweave.kernels.low_rank import with_landmarks
from kernelweave.testing import check_gram
from kernelweave.views import as_views

RNG = np.random.default_rng(0)
X = as_views(RNG.normal(size=(40, 4)) + 1.0)
NEW = as_views(RNG.normal(size=(6, 4)))


def terms():
    kernel = Linear() + 2.0 * Linear().on([0, 1]) + LowRank(RBF(0.3), rank=9).normalized() + Polynomial(degree=2).on(2)
    kernel += Frozen(LowRank(RBF(0.1), rank=4) + 0.5 * Linear().on(3)) + LowRank(Linear() * RBF(0.2), rank=6)
    return with_landmarks(kernel, X).terms(X)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_product_is_that_of_the_matrices(n_jobs):
    check_gram(DenseFeatureGram(terms(), X, n_jobs), NEW)


def test_single_precision():
    check_gram(DenseFeatureGram(terms(), X, dtype=np.float32), NEW, rtol=1e-6)


def test_many_terms():
    check_gram(DenseFeatureGram(per_feature(Polynomial(degree=2, coef0=0.3)).terms(X) * 3, X), NEW)


@given(st.integers(1, 6), st.floats(0.0, 3.0), st.floats(0.01, 2.0), st.integers(0, 2**16))
def test_monomials_are_the_square(n_columns, coef0, gamma, seed):
    A = as_views(np.random.default_rng(seed).normal(size=(5, n_columns)))
    kernel = Polynomial(degree=2, gamma=gamma, coef0=coef0)
    phi, K = kernel.embed(A), kernel.compute(A, None)
    assert phi.shape[1] == kernel.embedding_size(A)
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-9 * np.abs(K).max())


def test_a_polynomial_that_is_no_kernel_has_no_vectors():
    with pytest.raises(InputError, match="coef0"):
        Polynomial(degree=2, coef0=-1.0).embed(X)
    with pytest.raises(InputError, match="no vectors"):
        RBF(1.0).embed(X)


def many(n=3200):
    return as_views(np.random.default_rng(1).normal(size=(n, 3)))


def test_the_plan_takes_vectors_where_they_are_quicker():
    assert isinstance(bind(Linear() + Polynomial(degree=2), many()), DenseFeatureGram)
    assert isinstance(bind(Linear(), many(500)), DenseGram), "small matrices are as good"
    assert isinstance(bind(Linear(), many(), needs=Needs(vectors=False)), TiledGram)
    assert isinstance(bind(Linear() + RBF(1.0), many()), TiledGram), "one more product costs little"
    beside = bind(Linear() + RBF(1.0) * RBF(2.0), many(), memory="90MB")
    assert isinstance(beside, StackedGram), "where matrices do not fit, vectors do"
    assert isinstance(beside.grams[0], DenseFeatureGram)
    numbers = sparse.csr_array(sparse.random(3200, 50, 0.1, random_state=0))
    assert isinstance(bind(Linear(), as_views(numbers)), DenseGram), "no table of zeros"
    small = bind(LowRank(RBF(1.0), rank=50), many(), memory="2MB")
    assert isinstance(small, DenseFeatureGram)


def test_vectors_beside_words_descend_together(rng):
    S = as_views({"s": ["".join(row) for row in rng.choice(list("ACGT"), (30, 8))], "x": rng.normal(size=(30, 2)) + 1})
    gram = bind(Spectrum(k=2).on("s") + Linear().on("x") + RBF(1.0).on("x"), S, needs=Needs(no_matrix=True))
    assert gram.held.coordinates == {"features", "blocks"}
    rows, a, weights = np.arange(1, 30, 2), rng.normal(size=15), np.array([0.2, 0.3, 0.5])
    for total in (0.0, 2.0):
        a -= (a.sum() - total) / len(a)
        descent = gram.coordinates(rows).at(weights)
        descent.set(a)
        K = gram.block(rows, rows, weights)
        np.testing.assert_allclose(descent.f(a), K @ a, atol=1e-10)
        # what a visit reads lacks what is the same for all samples, and what `linear` makes up for
        read = np.empty(15)
        read_all(descent.spaces, descent.alone, a, 0, 15, read)
        made_up = descent.linear(np.zeros(15), total) + descent.constant(a)
        np.testing.assert_allclose(read + made_up, K @ a, atol=1e-10)


@settings(max_examples=20)
@given(st.integers(0, 2**16), st.floats(0.0, 100.0), st.integers(1, 3))
def test_what_single_precision_hides_is_counted(seed, offset, n_machines):
    rng = np.random.default_rng(seed)
    views = as_views(rng.normal(size=(50, 3)) + offset)
    kernels = [Linear(), Polynomial(degree=2).on([0, 1])]
    coef = rng.normal(size=(50, n_machines))
    coef -= coef.mean(axis=0)
    double, single = (DenseFeatureGram(kernels, views, dtype=kind) for kind in (np.float64, np.float32))
    exact = np.array([np.sum(coef * (kernel.compute(views, None) @ coef)) for kernel in kernels])
    slack = 1e-9 * np.array([kernel.compute_diag(views).sum() for kernel in kernels])
    assert (safe_quad(single, coef) >= exact - slack).all()
    assert np.allclose(safe_quad(single, coef, exact=True), double.quad(coef).sum(axis=1), rtol=1e-9, atol=slack.max())
    weights = np.array([0.3, 0.7])
    np.testing.assert_allclose(
        exact_apply(single, coef, weights), double.apply(coef, weights), rtol=1e-9, atol=slack.max()
    )


def test_rounding_is_counted_of_vectors_beside_matrices(rng):
    parts = [DenseGram.compute([RBF(1.0)], X, dtype=np.float32), DenseFeatureGram([Linear()], X, dtype=np.float32)]
    gram, coef = StackedGram([*parts, DenseGram.compute([Laplacian(1.0)], X)]), rng.normal(size=40)
    exact = np.array([coef @ term.compute(X, None) @ coef for term in gram.terms])
    assert gram.held.single == (0, 1)
    assert (safe_quad(gram, coef) >= exact - 1e-12).all()
    np.testing.assert_allclose(safe_quad(gram, coef, exact=True), exact, rtol=1e-10)
    weights = np.array([0.2, 0.5, 0.3])
    whole = sum(w * term.compute(X, None) for w, term in zip(weights, gram.terms, strict=True))
    np.testing.assert_allclose(exact_apply(gram, coef, weights), whole @ coef, rtol=1e-9)


def test_infinite_vectors_are_refused():
    with pytest.raises(InputError, match="infinite"):
        _ = DenseFeatureGram([Polynomial(degree=2, gamma=1e20)], as_views(np.full((5, 2), 1e150))).embedding.table
