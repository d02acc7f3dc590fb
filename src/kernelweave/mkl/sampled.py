"""Weights to begin with, learned from a part of the samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dual import Machine
from ..dual.active_set import sample
from ..gram import Gram
from .base import Problem, Solver, run
from .machines import Run

#: From how many samples on a part of them is asked first; which part, and of how many at the most.
MIN_SAMPLES, SHARE, MAX_PART = 4_000, 0.25, 8_000
#: And of how many where their matrices are held, in so many bytes at the most.
MAX_HELD, HELD_BYTES = 2_000, 2**28
#: How well the weights of a part are learned, and those of one with matrices, where a step costs next to nothing:
#: what is left is noise of the part.
TOL, HELD_TOL = 0.02, 0.005
#: Most steps on a part.
MAX_STEPS = 20


def first_weights(problem: Problem, this: Run, solver: Solver) -> np.ndarray:
    """Return the weights to begin with: those of a part of the samples where that is cheap, or those of the norm.

    The first steps of a run learn what any part of the samples would tell, and a quarter of them tells it in a
    sixteenth of the time.
    """
    weights, machines = problem.start_weights(), problem.machines
    if problem.start is not None or problem.gram.n < MIN_SAMPLES or this.out_of_time():
        return weights
    if any(machine.soft is not None or machine.loss.total for machine in machines):
        return weights
    rows = sample(machines[0].qp, min(int(SHARE * problem.gram.n), _most(problem.gram)))
    gram = problem.gram.sampled(rows) if len(rows) >= SHARE * MIN_SAMPLES else None
    if gram is None:
        return weights
    tol = TOL if problem.gram.held.sets else HELD_TOL
    few = [_of_part(machine, rows) for machine in machines]
    part = replace(problem, gram=gram.rescaled(problem.gram.factors), machines=few, tol=max(tol, problem.tol))
    found = run(solver, part, max_iter=MAX_STEPS, patience=MAX_STEPS)
    this.interrupted |= found.interrupted
    return found.step.weights


def _most(gram: Gram) -> int:
    """Return how many samples are asked at the most: matrices of them take the place of numbers beside words."""
    if gram.held.sets:
        return MAX_PART
    beside = gram.held.coordinates >= {"features", "blocks"}
    return min(MAX_HELD, int((HELD_BYTES / (8 * gram.n_terms)) ** 0.5)) if beside else 0


def _of_part(machine: Machine, rows: np.ndarray) -> Machine:
    """Return the machine of some samples, each of which stands for several."""
    return replace(machine, y=machine.y[rows], C=machine.C[rows] * (len(machine.y) / len(rows)))
