"""Second-order MKL: derivatives, Newton steps, few of them, many terms, and the same optimum as all other solvers."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from kernelweave import RBF, Linear, MKLClassifier, Polynomial, WeightedDegree
from kernelweave.dual import Machine
from kernelweave.gram import DenseGram, StreamedGram
from kernelweave.losses import LOSSES, EpsilonInsensitive, Hinge, Logistic, OneClass, Squared, SquaredHinge
from kernelweave.mkl import (
    SILP,
    ActiveTerms,
    Hessian,
    Plain,
    Problem,
    Run,
    SILPChunking,
    Simple,
    as_solver,
    hessian,
    run,
)
from kernelweave.mkl import machines as mkl_machines
from kernelweave.mkl.active_terms import mixed_coef
from kernelweave.mkl.base import Step
from kernelweave.mkl.hessian import beyond, bordered_solve, bounded, machines_hessian, newton_target, simplex_minimum
from kernelweave.mkl.master_lp import MasterLP
from kernelweave.norms import Fixed, Simplex
from kernelweave.testing.kernels import variances
from kernelweave.testing.losses import targets
from kernelweave.views import as_views


def scaled(gram):
    return gram.rescaled(1.0 / variances(gram))


def costs(loss, n, C=1.0):
    return np.full(n, 1.0 / (0.3 * n)) if loss.total else np.full(n, C)


@cache
def few_terms(n=40):
    X = as_views(np.random.default_rng(1).standard_normal((n, 4)))
    return scaled(DenseGram.compute([RBF(0.1), RBF(0.5), RBF(2.0).on(0), Linear(), Polynomial(2).on([1, 2])], X))


def few(loss, n_machines=1):
    gram, rng = few_terms(), np.random.default_rng(2)
    machines = [Machine(loss, targets(loss, gram.n, rng), costs(loss, gram.n)) for _ in range(n_machines)]
    return Problem(gram, machines, Simplex(), tol=1e-9)


def full_hessian(problem, step):
    some = np.arange(problem.gram.n_terms)
    pairs = zip(problem.machines, step.states, strict=True)
    return sum(machines_hessian(Run(problem), step, [machine], [state], some) for machine, state in pairs)


# --- derivatives ---

WEIGHTS = np.array([0.3, 0.25, 0.2, 0.15, 0.1])


@pytest.fixture
def exact(monkeypatch):
    """Machines solved until rounding is all that is left, for differences to mean something."""
    monkeypatch.setattr(mkl_machines, "EXACT_GAP", -1.0)  # no gap is small enough: errors of coef count squared in it


@pytest.mark.parametrize("kind", LOSSES)
def test_the_gradient_is_minus_half_quad(kind, exact):
    problem, h = few(kind()), 1e-4
    step = Run(problem).solve(WEIGHTS, None, 1e-12)
    for m in range(len(WEIGHTS)):
        change = h * np.eye(len(WEIGHTS))[m]
        above, below = (Run(problem).solve(WEIGHTS + sign * change, step.states, 1e-12).upper for sign in (1, -1))
        assert -0.5 * step.quad[m] == pytest.approx((above - below) / (2 * h), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("n_machines", [1, 3])
@pytest.mark.parametrize("kind", LOSSES)
def test_the_hessian_is_the_change_of_the_gradient(kind, n_machines, exact):
    problem, h = few(kind(), n_machines), 1e-6
    step = Run(problem).solve(WEIGHTS, None, 1e-12)
    H = full_hessian(problem, step)
    assert np.abs(H).max() > 0
    change = []
    for m in range(len(WEIGHTS)):
        move = h * np.eye(len(WEIGHTS))[m]
        above, below = (Run(problem).solve(WEIGHTS + sign * move, step.states, 1e-12).quad for sign in (1, -1))
        change.append(-0.5 * (above - below) / (2 * h))
    np.testing.assert_allclose(H, np.array(change), rtol=1e-3, atol=1e-4 * np.abs(H).max())
    assert np.linalg.eigvalsh(H).min() >= -1e-9 * np.abs(H).max(), "J is convex"


def test_the_bordered_system_is_solved_as_written(rng):
    B = rng.standard_normal((6, 6))
    A, ridge, Q = B @ B.T, rng.uniform(0.0, 1.0, 6), rng.standard_normal((6, 3))
    whole = np.block([[A + np.diag(ridge), np.ones((6, 1))], [np.ones((1, 6)), np.zeros((1, 1))]])
    expected = Q.T @ np.linalg.inv(whole)[:-1, :-1] @ Q
    np.testing.assert_allclose(bordered_solve(A.copy(), ridge, Q), expected, rtol=1e-8, atol=1e-10)


# --- the small quadratic program ---


def slsqp_value(H, c):
    """The least ½ u'Hu + c'u over the simplex, by general-purpose optimisation from the best corner and the middle."""
    n = len(c)
    scale = max(np.abs(H).max(), np.abs(c).max())
    values = []
    for start in (np.eye(n)[np.argmin(0.5 * np.diag(H) + c)], np.full(n, 1 / n)):
        found = minimize(
            lambda u: ((0.5 * u @ H @ u + c @ u) / scale, (H @ u + c) / scale),
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0, 1)] * n,
            constraints=[{"type": "eq", "fun": lambda u: u.sum() - 1}],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        u = np.maximum(found.x, 0.0) / np.maximum(found.x, 0.0).sum()
        values.append(0.5 * u @ H @ u + c @ u)
    return min(values)


@settings(max_examples=40)
@given(st.integers(0, 2**20), st.integers(2, 8), st.integers(1, 8), st.sampled_from([1e-3, 1.0, 1e3]))
def test_the_newton_target_minimises_the_model(seed, n, rank, size):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, rank))
    H = size * B @ B.T + 1e-10 * size * np.eye(n)
    c = rng.standard_normal(n) * rng.choice([0.1, 1.0, 10.0])
    u = simplex_minimum(H, c, np.full(n, 1.0 / n))
    assert (u >= 0).all()
    assert u.sum() == pytest.approx(1.0, abs=1e-12)
    best = slsqp_value(H, c)
    assert 0.5 * u @ H @ u + c @ u <= best + 1e-6 * max(abs(best), np.abs(c).max())


@pytest.mark.parametrize("kind", [Hinge, Squared, Logistic])
def test_a_newton_step_is_the_best_of_the_second_order_model(kind):
    problem = few(kind())
    step = Run(problem).solve(WEIGHTS, None, 1e-12)
    H, g = full_hessian(problem, step), -0.5 * step.quad
    target = newton_target(Run(problem), step)

    def model(weights):
        s = weights - WEIGHTS
        return 0.5 * s @ H @ s + g @ s

    best = slsqp_value(H, g - H @ WEIGHTS) - (0.5 * WEIGHTS @ -H @ WEIGHTS + g @ WEIGHTS)
    assert model(target) < 0
    assert model(target) == pytest.approx(best, rel=1e-5)


# --- few steps ---


@cache
def sonar_like(seed=0, n=140, d=14):
    """Two classes of few samples in many correlated features, and the kernels that the papers offer for such data."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) / 2 + 0.7 * rng.standard_normal((n, d))
    X[:, :4] += 0.5 * y[:, None]
    X[:, 4] *= 1.0 + 0.4 * y
    X = as_views((X - X.mean(axis=0)) / X.std(axis=0))
    basis = [RBF(gamma) for gamma in np.geomspace(0.01, 10, 10)] + [Polynomial(degree) for degree in (1, 2, 3)]
    return scaled(DenseGram.compute(basis + [k.on(c) for c in range(d) for k in basis], X)), y


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("simple_first", [False, True])
def test_newton_needs_few_steps(seed, simple_first):
    gram, y = sonar_like(seed)
    steps = []
    for tol in (1e-2, 1e-6):
        problem = Problem(gram, [Machine(Hinge(), y, np.full(gram.n, 100.0))], Simplex(), tol=tol)
        result = run(Hessian(simple_first=simple_first), problem)
        assert result.converged
        steps.append(len(result.history))
        if tol == 1e-2:
            assert steps[0] <= 13
            assert result.n_solves <= (40 if simple_first else 20)
    assert steps[1] <= 2 * steps[0]


def test_newton_beats_the_gradient_by_far():
    gram, y = sonar_like(n=100, d=6)
    solves = {}
    for solver in (Hessian(), Simple()):
        problem = Problem(gram, [Machine(Hinge(), y, np.full(gram.n, 100.0))], Simplex(), tol=1e-2)
        result = run(solver, problem)
        assert result.converged
        solves[solver.name] = result.n_solves
    assert 3 * solves["hessian"] <= solves["simple"]


# --- many terms ---


def needle(n_terms=200, n=60, at=77):
    """Terms on features without meaning, but for one."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, n_terms))
    y = np.where(np.abs(X[:, at]) > 0.7, 1.0, -1.0)
    return [RBF(1.0).on(c) for c in range(n_terms)], as_views(X), y


@pytest.mark.parametrize("loss", [Hinge(), Squared(), Logistic(), EpsilonInsensitive(0.1)])
def test_active_terms_are_enough(loss):
    terms, X, y = needle()
    dense = DenseGram.compute(terms, X)
    factors = 1.0 / variances(dense)
    results = []
    for gram, solver in [
        (dense.rescaled(factors), Hessian()),
        (StreamedGram(terms, X, factors=factors), ActiveTerms()),
        (StreamedGram(terms, X, cache_bytes=8 * 60**2 * 20, factors=factors), ActiveTerms(n_start=5, n_enter=3)),
    ]:
        result = run(solver, Problem(gram, [Machine(loss, y, np.ones(len(y)))], Simplex(), tol=1e-5))
        assert result.converged
        assert np.argmax(result.step.weights) == 77
        results.append(result)
    highest, lowest = max(result.lower for result in results), min(result.upper for result in results)
    assert highest <= lowest * (1 + 1e-9)
    for result in results:
        assert result.upper == pytest.approx(lowest, rel=1e-5)


@pytest.mark.parametrize("inner", [Simple(), SILP(), SILPChunking()], ids=str)
@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=str)
def test_another_solver_may_work_on_the_active_terms(loss, inner):
    terms, X, y = needle(n_terms=24, n=40, at=17)
    gram = scaled(DenseGram.compute(terms, X))
    results = [
        run(solver, Problem(gram, [Machine(loss, y, np.ones(gram.n))], Simplex(), tol=1e-3))
        for solver in (Hessian(), ActiveTerms(inner=inner, n_start=6, n_enter=8))
    ]
    assert all(result.converged for result in results)
    assert results[1].upper == pytest.approx(results[0].upper, rel=1e-3)
    assert results[1].lower <= results[0].upper * (1 + 1e-9)


def test_the_mean_of_several_coef_proves_more_than_each():
    problem, rng = few(Hinge(), 2), np.random.default_rng(0)
    steps = [Run(problem).solve(weights, None, 1e-9) for weights in rng.dirichlet(np.ones(5), 8)]
    coef = mixed_coef(steps)
    linear = sum(machine.lower(a, 0.0) for machine, a in zip(problem.machines, coef.T, strict=True))
    bound = linear - 0.5 * problem.gram.quad(coef).sum(axis=1).max()
    # the linear program itself, by another solver
    quads = np.array([step.quad for step in steps])
    linears = np.array([step.linear for step in steps])
    rows = np.column_stack([0.5 * quads.T, -np.ones(5)])  # ½ Σ shares quad_m ≤ t
    cost, one = np.append(-linears, 1.0), np.append(np.ones(8), 0.0)[None]
    mixed = -linprog(cost, rows, np.zeros(5), one, [1.0], [(0, None)] * 8 + [(None, None)]).fun
    assert mixed > 1.01 * max(step.lower for step in steps)
    assert bound >= mixed * (1 - 1e-7)
    assert bound <= run(Hessian(), few(Hinge(), 2)).upper * (1 + 1e-9)
    assert mixed_coef([]) is None


@pytest.mark.parametrize("few_held", [False, True])
def test_wide_and_narrow_kernels_at_a_high_cost(few_held, monkeypatch):
    # nearly all samples are free; where they are too many for the Hessian, an even choice of them has to do
    if few_held:
        for name in ("machines.EXACT_SAMPLES", "hessian.EXACT_SAMPLES", "hessian.MAX_FREE"):
            monkeypatch.setattr(f"kernelweave.mkl.{name}", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=300) > 0, 1, -1)
    model = MKLClassifier(RBF(0.00249) + RBF(0.0249) + RBF(0.249) + Linear(), C=1000, tol=1e-6).fit(X, y)
    assert model.converged_


def test_a_term_that_is_needed_enters_from_outside():
    terms, X, y = needle()
    gram = StreamedGram(terms, X)
    problem = Problem(scaled(gram), [Machine(Hinge(), y, np.ones(len(y)))], Simplex(), tol=1e-4)
    solver = ActiveTerms(n_start=4, n_enter=1)
    first = next(solver.steps(problem, Run(problem)))
    assert first.weights[77] == 0, "or the test would show nothing"
    assert np.count_nonzero(first.weights) == 4
    result = run(solver, problem)
    assert result.converged
    assert np.argmax(result.step.weights) == 77
    assert result.gap <= 1e-4


# --- one optimum, whoever looks for it ---


@cache
def sixty_terms(n=60):
    X = as_views(np.random.default_rng(4).standard_normal((n, 6)))
    basis = [RBF(gamma) for gamma in (0.02, 0.1, 0.3, 1.0, 3.0)] + [Linear(), Polynomial(2), Polynomial(3)]
    terms = basis + [k.on(c) for c in range(6) for k in basis] + [RBF(0.5).on([0, 1]), RBF(0.5).on([2, 3])]
    terms += [RBF(0.5).on([4, 5]), Linear().on([0, 1])]
    assert len(terms) == 60
    return scaled(DenseGram.compute(terms, X))


def machines_of(task):
    gram = sixty_terms()
    X, rng = gram.X.matrix(), np.random.default_rng(5)
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.standard_normal(gram.n)
    if task == "three classes":
        codes = np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
        return [Machine(Hinge(), np.where(codes == k, 1.0, -1.0), np.ones(gram.n)) for k in range(3)]
    loss = {
        "hinge": Hinge(),
        "squared_hinge": SquaredHinge(),
        "logistic": Logistic(),
        "squared": Squared(),
        "epsilon": EpsilonInsensitive(0.1),
        "one_class": OneClass(),
    }[task]
    y = np.where(score > np.median(score), 1.0, -1.0) if loss.reads == "labels" else score
    return [Machine(loss, y, costs(loss, gram.n))]


def scored(gram, machines, weights):
    """The objective of these weights, by an exact solution of the machines at them that knows nothing of MKL."""
    result = run(Plain(), Problem(gram, machines, Fixed(weights), tol=1e-9))
    assert result.gap <= 1e-8
    return result.upper


@pytest.mark.parametrize(
    "task", ["hinge", "squared_hinge", "logistic", "squared", "epsilon", "one_class", "three classes"]
)
def test_all_solvers_agree(task):
    gram, machines = sixty_terms(), machines_of(task)
    scores, bounds = {}, {}
    for name in ("silp", "silp_chunking", "simple", "hessian", "mixed", "active"):
        solver = {"mixed": Hessian(simple_first=True), "active": ActiveTerms(n_start=10, n_enter=5)}.get(name)
        problem = Problem(gram, machines, Simplex(), tol=1e-4)
        result = run(solver or as_solver(name, problem), problem, max_iter=5000)
        assert result.converged, f"{name}: {result.stop_reason} at {result.gap}"
        scores[name], bounds[name] = scored(gram, machines, result.step.weights), result.lower
        assert scores[name] <= result.upper + 1e-9 * abs(result.upper), "the report is no better than the weights"
    lowest = min(scores.values())
    assert max(scores.values()) <= lowest + 2e-4 * abs(lowest), scores
    assert max(bounds.values()) <= lowest + 1e-9 * abs(lowest), (bounds, scores)


def test_goes_on_by_cuts_where_coefficients_are_not_unique():
    # one letter a term: few features, many samples alike, and kinks where Newton's model means nothing
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    letters = rng.choice(list("ACGT"), (160, 12))
    for position, letter in {3: "G", 8: "T"}.items():
        letters[(y == 1) & (rng.random(160) >= 0.1), position] = letter
    X = ["".join(row) for row in letters]
    model = MKLClassifier(WeightedDegree(degree=1).split("position"), solver="hessian").fit(X, y)
    other = MKLClassifier(WeightedDegree(degree=1).split("position"), solver="silp").fit(X, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(other.objective_, rel=2e-3)
    assert set(np.argsort(-model.weights_)[:2]) == {3, 8}


def test_a_sample_of_the_free_set_is_curvature_enough(monkeypatch):
    monkeypatch.setattr("kernelweave.mkl.hessian.MAX_FREE", 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=300) > 0, 1, 0)
    kernel = RBF(0.1) + RBF(1.0) + Linear() + RBF(0.5).on([0, 1])
    sparse = MKLClassifier(kernel, solver="hessian", tol=1e-4).fit(X, y)
    monkeypatch.undo()
    whole = MKLClassifier(kernel, solver="hessian", tol=1e-4).fit(X, y)
    assert sparse.converged_
    assert sparse.objective_ == pytest.approx(whole.objective_, rel=2e-4)


# --- the bound from several steps ---


@pytest.mark.parametrize("kind", LOSSES)
def test_several_steps_prove_no_less_than_the_best_of_them_and_nothing_false(kind, rng, monkeypatch):
    monkeypatch.setattr(hessian, "NEAR", np.inf)
    problem = few(kind())
    optimum = run(Hessian(), problem).upper
    cuts, alone, together = MasterLP(problem.gram.n_terms), -np.inf, -np.inf
    for weights in rng.dirichlet(np.ones(problem.gram.n_terms), size=8):
        step = Run(problem).solve(weights, None, 1e-9)
        alone = max(alone, step.lower)
        together = bounded(step, cuts).lower
        assert together <= optimum + 1e-8 * abs(optimum)
    assert together >= alone - 1e-9 * abs(alone)
    if kind is Hinge:  # whose optimum has several terms here
        assert together > alone


# --- which terms enter ---


def test_the_best_of_each_family_enters_before_its_neighbours():
    quad = np.array([1.0, 5.0, 9.0, 8.0, 3.0, 6.0, 7.0, 2.0])  # two families, with peaks at 2 and 6
    weights = np.eye(8)[0]
    step = Step(weights, (), quad, upper=1.0, lower=0.0)
    solver = ActiveTerms(n_start=1, n_enter=2)
    assert solver._next_active(step, np.array([0])).tolist() == [0, 2, 6]
    assert ActiveTerms(n_start=1, n_enter=3)._next_active(step, np.array([0])).tolist() == [0, 2, 3, 6], (
        "then the next worst"
    )


@pytest.mark.parametrize(
    ("weights", "direction", "found"),
    [
        ([0.5, 0.5], [0.1, -0.1], [0.7, 0.3]),
        ([0.5, 0.5], [0.4, -0.4], [1.0, 0.0]),
        ([1.0, 0.0], [-0.3, 0.3], [0.4, 0.6]),
    ],
)
def test_beyond_a_goal_is_twice_as_far_or_where_a_weight_is_zero(weights, direction, found):
    np.testing.assert_allclose(beyond(np.array(weights), np.array(direction)), found, atol=1e-12)
