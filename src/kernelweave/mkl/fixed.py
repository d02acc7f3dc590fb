"""Weights that are not learned: one term, or a fixed sum."""

from __future__ import annotations

import numpy as np

from .base import Problem, Solver, Steps


class Plain(Solver):
    """Solve the machines at the start weights: all there is to do for one term or a fixed sum."""

    name = "plain"

    def steps(self, problem: Problem) -> Steps:
        weights, states, gap = problem.start_weights(), None, np.inf
        while True:
            step = problem.solve(weights, states, 0.3 * gap)
            gap, states = (yield step), step.states
