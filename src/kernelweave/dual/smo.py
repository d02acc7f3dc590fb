"""SMO inside working sets: the dual solver for boxes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..gram import Combined
from ..losses import BoxQP, SmoothLoss
from .base import DualSolver, DualState, Machine
from .polish import polish

#: Work of one call of the jitted loop, in numbers touched: about a tenth of a second.
BURST = 3e7


class SMO(DualSolver):
    """Sequential minimal optimisation with second-order selection, inside working sets.

    The `working_set` samples that violate the optimality conditions most are optimised
    among themselves on a small matrix that stays in the processor's cache, to a tenth of
    their violation; then f moves once for all of them. Problems of up to `whole` samples are one
    working set. Where few samples lie strictly between their bounds, `polish` then finds their
    exact values.

    Parameters
    ----------
    working_set : int
        How many samples are optimised at a time.
    whole : int
        Up to how many samples the problem is not divided.
    """

    def __init__(self, working_set: int = 512, whole: int = 1000) -> None:
        self.working_set = working_set
        self.whole = whole

    def fits(self, machine: Machine) -> bool:
        return not isinstance(machine.loss, SmoothLoss) and not machine.qp.free

    def step(self, machine: Machine, K: Combined, state: DualState) -> DualState:
        qp = machine.qp
        scores = _scores(qp, state.coef, state.f)
        violation = scores[0].max() - scores[1].min()
        scale = max(1.0, float(np.abs(state.f).max(initial=0.0)), float(np.abs(qp.linear).max(initial=0.0)))
        if violation <= 1e-15 * scale:
            return replace(state, final=True, n_steps=state.n_steps + 1)
        if K.n <= self.whole:
            chosen = np.arange(K.n)
        else:
            chosen = _most_violating(*scores, self._size(qp, state))
        moved = self._optimise(qp, K, state, chosen, max(0.1 * violation, 1e-14 * scale))
        return replace(polish(qp, K, moved), n_steps=state.n_steps + 1, final=False)

    def _size(self, qp: BoxQP, state: DualState) -> int:
        # all free samples belong together, or they push each other to and fro
        n_free = int(((state.coef > qp.lower) & (state.coef < qp.upper) & (state.coef != 0)).sum())
        return int(np.clip(1.5 * n_free, self.working_set, 4 * self.working_set))

    def _optimise(self, qp: BoxQP, K: Combined, state: DualState, W: np.ndarray, eps: float) -> DualState:
        from .._fast.smo import smo

        whole = len(W) == K.n and K.matrix is not None
        block, factor = (np.asarray(K.matrix, dtype=np.float64), K.factor) if whole else (K.block(W, W), 1.0)
        # dividing the problem by the matrix's factor spares a copy of the matrix
        coef = state.coef[W]
        g = (state.f[W] + qp.ridge[W] * coef + qp.linear[W]) / factor
        before = coef.copy()
        max_iter = int(BURST / max(1, len(W)))
        smo(block, qp.ridge[W] / factor, qp.l1 / factor, qp.lower[W], qp.upper[W], coef, g, eps / factor, max_iter)
        if whole:
            f = factor * g - qp.ridge * coef - qp.linear
            return replace(state, coef=coef, f=f)
        full = state.coef.copy()
        full[W] = coef
        moved = np.flatnonzero(coef != before)
        return replace(state, coef=full, f=state.f + K.rows_times(W[moved], (coef - before)[moved]))


def _scores(qp: BoxQP, a: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how much every sample wants up, and how little it resists down; closed ones at ∓∞."""
    g = f + qp.ridge * a + qp.linear
    climb = np.where(a < qp.upper, -g - np.where(a >= 0, qp.l1, -qp.l1), -np.inf)
    fall = np.where(a > qp.lower, -g - np.where(a > 0, qp.l1, -qp.l1), np.inf)
    return climb, fall


def _most_violating(climb: np.ndarray, fall: np.ndarray, size: int) -> np.ndarray:
    half = min(size // 2, len(climb) // 2)
    risers = np.argpartition(-climb, half)[:half]
    fallers = np.argpartition(fall, half)[:half]
    return np.union1d(risers[np.isfinite(climb[risers])], fallers[np.isfinite(fall[fallers])])
