"""Weights that are not learned: one term, or a fixed sum."""

from __future__ import annotations

from .base import Problem, Solver, Steps


class Plain(Solver):
    """Solve the machines at the start weights: all there is to do for one term or a fixed sum."""

    name = "plain"

    def steps(self, problem: Problem) -> Steps:
        weights, states = problem.start_weights(), None
        while True:
            step = problem.solve(weights, states, problem.tol)
            yield step
            states = step.states
