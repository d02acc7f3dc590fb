"""Matérn, periodic, cosine, chi-squared and Tanimoto kernels against loops over pairs, dense and sparse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import gamma as gamma_function
from scipy.special import kv
from sklearn.gaussian_process.kernels import ExpSineSquared
from sklearn.gaussian_process.kernels import Matern as PeerMatern

from kernelweave import Chi2, Cosine, InputError, Matern, Periodic, Tanimoto
from kernelweave.testing import check_kernel


def pairs(A, B, value):
    return np.array([[value(a, b) for b in B] for a in A])


def matern(a, b, nu, length):
    t = np.sqrt(2 * nu) * np.linalg.norm(a - b) / length
    return 1.0 if t == 0 else 2 ** (1 - nu) / gamma_function(nu) * t**nu * kv(nu, t)


def periodic(a, b, period, length):
    return np.exp(-2 / length**2 * (np.sin(np.pi * (a - b) / period) ** 2).sum())


def cosine(a, b):
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) if a.any() and b.any() else 0.0


def chi2(a, b, gamma):
    there = a + b > 0
    return np.exp(-gamma * ((a - b)[there] ** 2 / (a + b)[there]).sum())


def tanimoto(a, b):
    return np.minimum(a, b).sum() / np.maximum(a, b).sum() if a.any() or b.any() else 1.0


def counts(n, seed, density=0.4):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, (n, 5)) * (rng.random((n, 5)) < density)
    X[0] = 0
    return X.astype(np.float64)


CASES = [
    (Matern(0.5, 2.0), lambda a, b: matern(a, b, 0.5, 2.0)),
    (Matern(), lambda a, b: matern(a, b, 1.5, np.sqrt(5))),
    (Matern(2.5, 0.7), lambda a, b: matern(a, b, 2.5, 0.7)),
    (Matern(0.8, 1.0), lambda a, b: matern(a, b, 0.8, 1.0)),
    (Matern(9.0, 3.0), lambda a, b: matern(a, b, 9.0, 3.0)),
    (Periodic(2.0), lambda a, b: periodic(a, b, 2.0, np.sqrt(5))),
    (Periodic(0.3, 0.5), lambda a, b: periodic(a, b, 0.3, 0.5)),
    (Cosine(), cosine),
    (Chi2(), lambda a, b: chi2(a, b, 1.0)),
    (Chi2(0.2), lambda a, b: chi2(a, b, 0.2)),
    (Tanimoto(), tanimoto),
]


@pytest.mark.parametrize(("kernel", "value"), CASES, ids=lambda one: repr(one) if hasattr(one, "diag") else "")
def test_against_the_definition(kernel, value):
    counted = isinstance(kernel, (Chi2, Tanimoto))
    A, B = counts(9, 0), counts(7, 1)
    if not counted:
        A, B = A - 0.7 * (A > 0), B * 1.3 - 0.2 * (B > 0)
    np.testing.assert_allclose(kernel(A, B), pairs(A, B, value), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel(sparse.csr_array(A), sparse.csr_array(B)), kernel(A, B), rtol=1e-9, atol=1e-12)
    check_kernel(kernel, A)
    check_kernel(kernel, sparse.csr_array(A))


def test_against_scikit_learn():
    X = np.random.default_rng(0).normal(size=(12, 1))
    for nu in (0.5, 1.5, 2.5, 1.1):
        np.testing.assert_allclose(Matern(nu, 0.7)(X), PeerMatern(0.7, nu=nu)(X), rtol=1e-10)
    np.testing.assert_allclose(Periodic(1.7, 0.4)(X), ExpSineSquared(0.4, 1.7)(X), rtol=1e-10)


def test_sets_have_a_jaccard_index():
    X = (counts(12, 3) > 0).astype(float)
    shared, union = X @ X.T, np.maximum(X[:, None], X[None]).sum(axis=2)
    np.testing.assert_allclose(Tanimoto()(X), np.where(union > 0, shared / np.maximum(union, 1), 1.0))
    check_kernel(Tanimoto(), X)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 999), st.sampled_from([Chi2(0.5), Tanimoto(), Cosine(), Matern(0.5, 0.3), Periodic(2.5, 0.6)]))
def test_any_counts_give_a_kernel(seed, kernel):
    check_kernel(kernel, counts(10, seed, density=0.7))


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (Matern(0.0), "nu > 0"),
        (Matern("smooth"), "nu > 0"),
        (Matern(60.0), "nu > 0"),
        (Matern(1.5, -1.0), "length > 0"),
        (Periodic(0.0), "period > 0"),
        (Periodic(1.0, 0.0), "length > 0"),
        (Chi2(-1.0), "gamma > 0"),
    ],
)
def test_parameters_are_checked(kernel, why):
    with pytest.raises(InputError, match=why):
        kernel(np.ones((2, 2)))


@pytest.mark.parametrize("kernel", [Chi2(), Tanimoto()], ids=repr)
@pytest.mark.parametrize("make", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_counts_are_never_negative(kernel, make):
    with pytest.raises(InputError, match=r"row 1, column 0 holds -2"):
        kernel(make([[1.0, 0.0], [-2.0, 1.0]]))
