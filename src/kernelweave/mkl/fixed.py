"""Weights that are not learned: one term, or a fixed sum."""

from __future__ import annotations

from .base import Problem, Solver, Steps


class Plain(Solver):
    """Solve the machines at the start weights: all there is to do for one term or a fixed sum."""

    name = "plain"

    def steps(self, problem: Problem) -> Steps:
        weights = problem.start_weights()
        step = problem.solve(weights)
        gap = yield step
        while True:
            step = problem.solve(weights, step.states, 0.3 * gap)
            yield step
