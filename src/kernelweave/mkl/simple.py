"""SimpleMKL: a reduced gradient on the weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..norms import Polyhedral
from .base import Problem, Solver, Step, Steps

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


class Simple(Solver):
    """Reduced gradient descent over the simplex (Rakotomamonjy, Bach, Canu and Grandvalet 2008).

    Go along the reduced gradient as far as the first weight reaches zero; as long as that
    lowers the objective, take that weight out and go on; then search the last stretch.

    Parameters
    ----------
    search : float
        How narrow the golden section search makes the stretch, relative to its length; ten times
        narrower whenever an iteration brings little.
    """

    name = "simple"
    needs = (Polyhedral,)
    remedy = "Use norm=1, or solver='analytic'."

    def __init__(self, search: float = 0.1) -> None:
        self.search = search

    def steps(self, problem: Problem) -> Steps:
        step = problem.solve(problem.start_weights(), None, problem.inner_tol(np.inf))
        gap, search = (yield step), self.search
        while True:
            better = self.advance(problem, step, gap, search)
            if not better.upper < step.upper * (1 - 1e-3 * np.sign(step.upper) * gap):
                if search < 1e-7 and not better.upper < step.upper:
                    return
                search *= 0.1
            step = better
            gap = yield step

    def advance(self, problem: Problem, step: Step, gap: float, search: float = 0.1) -> Step:
        """Return the step after one iteration of the algorithm."""
        tol = problem.inner_tol(gap)
        direction = reduced_gradient(step.weights, -0.5 * step.quad)
        here, states = step, step.states
        while True:
            falling = np.flatnonzero(direction < 0)
            if len(falling) == 0:
                return step
            room = -here.weights[falling] / direction[falling]
            first = falling[np.argmin(room)]
            border = here.weights + room.min() * direction
            border[first] = 0.0
            there = problem.solve(border / border.sum(), states, tol, certify=False)
            if there.upper >= here.upper or problem.out_of_time():
                break
            top = int(np.argmax(there.weights))  # it takes over what the weight at zero leaves
            direction = direction.copy()
            direction[top] += direction[first]
            direction[first] = 0.0
            here, states = there, there.states

        def at(length: float) -> Step:
            weights = np.maximum(here.weights + length * direction, 0.0)
            return problem.solve(weights / weights.sum(), states, tol, certify=False)

        found = golden_section(at, room.min(), search, here, there, problem.out_of_time)
        return problem.certify(found.weights, found.states)


def reduced_gradient(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the descent direction that keeps Σ weights = 1 and takes nothing from weights at zero."""
    top = int(np.argmax(weights))
    reduced = gradient - gradient[top]
    direction = np.where((weights > 0) | (reduced < 0), -reduced, 0.0)
    direction[top] = 0.0
    direction[top] = -direction.sum()
    return direction


def golden_section(
    at: Callable[[float], Step], end: float, search: float, first: Step, last: Step, stop: Callable[[], bool]
) -> Step:
    """Return the lowest step found on [0, end], narrowed to `search` · end."""
    low, high, best = 0.0, end, min((first, last), key=lambda step: step.upper)
    left = right = None
    while high - low > search * end and not stop():
        left = left or (high - GOLDEN * (high - low), at(high - GOLDEN * (high - low)))
        right = right or (low + GOLDEN * (high - low), at(low + GOLDEN * (high - low)))
        best = min((best, left[1], right[1]), key=lambda step: step.upper)
        if left[1].upper <= right[1].upper:  # to the left also where both are infinite
            high, right, left = right[0], left, None
        else:
            low, left, right = left[0], right, None
    return best
