"""lp-norm MKL: the weights in closed form."""

from __future__ import annotations

import numpy as np

from ..norms import ClosedForm
from .base import Problem, Run, Solver, Steps


class Analytic(Solver):
    """Alternate between the machines and the best weights for their parts, a formula.

    ‖w_m‖ = weights[m] √quad[m]; then weights[m] ∝ ‖w_m‖^(2/(p+1)). Slow as p → 1.
    """

    name = "analytic"
    needs = (ClosedForm,)
    remedy = 'Use a norm p > 1 (norm=2, say) or solver="auto".'

    def steps(self, problem: Problem, run: Run) -> Steps:
        weights, states, gap = problem.start_weights(), None, np.inf
        while True:
            step = run.solve(weights, states, problem.inner_tol(gap))
            gap = yield step
            norms = step.weights * np.sqrt(np.maximum(step.quad, 0.0))
            if not norms.any():  # a machine that is constant: no weights are better than others
                return
            weights, states = problem.norm.closed_form(norms), step.states  # type: ignore[attr-defined]
