"""SimpleMKL: a reduced gradient on the weights."""

from __future__ import annotations

import numpy as np

from ..norms import Polyhedral
from .base import Problem, Run, Solver, Step, Steps


class Simple(Solver):
    """Reduced gradient descent over the simplex (Rakotomamonjy, Bach, Canu and Grandvalet 2008).

    Go along the reduced gradient as far as the first weight reaches zero; as long as that
    lowers the objective, take that weight out and go on; then search the last stretch, by the
    slopes at both ends.

    Parameters
    ----------
    search : float
        How much flatter than its start the end of the search must be.
    """

    name = "simple"
    needs = (Polyhedral,)
    remedy = "Use norm=1, or solver='analytic'."

    def __init__(self, search: float = 0.1) -> None:
        self.search = search

    def steps(self, problem: Problem, run: Run) -> Steps:
        step = run.solve(problem.start_weights(), None, problem.inner_tol(np.inf))
        gap = yield step
        while True:
            better = self.advance(run, step, gap)
            if not better.upper < step.upper:
                return
            step = better
            gap = yield step

    def advance(self, run: Run, step: Step, gap: float) -> Step:
        """Return the step after one iteration of the algorithm."""
        tol = run.problem.inner_tol(gap)
        direction = reduced_gradient(step.weights, -0.5 * step.quad)
        here, rounding = step, 1e-14 * float(np.abs(direction).max())
        while True:
            falling = np.flatnonzero(direction < -rounding)
            if len(falling) == 0:
                return step if here is step else run.problem.certify(here.weights, here.states)
            room = -here.weights[falling] / direction[falling]
            first = falling[np.argmin(room)]
            border = here.weights + room.min() * direction
            border[first] = 0.0
            there = run.solve(border / border.sum(), here.states, tol, certify=False)
            if there.upper >= here.upper or run.out_of_time():
                break
            top = int(np.argmax(there.weights))  # it takes over what the weight at zero leaves
            direction = direction.copy()
            direction[top] += direction[first]
            direction[first] = 0.0
            here = there
        return self._search(run, here, direction, float(room.min()), there, tol)

    def _search(self, run: Run, here: Step, direction: np.ndarray, end: float, there: Step, tol: float) -> Step:
        """Return a low point between `here` and `there`, where the slope has all but gone."""
        best = here if len(here.quad) else run.problem.certify(here.weights, here.states)
        low, slope = 0.0, -0.5 * float(best.quad @ direction)
        if not slope < 0:  # certified anew, the direction leads nowhere
            return best
        goal = self.search * abs(slope)
        guess = -0.5 * slope * end**2 / (there.upper - best.upper - slope * end)  # the parabola through both ends
        for _ in range(30):
            length = float(np.clip(guess, low + 0.02 * (end - low), end - 0.02 * (end - low)))
            weights = np.maximum(here.weights + length * direction, 0.0)
            trial = run.solve(weights / weights.sum(), best.states, tol)
            at = -0.5 * float(trial.quad @ direction)
            best = trial if trial.upper < best.upper else best
            if (abs(at) <= goal and best is trial) or run.out_of_time():
                break
            if at > 0 or trial.upper == np.inf:
                end, guess = length, 0.5 * (low + length)
                if np.isfinite(at) and at > 0:
                    guess = low + (length - low) * slope / (slope - at)
            else:
                step = length - low
                guess = length + (step * at / (slope - at) if slope < at else step)
                low, slope = length, at
            if end - low <= 1e-12 * end or slope >= 0:
                break
        return best


def reduced_gradient(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the descent direction that keeps Σ weights = 1 and takes nothing from weights at zero."""
    top = int(np.argmax(weights))
    reduced = gradient - gradient[top]
    direction = np.where((weights > 0) | (reduced < 0), -reduced, 0.0)
    direction[top] = 0.0
    direction[top] = -direction.sum()
    return direction
