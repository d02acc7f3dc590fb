"""Grams that hold samples and one matrix at most."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from kernelweave import RBF, Frozen, InputError, Laplacian, Linear, Polynomial
from kernelweave.gram import Needs, Room, TiledGram
from kernelweave.gram.rounding import exact_apply
from kernelweave.gram.tiled import Scratch
from kernelweave.testing import check_gram
from kernelweave.views import as_views

RNG = np.random.default_rng(0)
X, NEW = as_views(RNG.normal(size=(150, 5)) + 3.0), as_views(RNG.normal(size=(7, 5)) + 3.0)
TERMS = [
    RBF(0.3),
    2.0 * RBF(0.1),
    RBF([0.1, 0.0, 0.3, 0.2, 1.0]),
    Laplacian(0.2).on([0, 3]),
    Linear().on([1]),
    Polynomial(3, gamma=0.1, coef0=0.5),
    Polynomial(2).normalized(),
    3.0 * (2.0 * Linear()).normalized().on([0, 1]),
    (0.5 * RBF(0.2)).normalized(),
    Frozen(RBF(0.3) + 0.1 * Linear()),
]


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize("holds", [True, False])
def test_products_are_those_of_the_matrices(dtype, rtol, holds):
    gram = TiledGram.of(TERMS, X, dtype=dtype, holds=holds, needs=Needs(n_jobs=2))
    check_gram(gram, NEW, rtol=rtol)
    check_gram(gram.rescaled(np.linspace(0.5, 2.0, len(TERMS))).only([9, 1, 4]), NEW, rtol=rtol)
    assert (gram.matrix(np.ones(len(TERMS))) is not None) == holds


@settings(max_examples=30)
@given(strategies.evaluable, strategies.samples())
def test_any_expression_that_has_a_form(kernel, samples):
    views = as_views(samples)
    gram = TiledGram.of(kernel.terms(views), views, dtype=np.float64)
    if gram is not None:
        check_gram(gram)


def test_quads_and_exact_products_are_of_double_precision():
    gram = TiledGram.of(TERMS, X)
    coef, weights = RNG.normal(size=(150, 2)), RNG.random(len(TERMS))
    K = np.array([term.compute(X, None) for term in TERMS])
    np.testing.assert_allclose(gram.quad(coef), np.einsum("ic,mij,jc->mc", coef, K, coef), rtol=1e-10)
    np.testing.assert_allclose(exact_apply(gram, coef, weights), np.tensordot(weights, K, 1) @ coef, rtol=1e-9)


def test_terms_of_another_kind_have_no_form():
    class Mine(RBF):
        def between(self, A, B):
            return 0.5 * super().between(A, B)

    assert TiledGram.of([RBF(1.0), Mine(1.0)], X) is None, "a subclass may compute anything"
    assert TiledGram.of([RBF(1.0) * Linear()], X) is None
    assert TiledGram.of([Polynomial(40)], X) is None
    assert TiledGram.of([Frozen(RBF(1.0) + Linear()).normalized()], X) is None


def test_new_samples_must_have_as_many_columns():
    with pytest.raises(InputError, match="X has 4 columns, but Y has 5"):
        TiledGram.of(TERMS[:1], X).apply(np.ones(150), np.ones(1), as_views(np.ones((2, 4))))


@given(st.integers(1, 4))
def test_a_matrix_is_written_over_only_where_nobody_looks_at_it(n):
    scratch = Scratch()
    first = scratch.matrix(n, np.float64)
    first[:] = 1.0
    second = scratch.matrix(n, np.float64)
    assert not np.shares_memory(first, second)
    place = second.ctypes.data
    del second
    assert scratch.matrix(n, np.float64).ctypes.data == place
    assert scratch.matrix(n, np.float32).dtype == np.float32


def test_wide_views_that_share_little_are_read_and_not_evaluated():
    rng = np.random.default_rng(0)
    X = as_views({"wide": rng.normal(size=(1200, 90)), "narrow": rng.normal(size=(1200, 3))})
    narrow = [RBF(gamma).on("narrow") for gamma in (0.01, 0.1, 0.5, 1.0)]
    few = [RBF(0.1).on("wide"), RBF(0.3).on("wide")]
    more, needs = [*few, RBF(0.5).on("wide"), RBF(1.0).on("wide")], Needs(tol=1e-3)
    assert TiledGram.offer(narrow, X, Room(10**10, needs)) is not None
    assert TiledGram.offer(more, X, Room(10**10, needs)) is not None, "a distance serves four terms"
    assert TiledGram.offer(few, X, Room(10**10, needs)) is None
    assert TiledGram.offer(few, X, Room(3 * 10**7, needs)) is not None, "matrices do not fit"
    assert TiledGram.offer(few[:1], X, Room(10**10, needs)) is not None, "one matrix is held anyway"
