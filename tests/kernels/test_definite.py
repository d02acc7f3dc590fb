"""Functions and kernels of users are tried on the training samples: what is no kernel gets no certificate."""

from dataclasses import dataclass

import numpy as np
import pytest

from kernelweave import RBF, InputError, Linear, MKLClassifier, Precomputed, WeightedDegree
from kernelweave.gram import bind
from kernelweave.kernels import Function, Kernel, Scaled, definite
from kernelweave.views import as_views


@pytest.fixture
def data(rng):
    X = rng.normal(size=(80, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)


def tanh(A, B):
    return np.tanh(2.0 * A @ B.T - 1.0)


def lopsided(A, B):
    return np.exp(-np.abs(A[:, :1] - B[:, 0])) + 0.1 * A[:, :1]


def together(A, B):
    return (A - A.mean(axis=0)) @ (B - B.mean(axis=0)).T


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: Function(f) * RBF(0.01), lambda f: Function(f) + Linear()])
def test_row_40_functions_with_negative_eigenvalues_are_refused(data, wrap):
    with pytest.raises(InputError, match="not positive semi-definite on these samples: its lowest eigenvalue"):
        MKLClassifier(wrap(tanh)).fit(*data)


def test_the_estimate_is_the_lowest_eigenvalue(data):
    with pytest.raises(InputError) as caught:
        MKLClassifier(tanh).fit(*data)
    estimate = float(str(caught.value).split("about ")[1].split(",")[0])
    assert estimate == pytest.approx(np.linalg.eigvalsh(tanh(data[0], data[0]))[0], rel=0.01)


def test_row_41_functions_that_are_not_symmetric_are_refused(data):
    with pytest.raises(InputError, match=r"k\(x, y\) and k\(y, x\) differ by up to"):
        MKLClassifier(lopsided).fit(*data)


def test_functions_whose_values_depend_on_the_other_samples_are_refused(data):
    with pytest.raises(InputError, match="depend on which other samples"):
        MKLClassifier(together).fit(*data)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: A @ B.T + 1j, "must return real numbers; it returned complex128"),
        (lambda A, B: (A @ B.T).astype(str), "must return real numbers"),
        (lambda A, B: np.where(A @ B.T > 1, np.nan, A @ B.T), "returned NaN or infinity, first at"),
        (lambda A, B: A @ A.T[:, :1], "must return a matrix of shape"),
    ],
)
def test_what_a_function_returns_is_looked_at(data, function, message):
    with pytest.raises(InputError, match=message):
        MKLClassifier(function).fit(*data)


def test_also_at_predict(data):
    X, y = data

    def fragile(A, B):
        return np.where(A[:, :1] > 1e6, np.inf, A @ B.T)

    model = MKLClassifier(fragile).fit(X, y)
    with pytest.raises(InputError, match="NaN or infinity"):
        model.predict(1e9 * np.abs(X))


def test_good_functions_pass_and_bad_ones_on_request(data):
    plain = MKLClassifier(lambda A, B: A @ B.T).fit(*data)
    single = MKLClassifier(lambda A, B: (A @ B.T).astype(np.float32)).fit(*data)
    named = MKLClassifier(Linear()).fit(*data)
    np.testing.assert_allclose([plain.objective_, single.objective_], named.objective_, rtol=2e-3)
    kernel = Function(tanh, psd="ignore")
    assert repr(kernel) == "Function(tanh, psd='ignore')"
    assert bind(kernel, as_views(data[0])).n == 80
    with pytest.raises(InputError, match='must be "error" or "ignore"; got \'clip\''):
        bind(Function(tanh, psd="clip"), as_views(data[0]))


@dataclass(eq=False, repr=False)
class Twisted(RBF):
    """A kernel of a user's, made from one of the library's."""

    def between(self, A, B):
        return super().between(A, B) - 0.5


@dataclass(eq=False, repr=False)
class Flat(Kernel):
    """Gives one column for all."""

    def compute(self, X, Y):
        return np.ones((len(X), 1))


def test_classes_of_users_are_tried_too(data):
    with pytest.raises(InputError, match="not positive semi-definite"):
        MKLClassifier(Twisted(0.5)).fit(*data)
    with pytest.raises(InputError, match="must give numbers, of shape"):
        MKLClassifier(Flat()).fit(*data)


def test_weights_of_shifts_can_spoil_a_kernel(rng):
    X = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(40)]
    bad = WeightedDegree(degree=2, shift=1, shift_weights=[0.1, 2.0])
    with pytest.raises(InputError, match="not positive semi-definite"):
        MKLClassifier(bad).fit(X, np.arange(40) % 2)
    assert not definite.unproven(WeightedDegree(degree=2, shift=8))
    K = WeightedDegree(degree=1, shift=8, alphabet="dna")(["A" * i + "C" * (12 - i) for i in range(13)])
    assert np.linalg.eigvalsh(K)[0] > -1e-9


@pytest.mark.parametrize("scale", [-1.0, float("nan"), float("inf"), 10**400])
def test_scales_that_make_no_kernel(scale):
    with pytest.raises(InputError, match="scaled by a finite number ≥ 0"):
        Scaled(scale, RBF(1.0))


def test_large_matrices_are_proven_in_part_and_searched_as_a_whole(rng, monkeypatch):
    monkeypatch.setattr(definite, "MAX_PROVEN", 50)
    A = rng.normal(size=(300, 5))
    good, v = A @ A.T, rng.normal(size=300)
    v /= np.linalg.norm(v)
    assert Precomputed(good)(np.arange(300)) is good
    with pytest.raises(InputError, match="not positive semi-definite") as caught:
        Precomputed(good - 30.0 * np.outer(v, v))(np.arange(300))
    assert float(str(caught.value).split("about ")[1].split(". ")[0]) == pytest.approx(-30, rel=0.1)
    hidden = np.where(np.isin(np.arange(300), definite.some_samples(300)), 0.0, v)
    with pytest.raises(InputError, match="not positive semi-definite"):  # the part that is proven does not show it
        Precomputed(good - 30.0 * np.outer(hidden, hidden))(np.arange(300))
    positive = bind(Function(lambda X, Y: X @ Y.T), as_views(A))
    assert positive.n_terms == 1
    with pytest.raises(InputError, match="not positive semi-definite"):
        bind(Function(lambda X, Y: tanh(X, Y)), as_views(A))


def test_a_search_never_undercuts_the_lowest_eigenvalue(rng):
    for n in (1, 2, 7, 60):
        A = rng.normal(size=(n, n))
        K = A + A.T
        found = definite._ritz_value(lambda V, K=K: K @ V, n)
        lowest = np.linalg.eigvalsh(K)[0]
        assert lowest - 1e-9 <= found <= lowest + 0.1 * abs(lowest) + 1e-9
