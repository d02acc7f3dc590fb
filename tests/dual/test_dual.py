"""Dual solvers against general-purpose optimisation; the jitted loop against the record it minimises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from kernelweave import RBF, Linear
from kernelweave.dual import DUAL_SOLVERS, SMO, Machine, Ridge, choose
from kernelweave.dual.polish import newton_direction, polish
from kernelweave.gram import CachedGram, DenseGram
from kernelweave.losses import LOSSES, BoxQP, Hinge, SmoothLoss, Squared
from kernelweave.testing import check_dual_solver
from kernelweave.testing.losses import targets
from kernelweave.views import as_views


@pytest.mark.parametrize("kind", DUAL_SOLVERS)
def test_every_dual_solver_keeps_its_promises(kind):
    check_dual_solver(kind())


def test_conjugate_gradients_keep_them_too():
    check_dual_solver(Ridge(max_cholesky=0))


def test_a_broken_dual_solver_is_found():
    class Lazy(SMO):
        def step(self, machine, K, state, effort):
            return state

    with pytest.raises(AssertionError, match="the gap stays"):
        check_dual_solver(Lazy())


@pytest.mark.parametrize("kind", LOSSES)
def test_every_loss_finds_a_solver(kind):
    loss = kind()
    y = targets(loss, 6, np.random.default_rng(0))
    assert choose(Machine(loss, y, np.ones(6))).fits(Machine(loss, y, np.ones(6)))


@st.composite
def records(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n = draw(st.integers(2, 10))
    A = rng.normal(size=(n, draw(st.integers(1, n))))
    lower, upper = -rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    if draw(st.booleans()):
        lower[rng.random(n) < 0.5] = 0.0
    ridge = rng.uniform(0, 1, n) if draw(st.booleans()) else np.zeros(n)
    return A @ A.T, BoxQP(rng.normal(size=n), ridge, draw(st.sampled_from([0.0, 0.3])), lower, upper)


@settings(max_examples=40)
@given(records())
def test_the_jitted_loop_reaches_the_minimum(record):
    from kernelweave._fast.smo import smo

    K, qp = record
    a = qp.feasible()
    g = K @ a + qp.ridge * a + qp.linear
    for _ in range(20):
        _, violation = smo(K, qp.ridge, qp.l1, qp.lower, qp.upper, a, g, 1e-10, 100_000)
        if violation <= 1e-10:
            break
    assert (a >= qp.lower).all()
    assert (a <= qp.upper).all()
    assert abs(a.sum() - qp.total) <= 1e-10
    np.testing.assert_allclose(g, K @ a + qp.ridge * a + qp.linear, atol=1e-8)
    best = naive.box_minimum(K, qp.ridge, qp.linear, qp.l1, qp.lower, qp.upper, qp.total)
    assert naive.box_objective(K, qp.ridge, qp.linear, qp.l1, a) <= best + 1e-7 * (1 + abs(best))


def test_the_jitted_argmax(rng):
    from kernelweave._fast.smo import _argmax

    for n in (1, 5, 64, 65, 200):
        for x in (rng.normal(size=n), -np.abs(rng.normal(size=n)), np.zeros(n), np.full(n, -1e300)):
            assert _argmax(x) == np.argmax(x)


@given(st.integers(2, 12), st.integers(0, 2**20))
def test_newton_direction_against_the_bordered_system(n, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 2))
    H, g = A @ A.T, rng.normal(size=n)
    d, exact = newton_direction(H, g), naive.newton_direction(H, g)
    np.testing.assert_allclose(d, exact, atol=1e-6 * np.abs(exact).max())
    assert abs(d.sum()) <= 1e-9 * (1 + np.abs(d).sum())


def test_newton_direction_refuses_what_is_indefinite():
    assert newton_direction(np.diag([1.0, -5.0, 1.0]), np.ones(3)) is None


@settings(max_examples=30)
@given(records(), st.integers(0, 100))
def test_polish_only_helps(record, seed):
    K, qp = record
    gram = DenseGram.compute([Linear()], as_views(np.linalg.cholesky(K + 1e-9 * np.eye(len(K)))))
    combined = gram.at(np.ones(1))
    machine = Machine(Hinge(), np.ones(len(K)), np.ones(len(K)))
    start = SMO().start(machine, combined, np.zeros(len(K)))
    rng = np.random.default_rng(seed)
    a = qp.feasible(0.5 * rng.uniform(qp.lower, qp.upper))
    start.coef, start.f = a, combined.apply(a)
    done = polish(qp, combined, start)
    before = naive.box_objective(K, qp.ridge, qp.linear, qp.l1, a)
    assert naive.box_objective(K, qp.ridge, qp.linear, qp.l1, done.coef) <= before + 1e-7 * (1 + abs(before))
    assert (done.coef >= qp.lower).all()
    assert (done.coef <= qp.upper).all()
    assert abs(done.coef.sum() - a.sum()) <= 1e-9
    np.testing.assert_allclose(done.f, combined.apply(done.coef), atol=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in LOSSES if not issubclass(kind, SmoothLoss)])
@pytest.mark.parametrize("make", [DenseGram.compute, CachedGram])
def test_working_sets_reach_the_same_optimum(kind, make, rng):
    loss = kind()
    n = 90
    X, y = as_views(rng.normal(size=(n, 3))), targets(loss, n, rng)
    machine = Machine(loss, y, np.full(n, 0.05 if loss.total else 2.0))
    K = make([RBF(0.5)], X).at(np.ones(1))
    solver = Ridge() if isinstance(loss, Squared) else SMO(working_set=16)
    state = solver.start(machine, K).certified(machine)
    for _ in range(400):
        state = solver.step(machine, K, state).certified(machine)
        if state.gap <= 1e-8 or state.final:
            break
    assert state.gap <= 1e-6
    np.testing.assert_allclose(state.f, K.apply(state.coef), atol=1e-8 * np.abs(state.coef).sum())


@given(st.integers(2, 12), st.integers(0, 2**20))
def test_newton_direction_where_only_the_intercept_makes_it_unique(rank, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rank + 1, rank))  # a linear kernel: one free sample more than there are features
    H, g = A @ A.T, rng.normal(size=rank + 1)
    d = newton_direction(H, g)
    slope = g + H @ d
    assert np.abs(slope - slope.mean()).max() <= 1e-9 * np.abs(H @ d).max()


@pytest.mark.parametrize("kind", [kind for kind in LOSSES if not issubclass(kind, SmoothLoss)])
def test_few_features_and_many_samples_reach_the_last_digits(kind, rng):
    loss = kind()
    n = 120
    X = rng.normal(size=(n, 5)) + 1.0
    y = np.where(X.sum(axis=1) > 5 + rng.normal(size=n), 1.0, -1.0)
    machine = Machine(loss, y, np.full(n, 0.02 if loss.total else 1.5))
    K = DenseGram.compute([Linear()], as_views(X)).at(np.ones(1))
    solver = choose(machine)
    state = solver.start(machine, K).certified(machine)
    for _ in range(30):
        state = solver.step(machine, K, state).certified(machine)
        if state.gap <= 1e-11:
            break
    assert state.gap <= 1e-10
