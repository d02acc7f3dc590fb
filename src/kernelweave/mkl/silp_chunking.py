"""SILP chunking: the weights move between the steps of the dual solver."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np

from ..dual import DualState, Effort, as_dual
from ..norms import Polyhedral
from .base import Problem, Run, Solver, Steps, with_lower
from .master_lp import MasterLP
from .problem import EPSILON

#: After how many steps K_m coef is computed anew.
REFRESH = 100


class SILPChunking(Solver):
    """SILP with the linear program inside the dual solver (Sonnenburg et al. 2006, algorithm 2).

    After every step of the dual solver, its coef makes a cut, if that cut says something new at the
    present weights. K_m coef is kept for every term and follows the samples that move, so that changing the weights
    costs one weighted sum and a cut one product, coef · K_m coef: no kernel, however large the support. Every
    `REFRESH` steps all of it is computed anew, and until then what rounding may hide counts against the lower bound.

    Parameters
    ----------
    violation : float
        How much the cut must exceed the linear program's value, relative to the gap, to be added.
    """

    name = "silp_chunking"
    needs = (Polyhedral,)
    remedy = "Use norm=1, or solver='analytic'."

    def __init__(self, violation: float = 0.1) -> None:
        self.violation = violation

    def steps(self, problem: Problem, run: Run) -> Steps:
        master = MasterLP(problem.gram.n_terms)
        weights, bound, theta = master.recall(problem), -np.inf, -np.inf
        if weights is None:
            weights = problem.start_weights()
        K = run.combined(weights)
        duals = [as_dual(problem.dual, machine, K) for machine in problem.machines]
        effort = Effort(bytes=problem.budget)
        given = [None] * len(duals) if problem.start is None else [state.coef for state in problem.start.states]
        states = [d.start(m, K, coef) for d, m, coef in zip(duals, problem.machines, given, strict=True)]
        each = [problem.gram.apply_each(state.coef) for state in states]
        for number in count(1):
            age = number % REFRESH
            for i, machine in enumerate(problem.machines):
                machine = machine.at(K)
                moved = duals[i].step(machine, K, states[i], effort)
                if age:
                    each[i] += problem.gram.apply_each(moved.coef - states[i].coef)
                else:
                    each[i] = problem.gram.apply_each(moved.coef)
                states[i] = replace(moved, f=weights @ each[i], exact=False).certified(machine)
            kept = None if problem.gram.held.single else _quad(states, each, age)
            step = problem.certify(weights, tuple(states), kept)
            run.n_solves += 1
            gap = yield with_lower(step, bound, master.cuts())
            value = step.linear - 0.5 * float(weights @ step.quad)
            if value > theta + self.violation * gap * abs(value) or _all_solved(states, problem.inner_tol(gap)):
                master.add_cut(step.linear, step.quad, step.coef)
                best, bound = master.solve()
                if best is None:  # the steps so far stay what they are
                    return
                weights = best
                theta = master.value
                K = run.combined(weights)
                states = [replace(s, f=weights @ e, final=False) for s, e in zip(states, each, strict=True)]


def _quad(states: list[DualState], each: list[np.ndarray], age: int) -> np.ndarray:
    """Return coef · K_m coef of every term, at the least what it is, with K_m coef carried along for `age` steps."""
    total = np.zeros(len(each[0]))
    for state, products in zip(states, each, strict=True):
        total += products @ state.coef + age * EPSILON * (np.abs(products) @ np.abs(state.coef))
    return total


def _all_solved(states: list[DualState], tol: float) -> bool:
    return all(state.gap <= tol or state.final for state in states)
