"""Kernels add, multiply, choose columns, and stay symmetric and positive semi-definite."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone

import strategies
from kernelweave import RBF, Frozen, InputError, Laplacian, Linear, Polynomial, Precomputed, per_feature
from kernelweave.kernels import KERNELS, Chi2, Ordinal, Product, Scaled, Sum, Tanimoto
from kernelweave.testing import check_kernel
from kernelweave.views import as_views

X = np.random.default_rng(0).normal(size=(8, 4))
#: How to make one of each kernel that reads something else than numbers, and what it reads.
EXAMPLES = {
    Precomputed: (Precomputed(X @ X.T, name="given"), np.arange(8)),
    Chi2: (Chi2(), np.abs(X)),
    Tanimoto: (Tanimoto(), np.abs(X)),
    Ordinal: (Ordinal(["low", "middle", "high"]).on(0), np.array([["low"], ["middle"], ["high"], ["low"]] * 2)),
}
SEQUENCES = ["".join(row) for row in np.random.default_rng(0).choice(list("ACGT"), (8, 30))]


@pytest.mark.parametrize("kind", [k for k in KERNELS if k in EXAMPLES or k.reads in ("numbers", "sequences")])
def test_every_kernel_keeps_its_promises(kind):
    data = SEQUENCES if kind.reads == "sequences" else X
    kernel, data = EXAMPLES[kind] if kind in EXAMPLES else (kind(), data)
    check_kernel(kernel, data)
    check_kernel(kernel.normalized(), data)
    check_kernel(0.5 * kernel + kernel * kernel, data)


@given(strategies.evaluable, strategies.samples())
def test_expressions_are_kernels(kernel, X):
    check_kernel(kernel, X)


def test_a_broken_kernel_is_found():
    class Crooked(Linear):
        def between(self, A, B):
            return super().between(A, B) + np.arange(len(A))[:, None]

    class Negative(Linear):
        def between(self, A, B):
            return -super().between(A, B)

        def within(self, A):
            return -super().within(A)

    with pytest.raises(AssertionError, match="not symmetric"):
        check_kernel(Crooked(), X)
    with pytest.raises(AssertionError, match="not positive semi-definite"):
        check_kernel(Negative(), X)


def test_values_of_the_algebra():
    a, b = RBF(0.5), Linear()
    K, L = a(X), b(X)
    np.testing.assert_allclose((a + b)(X), K + L)
    np.testing.assert_allclose((a * b)(X), K * L)
    np.testing.assert_allclose((3 * a)(X), 3 * K)
    np.testing.assert_allclose((a * 3)(X), 3 * K)
    np.testing.assert_allclose(sum([a, b, a])(X), 2 * K + L)
    np.testing.assert_allclose(Frozen(a + b)(X), K + L)
    np.testing.assert_allclose(a.on([1, 3])(X), a(X[:, [1, 3]]))
    np.testing.assert_allclose(b.on(slice(0, 2))(X), X[:, :2] @ X[:, :2].T)
    np.testing.assert_allclose(b.on(-1)(X), np.outer(X[:, 3], X[:, 3]))
    np.testing.assert_allclose(per_feature(a)(X), sum(a(X[:, [j]]) for j in range(4)))
    np.testing.assert_allclose(per_feature(a).on([2, 3])(X), a(X[:, [2]]) + a(X[:, [3]]))
    norms = np.sqrt(np.diagonal(L))
    np.testing.assert_allclose(b.normalized()(X), L / np.outer(norms, norms))


def test_normalized_of_a_zero_sample_is_zero_and_finite():
    Z = np.vstack([X, np.zeros(4)])
    K = Linear().normalized()(Z)
    assert not K[-1].any()
    assert not K[:, -1].any()
    assert Linear().normalized().diag(Z)[-1] == 0.0


def names(kernel, data=X):
    return [repr(term) for term in kernel.terms(as_views(data))]


def test_terms_are_the_top_level_summands():
    a, b, c = RBF(0.1), Linear(), Laplacian(2.0)
    assert names(a + b + c) == ["RBF(gamma=0.1)", "Linear()", "Laplacian(gamma=2.0)"]
    assert names(a + (b + c)) == names((a + b) + c)
    assert names(Frozen(a + b) + c) == ["Frozen(RBF(gamma=0.1) + Linear())", "Laplacian(gamma=2.0)"]
    assert len(names(2.0 * (a + b))) == 1
    assert len(names((a + b) * c)) == 1
    assert names((a + b).on([0, 1])) == ["RBF(gamma=0.1).on([0, 1])", "Linear().on([0, 1])"]
    assert names(per_feature(b).on([3, 1])) == ["Linear().on(3)", "Linear().on(1)"]
    assert names(per_feature(a + b).on(slice(0, 2))) == [
        "RBF(gamma=0.1).on(0)",
        "RBF(gamma=0.1).on(1)",
        "Linear().on(0)",
        "Linear().on(1)",
    ]


def test_flattening_keeps_long_sums_flat():
    total = sum(RBF(g) for g in range(1, 50))
    assert isinstance(total, Sum)
    assert len(total.kernels) == 49
    assert isinstance(RBF() * RBF() * Linear(), Product)
    assert len((RBF() * RBF() * Linear()).kernels) == 3
    assert 2 * (3 * RBF()) == Scaled(6.0, RBF())


@pytest.mark.parametrize("scale", [-1.0, np.nan, np.inf])
def test_scales_that_break_a_kernel_are_refused(scale):
    with pytest.raises(InputError, match="finite number ≥ 0"):
        scale * RBF()


@pytest.mark.parametrize("other", ["RBF()", None, 1.0])
def test_only_kernels_are_added(other):
    with pytest.raises(TypeError):
        RBF() + other


def test_equality_and_hash():
    assert RBF(1) == RBF(1.0)
    assert hash(RBF(1)) == hash(RBF(1.0))
    assert RBF(1) != RBF(2)
    assert RBF(1) != Laplacian(1)
    assert Linear().on([0, 1]) == Linear().on(np.array([0, 1]))
    assert hash(Linear().on([0, 1])) == hash(Linear().on(np.array([0, 1])))
    assert hash(Linear().on(slice(0, 2))) == hash(Linear().on(slice(0, 2)))
    assert Linear() + RBF() != RBF() + Linear()
    assert len({RBF(1), RBF(1.0), RBF(2)}) == 2


@given(strategies.expressions)
def test_clone_and_pickle_give_equal_kernels(kernel):
    assert clone(kernel) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_parameters_reach_nested_kernels():
    kernel = RBF(0.5).on([0, 1]).normalized()
    kernel.set_params(kernel__kernel__gamma=2.0)
    assert repr(kernel) == "RBF(gamma=2.0).on([0, 1]).normalized()"


@pytest.mark.parametrize(
    "kernel",
    [RBF(-1.0), RBF(np.inf), RBF("wide"), Laplacian(0.0), Polynomial(0), Polynomial(2.5), Polynomial(coef0=-1.0)],
)
def test_bad_parameters_are_named_when_used(kernel):
    with pytest.raises(InputError, match=type(kernel).__name__):
        kernel(X)


def test_per_feature_inside_one_of_several_views(rng):
    views = {"a": rng.normal(size=(12, 3)), "b": rng.normal(size=(12, 2))}
    kernel = per_feature(RBF(0.5)).on("a")
    terms = kernel.terms(as_views(views))
    assert [repr(term) for term in terms] == [f"RBF(gamma=0.5).on({c}).on('a')" for c in range(3)]
    expected = sum(RBF(0.5)(views["a"][:, [c]]) for c in range(3))
    np.testing.assert_allclose(kernel(views), expected, atol=1e-12)
