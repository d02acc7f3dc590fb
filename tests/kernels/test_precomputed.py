"""Precomputed matrices and plain functions as kernels."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from kernelweave import InputError, Linear, MKLClassifier, Precomputed
from kernelweave.errors import InputTypeError
from kernelweave.gram import bind
from kernelweave.kernels import Function, as_kernel
from kernelweave.testing import check_kernel
from kernelweave.views import as_views


@pytest.fixture
def K(rng):
    A = rng.normal(size=(6, 3))
    return A @ A.T


def test_slices_follow_the_ids(K):
    kernel = Precomputed(K)
    assert (kernel([4, 1], [0, 2, 2]) == K[[[4], [1]], [0, 2, 2]]).all()
    assert kernel(np.arange(6)) is K, "the whole matrix is handed out as it is"
    assert (kernel(np.array([[3.0], [0.0]])) == K[[[3], [0]], [3, 0]]).all()
    assert (kernel.diag([5, 0]) == K[[5, 0], [5, 0]]).all()
    check_kernel(kernel, np.arange(6))
    check_kernel(Precomputed(K.astype(np.float32), name="single"), np.arange(6), rtol=1e-6)


def test_new_samples_are_rows_below(K, rng):
    new = rng.normal(size=(2, 6))
    kernel = Precomputed(np.vstack([K, new]))
    assert (kernel([6, 7], np.arange(6)) == new).all()
    assert (kernel(np.arange(6), [6, 7]) == new.T).all()
    assert (kernel(np.arange(6)) == K).all()
    with pytest.raises(InputError, match="two new samples"):
        kernel([6], [7])
    with pytest.raises(InputError, match=r"does not know k\(x, x\)"):
        kernel.diag([6])


def test_clone_never_copies(K):
    kernel = Precomputed(K, name="a") + 2 * Precomputed(K).on("id")
    twin = clone(kernel)
    assert [leaf.K is K for leaf in twin.leaves()] == [True, True]
    assert twin == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K: K[:3], "square matrix"),
        (lambda K: K[0], "square matrix"),
        (lambda K: K.astype(str), "square matrix"),
        (lambda K: K + 1j, "square matrix"),
        (lambda K: K + np.triu(np.ones_like(K)), "not symmetric"),
        (lambda K: K - 5 * np.eye(6), "lowest eigenvalue is about -5"),
        (lambda K: np.where(np.eye(6) > 0, np.nan, K), r"NaN or infinity, first at K\[0, 0\]"),
        (lambda K: np.where(np.eye(6) > 0, np.inf, K), "NaN or infinity"),
    ],
)
def test_rows_40_41_what_is_no_kernel_is_refused(K, change, message):
    with pytest.raises(InputError, match=message):
        Precomputed(change(K))(np.arange(6))


def test_clipping_leaves_no_negative_eigenvalue_in_single_precision(rng):
    A = rng.normal(size=(9, 3)) + 300.0  # far from the origin: centred, the rounding of a large entry is large
    K = (A @ A.T).astype(np.float32)
    clipped = Precomputed(K, psd="clip")(np.arange(9))
    assert np.linalg.eigvalsh(K.astype(np.float64))[0] < -1e-3
    assert np.linalg.eigvalsh(clipped)[0] > -1e-8


def test_indefinite_matrices_on_request(K, rng):
    bad = K - 0.5 * np.eye(6)
    clipped = Precomputed(bad, psd="clip")(np.arange(6))
    values, vectors = np.linalg.eigh(bad)
    np.testing.assert_allclose(clipped, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-12)
    assert Precomputed(bad, psd="ignore")(np.arange(6)) is bad
    with pytest.raises(InputError, match="psd must be"):
        Precomputed(K, psd="maybe")(np.arange(6))
    large = rng.normal(size=(600, 600))
    large = large + large.T
    with pytest.raises(InputError, match="not positive semi-definite") as caught:
        Precomputed(large)(np.arange(600))
    estimate = float(str(caught.value).split("about ")[1].split(". ")[0])
    assert estimate == pytest.approx(np.linalg.eigvalsh(large)[0], rel=0.02)


def test_row_40_large_matrices_that_are_no_kernel_are_refused(rng):
    n = 2100  # more than are proven by a factor
    A = rng.normal(size=(n, n)).astype(np.float32)
    with pytest.raises(InputError, match="not positive semi-definite") as caught:
        Precomputed(A + A.T)(np.arange(n))
    lowest = -2.0 * np.sqrt(2.0 * n)  # of such a matrix, by the law of the semicircle
    assert float(str(caught.value).split("about ")[1].split(". ")[0]) == pytest.approx(lowest, rel=0.1)


def test_single_precision_and_mapped_files_are_used_as_they_are(rng, tmp_path):
    A = rng.normal(size=(60, 4)).astype(np.float32)
    y = np.where(A[:, 0] > 0, 1, -1)
    K = A @ A.T
    np.save(tmp_path / "K.npy", K)
    mapped = np.load(tmp_path / "K.npy", mmap_mode="r")
    kernel = Precomputed(mapped, name="mapped")
    found = kernel(np.arange(60))
    assert found.dtype == np.float32
    assert np.shares_memory(found, mapped)
    gram = bind(kernel, as_views(np.arange(60)))
    assert np.shares_memory(gram.matrix_of(0), mapped)
    model = MKLClassifier(kernel).fit(np.arange(60), y)
    assert model.converged_
    linear = MKLClassifier(Linear()).fit(A, y)
    assert model.objective_ == pytest.approx(linear.objective_, rel=2e-3)


def test_a_changed_matrix_is_looked_at_again(K):
    kernel = Precomputed(K)
    kernel([0])
    kernel.set_params(K=K[:3])
    with pytest.raises(InputError, match="square matrix"):
        kernel([0])


@pytest.mark.parametrize(("ids", "message"), [([6], "Id 6 is not a row"), ([-1], "Id -1 is not a row")])
def test_ids_out_of_range(K, ids, message):
    with pytest.raises(InputError, match=message):
        Precomputed(K)(ids)


@pytest.mark.parametrize("ids", [["a", "b"], [0.5, 1.0], np.array([None, 1], dtype=object)])
def test_ids_of_another_kind(K, ids):
    with pytest.raises(InputTypeError, match="integer ids"):
        Precomputed(K)(ids)


def test_named_by_content_unless_named(K):
    assert repr(Precomputed(K)) == repr(Precomputed(K.copy())) != repr(Precomputed(2 * K))
    assert repr(Precomputed(K, name="x")) == "Precomputed(name='x')"
    assert Precomputed(K) == Precomputed(K.copy())
    assert Precomputed(K, name="x") != Precomputed(2 * K, name="x")


def test_functions_are_kernels(rng):
    X = rng.normal(size=(5, 2))

    def product(A, B):
        return A @ B.T

    kernel = as_kernel(product)
    assert repr(kernel) == "Function(product)"
    np.testing.assert_allclose(kernel(X), Linear()(X))
    check_kernel(kernel, X)
    check_kernel(kernel.on([0]) + Linear(), X)
    with pytest.raises(InputError, match="must return a matrix of shape"):
        Function(lambda A, B: np.zeros(3))(X)


@pytest.mark.parametrize(("given", "message"), [(Linear, "call it"), (3, "must be a kernel"), ([], "must be a kernel")])
def test_what_is_no_kernel_at_all(given, message):
    with pytest.raises(InputError, match=message):
        as_kernel(given)


def test_a_list_of_kernels_is_their_sum():
    assert as_kernel(["RBF(1)", Linear()]) == as_kernel("RBF(1) + Linear()")
