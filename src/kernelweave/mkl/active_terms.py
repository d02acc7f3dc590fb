"""Many terms: work on a few, look at all of them now and then."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from ..gram.rounding import safe_quad
from ..norms import Polyhedral
from ..progress import relative_gap
from .base import Problem, Run, Solver, Step, Steps
from .hessian import Hessian
from .master_lp import Cut, MasterLP, cuts_before

#: How many steps of the inner solver are kept to mix a proof from.
MAX_MIXED = 200
#: How many steps of the inner solver may bring nothing before the active terms are left as they are.
PATIENCE = 200


class ActiveTerms(Solver):
    """Run a solver on the terms that matter, and let in the worst violators of the rest.

    A term of weight zero is right to be out as long as its quad is below weights·quad. So the inner
    solver sees the active terms only; when they are nearly solved, `quad` of all terms
    certifies, and those that would most like to enter do.

    Parameters
    ----------
    inner : Solver
        Solves the problem of the active terms.
    n_start, n_enter : int
        How many terms are active at first, and how many may enter at a time.
    """

    name = "hessian"
    needs = (Polyhedral,)
    remedy = "Use norm=1, or solver='analytic'."

    def __init__(self, inner: Solver | None = None, n_start: int = 60, n_enter: int = 50) -> None:
        self.inner = Hessian() if inner is None else inner
        self.n_start = n_start
        self.n_enter = n_enter

    def steps(self, problem: Problem, run: Run) -> Steps:
        # begin on a few terms spread over all: a start on all of them would evaluate all of them
        n_terms = problem.gram.n_terms
        active = np.unique(np.linspace(0, n_terms - 1, min(self.n_start, n_terms)).astype(int))
        weights, start = np.zeros(n_terms), problem.start
        weights[active] = 1.0 / len(active)
        if start is not None:
            weights = start.weights
            active = np.union1d(active, np.flatnonzero(weights))
        step = run.solve(weights, None, problem.inner_tol(np.inf))
        gap = yield step
        if start is not None and start.active is not None and np.isin(np.flatnonzero(weights), start.active).all():
            active, step = start.active, replace(step, cuts=start.cuts)
        elif start is not None:  # or a fit cut short would never see a term enter
            active = self._next_active(step, active)
        if start is not None:  # its single coef may prove little of what is known, but it is near the goal
            gap = min(gap, problem.tol)
        while True:
            # far from the goal a rough answer will do: the active terms will change
            goal = max(0.3 * problem.tol, 0.03 * gap)
            step = yield from self._solve_active(run, np.sort(active), step, goal)
            before, gap = gap, (yield step)
            if len(_terms_that_should_enter(step, active)) == 0 and gap >= before:
                return
            active = self._next_active(step, active)

    def _next_active(self, step: Step, active: np.ndarray) -> np.ndarray:
        """Return the terms in use, the best of the active ones, and the worst violators of the rest."""
        outside = _terms_that_should_enter(step, active)
        used = np.flatnonzero(step.weights)
        near = active[np.argsort(-step.quad[active])[: self.n_start]]
        # neighbours in the list, widths of one column say, are mostly alike: the best of each family first
        edged = np.pad(step.quad, 1, constant_values=-np.inf)
        peak = (edged[1:-1] >= edged[:-2]) & (edged[1:-1] >= edged[2:])
        order = np.lexsort((-step.quad[outside], ~peak[outside]))
        return np.unique(np.concatenate([used, near, outside[order[: self.n_enter]]]))

    def _solve_active(self, run: Run, active: np.ndarray, step: Step, goal: float) -> Generator[Step, float, Step]:
        """Run the inner solver on the active terms; return its best step, certified for all terms."""
        sub = run.on_terms(active, step)
        steps = self.inner.steps(sub.problem, sub)
        upper, lower, gap, solved, idle = np.inf, -np.inf, np.inf, 0, 0
        best = current = first = next(steps)
        seen: list[Step | Cut] = list(cuts_before(sub.problem))
        while True:
            lower, before = max(lower, current.lower), gap
            if current.upper < upper:
                best, upper = current, current.upper
            if np.isfinite(current.lower):  # all active terms were looked at
                seen = [*(seen if len(seen) < MAX_MIXED else _steps_to_keep(seen)), current]
            run.n_solves += sub.n_solves - solved
            run.interrupted |= sub.interrupted
            run.stalled |= sub.stalled
            solved, gap = sub.n_solves, relative_gap(upper, lower)
            idle = 0 if gap < before else idle + 1
            if gap <= goal or idle >= PATIENCE or run.out_of_time():
                break
            # the first one repeats the step that all terms were looked at with; what only improves the proof
            # for the active terms, as most steps of cutting planes do, says nothing about all of them yet
            if current is best and current is not first:
                yield self._on_all_terms(run.problem, current, active)
            try:
                current = steps.send(gap)
            except StopIteration:
                break
        steps.close()
        if not np.isfinite(best.lower):  # not all active terms were looked at
            best = sub.problem.certify(best.weights, best.states)
        alone = relative_gap(upper, best.linear - 0.5 * float(best.quad.max()))
        coef = None if alone <= max(goal, 2.0 * gap) else mixed_coef([*seen, best])
        return _certify_all_terms(run.problem, self._on_all_terms(run.problem, best, active), coef)

    @staticmethod
    def _on_all_terms(problem: Problem, step: Step, active: np.ndarray) -> Step:
        weights, quad = np.zeros(problem.gram.n_terms), np.zeros(problem.gram.n_terms)
        weights[active], quad[active] = step.weights, step.quad
        return replace(step, weights=weights, quad=quad, lower=-np.inf, active=active)


def _certify_all_terms(problem: Problem, step: Step, coef: np.ndarray | None) -> Step:
    """Return the step with quad and lower bound of all terms: those of its own coef, or of the one given."""
    if coef is None:
        return problem.certify(step.weights, step.states)
    # cuts prove by several coef together: their mean proves at least as much, and about all terms in one look
    quad = safe_quad(problem.gram, coef)
    linear = sum(machine.lower(a, 0.0) for machine, a in zip(problem.machines, coef.T, strict=True))
    return replace(step, quad=quad, lower=linear - 0.5 * problem.norm.dual_norm(quad), cuts=(), active=None)


def _terms_that_should_enter(step: Step, active: np.ndarray) -> np.ndarray:
    """Return the terms that are not active but should be."""
    return np.setdiff1d(np.flatnonzero(step.quad > float(step.weights @ step.quad)), active)


def mixed_coef(steps: list[Step | Cut]) -> np.ndarray | None:
    """Return the mean of the steps' coef, (n, n_machines), whose shares prove the highest lower bound.

    max over shares of Σ_t shares[t] linear_t − ½ max_m Σ_t shares[t] quad_t[m], a linear program; that of the mean is
    no lower, since the dual objective is concave. None where there is no solution.
    """
    pairs = [(share, step) for share, step in _shares_in_bound(steps) if share > 0]
    return np.asarray(sum(share * step.coef for share, step in pairs)) if pairs else None


def _steps_to_keep(steps: list[Step | Cut]) -> list[Step | Cut]:
    """Return the later half of the steps, and those of the rest that the bound rests on."""
    half = len(steps) // 2
    needed = {id(step) for share, step in _shares_in_bound(steps) if share > 0}
    return [step for step in steps[:half] if id(step) in needed] + steps[half:]


def _shares_in_bound(steps: list[Step | Cut]) -> list[tuple[float, Step | Cut]]:
    """Return the part of every step in the highest lower bound that they prove together."""
    if not steps:
        return []
    master = MasterLP(len(steps[0].quad))
    used = [step for step in steps if master.add_cut(step.linear, step.quad)]
    return [] if master.solve()[0] is None else list(zip(master.shares.tolist(), used, strict=True))
