"""Vector kernels against double loops, dense and sparse, few columns and many."""

import numpy as np
import pytest
from scipy import sparse

import naive
from kernelweave import RBF, InputError, Laplacian, Linear, Polynomial

PAIRS = [
    (Linear(), naive.linear),
    (Polynomial(2, 0.5, 0.3), lambda A, B: naive.polynomial(A, B, 2, 0.5, 0.3)),
    (Polynomial(), naive.polynomial),
    (RBF(0.3), lambda A, B: naive.rbf(A, B, 0.3)),
    (RBF(), naive.rbf),
    (Laplacian(0.3), lambda A, B: naive.laplacian(A, B, 0.3)),
    (Laplacian(), naive.laplacian),
]


@pytest.mark.parametrize("n_columns", [1, 3, 40])
@pytest.mark.parametrize(
    ("kernel", "twin"), PAIRS, ids=lambda p: repr(p) if not callable(p) or hasattr(p, "diag") else ""
)
def test_against_double_loops(kernel, twin, n_columns, rng):
    A, B = rng.normal(size=(7, n_columns)), rng.normal(size=(5, n_columns))
    np.testing.assert_allclose(kernel(A, B), twin(A, B), rtol=1e-10)
    np.testing.assert_allclose(kernel(A), twin(A, A), rtol=1e-10)
    np.testing.assert_allclose(kernel.diag(A), np.diagonal(twin(A, A)), rtol=1e-10)
    S = sparse.random_array((7, n_columns), density=0.4, rng=rng, format="csr")
    np.testing.assert_allclose(kernel(S), twin(S.toarray(), S.toarray()), rtol=1e-10)
    np.testing.assert_allclose(kernel(S, B), twin(S.toarray(), B), rtol=1e-10)


def test_distances_survive_a_large_offset(rng):
    A = rng.normal(size=(6, 40))
    np.testing.assert_allclose(RBF(0.1)(A + 1e6), naive.rbf(A, A, 0.1), rtol=1e-6)
    np.testing.assert_allclose(RBF(0.1)(A[:, :3] + 1e6), naive.rbf(A[:, :3], A[:, :3], 0.1), rtol=1e-6)


def test_the_fast_distances_are_the_naive_ones(rng):
    from kernelweave._fast.vectors import absolute_distances, squared_distances

    A, B = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(squared_distances(A, np.ascontiguousarray(B.T)), naive.squared_distances(A, B))
    np.testing.assert_allclose(absolute_distances(A, np.ascontiguousarray(B.T)), naive.absolute_distances(A, B))


def test_integers_and_lists_are_numbers():
    assert Linear()([[1, 2], [3, 4]]).tolist() == [[5.0, 11.0], [11.0, 25.0]]
    assert Linear()(np.array([[True, False]])).tolist() == [[1.0]]


def test_widths_must_agree(rng):
    with pytest.raises(InputError, match="3 columns, but Y has 2"):
        RBF()(rng.normal(size=(4, 3)), rng.normal(size=(4, 2)))


def test_results_may_be_written_to_without_harm(rng):
    A = rng.normal(size=(4, 2))
    before = A.copy()
    for kernel, _ in PAIRS:
        kernel(A)[:] = np.nan
        kernel.diag(A)[:] = np.nan
    assert (before == A).all()
