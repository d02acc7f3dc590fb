"""Coordinate descent in feature space: the dual solver for kernels whose features can be listed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import clock
from ..errors import MemoryBudgetError
from ..gram import Combined
from ..gram.coordinates import Descent
from ..losses import SmoothLoss
from ..memory import readable
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine, Trail, repaired
from .chunking import Chunking
from .interior import InteriorPoint, Path

#: Visits between two looks at the keyboard: a tenth of a second.
BURST = 10_000
#: Passes over the samples between two certificates, at most.
PASSES = 5
#: From so many samples on, so many neighbours are visited one after another.
MANY, NEIGHBOURS = 50_000, 16
#: The pull of Σ a = total, as a share of the mean of k(x, x).
PULL = 0.1
#: The gap of the active samples beside that of all before the step, while that is large and after; and beside what is
#: asked for.
FAR, FAR_SHARE, SHARE, LAST_SHARE = 0.3, 0.3, 0.002, 0.8


@dataclass
class Descended:
    """Where coordinate descent ended: a meets its constraints exactly, f = K a."""

    a: np.ndarray
    f: np.ndarray
    intercept: float
    gap: float


class Coordinate(DualSolver):
    """Minimises along one a[i] at a time: f_i is read off the normal, which then takes the move.

    Σ a = total is kept by an augmented Lagrangian, b (Σ a − total) + ρ/2 (Σ a − total)², with b += ρ (Σ a − total)
    after every pass over the samples; at the end the free coefficients are moved to meet it exactly. Samples that are
    held at a bound by more than anything moved in the last pass are left out of the next.

    A visit costs time in proportion to the letters of the sample, whatever the number of samples.

    Parameters
    ----------
    max_passes : int
        Most passes over the samples in one step.
    """

    name = "coordinate"
    matrix_free = True

    def __init__(self, max_passes: int = 60) -> None:
        self.max_passes = max_passes

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        if K is None or K.matrix is not None or not K.gram.held.lists or isinstance(machine.loss, SmoothLoss):
            return False
        # where every sample matters, blocks of those are the matrix of all
        return not (machine.qp.free and "blocks" in K.gram.held.coordinates)

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        if effort.sure and Chunking().fits(machine):  # where descent gets nowhere, as at a very high C
            return Chunking().step(machine, K, state, effort)
        need = K.gram.bytes.coordinates(K.n)
        if need > effort.bytes:
            raise MemoryBudgetError(
                f"Descent on all {K.n:,} samples takes about {readable(need)}; the budget is {readable(effort.bytes)}. "
                'Use dual="active_set", which holds some of them at a time, or raise memory=...'
            )
        return self.step_on_all(machine, K, state, effort)

    def step_on_all(self, machine: Machine, K: Combined, state: DualState, effort: Effort) -> DualState:
        """Return a better state, by descent on all samples at once."""
        state = state if np.isfinite(state.upper) else state.certified(machine)
        if is_slow(state, effort) and InteriorPoint().fits(machine, K):
            return InteriorPoint().step(machine, K, state, effort)
        descent = K.gram.coordinates(np.arange(K.n)).at(K.weights)
        tol = next_gap(state, effort)
        found = descend(machine, descent, state.coef, state.intercept, tol, self.max_passes)
        slow = found.gap > tol and not clock.is_over()
        final = found.gap >= state.gap and state.n_steps > 0
        return replace(
            state,
            coef=found.a,
            f=found.f,
            final=final and not (slow and InteriorPoint().fits(machine, K)),
            n_steps=state.n_steps + 1,
            exact=True,
            active=K.n,
            trail=Slow() if slow else None,
        )


@dataclass(frozen=True)
class Slow(Trail):
    """Left where descent did not get as far as it was to."""


def is_slow(state: DualState, effort: Effort) -> bool:
    """Say whether another way is to be taken: descent has got nowhere, or that way has begun."""
    return effort.sure or isinstance(state.trail, (Slow, Path))


def next_gap(state: DualState, effort: Effort) -> float:
    """Return the gap that the next step is to reach: of samples that are hardly the right ones yet, not much."""
    share = FAR_SHARE if state.gap > FAR else SHARE
    return max(share * min(state.gap, 1.0), LAST_SHARE * effort.gap)


def descend(
    machine: Machine, descent: Descent, a: np.ndarray, intercept: float, tol: float, max_passes: int, seed: int = 0
) -> Descended:
    """Return coefficients with a relative gap of at most tol, or the best there is after max_passes."""
    qp, n = machine.qp, len(a)
    linear = descent.linear(qp.linear, qp.total)
    rho = PULL * float(descent.diag.mean())
    rng = np.random.default_rng(seed)
    a, limit = a.copy(), np.inf
    descent.set(a)
    b = intercept + descent.constant(a)
    active = np.arange(n)
    best: Descended | None = None
    for number in range(1, max_passes + 1):
        active = shuffled(active, rng)
        off, worst, kept = float(a.sum()) - qp.total, 0.0, []
        for start in range(0, len(active), BURST):
            some = active[start : start + BURST]
            m, off, moved = descent.visit(linear, qp.ridge, qp.l1, qp.lower, qp.upper, a, some, b, rho, off, limit)
            kept.append(some[:m])
            worst = max(worst, moved)
            if clock.is_over():
                break
        active = np.concatenate(kept)
        b += rho * off
        limit = worst
        settled = worst <= 0.1 * tol
        if number % PASSES == 0 or settled or len(active) == 0 or number == max_passes or clock.is_over():
            found = _repaired_and_certified(machine, descent, a)
            best = found if best is None or found.gap < best.gap else best
            if best.gap <= tol or clock.is_over():
                break
            a, b = found.a.copy(), found.intercept + descent.constant(found.a)
            if settled or len(active) < 2:  # done with these: look at all of them again
                active, limit = np.arange(n), np.inf
    assert best is not None
    return best


def shuffled(samples: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the samples in random order; of many, a few neighbours at a time, which lie near each other in memory."""
    if len(samples) < MANY:
        return rng.permutation(samples)
    whole = len(samples) // NEIGHBOURS * NEIGHBOURS
    groups = rng.permutation(np.sort(samples)[:whole].reshape(-1, NEIGHBOURS), axis=0)
    return np.concatenate([rng.permuted(groups, axis=1).ravel(), np.sort(samples)[whole:]])


def _repaired_and_certified(machine: Machine, descent: Descent, a: np.ndarray) -> Descended:
    """Meet Σ a = total exactly, make the normal anew, and certify."""
    a = repaired(machine.qp, a)
    descent.set(a)
    f = descent.f(a)
    state = DualState(a, f).certified(machine)
    return Descended(a, f, state.intercept, state.gap)
