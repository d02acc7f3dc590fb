"""SMO on sets of many samples: the dual solver for kernels on numbers whose matrix would be too large, or too dear."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import clock
from ..gram import MAX_SET, Combined
from ..losses import BoxQP
from .active_set import sample
from .base import UNLIMITED, DualState, Effort, Machine
from .polish import polish
from .smo import BURST, SMO, Turns, scores, take_turns, turns_of, worth_polishing

#: Samples of the first set: so many, or this share of all.
FEW, FIRST_SHARE = 2000, 0.125
#: How much larger than the last a set may be.
GROWTH = 4.0
#: A sample at a bound takes part while the pull that holds it there is below this share of the targets' size, or below
#: so many times what is still violated.
MARGIN, SLACK = 0.1, 2.0
#: To which share of the violation that is left a set is solved, and in how many bursts at the most; and to which one
#: where that may be the end: turns cost less than one more look at all samples.
SHARE, MAX_BURSTS, LAST_SHARE = 0.1, 30, 0.003
#: A set is solved again as it is where no less than this share of it still matters.
KEPT = 0.6
#: After so many steps f is computed anew.
MAX_ADDED = 50
#: Sets have a multiple of so many samples, where that is up to them: rows of their matrix begin where the cache does.
LANES = 16
#: Of each side, so many of the worst samples take part in any case: coefficients rise and fall in pairs.
WORST = 200


@dataclass(frozen=True)
class Round(Turns):
    """What a round leaves behind: the samples of its set, too, and whether it was meant to be the last."""

    rows: np.ndarray | None = None
    last: bool = False


class Sets(SMO):
    """SMO on a set of samples with a matrix of its own; what lies outside rests where it is.

    The first set is a random part of the samples. Each step optimises a set, adds what moved to f of all samples, and
    takes into the next set what is free, what is treated worst, and what is near to it. Where all of those do not fit,
    a random part of them does, and others have their turn. So the first machine that can be used is there early, and
    no step takes longer because the support is large.

    Parameters
    ----------
    most : int
        Samples of a set at the most; fewer where memory is short.
    """

    name = "sets"

    def __init__(self, most: int = MAX_SET) -> None:
        super().__init__()
        self.most = most

    def __repr__(self) -> str:
        return f"Sets(most={self.most})"

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        return super().fits(machine, K) and K is not None and K.matrix is None and K.gram.held.sets

    def advance(self, qp: BoxQP, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        before = turns_of(state)
        if self.at_an_end(K, before):
            return replace(state, final=True, n_steps=state.n_steps + 1)
        # gaps fall about as violations do
        share = min(0.5 * effort.gap / max(state.gap, 1e-300), 0.5)
        tried = isinstance(state.trail, Round) and state.trail.last
        if (share < LAST_SHARE or tried) and worth_polishing(qp, state):
            state = polish(qp, K, state)
        climb, fall = scores(qp, state.coef, state.f)
        violation, scale = float(climb.max() - fall.min()), self.scale(qp, K, state)
        if violation <= 1e-15 * scale:
            return replace(state, final=True, n_steps=state.n_steps + 1)
        W = self._next_set(qp, K, state, climb, fall, effort)
        last = share >= LAST_SHARE
        moved, work = self._optimise(qp, K, state, W, max((share if last else SHARE) * violation, 1e-14 * scale))
        trail = Round(violation / scale, work + before.work, W, last)
        n_steps = state.n_steps + 1  # each adds a product in double precision to f: few of them leave no trace
        return replace(
            moved, n_steps=n_steps, final=False, exact=state.exact and n_steps < MAX_ADDED, active=len(W), trail=trail
        )

    def _next_set(
        self, qp: BoxQP, K: Combined, state: DualState, climb: np.ndarray, fall: np.ndarray, effort: Effort
    ) -> np.ndarray:
        """Return the samples of the next set."""
        room = min(0.5 * effort.bytes, K.gram.held.most_set, 1e18) / K.gram.held.set_bytes
        most = int(min(self.most, max(FEW // 2, room**0.5), K.n))
        last = state.trail.rows if isinstance(state.trail, Round) else None
        if not state.coef.any():
            return sample(qp, min(most, max(FEW, int(FIRST_SHARE * K.n))), state.n_steps)
        top, low = float(climb.max()), float(fall.min())
        b = state.intercept if low <= state.intercept <= top else 0.5 * (top + low)
        pull = np.maximum(climb - b, b - fall)
        margin = min(MARGIN * (float(np.abs(qp.linear).max()) + qp.l1), SLACK * (top - low))
        matters = pull > -margin
        for side in (climb, -fall):
            matters[np.argpartition(-side, min(WORST, K.n - 1))[:WORST]] = True
        if last is not None and len(last) <= most:
            outside = pull.copy()
            outside[last] = -np.inf
            if outside.max() <= 0.5 * SHARE * (top - low) and matters[last].mean() >= KEPT:
                return last
        limit = most if last is None else int(min(most, GROWTH * len(last)))
        count = int(matters.sum())
        if count > limit:
            return _some_of(qp, state, matters, climb, fall, limit)
        if short := min(-count % LANES, K.n - count):
            matters[np.argpartition(np.where(matters, -np.inf, pull), -short)[-short:]] = True
        return np.flatnonzero(matters)

    def _optimise(self, qp: BoxQP, K: Combined, state: DualState, W: np.ndarray, eps: float) -> tuple[DualState, float]:
        """Return the state after SMO on the samples W, in bursts, and how many numbers that touched."""
        block = K.square(W)
        coef, ridge = state.coef[W], qp.ridge[W]
        g = state.f[W] + ridge * coef + qp.linear[W]
        before, box, max_iter = coef.copy(), (qp.l1, qp.lower[W], qp.upper[W]), int(BURST / len(W)) + 1
        work = take_turns(block, ridge, *box, coef, g, eps, max_iter, MAX_BURSTS)
        moved = np.flatnonzero(coef != before)
        full = state.coef.copy()
        full[W] = coef
        others = np.setdiff1d(np.arange(K.n), W, assume_unique=True)
        f = state.f.copy()
        f[W] = g - ridge * coef - qp.linear[W]  # carried along, from the same values
        with clock.until(np.inf):  # or what was found would be lost
            f[others] += K.some_times(others, W[moved], (coef - before)[moved])
        return replace(state, coef=full, f=f), work


def _some_of(
    qp: BoxQP, state: DualState, matters: np.ndarray, climb: np.ndarray, fall: np.ndarray, limit: int
) -> np.ndarray:
    """Return so many of the samples that matter: the worst, some that are free, and a random part of the others."""
    rng, n = np.random.default_rng(state.n_steps), len(matters)
    chosen = np.zeros(n, dtype=bool)
    for side in (climb, -fall):
        chosen[np.argpartition(-side, min(WORST, n - 1))[:WORST]] = True
    free = np.flatnonzero((state.coef > qp.lower) & (state.coef < qp.upper) & (state.coef != 0) & ~chosen)
    chosen[rng.permutation(free)[: limit // 2]] = True
    others = np.flatnonzero(matters & ~chosen)
    chosen[rng.permutation(others)[: max(0, limit - int(chosen.sum()))]] = True
    return np.flatnonzero(chosen)
