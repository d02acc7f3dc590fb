"""Weights that are not learned: one term, or a fixed sum."""

from __future__ import annotations

import numpy as np

from .base import Problem, Run, Solver, Steps


class Plain(Solver):
    """Solve the machines at the start weights: all there is to do for one term or a fixed sum."""

    name = "plain"

    def steps(self, problem: Problem, run: Run) -> Steps:
        weights, states = problem.start_weights(), None
        least, idle = np.inf, 0
        while idle < 3:  # where solving again, from f computed anew, brings nothing, it never will
            step = run.solve(weights, states, problem.tol)
            yield step
            states, distance = step.states, step.upper - step.lower
            idle = 0 if distance < 0.999 * least else idle + 1
            least = min(least, distance)
