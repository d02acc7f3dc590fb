"""Coordinate descent in feature space: the dual solver for kernels whose features can be listed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import clock
from ..errors import MemoryBudgetError
from ..gram import Combined
from ..gram.coordinates import Descent
from ..losses import BoxQP, SmoothLoss
from ..memory import readable
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine

#: Visits between two looks at the keyboard: a tenth of a second.
BURST = 10_000
#: Passes over the samples between two certificates, at most.
PASSES = 5
#: The pull of Σ a = total, as a share of the mean of k(x, x).
PULL = 0.1
#: The gap of the active samples beside that of all before the step, while that is large and after; and beside what is
#: asked for.
FAR, FAR_SHARE, SHARE, LAST_SHARE = 0.3, 0.1, 0.002, 0.5


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
        descent = K.gram.coordinates(np.arange(K.n)).at(K.weights)
        found = descend(machine, descent, state.coef, state.intercept, next_gap(state, effort), self.max_passes)
        return replace(
            state,
            coef=found.a,
            f=found.f,
            final=found.gap >= state.gap and state.n_steps > 0,
            n_steps=state.n_steps + 1,
            exact=True,
            active=K.n,
            trail=None,
        )


def next_gap(state: DualState, effort: Effort) -> float:
    """Return the gap that the next step is to reach: of samples that are hardly the right ones yet, not much."""
    share = FAR_SHARE if state.gap > FAR else SHARE
    return max(share * min(state.gap, 1.0), LAST_SHARE * effort.gap)


def descend(
    machine: Machine, descent: Descent, a: np.ndarray, intercept: float, tol: float, max_passes: int, seed: int = 0
) -> Descended:
    """Return coefficients with a relative gap of at most tol, or the best there is after max_passes."""
    from .._fast.coordinate import visit

    qp, n = machine.qp, len(a)
    rho = PULL * float(descent.diag.mean())
    rng = np.random.default_rng(seed)
    a, b, limit = a.copy(), intercept, np.inf
    descent.set(a)
    active = np.arange(n)
    best: Descended | None = None
    for number in range(1, max_passes + 1):
        active = rng.permutation(active)
        off, worst, kept = float(a.sum()) - qp.total, 0.0, []
        for start in range(0, len(active), BURST):
            some = active[start : start + BURST]
            m, off, moved = visit(
                descent.spaces, descent.alone, descent.diag, qp.linear, qp.ridge, qp.l1, qp.lower, qp.upper,
                a, some, b, rho, off, limit,
            )  # fmt: skip
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
            a, b = found.a.copy(), found.intercept
            if settled or len(active) < 2:  # done with these: look at all of them again
                active, limit = np.arange(n), np.inf
    assert best is not None
    return best


def _repaired_and_certified(machine: Machine, descent: Descent, a: np.ndarray) -> Descended:
    """Meet Σ a = total exactly, make the normal anew, and certify."""
    a = repaired(machine.qp, a)
    descent.set(a)
    f = descent.f(a)
    state = DualState(a, f).certified(machine)
    return Descended(a, f, state.intercept, state.gap)


def repaired(qp: BoxQP, a: np.ndarray) -> np.ndarray:
    """Return coefficients that meet Σ a = total, near a: those between their bounds give way, each a share of its room.

    Where they have too little room, the heavier side is scaled down.
    """
    off = float(a.sum()) - qp.total
    if off == 0.0:
        return a
    free = (a > qp.lower) & (a < qp.upper) & (a != 0.0)
    bound = np.minimum(np.abs(a), np.where((a > 0) == (off > 0), np.inf, np.where(off > 0, a - qp.lower, qp.upper - a)))
    room = np.where(free, bound, 0.0)
    side = a > 0 if off > 0 else a < 0
    heavy = abs(float(a[side].sum()))
    out = a.copy()
    if room.sum() > abs(off):
        out -= off * room / room.sum()
    elif heavy > abs(off) and ((qp.lower <= 0) & (qp.upper >= 0))[side].all():
        out[side] *= 1.0 - abs(off) / heavy
    return qp.feasible(out)
