"""Tiles of kernels on numbers, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave._fast import jit_fused, tiles
from kernelweave._fast.exponential import exponential

#: exp of widths, some of them twice and more of the one before, a line and a power, and what they count.
FORMS = np.array(
    [
        [0.3, 0.0, 0.0, 0.0],
        [0.6, 0.0, 0.0, 1.0],
        [2.4, 0.0, 0.0, 2.0],
        [2.0, 0.0, 0.0, 0.0],
        [8.0, 0.0, 0.0, 2.0],
        [1.0, 0.0, 1.0, 0.0],
        [0.5, 1.5, 3.0, 0.0],
    ]
)
WEIGHTS = np.array([0.5, 0.75, 0.125, 0.0, 1.5, 0.25, 2.0])
TERMS = np.array([1, 0, 3, 0, 1, 2, 2])


def shared(kind, A, B):
    """Naive: what two samples share, for all pairs."""
    if kind == 2:
        return A @ B.T
    difference = A[:, None] - B[None]
    return (difference**2).sum(-1) if kind == 0 else np.abs(difference).sum(-1)


def values(kind, A, B):
    """Naive: the matrices of all forms."""
    q = shared(kind, A, B)
    return np.array([np.exp(-g * q) if degree == 0 else (g * q + c) ** degree for g, c, degree, _ in FORMS])


@jit_fused
def exponentials(x, out):
    """(n,), (n,) -> None."""
    for j in range(x.shape[0]):
        out[j] = exponential(x[j])


@pytest.mark.parametrize(("dtype", "least", "digits"), [(np.float32, 85.0, 4e-7), (np.float64, 700.0, 3e-16)])
def test_exponential(dtype, least, digits):
    x = -np.concatenate([np.linspace(0, 2, 2001), np.linspace(0, least, 5001)]).astype(dtype)
    out = np.empty_like(x)
    exponentials(x, out)
    assert out[0] == 1.0
    np.testing.assert_allclose(out.astype(np.longdouble), np.exp(x.astype(np.longdouble)), rtol=digits, atol=0)
    far = np.array([-1e4, -np.inf], dtype=dtype)
    out = np.empty_like(far)
    exponentials(far, out)
    assert (out >= 0).all()
    assert (out < 1e-37).all()


@st.composite
def samples(draw):
    """Two sets of samples, (d, r) and (d, m), of numbers in either precision, and a kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, r, m = 2 * draw(st.integers(1, 4)), draw(st.integers(1, 9)), draw(st.sampled_from([1, 3, 40, 1023, 1025, 2100]))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    rows, cols = rng.normal(size=(d, r)).astype(dtype), rng.normal(size=(d, m)).astype(dtype)
    return draw(st.integers(0, 2)), rows, cols, rng


def close(found, wanted, dtype):
    """Compare within what the precision of the samples allows."""
    size = np.abs(wanted).max(initial=1.0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=size * (2e-5 if dtype == np.float32 else 1e-12))


@settings(max_examples=25)
@given(samples())
def test_blocks_and_products(case):
    kind, rows, cols, rng = case
    K = values(kind, rows.T.astype(np.float64), cols.T.astype(np.float64))
    out = np.ones((rows.shape[1], cols.shape[1]), rows.dtype)
    tiles.mixed(kind, rows, cols, FORMS, WEIGHTS, out)
    close(out, 1.0 + np.tensordot(WEIGHTS, K, 1), rows.dtype)
    summed = np.zeros((4, *K.shape[1:]))
    np.add.at(summed, TERMS, WEIGHTS[:, None, None] * K)
    each = np.zeros_like(summed)
    tiles.each(kind, rows, cols, FORMS, WEIGHTS, TERMS, each)
    close(each, summed, rows.dtype)
    coef = rng.normal(size=(2, cols.shape[1])) / cols.shape[1]
    product = np.zeros((rows.shape[1], 2))
    tiles.mixed_products(kind, rows, cols, FORMS, WEIGHTS, coef, product)
    close(product, np.tensordot(WEIGHTS, K, 1) @ coef.T, rows.dtype)
    products = np.zeros((4, rows.shape[1], 2))
    tiles.each_products(kind, rows, cols, FORMS, WEIGHTS, TERMS, coef, products)
    close(products, summed @ coef.T, rows.dtype)


@settings(max_examples=25)
@given(samples(), st.integers(0, 40))
def test_symmetric_matrices(case, cut):
    kind, _, data, rng = case
    data = np.ascontiguousarray(data[:, :1050])
    n = data.shape[1]
    cut = min(32 * cut, n)
    K = values(kind, data.T.astype(np.float64), data.T.astype(np.float64))
    mixed = np.full((n, n), 7.0, data.dtype)
    for part in ((cut, n), (0, cut)):  # as threads may do it, in any order
        tiles.mixed_upper(kind, data, FORMS, WEIGHTS, *part, True, mixed)
        tiles.mirror(mixed, *part)
    close(mixed, np.tensordot(WEIGHTS, K, 1), data.dtype)
    assert (mixed == mixed.T).all()
    tiles.mixed_upper(kind, data, FORMS, WEIGHTS, 0, n, False, mixed)
    tiles.mirror(mixed, 0, n)
    close(mixed, 2.0 * np.tensordot(WEIGHTS, K, 1), data.dtype)
    backwards, each = np.arange(len(FORMS))[::-1].copy(), np.full((len(FORMS), n, n), 7.0)
    for part in ((0, cut), (cut, n)):
        tiles.each_symmetric(kind, data, FORMS, WEIGHTS, backwards, *part, each)
    close(each[::-1], WEIGHTS[:, None, None] * K, data.dtype)
    coef = rng.normal(size=(2, n)) / n
    coef[0, ::2] = 0.0
    quads, wanted = np.zeros((4, 2)), np.zeros((4, 2))
    for part in ((0, cut), (cut, n)):
        tiles.each_quads(kind, data, FORMS, WEIGHTS, TERMS, coef, *part, quads)
    np.add.at(wanted, TERMS, WEIGHTS[:, None] * np.einsum("ci,pij,cj->pc", coef, K, coef))
    close(quads, wanted, data.dtype)


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_distinct_samples_are_spread_over_all(n, seed):
    rng = np.random.default_rng(seed)
    which, cut = rng.integers(0, 3, n), int(rng.integers(0, n + 1))
    K = rng.normal(size=(3, 3))
    K += K.T
    out = np.full((n, n), 7.0)
    for fresh in (True, False):
        for part in ((0, cut), (cut, n)):
            tiles.spread_upper(K, which, *part, fresh, out)
            tiles.mirror(out, *part)
    np.testing.assert_allclose(out, 2.0 * K[np.ix_(which, which)])
