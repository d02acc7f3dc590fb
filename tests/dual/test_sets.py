"""Sets of samples: the machine of all of them, whatever fits at a time."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from kernelweave import RBF, MKLClassifier, MKLRegressor
from kernelweave.dual import SMO, Effort, Machine, Sets
from kernelweave.gram import DenseGram, TiledGram
from kernelweave.losses import Hinge
from kernelweave.views import as_views


def noisy(n, seed=0):
    """Samples of two classes, a third of them on the wrong side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] * X[:, 1] + rng.normal(size=n) * 0.7 > 0, 1.0, -1.0)


def solved(solver, machine, K, effort, gap=1e-6):
    """The state at which a solver is done."""
    state = solver.start(machine, K).certified(machine)
    for _ in range(400):
        if state.gap <= gap or state.final:
            break
        state = solver.step(machine, K, state, effort).certified(machine)
    return state


@pytest.mark.parametrize("most", [300, 1000, 10_000])
@pytest.mark.parametrize("C", [0.5, 30.0])
def test_sets_of_any_size_lead_to_the_same_machine(most, C, monkeypatch):
    monkeypatch.setattr("kernelweave.dual.sets.FEW", 100)
    X, y = noisy(1500)
    views = as_views(X)
    machine = Machine(Hinge(), y, np.full(len(y), C))
    one = np.ones(1)
    tiled = TiledGram.of([RBF(0.3)], views, dtype=np.float64, holds=False)
    gap = 1e-4 if most < 1000 else 1e-6
    found = solved(Sets(most), machine, tiled.at(one), Effort(gap), gap)
    wanted = solved(SMO(), machine, DenseGram.compute([RBF(0.3)], views).at(one), Effort(1e-6))
    assert found.gap <= gap
    assert found.upper == pytest.approx(wanted.upper, rel=2 * gap)
    assert found.active <= max(most, 1000)
    np.testing.assert_allclose(found.f, tiled.apply(found.coef, one), atol=1e-9 * np.abs(found.coef).sum())


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-8])
def test_bounds_hold_for_the_kernel_in_double_precision(tol):
    X, y = noisy(3300)
    model = MKLClassifier(RBF(0.3), C=2.0, tol=tol, scaling=None).fit(X, y)
    assert model.memory_needed(X)[0] == "tiles, no matrix"
    assert model.converged_
    assert model.gap_ <= tol
    machine = Machine(Hinge(), y, np.full(len(y), 2.0))
    K = DenseGram.compute([RBF(0.3)], as_views(X)).at(np.ones(1))
    exact = solved(SMO(), machine, K, Effort(1e-10), 1e-10)
    assert exact.lower * (1 - 1e-12) <= model.objective_ <= exact.upper * (1 + 1.01 * tol)
    assert exact.lower * (1 - 1.01 * tol) <= model.lower_bound_ <= exact.upper * (1 + 1e-12)
    other = SVC(C=2.0, gamma=0.3, tol=1e-6).fit(X, y)  # whose values are in single precision
    f = other.decision_function(X)
    square = float(other.dual_coef_[0] @ (f[other.support_] - other.intercept_[0]))
    assert model.objective_ == pytest.approx(2.0 * np.maximum(0.0, 1.0 - y * f).sum() + 0.5 * square, rel=tol + 1e-6)


def test_regression_of_many_samples():
    X, _ = noisy(3200)
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    model = MKLRegressor(RBF(0.3), C=1.0, epsilon=0.1, tol=1e-5, scaling=None, scaling_y=None).fit(X, y)
    other = SVR(C=1.0, gamma=0.3, epsilon=0.1, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=2e-2)
    assert model.gap_ <= 1e-5
