"""Samples that a term cannot tell apart are held once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from kernelweave import RBF, Frozen, Laplacian, Linear, MKLClassifier, Polynomial, Precomputed
from kernelweave.gram import DenseGram
from kernelweave.gram.distinct import FEW, distinct_of
from kernelweave.testing import check_gram
from kernelweave.views import as_views

#: Tables of few values, so that columns and whole rows repeat.
tables = arrays.arrays(np.float64, st.tuples(st.integers(1, 14), st.integers(1, 3)), elements=st.integers(-2, 1))


def terms_on(n_columns):
    """Return terms that see every column alone, all of them, or what no single view gives."""
    each = [kernel.on(c) for c in range(n_columns) for kernel in (RBF(0.5), 2.0 * Linear().normalized())]
    return [Laplacian(0.3), *each, Polynomial(2), RBF(1.0).on(0) * Linear(), Frozen(Linear().on(0) + Linear())]


def table(rng, n=60):
    """Return samples with a column of three values, one of twenty, and one where all differ."""
    return np.column_stack([rng.permutation(n) % 3, rng.permutation(n) % 20 / 4.0, rng.normal(size=n)])


@settings(max_examples=60)
@given(tables)
def test_distinct_samples_are_the_naive_ones(X):
    found, again = distinct_of([Linear(), RBF()], as_views(X))
    assert found is again
    rows = [tuple(row + 0.0) for row in X]
    unlike = list(dict.fromkeys(rows))
    assert (found is None) == (len(unlike) > FEW * len(X))
    if found is not None:
        assert found.first.tolist() == [rows.index(row) for row in unlike]
        assert [rows[found.first[k]] for k in found.which] == rows
        coef = np.arange(2.0 * len(X)).reshape(2, -1)
        expected = [[sum(c[i] for i in range(len(X)) if rows[i] == rows[f]) for f in found.first] for c in coef]
        np.testing.assert_array_equal(found.sums(coef), expected)


@settings(max_examples=40)
@given(tables)
def test_products_are_those_of_whole_matrices(X):
    views = as_views(X)
    check_gram(DenseGram.compute(terms_on(X.shape[1]), views))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_view_gets_one_stack_of_its_size(rng, dtype):
    X = table(rng)
    gram = DenseGram.compute(terms_on(3), as_views(X), dtype=dtype)
    assert sorted(stack.matrices.shape[1] for stack in gram.stacks) == [3, 20, 60]
    check_gram(gram, rtol=1e-9 if dtype == np.float64 else 1e-5)


def test_rows_and_blocks_in_any_order(rng):
    gram = DenseGram.compute(terms_on(3), as_views(table(rng)), n_jobs=2)
    picked = rng.permutation(gram.n_terms)
    check_gram(gram.only(picked.tolist()))
    whole = np.array([term.compute(gram.X, None) for term in gram.terms])
    for rows, cols in ((np.arange(7, 19), np.arange(40)), (rng.permutation(60)[:9], rng.permutation(60)[:30])):
        np.testing.assert_allclose(gram.block_each(rows, cols), whole[:, rows[:, None], cols])


@pytest.mark.parametrize("n", [0, 1, 9])
def test_spread_is_the_naive_one(n, rng):
    from kernelweave._fast.dense import spread

    K, which, out = rng.normal(size=(4, 4)), rng.integers(4, size=n), rng.normal(size=(n, n))
    expected = [[out[i, j] + K[which[i], which[j]] for j in range(n)] for i in range(n)]
    spread(K, which, out)
    np.testing.assert_allclose(out, np.reshape(expected, (n, n)))


def test_a_copied_row_of_the_whole_table_counts(rng):
    X = np.repeat(table(rng, 20), 3, axis=0)
    gram = DenseGram.compute([RBF(0.1), RBF(1.0), Linear().on([0, 2])], as_views(X))
    assert [stack.matrices.shape for stack in gram.stacks] == [(3, 20, 20)], "all three tell the same samples apart"
    check_gram(gram)


def test_only_numbers_are_looked_at(rng):
    ids = rng.integers(3, size=30).astype(float)[:, None]
    assert distinct_of([Precomputed(np.eye(3))] * 2, as_views(ids)) == [None, None]
    assert distinct_of([Linear(), RBF()], as_views(sparse.csr_array(ids))) == [None, None]
    assert distinct_of([Linear(), RBF()], as_views(np.zeros((4, 0)))) == [None, None]


def test_a_term_alone_is_held_whole():
    assert distinct_of([Linear()], as_views(np.zeros((9, 1)))) == [None]


def test_minus_zero_is_zero():
    found, _ = distinct_of([Linear(), RBF()], as_views(np.array([[0.0], [-0.0], [0.0], [1.0]])))
    assert len(found) == 2


def test_a_fit_is_the_same_with_and_without(rng, monkeypatch):
    X = table(rng, 90)
    y = np.where(X[:, 1] + rng.normal(size=90) > 2.5, 1, -1)
    kernel = sum(RBF(g).on(c) for c in range(3) for g in (0.1, 1.0)) + Linear()
    held = MKLClassifier(kernel, tol=1e-6).fit(X, y)
    monkeypatch.setattr("kernelweave.gram.distinct.FEW", 0.0)
    whole = MKLClassifier(kernel, tol=1e-6).fit(X, y)
    assert held.objective_ == pytest.approx(whole.objective_, rel=2e-6)
    np.testing.assert_allclose(held.decision_function(X), whole.decision_function(X), atol=1e-2)
