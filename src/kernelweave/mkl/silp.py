"""SILP wrapper: a machine, a cut, a linear program, and again."""

from __future__ import annotations

import numpy as np

from ..norms import Polyhedral
from .base import Problem, Run, Solver, Steps, with_lower
from .master_lp import MasterLP


class SILP(Solver):
    """Semi-infinite linear programming, wrapped around any machine (Sonnenburg et al. 2006, algorithm 1).

    Every solved machine bounds the objective of all weights from below by a linear function, a
    cut; the weights that look best under all cuts so far are tried next.
    """

    name = "silp"
    needs = (Polyhedral,)
    remedy = "Use norm=1, or solver='analytic'."

    def steps(self, problem: Problem, run: Run) -> Steps:
        master = MasterLP(problem.gram.n_terms)
        weights, states, gap, bound = master.recall(problem), None, np.inf, -np.inf
        if weights is None:
            weights = problem.start_weights()
        while True:
            step = run.solve(weights, states, problem.inner_tol(gap))
            master.add_cut(step.linear, step.quad, step.coef)
            gap = yield with_lower(step, bound, master.cuts())
            best, bound = master.solve()
            if best is None:  # the steps so far stay what they are
                return
            weights, states = best, step.states
