"""Many terms: work on a few, look at all of them now and then."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from ..dual import relative_gap
from ..norms import Polyhedral
from .base import Problem, Solver, Step, Steps
from .hessian import Hessian


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

    def steps(self, problem: Problem) -> Steps:
        # begin on a few terms spread over all: a start on all of them would evaluate all of them
        n_terms = problem.gram.n_terms
        active = np.unique(np.linspace(0, n_terms - 1, min(self.n_start, n_terms)).astype(int))
        weights = np.zeros(n_terms)
        weights[active] = 1.0 / len(active)
        if problem.start is not None:
            weights = problem.start.weights
            active = np.union1d(active, np.flatnonzero(weights))
        step = problem.solve(weights, None, problem.inner_tol(np.inf))
        gap = yield step
        while True:
            # far from the goal a rough answer will do: the active terms will change
            goal = max(0.3 * problem.tol, 0.03 * gap)
            best = yield from self._solve_active(problem, np.sort(active), step, goal)
            step = problem.certify(best.weights, best.states)
            before, gap = gap, (yield step)
            level = float(step.weights @ step.quad)
            outside = np.setdiff1d(np.flatnonzero(step.quad > level), active)
            if len(outside) == 0 and gap >= before:
                return
            used = np.flatnonzero(step.weights)
            near = active[np.argsort(-step.quad[active])[: self.n_start]]
            entering = outside[np.argsort(-step.quad[outside])[: self.n_enter]]
            active = np.unique(np.concatenate([used, near, entering]))

    def _solve_active(
        self, problem: Problem, active: np.ndarray, step: Step, goal: float
    ) -> Generator[Step, float, Step]:
        """Run the inner solver on the active terms; return its best step, with weights for all terms."""
        sub = problem.restricted(active, step)
        steps = self.inner.steps(sub)
        upper, lower, solved = np.inf, -np.inf, 0
        best = current = first = next(steps)
        while True:
            lower = max(lower, current.lower)
            if current.upper < upper:
                best, upper = current, current.upper
            problem.n_solves += sub.n_solves - solved
            problem.interrupted |= sub.interrupted
            problem.stalled |= sub.stalled
            solved, gap = sub.n_solves, relative_gap(upper, lower)
            if gap <= goal or problem.out_of_time():
                break
            if current is not first:  # the first one repeats the step that all terms were looked at with
                yield self._lifted(problem, current, active)
            try:
                current = steps.send(gap)
            except StopIteration:
                break
        steps.close()
        return self._lifted(problem, best, active)

    @staticmethod
    def _lifted(problem: Problem, step: Step, active: np.ndarray) -> Step:
        weights, quad = np.zeros(problem.gram.n_terms), np.zeros(problem.gram.n_terms)
        weights[active], quad[active] = step.weights, step.quad
        return replace(step, weights=weights, quad=quad, lower=-np.inf)
