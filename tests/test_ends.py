"""Every fit ends by itself, whatever C and the scale of the data are."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.dual import DualState, InteriorPoint, Machine
from kernelweave.dual.interior import low_rank
from kernelweave.gram import Combined
from kernelweave.kernels import RBF, Linear, Polynomial
from kernelweave.losses import EpsilonInsensitive, Hinge, SquaredHinge

LABELS = ("hinge", "squared_hinge", "logistic", "smooth_hinge")
NUMBERS = ("epsilon_insensitive", "squared")
KERNELS = {"linear": Linear(), "two": Linear() + Polynomial(2), "widths": RBF(0.01) + RBF(0.1) + RBF(1.0)}
#: Far above what any of these takes, and far below what they took without an end.
GUARD = 60.0


def noise():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    return X, np.sign(rng.standard_normal(200)), rng.standard_normal(200)


def fitted(model, X, y):
    """Fit, and check that the end is honest and comes soon."""
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert time.process_time() - started < GUARD
    assert np.isfinite(model.objective_)
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    assert model.converged_ != warned
    assert model.converged_ == (model.gap_ <= model.tol)
    return model


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", LABELS + NUMBERS)
def test_row_33_every_loss_ends_at_every_C(loss, kernel):
    X, labels, numbers = noise()
    kind, y = (MKLClassifier, labels) if loss in LABELS else (MKLRegressor, numbers)
    for C in (1e-12, 1e4, 1e8, 1e12):
        model = fitted(kind(KERNELS[kernel], C=C, loss=loss), X, y)
        if C <= 1e8:
            assert model.converged_, (C, model.gap_)


def test_row_34_features_of_any_scale_end():
    X, labels, _ = noise()
    for scale in (1e3, 1e6, np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])):
        assert fitted(MKLClassifier(Linear() + RBF(), C=1e4), X * scale, labels).converged_


def test_row_37_opposite_labels_end_at_large_C():
    X, labels, _ = noise()
    model = fitted(MKLClassifier(Linear(), C=1e8), np.vstack([X, X]), np.concatenate([labels, -labels]))
    assert model.converged_
    assert np.isclose(model.objective_, 400 * 1e8, rtol=1e-3)


def test_time_at_large_C_buys_the_right_machine():
    X, labels, _ = noise()
    model = fitted(MKLClassifier(Linear(), C=1e4, scaling=None), X, labels)
    theirs = SVC(C=1e2, kernel="linear", tol=1e-6).fit(X, labels)
    ours = fitted(MKLClassifier(Linear(), C=1e2, scaling=None), X, labels)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert np.isclose(model.objective_ / 1e4, ours.objective_ / 1e2, rtol=1e-3)  # all of it is loss


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), EpsilonInsensitive()])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6, 1e10])
def test_interior_points_close_the_gap_in_few_iterations(loss, C):
    X, labels, numbers = noise()
    y = numbers if loss.reads == "numbers" else labels
    machine, K = Machine(loss, y, np.full(200, C)), Combined(X @ X.T)
    solver = InteriorPoint()
    state = solver.start(machine, K).certified(machine)
    while not state.final:
        state = solver.step(machine, K, state).certified(machine)
    assert state.gap <= 1e-5
    assert state.trail.n_iter <= 80
    assert ((state.coef >= machine.qp.lower) & (state.coef <= machine.qp.upper)).all()
    assert abs(state.coef.sum()) <= 1e-12 * np.abs(state.coef).sum()


@pytest.mark.parametrize("rank", [1, 5, 40])
def test_a_factor_has_the_rank_of_its_matrix(rank):
    A = np.random.default_rng(rank).standard_normal((40, rank))
    Z = low_rank(Combined(A @ A.T), centred=False)
    assert Z.shape == (40, rank)
    assert np.allclose(Z @ Z.T, A @ A.T)
    centred = A - A.mean(axis=0)
    Z = low_rank(Combined(A @ A.T), centred=True)
    assert Z.shape[1] <= rank
    assert np.allclose(Z @ Z.T, centred @ centred.T)


def test_a_path_at_other_weights_is_not_followed():
    X, labels, _ = noise()
    machine, K = Machine(Hinge(), labels, np.full(200, 1.0)), Combined(X @ X.T, weights=np.ones(1))
    other = Combined(X**3 @ (X**3).T, weights=np.full(1, 0.5))
    solver = InteriorPoint()
    there = solver.step(machine, K, solver.start(machine, K))
    state = solver.step(machine, other, DualState(there.coef, other.apply(there.coef), trail=there.trail))
    assert state.certified(machine).gap <= 1e-8
