"""A few quadratic models: the dual solver for smooth losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..gram import Combined
from ..losses import SmoothLoss
from .base import DualSolver, DualState, Machine
from .ridge import MAX_CHOLESKY, solve_free


class Newton(DualSolver):
    """Newton's method on the primal, each step the dual of a quadratic model.

    At decision values f + b the loss becomes a parabola; `solve_free` gives the minimum
    of the model; a line search on the true objective decides how far to go. The state's
    coef is −C l'(f + b), which meets the dual constraints exactly: Σ coef = 0 is the
    condition for b.
    """

    name = "newton"

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        return isinstance(machine.loss, SmoothLoss)

    def start(self, machine: Machine, K: Combined, coef: np.ndarray | None = None) -> DualState:
        coef = np.zeros(K.n) if coef is None else coef
        return _with_feasible(machine, K, coef, K.apply(coef), 0)

    def step(self, machine: Machine, K: Combined, state: DualState) -> DualState:
        a, f = self._primal(K, state)
        b = machine.loss.intercept(machine.y, f, machine.C)
        qp = machine.loss.dual(machine.y, machine.C, f + b)
        target, b_target = solve_free(qp, K, MAX_CHOLESKY, a, 1e-8)
        f_target = K.apply(target)
        here = machine.upper(f, b, float(a @ f))
        slope = _directional(machine, a, f, b, target - a, f_target - f, b_target - b)
        length = 1.0
        while length > 1e-10:
            a_new, f_new = a + length * (target - a), f + length * (f_target - f)
            there = machine.upper(f_new, b + length * (b_target - b), float(a_new @ f_new))
            if there <= here + 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            a_new, f_new = a, f
        new = _with_feasible(machine, K, a_new, f_new, state.n_steps + 1)
        return replace(new, final=a_new is a)

    def _primal(self, K: Combined, state: DualState) -> tuple[np.ndarray, np.ndarray]:
        """Return the Newton iterate: kept apart from coef, and only good for the weights it was made at."""
        known = state.memory.get("weights")
        if known is not None and np.array_equal(known, K.weights):
            return state.memory["a"], state.memory["f"]
        return state.coef, state.f


def _with_feasible(machine: Machine, K: Combined, a: np.ndarray, f: np.ndarray, n_steps: int) -> DualState:
    loss, y, C = machine.loss, machine.y, machine.C
    b = loss.intercept(y, f, C)
    coef = -C * loss.slope(y, f + b)  # type: ignore[attr-defined]
    return DualState(coef, K.apply(coef), n_steps=n_steps, memory={"a": a, "f": f, "weights": K.weights})


def _directional(
    machine: Machine, a: np.ndarray, f: np.ndarray, b: float, da: np.ndarray, df: np.ndarray, db: float
) -> float:
    """Return the slope of the primal objective along the step; never positive."""
    slope = machine.C * machine.loss.slope(machine.y, f + b)  # type: ignore[attr-defined]
    return min(0.0, float(slope @ (df + db) + da @ f))
