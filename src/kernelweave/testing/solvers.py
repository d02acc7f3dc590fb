"""Suites for dual solvers and for MKL solvers, against general-purpose optimisation."""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

from ..dual import UNLIMITED, DualSolver, DualState, Machine
from ..gram import CachedGram, Combined, DenseFeatureGram, DenseGram, Gram, LinaddGram, TiledGram
from ..kernels import RBF, Linear, Polynomial, WeightedDegree
from ..losses import LOSSES, BoxQP, Loss, SmoothLoss
from ..mkl import Problem, Result, Solver, run
from ..norms import LpNorm, Polyhedral, Simplex, WeightNorm
from ..views import as_views
from .losses import in_set, targets

#: Samples of the small problems.
N = 14


def small_gram(seed: int = 0, kind: type[Gram] = DenseGram) -> Gram:
    """Return three unlike terms on a few samples."""
    X = as_views(np.random.default_rng(seed).standard_normal((N, 3)))
    terms = [RBF(0.5), Linear().on([0, 1]), RBF(2.0).on(2)]
    if kind is TiledGram:
        tiled = TiledGram.of(terms, X, dtype=np.float64, holds=False)
        assert tiled is not None
        return tiled
    return CachedGram(terms, X) if kind is CachedGram else DenseGram.compute(terms, X)


def word_gram(seed: int = 0) -> Gram:
    """Return three terms with listed features on a few sequences."""
    letters = np.random.default_rng(seed).choice(list("ACGT"), (N, 6))
    X = as_views(["".join(row) for row in letters])
    return LinaddGram(WeightedDegree(degree=3).split("degree").terms(X), X)


def vector_gram(seed: int = 0) -> Gram:
    """Return three terms whose vectors are written out, on a few samples away from the origin."""
    X = as_views(np.random.default_rng(seed).standard_normal((N, 3)) + 1.0)
    return DenseFeatureGram([Polynomial(degree=2), Linear().on([0, 1]), Polynomial(degree=2).on([1, 2])], X)


def small_machine(loss: Loss, seed: int = 0, size: float = 1.0) -> Machine:
    """Return a machine for a loss on a few samples, each with its own cost."""
    rng = np.random.default_rng(seed)
    C = rng.uniform(0.5, 2.0, N)
    return Machine(loss, targets(loss, N, rng), C / (0.4 * C.sum()) if loss.total else size * C)


def best_value(machine: Machine, K: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the optimum of a machine and a coef that attains it, by general-purpose optimisation."""
    if isinstance(machine.loss, SmoothLoss):
        return _best_smooth(machine, machine.loss, K)
    value, coef = _best_box(machine.qp, K)
    return -value, coef


def _best_box(qp: BoxQP, K: np.ndarray) -> tuple[float, np.ndarray]:
    """Minimise a record as it is written, with a = p − q, p ≥ 0, q ≥ 0 for the sake of ‖a‖₁."""
    n = len(qp.linear)
    signs = np.hstack([np.eye(n), -np.eye(n)])

    def objective(pq: np.ndarray) -> tuple[float, np.ndarray]:
        a = signs @ pq
        g = K @ a + qp.ridge * a
        slope = signs.T @ (g + qp.linear) + qp.l1
        return float(0.5 * a @ g + qp.linear @ a + qp.l1 * pq.sum()), slope

    bounds = [(0.0, max(u, 0.0)) for u in qp.upper] + [(0.0, max(-u, 0.0)) for u in qp.lower]
    start = np.concatenate([np.maximum(a := qp.feasible(), 0.0), np.maximum(-a, 0.0)])
    equal = {"type": "eq", "fun": lambda pq: (signs @ pq).sum() - qp.total, "jac": lambda pq: signs.sum(axis=0)}
    options = {"ftol": 1e-15, "maxiter": 2000}
    found = minimize(objective, start, jac=True, method="SLSQP", bounds=bounds, constraints=[equal], options=options)
    return float(found.fun), signs @ found.x


def _best_smooth(machine: Machine, loss: SmoothLoss, K: np.ndarray) -> tuple[float, np.ndarray]:
    """Minimise the primal objective in explicit features."""
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))

    def objective(wb: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = wb[:-1], wb[-1]
        f = features @ w
        slope = machine.C * loss.slope(machine.y, f + b)
        return machine.upper(f, b, float(w @ w)), np.append(features.T @ slope + w, slope.sum() + loss.total)

    found = minimize(objective, np.zeros(len(K) + 1), jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 5000})
    w, b = found.x[:-1], found.x[-1]
    return float(found.fun), -machine.C * loss.slope(machine.y, features @ w + b)


def check_dual_solver(solver: DualSolver) -> None:
    """Check that a dual solver closes the gap of every machine it says it fits.

    Every registered loss is tried, for small and large C, on a gram that holds its matrix, on one that computes
    rows, on one of listed features and on one of vectors; optimum and feasibility are compared with general-purpose
    optimisation.

    Parameters
    ----------
    solver : DualSolver

    Raises
    ------
    AssertionError
        Names the solver, the loss and the promise that is broken.

    Examples
    --------
    >>> from kernelweave.dual import SMO
    >>> from kernelweave.testing import check_dual_solver
    >>> check_dual_solver(SMO())
    """
    cases = [small_machine(kind(), seed, size) for kind in LOSSES for seed, size in enumerate((0.1, 1.0, 10.0))]
    grams = [small_gram(1), small_gram(1, CachedGram), small_gram(1, TiledGram), word_gram(1), vector_gram(1)]
    kernels = [gram.at(np.array([0.5, 0.3, 0.2])) for gram in grams]
    fitting = [(machine, K) for machine in cases for K in kernels if solver.fits(machine, K)]
    assert fitting, f"{type(solver).__name__}: fits no loss of the registry"
    for machine, K in fitting:
        matrix = K.block(np.arange(N), np.arange(N))
        name = f"{type(solver).__name__} on {machine.loss!r} and a {type(K.gram).__name__}"
        state = _solved(solver, machine, K)
        _check_state(name, machine, matrix, state)
        exact = best_value(machine, matrix)[0]
        assert np.isclose(state.upper, exact, rtol=1e-6, atol=1e-8), (
            f"{name}: objective {state.upper:.9g}, but the optimum is {exact:.9g}"
        )
        again = solver.step(machine, K, solver.start(machine, K, state.coef), UNLIMITED).certified(machine)
        assert again.gap <= 1e-3, f"{name}: a start at the optimum leaves it; gap {again.gap:.3g}"


def _solved(solver: DualSolver, machine: Machine, K: Combined) -> DualState:
    state = solver.start(machine, K).certified(machine)
    for _ in range(500):
        before = (state.coef.copy(), state.f.copy())
        new = solver.step(machine, K, state, UNLIMITED).certified(machine)
        same = np.array_equal(before[0], state.coef) and np.array_equal(before[1], state.f)
        assert same, f"{type(solver).__name__}: step changes the state it was given"
        state = new
        if state.gap <= 1e-10 or state.final:
            break
    return state


def _check_state(name: str, machine: Machine, K: np.ndarray, state: DualState) -> None:
    assert 0 <= state.gap <= 1e-6, f"{name}: the gap stays at {state.gap:.3g}"
    scale = 1.0 + np.abs(state.coef).sum()
    off = np.abs(K @ state.coef - state.f).max()
    assert off <= 1e-8 * scale, f"{name}: f is not K coef, off by {off:.3g}"
    slip = abs(state.coef.sum() - machine.qp.total)
    assert slip <= 1e-8 * scale, f"{name}: Σ coef misses its total by {slip:.3g}"
    inside = (state.coef >= machine.qp.lower).all() and (state.coef <= machine.qp.upper).all()
    assert inside, f"{name}: coef leaves the box"
    square = float(state.coef @ K @ state.coef)
    upper = machine.upper(K @ state.coef, state.intercept, square)
    assert np.isclose(state.upper, upper, rtol=1e-8, atol=1e-10), f"{name}: upper is not the primal objective"
    lower = machine.lower(state.coef, square)
    assert np.isclose(state.lower, lower, rtol=1e-8, atol=1e-10), f"{name}: lower is not the dual objective"


def check_solver(solver: Solver, *, tol: float = 1e-5) -> None:
    """Check that an MKL solver reaches the optimum, and that its bounds hold on the way.

    Hinge and logistic machines, and two squared ones that share their weights, under every norm that
    has what the solver needs; the optimum comes from general-purpose optimisation over the weights. A solver
    whose class says `exact = False` (one that does not aim at the optimum) is held to its bounds only.

    Parameters
    ----------
    solver : Solver
    tol : float
        Relative gap that it has to reach.

    Raises
    ------
    AssertionError
        Names the solver, the norm, the loss and the promise that is broken.

    Examples
    --------
    >>> from kernelweave.mkl import SILP
    >>> from kernelweave.testing import check_solver
    >>> check_solver(SILP())
    """
    norms = [norm for norm in (Simplex(), LpNorm(1.5), LpNorm(2.0)) if all(isinstance(norm, n) for n in solver.needs)]
    assert norms, f"{solver!r}: no norm has {solver.needs}"
    for norm in norms:
        for kind in [kind for kind in LOSSES if kind.name in ("hinge", "squared", "logistic")]:
            machines = [small_machine(kind())]
            if kind.name == "squared":  # two machines that share their weights
                machines.append(Machine(machines[0].loss, np.roll(machines[0].y, 3), machines[0].C))
            problem = Problem(small_gram(), machines, norm, tol=tol)
            result = run(solver, problem, max_iter=3000)
            _check_result(f"{solver!r} with {norm!r} and {kind.name}", solver, problem, result)


def _check_result(name: str, solver: Solver, problem: Problem, result: Result) -> None:
    assert result.gap >= 0, f"{name}: the gap is {result.gap:.3g}"
    uppers, lowers = ([entry[side] for entry in result.history] for side in ("upper", "lower"))
    assert (np.diff(uppers) <= 0).all(), f"{name}: the best upper bound rises"
    assert (np.diff(lowers) >= 0).all(), f"{name}: the best lower bound falls"
    rng = np.random.default_rng(0)
    n_terms = problem.gram.n_terms
    tests = rng.uniform(0.0, 1.0, (20, n_terms))
    assert in_set(problem.norm, result.step.weights, tests), f"{name}: the weights leave the norm's set"
    own = _value(problem, result.step.weights)[0]
    assert result.upper >= own * (1 - 1e-7), f"{name}: upper {result.upper:.9g} is below the value {own:.9g}"
    best = _best_weights(problem)
    assert result.lower <= best * (1 + 1e-7), f"{name}: lower {result.lower:.9g} is above the optimum {best:.9g}"
    assert result.upper >= best * (1 - 1e-6), f"{name}: upper {result.upper:.9g} is below the optimum {best:.9g}"
    if getattr(solver, "exact", True):
        assert result.converged, f"{name}: stopped ({result.stop_reason}) at gap {result.gap:.3g}"
        assert np.isclose(result.upper, best, rtol=2 * problem.tol), (
            f"{name}: objective {result.upper:.9g}, but the optimum is {best:.9g}"
        )


def _value(problem: Problem, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the machines' summed optimum at given weights, and its slope in them: −½ quad."""
    K = problem.gram.block(np.arange(N), None, weights)
    pairs = [best_value(machine, K) for machine in problem.machines]
    quad = problem.gram.quad(np.column_stack([coef for _, coef in pairs])).sum(axis=1)
    return sum(value for value, _ in pairs), -0.5 * quad


def _best_weights(problem: Problem) -> float:
    """Return the least value over the norm's set."""
    n_terms, norm = problem.gram.n_terms, problem.norm
    found = minimize(
        lambda weights: _value(problem, weights),
        norm.start(n_terms),
        jac=True,
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * n_terms,
        constraints=[_constraint(norm, n_terms)],
        options={"ftol": 1e-12, "maxiter": 200},
    )
    return float(found.fun)


def _constraint(norm: WeightNorm, n_terms: int) -> LinearConstraint | NonlinearConstraint:
    if isinstance(norm, Polyhedral):
        return LinearConstraint(np.ones((1, n_terms)), 1.0, 1.0)
    assert isinstance(norm, LpNorm)
    p = norm.p
    return NonlinearConstraint(lambda w: (w**p).sum(), 0.0, 1.0, jac=lambda w: p * w[None, :] ** (p - 1))
