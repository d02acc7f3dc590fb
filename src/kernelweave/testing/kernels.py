"""Suites for kernels, and for kernels bound to data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..gram import Gram
from ..kernels import Frozen, Kernel, parse
from ..views import Views, as_views


def check_kernel(kernel: Kernel, X: Any, Y: Any = None, *, rtol: float = 1e-9) -> None:
    """Check that a kernel is symmetric, positive semi-definite, and one value however it is asked for.

    Parameters
    ----------
    kernel : Kernel
    X : samples that the kernel can read
        At least three of them.
    Y : other samples, optional
        By default, some of X.
    rtol : float
        How far results may be apart, relative to the largest value of the matrix.

    Raises
    ------
    AssertionError
        Names the kernel and the promise that it breaks.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import RBF
    >>> from kernelweave.testing import check_kernel
    >>> check_kernel(RBF(0.5), np.random.default_rng(0).normal(size=(10, 3)))
    """
    views = as_views(X)
    n = len(views)
    some = np.arange(n)[:: max(1, n // 7)][::-1]
    others = views.rows(some) if Y is None else as_views(Y)
    K = np.array(kernel.compute(views, None))
    near = _Near(f"{kernel!r}", rtol * max(1e-300, float(np.abs(K).max(initial=0.0))))
    assert K.shape == (n, n), f"{kernel!r}: shape {K.shape} for {n} samples"
    assert np.isfinite(K).all(), f"{kernel!r}: values that are not finite"
    near(K, K.T, "the matrix is not symmetric")
    lowest = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
    assert lowest >= -n * near.atol, f"{kernel!r}: not positive semi-definite, lowest eigenvalue {lowest:.3g}"
    near(kernel.compute_diag(views), np.diagonal(K), "diag is not the diagonal of the matrix")
    near(kernel.compute(views, views), K, "k(X, X) is not k(X)")
    between = kernel.compute(views, others)
    assert between.shape == (n, len(others)), f"{kernel!r}: shape {between.shape} for {n} and {len(others)} samples"
    near(between, kernel.compute(others, views).T, "k(X, Y) is not k(Y, X)'")
    near(kernel.compute(views.rows(some), views), K[some], "some rows of X give other values than all")
    near(kernel.compute_diag(views.rows(some)), np.diagonal(K)[some], "some rows of X give another diagonal than all")
    near(kernel.compute(views, None), K, "a second call gives other values")
    summands = kernel.terms(views)
    near(sum(np.asarray(term.compute(views, None)) for term in summands), K, "the terms do not add up to the kernel")
    check_expression(kernel)


def check_expression(kernel: Kernel) -> None:
    """Check that a kernel is a value: typed back, cloned, hashed and compared like one."""
    twin = clone(kernel)
    assert twin == kernel, f"{kernel!r}: clone is not equal"
    assert twin is not kernel, f"{kernel!r}: clone is the same object"
    assert hash(twin) == hash(kernel), f"{kernel!r}: equal kernels with different hashes"
    assert kernel != Frozen(kernel), f"{kernel!r}: equal to another kernel"
    leaves = list(kernel.leaves())
    if not all(leaf.says_all for leaf in leaves):
        return  # a function prints under its name and cannot be typed back
    matrices = {name: K for leaf in leaves for name, K in leaf.matrices.items()}
    text = repr(kernel)
    again = parse(text, matrices)
    assert repr(again) == text, f"{text}: reads back as {again!r}"
    unnamed = any(leaf.matrices and getattr(leaf, "name", "") is None for leaf in leaves)
    assert unnamed or again == kernel, f"{text}: reads back as another kernel"
    assert unnamed or hash(again) == hash(kernel), f"{text}: reads back with another hash"


def check_gram(gram: Gram, at: Views | None = None, *, rtol: float = 1e-9) -> None:
    """Check that all products of a gram are those of the matrices that its terms compute.

    Parameters
    ----------
    gram : Gram
    at : Views, optional
        New samples; by default some of the gram's own.
    rtol : float
        How far results may be apart, relative to the largest entry; 1e-5 for matrices in float32.

    Raises
    ------
    AssertionError
        Names the gram and the product that is wrong.
    """
    rng = np.random.default_rng(0)
    n, n_terms = gram.n, gram.n_terms
    matrices = np.array([f * term.compute(gram.X, None) for f, term in zip(gram.factors, gram.terms, strict=True)])
    weights = rng.uniform(0.1, 2.0, n_terms)
    _check_products(gram, matrices, weights, rtol)
    if n_terms > 1:  # a weight of zero takes its term out
        _check_products(gram, matrices, weights * (np.arange(n_terms) != 0), rtol)
        _check_products(gram, matrices, weights * (np.arange(n_terms) == 0), rtol)
    factors = rng.uniform(0.5, 2.0, n_terms)
    unscaled = matrices / gram.factors[:, None, None]
    _check_products(gram.rescaled(factors), factors[:, None, None] * unscaled, weights, rtol)
    _check_products(gram, matrices, weights, rtol)  # the twin left its origin alone
    for picked in (list(range(n_terms))[::2], list(range(n_terms))[::-1]):
        _check_products(gram.only(picked), matrices[picked], weights[picked], rtol)
    _check_new(gram, at if at is not None else gram.X.rows(np.arange(n)[::3]), weights, rtol)


def variances(gram: Gram) -> np.ndarray:
    """Return the variance of every term in its feature space, Σ_i K_ii / n − Σ_ij K_ij / n², without its factor."""
    share = np.full(gram.n, 1.0 / gram.n)
    return gram.diag_each() @ share - gram.quad(share) / gram.factors


def _check_products(gram: Gram, matrices: np.ndarray, weights: np.ndarray, rtol: float) -> None:
    rng = np.random.default_rng(1)
    n = gram.n
    K = np.tensordot(weights, matrices, axes=1)
    near = _Near(type(gram).__name__, rtol * n * max(float(np.abs(matrices).max()), 1e-300))
    rows, cols = rng.permutation(n)[: max(1, n // 2)], rng.permutation(n)[: max(1, n // 3)]
    near(gram.block(rows, cols, weights), K[np.ix_(rows, cols)], "block is not K[rows, cols]")
    near(gram.block(rows, None, weights), K[rows], "block without columns is not K[rows]")
    near(gram.diag(weights), np.diagonal(K), "diag is not the diagonal")
    one = gram.at(weights)
    near(one.diag(), np.diagonal(K), "at(weights).diag is not the diagonal")
    near(one.block(rows, cols), K[np.ix_(rows, cols)], "at(weights).block is not K[rows, cols]")
    sparse = np.where(rng.random(n) < 0.2, rng.standard_normal(n), 0.0)
    for coef in (rng.standard_normal(n), sparse, np.zeros(n), rng.standard_normal((n, 2))):
        each = np.array([Km @ coef for Km in matrices])
        near(gram.apply(coef, weights), K @ coef, "apply is not Σ weights K @ coef")
        near(gram.apply_each(coef), each, "apply_each is not K_m @ coef")
        near(gram.quad(coef), [np.sum(coef * row, axis=0) for row in each], "quad is not coef' K_m coef")
        if coef.ndim == 1:
            picked = np.arange(gram.n_terms)[::2]
            expected = each[np.ix_(picked, rows)]
            near(gram.apply_some(picked, rows, coef), expected, "apply_some is not (K_m @ coef)[rows]")
        near(one.apply(coef), K @ coef, "at(weights).apply is not K @ coef")
        near(one.rows_times(rows, coef[rows]), K[:, rows] @ coef[rows], "at(weights).rows_times is not K[:, rows] coef")
        found, expected = one.some_times(rows[::2], rows, coef[rows]), K[np.ix_(rows[::2], rows)] @ coef[rows]
        near(found, expected, "at(weights).some_times is not K[at, rows] coef")


def _check_new(gram: Gram, at: Views, weights: np.ndarray, rtol: float) -> None:
    rng = np.random.default_rng(2)
    new = np.array([f * term.compute(at, gram.X) for f, term in zip(gram.factors, gram.terms, strict=True)])
    near = _Near(type(gram).__name__, rtol * gram.n * float(np.abs(new).max(initial=1e-300)))
    for coef in (rng.standard_normal(gram.n), rng.standard_normal((gram.n, 2)), np.zeros(gram.n)):
        each = np.array([K @ coef for K in new])
        near(gram.apply_each(coef, at), each, "apply_each at new samples is not k(new, X) @ coef")
        near(gram.apply(coef, weights, at), np.tensordot(weights, each, axes=1), "apply at new samples is wrong")


class _Near:
    """Compares arrays, and says whose they are where they differ."""

    def __init__(self, name: str, atol: float) -> None:
        self.name = name
        self.atol = atol

    def __call__(self, got: Any, expected: Any, message: str) -> None:
        got, expected = np.asarray(got), np.asarray(expected)
        assert got.shape == expected.shape, f"{self.name}: {message}; shape {got.shape}, expected {expected.shape}"
        worst = float(np.abs(got - expected).max(initial=0.0))
        assert worst <= self.atol, f"{self.name}: {message}; off by {worst:.3g}"
