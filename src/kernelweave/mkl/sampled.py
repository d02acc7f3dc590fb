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
#: And of how many where their matrices are held, in so many bytes at the most.
MAX_HELD, HELD_BYTES = 2_000, 2**28
#: The same for many terms of words, all of whose features are listed: measured on splice sites, 100,000 windows and 20
#: degrees take 3 steps instead of 9, 30,000 and 141 positions 5 instead of 22. Of few terms steps are as many, or more.
MIN_WORDS, WORDS_SHARE, MOST_WORDS, MANY_TERMS = 20_000, 0.125, 8_000, 8
#: How well the weights of a part are learned, and those of one with matrices, where a step costs next to nothing:
#: what is left is noise of the part.
TOL, HELD_TOL = 0.02, 0.005
#: Most steps on a part, and how much of the time it may take.
MAX_STEPS, TIME_SHARE = 20, 0.25


def first_weights(problem: Problem, this: Run, solver: Solver) -> np.ndarray:
    """Return the weights to begin with: those of a part of the samples where that is cheap, or those of the norm.

    The first steps of a run learn what any part of the samples would tell, and a quarter of them tells it in a
    sixteenth of the time.
    """
    weights, machines = problem.start_weights(), problem.machines
    if problem.start is not None or this.out_of_time():
        return weights
    if any(machine.soft is not None or machine.loss.total for machine in machines):
        return weights
    size, tol = part_of(problem)
    rows = sample(machines[0].qp, size) if size else np.empty(0, np.int64)
    gram = problem.gram.sampled(rows) if len(rows) else None
    if gram is None:
        return weights
    few = [_of_part(machine, rows) for machine in machines]
    here, tol = clock.now(), max(tol, problem.tol)
    deadline = here + TIME_SHARE * (problem.deadline - here)  # most of the time is for the samples all together
    part = replace(problem, gram=gram.rescaled(problem.gram.factors), machines=few, tol=tol, deadline=deadline)
    found = run(solver, part, max_iter=MAX_STEPS, patience=MAX_STEPS)
    this.interrupted |= found.interrupted
    return found.step.weights


def part_of(problem: Problem) -> tuple[int, float]:
    """Return how many samples are to be asked first, and how well; 0 where all of them are as quick."""
    gram = problem.gram
    if gram.held.sets:
        return (min(int(SHARE * gram.n), MAX_PART), TOL) if gram.n >= MIN_SAMPLES else (0, TOL)
    if gram.held.coordinates == {"features"}:
        many = gram.n_terms >= MANY_TERMS and gram.n >= MIN_WORDS
        return (min(int(WORDS_SHARE * gram.n), MOST_WORDS) if many else 0), TOL
    if gram.held.coordinates < {"features", "blocks"}:
        return 0, TOL
    # numbers beside words: matrices of so few samples take their place
    most = min(int(SHARE * gram.n), MAX_HELD, int((HELD_BYTES / (8 * gram.n_terms)) ** 0.5))
    return (most if most >= SHARE * MIN_SAMPLES else 0), HELD_TOL


def _of_part(machine: Machine, rows: np.ndarray) -> Machine:
    """Return the machine of some samples, each of which stands for several."""
    return replace(machine, y=machine.y[rows], C=machine.C[rows] * (len(machine.y) / len(rows)))
