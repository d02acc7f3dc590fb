"""However hard a problem is: it ends, and what is kept is no worse than no machine at all."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.dual import Machine
from kernelweave.errors import DataWarning
from kernelweave.gram import bind
from kernelweave.kernels import RBF, Linear, Polynomial
from kernelweave.losses import Hinge, Logistic, OneClass, SmoothHinge
from kernelweave.mkl import Problem
from kernelweave.norms import Fixed
from kernelweave.views import as_views

#: CPU seconds: far above what any of these takes, and below what they took without an end.
GUARD = 60.0


def noise():
    rng = np.random.default_rng(0)
    return rng.standard_normal((200, 5)), np.sign(rng.standard_normal(200)), rng.standard_normal(200)


def fitted(model, X, y):
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert time.process_time() - started < GUARD
    assert model.lower_bound_ <= model.objective_ * (1 + 1e-9)
    return model


def nothing(model, y):
    """The objective of coef = 0 with the best intercept."""
    machine = Machine(model._loss(), y, np.full(len(y), model.C))
    f = np.zeros(len(y))
    return machine.upper(f, machine.loss.intercept(y, f, machine.C), 0.0)


@pytest.mark.parametrize("scale", [1e3, 1e6])
@pytest.mark.parametrize("kernel", [Linear(), Linear() + Polynomial(2)], ids=["linear", "two"])
@pytest.mark.parametrize(
    "loss", ["hinge", "squared_hinge", "logistic", "smooth_hinge", "epsilon_insensitive", "squared"]
)
def test_row_34_no_machine_is_worse_than_none(loss, kernel, scale):
    X, labels, numbers = noise()
    kind, y = (MKLRegressor, numbers) if loss in ("epsilon_insensitive", "squared") else (MKLClassifier, labels)
    for C in (1.0, 1e8):
        model = fitted(kind(kernel, C=C, loss=loss, scaling=None), X * scale, y)
        assert model.objective_ <= nothing(model, y) * (1 + 1e-9), C


def test_row_33_smooth_losses_on_one_column_end():
    X, labels, _ = noise()
    fitted(MKLClassifier(RBF(0.01) + RBF(0.1) + RBF(1.0), C=1e12, loss="logistic"), X[:, :1], labels)


@pytest.mark.parametrize("loss", ["logistic", "smooth_hinge"])
def test_row_33_smooth_losses_prove_their_optimum_at_any_C(loss):
    X, labels, _ = noise()
    for C in (1e16, 1e20):
        model = fitted(MKLClassifier(RBF(0.1) + RBF(1.0) + Linear(), C=C, loss=loss), X[:60], labels[:60])
        assert model.converged_


@pytest.mark.parametrize("loss", [Logistic(), SmoothHinge()], ids=str)
def test_conjugates_keep_their_digits_next_to_zero(loss):
    u = np.array([1e-18, 1e-14, 1e-9])
    # sup over z of u z − log(1 + e^z) is u log u + (1 − u) log(1 − u), and the latter is −u but for u²/2
    expected = -loss._margin * u + (u * np.log(u) - u) / loss.sigma
    assert np.allclose(loss.conjugate_each(np.ones(3), -u), expected, rtol=1e-8, atol=0.0)


def around(shift, n=200):
    """Samples around the origin, or beside it."""
    return np.random.default_rng(0).standard_normal((n, 5)) + shift


@pytest.mark.parametrize("nu", [1e-6, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("kernel", [Linear(), Linear() + Linear().on([0, 1])], ids=["one", "two"])
@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1.0, 1e6])
def test_an_optimum_of_zero_is_proven_and_told(nu, kernel, scale):
    model = MKLOneClass(kernel, nu=nu, scaling=None)
    with pytest.warns(DataWarning, match="The optimum is 0") as caught:
        model.fit(around(0.0) * scale)
    assert not [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    assert model.converged_
    assert max(abs(model.objective_), abs(model.lower_bound_)) < 1e-12 * scale**2


@pytest.mark.parametrize("shift", [1e-3, 1e-2, 1.0])
def test_a_small_optimum_that_is_not_zero_is_held_to_its_own_digits(shift):
    X = np.abs(around(0.0)) + shift  # all on one side of the origin
    X[0, 0] = 1e3  # a sample beside which the optimum is next to nothing
    model = MKLOneClass(Linear(), nu=0.01, scaling=None).fit(X)
    assert model.converged_
    assert 0 < abs(model.objective_) < 1e-5 * X[0, 0] ** 2
    assert model.gap_ == pytest.approx((model.objective_ - model.lower_bound_) / abs(model.objective_), abs=1e-15)


def test_only_a_machine_with_a_total_has_a_unit():
    X, labels, _ = noise()
    gram = bind(Linear(), as_views(X))
    hinge = Problem(gram, [Machine(Hinge(), labels, np.ones(len(X)))], Fixed())
    assert hinge.unit(np.ones(1)) == 0.0
    alone = Problem(gram, [Machine(OneClass(), labels, np.full(len(X), 0.1))], Fixed()).unit(np.ones(1))
    assert alone == pytest.approx(1e-9 * 0.5 * (X**2).sum(axis=1).max())


@pytest.mark.parametrize("seed", [3, 5])
def test_row_33_the_best_of_two_machines_proves_what_the_other_reached(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((200, 5)), np.sign(rng.standard_normal(200))
    for C in (1e8, 1e10):
        model = fitted(MKLClassifier(Linear(), C=C), X, y)
        assert model.gap_ < 0.01, C
