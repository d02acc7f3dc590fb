"""Weights to begin with, learned from a part of the samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import clock
from ..dual import Machine
from ..dual.active_set import sample
from .base import Problem, Solver, run
from .machines import Run

#: From how many samples on a part of them is asked first; which part, and of how many at the most.
MIN_SAMPLES, SHARE, MAX_PART = 4_000, 0.25, 24_000
#: How well the weights of a part are learned: what is left is noise of the part.
TOL = 0.02
#: Most steps on a part, and how much of the time it may take.
MAX_STEPS, TIME_SHARE = 20, 0.25


def first_weights(problem: Problem, this: Run, solver: Solver) -> np.ndarray:
    """Return the weights to begin with: those of a part of the samples where that is cheap, or those of the norm.

    The first steps of a run learn what any part of the samples would tell, and a quarter of them tells it in a
    sixteenth of the time.
    """
    weights, machines = problem.start_weights(), problem.machines
    if problem.start is not None or problem.gram.n < MIN_SAMPLES or this.out_of_time():
        return weights
    if not problem.gram.held.sets:  # numbers beside words, measured: weights need 31 solves then, and 8 without
        return weights
    if any(machine.soft is not None or machine.loss.total for machine in machines):
        return weights
    rows = sample(machines[0].qp, min(int(SHARE * problem.gram.n), MAX_PART))
    gram = problem.gram.sampled(rows)
    if gram is None:
        return weights
    few = [_of_part(machine, rows) for machine in machines]
    here, tol = clock.now(), max(TOL, problem.tol)
    deadline = here + TIME_SHARE * (problem.deadline - here)  # most of the time is for the samples all together
    part = replace(problem, gram=gram.rescaled(problem.gram.factors), machines=few, tol=tol, deadline=deadline)
    found = run(solver, part, max_iter=MAX_STEPS, patience=MAX_STEPS)
    this.interrupted |= found.interrupted
    return found.step.weights


def _of_part(machine: Machine, rows: np.ndarray) -> Machine:
    """Return the machine of some samples, each of which stands for several."""
    return replace(machine, y=machine.y[rows], C=machine.C[rows] * (len(machine.y) / len(rows)))
