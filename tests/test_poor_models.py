"""However hard a problem is: it ends, and what is kept is no worse than no machine at all."""

import time
import warnings

import numpy as np
import pytest

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.dual import Machine
from kernelweave.kernels import RBF, Linear, Polynomial
from kernelweave.losses import Logistic, SmoothHinge

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
