"""MKL solvers: the optimum of every loss and norm, and a frame that always ends."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from kernelweave import RBF, InputError, Linear, clock
from kernelweave.dual import Chunking, Machine
from kernelweave.gram import DenseGram
from kernelweave.losses import LOSSES, Hinge
from kernelweave.mkl import SOLVERS, Problem, SILPChunking, Solver, as_solver, choose, run, silp_chunking
from kernelweave.mkl.master_lp import MasterLP
from kernelweave.norms import LpNorm, Simplex, as_norm
from kernelweave.testing import check_solver
from kernelweave.testing.losses import targets
from kernelweave.testing.solvers import small_gram, small_machine
from kernelweave.views import as_views


@pytest.mark.parametrize("kind", SOLVERS)
def test_every_solver_keeps_its_promises(kind):
    check_solver(kind(), tol=1e-3 if kind.name == "analytic" else 1e-5)


def problem_of(loss, norm, seed=0, n=16, tol=1e-6, C=1.0):
    rng = np.random.default_rng(seed)
    y = targets(loss, n, rng)
    X = as_views(rng.normal(size=(n, 4)) + 0.5 * y[:, None])
    cost = rng.uniform(0.5, 2.0, n)
    cost = cost / (0.4 * cost.sum()) if loss.total else C * cost
    gram = DenseGram.compute([RBF(0.3), Linear().on([0, 1]), RBF(1.0).on([2, 3]), Linear().on(3)], X)
    return Problem(gram, [Machine(loss, y, cost)], norm, tol=tol)


def fitting(problem, exact=True):
    for kind in SOLVERS:
        solver = kind()
        if all(isinstance(problem.norm, need) for need in solver.needs) and getattr(solver, "exact", True) == exact:
            yield solver


@pytest.mark.parametrize("p", [1, 1.5, 2])
@pytest.mark.parametrize("kind", LOSSES)
def test_the_optimum_of_every_loss_and_norm(kind, p):
    problem = problem_of(kind(), as_norm(p))
    machine = problem.machines[0]
    Ks = [term.compute(problem.gram.X, None) for term in problem.gram.terms]
    best = naive.mkl_optimum(kind.name, machine.y, machine.C, Ks, p)
    result = run(choose(problem), problem)
    assert result.converged
    assert 0 <= result.gap <= 1e-6
    assert result.upper == pytest.approx(best, rel=1e-5)
    assert result.upper >= best - 1e-6 * abs(best)
    assert result.lower <= best + 1e-6 * abs(best)
    step, state = result.step, result.step.states[0]
    f = sum(w * K for w, K in zip(step.weights, Ks, strict=True)) @ state.coef
    value = naive.primal(kind.name, machine.y, f + state.intercept, machine.C, state.intercept, state.coef @ f)
    assert result.upper == pytest.approx(value, rel=1e-8), "upper is the primal objective of what was found"


@pytest.mark.parametrize("kind", LOSSES)
def test_every_solver_finds_the_same_optimum(kind):
    for norm in (Simplex(), LpNorm(2.0)):
        values = []
        for solver in fitting(problem_of(kind(), norm)):
            tol = 1e-3 if solver.name == "analytic" and isinstance(norm, Simplex) else 1e-6
            result = run(solver, problem_of(kind(), norm, tol=tol), max_iter=5000)
            assert result.converged, f"{solver!r}: {result.stop_reason} at {result.gap}"
            values.append((solver, result.lower, result.upper))
        highest, lowest = max(v[1] for v in values), min(v[2] for v in values)
        assert highest <= lowest + 1e-9 * abs(lowest), f"bounds contradict each other: {values}"


@settings(max_examples=25)
@given(
    st.integers(0, 2**20),
    st.sampled_from(LOSSES),
    st.sampled_from([1, 1.2, 2]),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.integers(1, 6),
)
def test_bounds_hold_wherever_a_run_stops(seed, kind, p, C, max_iter):
    problem = problem_of(kind(), as_norm(p), seed, n=12, C=C)
    for solver in fitting(problem):
        result = run(solver, problem_of(kind(), as_norm(p), seed, n=12, C=C), max_iter=max_iter)
        full = run(choose(problem), problem_of(kind(), as_norm(p), seed, n=12, C=C))
        assert result.gap >= 0
        assert result.lower <= full.upper + 1e-9 * abs(full.upper)
        assert result.upper >= full.lower - 1e-9 * abs(full.lower)
        assert (result.step.weights >= 0).all()
        assert (result.step.weights**p).sum() == pytest.approx(1.0, abs=1e-9)


def test_needs_are_named():
    for kind in SOLVERS:
        for norm in (Simplex(), LpNorm(2.0), as_norm("fixed")):
            missing = [need for need in kind.needs if not isinstance(norm, need)]
            if missing:
                with pytest.raises(InputError, match=f"needs a {missing[0].__name__} norm; got"):
                    run(kind(), problem_of(Hinge(), norm))


def test_solvers_by_name():
    problem = problem_of(Hinge(), Simplex())
    for kind in SOLVERS:
        assert isinstance(as_solver(kind.name, problem), kind)
        assert as_solver(kind.name, problem_of(Hinge(), as_norm("fixed"))).name in ("plain", kind.name)
    solver = SOLVERS[0]()
    assert as_solver(solver, problem) is solver
    for wrong in ("newton", None, 3):
        with pytest.raises(InputError, match="solver must be one of"):
            as_solver(wrong, problem)


# --- the frame ---


class Scripted(Solver):
    """Yields given bounds, so that only `run` is looked at."""

    name = "scripted"

    def __init__(self, bounds):
        self.bounds = bounds

    def steps(self, problem, run):
        step = run.solve(problem.start_weights(), None, 1e-3)
        for upper, lower in self.bounds:
            if isinstance(upper, BaseException):
                raise upper
            yield replace(step, upper=upper, lower=lower)


def scripted(bounds, **options):
    return run(Scripted(bounds), Problem(small_gram(), [small_machine(Hinge())], Simplex(), tol=0.01), **options)


def test_best_bounds_are_kept():
    result = scripted([(10, 1), (12, 5), (8, 2), (9, 3)])
    assert [(h["upper"], h["lower"]) for h in result.history] == [(10, 1), (10, 5), (8, 5), (8, 5)]
    assert (result.upper, result.lower) == (8, 5)
    assert result.step.upper == 8
    assert result.gap == pytest.approx(3 / 8)
    assert result.stop_reason == "stalled"


def test_reasons_to_stop():
    assert scripted([(10, 1), (10, 9.95), (10, 9.99)]).stop_reason == "converged"
    assert len(scripted([(10, 1), (10, 9.95), (10, 9.99)]).history) == 2
    assert scripted([(10, i / 10) for i in range(50)], max_iter=3).stop_reason == "max_iter"
    assert scripted([(10, 1)] * 100, patience=5).stop_reason == "stalled"
    assert len(scripted([(10, 1)] * 100, patience=5).history) <= 7
    interrupted = scripted([(10, 1), (KeyboardInterrupt(), 0)])
    assert interrupted.stop_reason == "interrupted"
    assert interrupted.upper == 10
    with pytest.raises(KeyboardInterrupt):
        scripted([(KeyboardInterrupt(), 0)])


def test_a_deadline_is_kept():
    problem = replace(problem_of(Hinge(), Simplex(), tol=1e-15), deadline=clock.now() - 1.0)
    result = run(SOLVERS[0](), problem)
    assert result.stop_reason == "max_seconds"
    assert result.gap >= 0
    assert len(result.history) == 1


def test_the_callback_sees_every_step():
    seen = []
    result = scripted([(10, 1), (9, 2)], callback=seen.append)
    assert seen == result.history
    assert [entry["iteration"] for entry in seen] == [1, 2]
    assert {"upper", "lower", "gap", "seconds", "n_solves", "weights"} <= set(seen[0])


def test_an_interrupt_inside_a_machine_leaves_a_result(monkeypatch):
    from kernelweave.dual import smo

    step, calls = smo.SMO.step, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return step(self, *args)

    monkeypatch.setattr(smo.SMO, "step", interrupted)
    result = run(SOLVERS[0](), problem_of(Hinge(), Simplex(), tol=1e-12))
    assert result.stop_reason == "interrupted"
    assert np.isfinite(result.gap)
    assert len(calls) == 3, "nothing more is solved after an interrupt"


@given(st.integers(2, 6), st.integers(0, 2**20))
def test_the_master_bounds_every_weight(n_terms, seed):
    rng = np.random.default_rng(seed)
    master, cuts = MasterLP(n_terms), []
    for _ in range(5):
        linear, quad = rng.uniform(1, 2), rng.uniform(0, 1, n_terms)
        master.add_cut(linear, quad)
        cuts.append((linear, quad))
        weights, bound = master.solve()
        assert (weights >= 0).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        own = max(linear - 0.5 * weights @ quad for linear, quad in cuts)
        assert own == pytest.approx(bound, rel=1e-6)
        for other in rng.dirichlet(np.ones(n_terms), 50):
            assert max(linear - 0.5 * other @ quad for linear, quad in cuts) >= bound - 1e-12


def test_chunking_takes_its_cuts_from_what_it_keeps(monkeypatch):
    """A cut costs no pass over the support, and its numbers are those of such a pass, or just above."""
    monkeypatch.setattr(silp_chunking, "REFRESH", 7)
    problem = problem_of(Hinge(), Simplex(), n=60)
    calls = []
    monkeypatch.setattr(DenseGram, "quad", lambda self, coef: calls.append(coef))
    seen, certify = [], Problem.certify

    def certified(self, weights, states, quad=None):
        step = certify(self, weights, states, quad)
        seen.append((step.coef, step.quad))
        return step

    monkeypatch.setattr(Problem, "certify", certified)
    result = run(SILPChunking(), replace(problem, dual=Chunking(4)), max_iter=3000)
    assert result.converged
    assert len(seen) > 3 * 7
    assert not calls
    Ks = [term.compute(problem.gram.X, None) for term in problem.gram.terms]
    for coef, quad in seen:
        exact = np.array([float(coef[:, 0] @ K @ coef[:, 0]) for K in Ks])
        np.testing.assert_allclose(quad, exact, rtol=1e-9, atol=1e-12)
        assert (quad >= exact * (1 - 1e-14)).all()
