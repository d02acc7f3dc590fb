"""Weights and C chosen by what a ridge regression misses when samples are left out, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import clock
from ..errors import InputError
from .problem import Problem
from .two_stage import TwoStage

#: Ridges that are tried, in shares of a term's variance.
RIDGES = np.logspace(-5, 2, 15)
#: Samples by which weights are chosen, and then the ridge: of more of them an even choice is taken.
FIRST_SAMPLES, MORE_SAMPLES = 800, 2000
#: Up to this many terms each is tried alone; of more, the first ones.
MAX_ALONE = 15
#: How many of the next best weights are tried together with the best ones.
N_MIXED = 5
#: What `TwoStage` tries. Pairs of a sample with itself count, and no ridge goes by the number of samples, so that a
#: weight of 2 is the same as being there twice.
FIRST_STAGES = (
    TwoStage("ridge", ridge=3e-2, diagonal=True),
    TwoStage("alignment", power=4.0, diagonal=True),
    TwoStage("differences", diagonal=True),
)


@dataclass(frozen=True)
class Choice:
    """Weights, the ridge of a machine with them, and the root of the mean square that it misses when left out."""

    how: str
    weights: np.ndarray
    ridge: float
    missed: float

    def cost(self, quadratic: bool) -> float:
        """Return the C that stands for the ridge.

        C Σ loss + ½‖w‖² has the ridge 1 / (2 C) for a squared loss. Other losses get the C under which an error as
        large as those that are made pulls as much: its slope times C, 1 · C, is 2 · missed / (2 ridge).
        """
        return 0.5 / self.ridge if quadratic else self.missed / self.ridge


def choose_by_leaving_out(problem: Problem, share: np.ndarray, weights_too: bool) -> Choice:
    """Return the weights and the ridge under which ridge regression misses left-out samples by least.

    Parameters
    ----------
    problem : Problem
    share : array of shape (n_samples,)
        How much every sample counts. The costs of the machines are not looked at: classes may weigh so much there that
        the others are forgotten.
    weights_too : bool
        Whether the weights are chosen, among: all alike, the first terms alike, each of these alone, and those of
        `TwoStage`; else all are alike.
    """
    some = even_choice(problem.gram.n, FIRST_SAMPLES)
    tried: list[Choice] = []
    for how, weights in weighings(problem) if weights_too else [alike(problem)]:
        tried.append(_best_ridge(problem, share, how, weights, some))
        if clock.now() > problem.deadline:
            break
    best = _mixed(problem, share, tried, some)
    more = even_choice(problem.gram.n, MORE_SAMPLES)
    late = len(more) == len(some) or clock.now() > problem.deadline
    return best if late else _best_ridge(problem, share, best.how, best.weights, more)


def _mixed(problem: Problem, share: np.ndarray, tried: list[Choice], some: np.ndarray) -> Choice:
    """Return the best of what was tried, or of its mean with one of those that come next."""
    best, *others = sorted(tried, key=lambda choice: choice.missed)
    found = [best]
    for other in others[:N_MIXED]:
        if clock.now() > problem.deadline:
            break
        weights = 0.5 * (best.weights + other.weights)
        found.append(_best_ridge(problem, share, f"{best.how} with {other.how}", weights, some))
    return min(found, key=lambda choice: choice.missed)


def alike(problem: Problem) -> tuple[str, np.ndarray]:
    """Return equal weights of all terms, and what to call them."""
    n_terms = problem.gram.n_terms
    return "all terms alike", np.full(n_terms, 1.0 / n_terms)


def weighings(problem: Problem) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what is tried, and what to call it."""
    yield alike(problem)
    n_terms = problem.gram.n_terms
    if n_terms == 1:
        return
    first = min(n_terms, MAX_ALONE)
    if first < n_terms:
        yield f"the first {first} terms alike", np.repeat([1.0 / first, 0.0], [first, n_terms - first])
    for m in range(first):
        yield f"term {m} alone", np.eye(n_terms)[m]
    for solver in FIRST_STAGES:
        try:
            stage = solver.first_stage(problem)
        except InputError:  # a kernel that two_stage cannot take
            return
        if stage is not None and not stage.note:
            yield f"two_stage(method={solver.method!r})", stage.weights / stage.weights.sum()


def even_choice(n: int, most: int) -> np.ndarray:
    """Return the numbers of all samples, or of so many of them, evenly spaced."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(int)


def _best_ridge(problem: Problem, share: np.ndarray, how: str, weights: np.ndarray, some: np.ndarray) -> Choice:
    K, share = problem.gram.block(some, some, weights), share[some]
    Y = np.column_stack([machine.y[some] for machine in problem.machines])
    means = [np.average(np.mean(missed**2, axis=1), weights=share) for missed in missed_on_a_path(K, Y, share)]
    best = int(np.argmin(means))
    return Choice(how, weights, float(RIDGES[best]), float(np.sqrt(means[best])))


def missed_on_a_path(
    K: np.ndarray, Y: np.ndarray, share: np.ndarray, at: np.ndarray | None = None, ridges: np.ndarray = RIDGES
) -> Iterator[np.ndarray]:
    """Yield, for every ridge, Y minus predictions of ridge regressions with an intercept that do not know the sample.

    With A = K + ridge / share and P = A⁻¹ − A⁻¹ 1 1'A⁻¹ / 1'A⁻¹ 1, coef = P Y, Y − f = ridge / share · coef, and a
    sample pulls its own value by h_i = 1 − ridge / share_i · P_ii. Where it stands for several, one of them is left
    out, which pulls by h_i / share_i.

    Parameters
    ----------
    K : array of shape (n, n)
    Y : array of shape (n, n_machines)
    share : how much every sample counts, above 0
    at : numbers of the samples that are left out in turn; None for all
    ridges : what is tried
    """
    at = np.arange(len(K)) if at is None else at
    root = np.sqrt(share)
    values, vectors = np.linalg.eigh(root[:, None] * K * root)
    # A⁻¹ = vectors diag(1 / (values + ridge)) vectors'
    values, vectors = np.maximum(values, 0.0), root[:, None] * vectors
    rotated, ones = vectors.T @ Y, vectors.sum(axis=0)
    own_vectors, own_share = vectors[at], share[at]
    squares, count = own_vectors**2, np.maximum(own_share, 1.0)
    for ridge in ridges:
        inverse = 1.0 / (values + ridge)
        one = vectors @ (inverse * ones)
        coef = own_vectors @ (inverse[:, None] * rotated) - np.outer(one[at], (one @ Y) / one.sum())
        own = 1.0 - ridge / own_share * (squares @ inverse - one[at] ** 2 / one.sum())
        left = np.maximum(1.0 - own / count, 1e-12)
        yield (ridge / own_share)[:, None] * coef / left[:, None]
