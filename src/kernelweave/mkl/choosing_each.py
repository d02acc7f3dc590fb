"""Several targets on the same samples: each gets a C of its own, and weights of its own where that is asked for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import nnls

from .. import clock
from .choosing import FIRST_SAMPLES, MORE_SAMPLES, RIDGES, Choice, alike, even_choice, missed_on_a_path, weighings
from .problem import Problem

#: How many left-out errors are looked at, of all targets together, and of how many samples at the least: with many
#: targets not every sample is left out in turn; all are learned from all the same.
JUDGED, LEAST_JUDGED = 1_000_000, 400
#: Samples that the weights of single targets are guessed from, and how many groups of targets with like ones are made.
GUESS_SAMPLES, N_GROUPS = 2000, 32
#: From so many targets on, those groups are all that is tried beside the plain sum.
MANY_TARGETS = 100
#: Bytes of the matrices that they are guessed from: of more terms, fewer samples.
GUESS_BYTES = 2**28
#: Penalty on the guessed weights, as a share of the largest eigenvalue of the terms' products.
GUESS_RIDGE = 3e-2


def choose_for_each(problem: Problem, share: np.ndarray, weights_too: bool, own_weights: bool) -> list[Choice]:
    """Return, for every machine, the weights and the ridge under which left-out samples are missed by least.

    One eigendecomposition for each set of weights serves all machines and all ridges.

    Parameters
    ----------
    problem : Problem
    share : array of shape (n_samples,)
        How much every sample counts.
    weights_too : bool
        Whether weights are chosen, among those of `choose_by_leaving_out`; else all terms are alike.
    own_weights : bool
        Whether every machine chooses for itself: also among weights that were guessed for groups of machines.
        Else they share the weights under which the sum of what they miss is least.
    """
    # with weights of their own, machines differ in those already: a step of ten is enough for the ridge
    ridges = RIDGES[::2] if own_weights else RIDGES
    some, tried, found = even_choice(problem.gram.n, FIRST_SAMPLES), [], []
    for how, weights in _weighings(problem, share, own_weights) if weights_too else [alike(problem)]:
        tried.append((how, weights))
        found.append(_mean_squares(problem, share, weights, some, ridges))
        if clock.now() > problem.deadline:
            break
    errors = np.array(found)  # by weights, ridge and machine
    least = errors.min(axis=1)
    every = np.full(errors.shape[2], int(least.sum(axis=1).argmin()))
    picked = least.argmin(axis=0) if own_weights else every
    more, out = even_choice(problem.gram.n, MORE_SAMPLES), list[Choice | None]([None] * len(picked))
    for number in np.unique(picked):
        own, (how, weights) = np.flatnonzero(picked == number), tried[number]
        at = errors[number][:, own]
        # a further decomposition for each of many sets of weights would cost more than it brings
        if not own_weights and len(more) > len(some) and clock.now() <= problem.deadline:
            at = _mean_squares(problem, share, weights, more, ridges, own)
        for machine, column in zip(own, at.T, strict=True):
            best = int(column.argmin())
            out[machine] = Choice(how, weights, float(ridges[best]), float(np.sqrt(column[best])))
    return [choice for choice in out if choice is not None]


def _mean_squares(
    problem: Problem,
    share: np.ndarray,
    weights: np.ndarray,
    some: np.ndarray,
    ridges: np.ndarray,
    machines: np.ndarray | None = None,
) -> np.ndarray:
    """Return the mean square that is missed by every ridge and machine: (n_ridges, n_machines)."""
    chosen = range(len(problem.machines)) if machines is None else machines
    Y = np.column_stack([problem.machines[number].y[some] for number in chosen])
    K, share = problem.gram.block(some, some, weights), share[some]
    at = even_choice(len(some), max(LEAST_JUDGED, JUDGED // Y.shape[1]))
    return np.array([share[at] @ missed**2 / share[at].sum() for missed in missed_on_a_path(K, Y, share, at, ridges)])


def _weighings(problem: Problem, share: np.ndarray, own: bool) -> Iterator[tuple[str, np.ndarray]]:
    if own and len(problem.machines) >= MANY_TARGETS:
        yield alike(problem)
    else:
        yield from weighings(problem)
    if own and problem.gram.n_terms > 1:
        for number, weights in enumerate(guessed_weights(problem, share)):
            yield f"weights of group {number} of the targets", weights


def guessed_weights(problem: Problem, share: np.ndarray) -> np.ndarray:
    """Return a few sets of weights, each for targets that are like the same terms: (at most N_GROUPS, n_terms).

    For every target, w ≥ 0 minimises ‖y y' − Σ_m w_m K_m‖² + ridge ‖w‖² over some samples, with centred y and K_m, as
    stage one of `TwoStage` does; these are then put into groups by their shares of the sum.
    """
    room = int((GUESS_BYTES / (8 * problem.gram.n_terms)) ** 0.5)
    some = even_choice(problem.gram.n, max(100, min(GUESS_SAMPLES, room)))
    p = share[some] / share[some].sum()
    Y = np.column_stack([machine.y[some] for machine in problem.machines])
    root = np.sqrt(p)[:, None]
    Y = root * (Y - p @ Y)
    flat, h = [], []
    for m in range(problem.gram.n_terms):
        K = problem.gram.only([m]).block(some, some, np.ones(1))
        rows = K @ p
        K = root * (K - rows[:, None] - rows + p @ rows) * root.T
        flat.append(K.ravel())
        h.append(np.einsum("it,it->t", Y, K @ Y))
    Z = np.array(flat)
    values, vectors = np.linalg.eigh(Z @ Z.T)
    roots = np.sqrt(np.maximum(values, 0.0) + GUESS_RIDGE * max(float(values[-1]), 1e-300))
    A, right = roots[:, None] * vectors.T, (vectors.T @ np.array(h)) / roots[:, None]
    found = np.array([nnls(A, column)[0] for column in right.T])
    found = found[found.sum(axis=1) > 0]
    return grouped(found / found.sum(axis=1, keepdims=True), N_GROUPS) if len(found) else found


def grouped(rows: np.ndarray, most: int) -> np.ndarray:
    """Return the means of at most so many groups of rows that are near each other, by Lloyd's rule from far rows on."""
    centres = rows[[0]]
    apart = np.square(rows - centres[0]).sum(axis=1)
    while len(centres) < most and apart.max() > 1e-6:
        centres = np.vstack([centres, rows[apart.argmax()]])
        apart = np.minimum(apart, np.square(rows - centres[-1]).sum(axis=1))
    for _ in range(20):
        nearest = (np.square(centres).sum(axis=1) - 2.0 * rows @ centres.T).argmin(axis=1)
        present = np.unique(nearest)
        centres = np.array([rows[nearest == number].mean(axis=0) for number in present])
    return centres
