"""A few quadratic models: the dual solver for smooth losses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..gram import Combined
from ..gram.embedding import Factor
from ..losses import SmoothLoss
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine, Trail, best_intercept
from .interior import can_factor, low_rank
from .primal import newton_step
from .ridge import MAX_CHOLESKY, solve_free

#: Steps after which the search goes on in feature space, and after which it ends: a few are what it takes.
SLOW, END = 40, 80
#: Steps in feature space that may gain nothing but rounding, and what share of the objective that is.
MAX_IDLE, IDLE = 5, 1e-12


@dataclass(frozen=True)
class Iterate(Trail):
    """Newton's own iterate, kept apart from coef: the machine a with f = K a, for the weights of K."""

    a: np.ndarray
    f: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Normal(Trail):
    """The iterate in feature space: f = Z normal with K = Z Z', and how many steps brought nothing."""

    sure = True
    Z: np.ndarray
    normal: np.ndarray
    weights: np.ndarray
    idle: int = 0


class Newton(DualSolver):
    """Newton's method on the primal, each step the dual of a quadratic model.

    At decision values f + b the loss becomes a parabola; `solve_free` gives the minimum
    of the model; a line search on the true objective decides how far to go. The state's
    coef is −C l'(f + b), which meets the dual constraints exactly: Σ coef = 0 is the
    condition for b.

    For large C the systems of all samples are lost in rounding. Where that shows, the search goes on in feature space,
    where they are not: f = Z w with K = Z Z'.
    """

    name = "newton"

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        return isinstance(machine.loss, SmoothLoss)

    def start(self, machine: Machine, K: Combined, coef: np.ndarray | None = None) -> DualState:
        nothing = np.zeros(K.n)
        if coef is None:
            return _state_of_iterate(machine, K, nothing, nothing, 0)
        f = K.apply(coef)
        if _primal_objective(machine, f, float(coef @ f)) > _primal_objective(
            machine, nothing, 0.0
        ):  # made at weights too far from here
            coef = f = nothing
        return _state_of_iterate(machine, K, coef, f, 0)

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        known = state.trail
        if isinstance(known, Normal) and np.array_equal(known.weights, K.weights):
            return in_features(machine, K, state, known)
        a, f = state.coef, state.f
        if isinstance(known, Iterate) and np.array_equal(known.weights, K.weights):
            a, f = known.a, known.f
        b = machine.loss.intercept(machine.y, f, machine.C)
        qp = machine.loss.dual(machine.y, machine.C, f + b)
        target, b_target = solve_free(qp, K, MAX_CHOLESKY, a, 1e-8)
        f_target = K.apply(target)
        here = machine.upper(f, b, float(a @ f))
        slope = _slope_along(machine, a, f, b, target - a, f_target - f, b_target - b)
        length = 1.0
        while length > 1e-10:
            a_new, f_new = a + length * (target - a), f + length * (f_target - f)
            there = machine.upper(f_new, b + length * (b_target - b), float(a_new @ f_new))
            if there <= here + 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            a_new, f_new = a, f
        new = _state_of_iterate(machine, K, a_new, f_new, state.n_steps + 1)
        if (a_new is a or effort.sure or new.n_steps >= SLOW) and can_factor(K):
            Z = low_rank(K, centred=machine.loss.total == 0.0)
            return replace(new, trail=Normal(Z, Z.T @ a_new, K.weights))
        return replace(new, final=a_new is a)


def _state_of_iterate(machine: Machine, K: Combined, a: np.ndarray, f: np.ndarray, n_steps: int) -> DualState:
    loss, y, C = machine.loss, machine.y, machine.C
    b = loss.intercept(y, f, C)
    coef = -C * loss.slope(y, f + b)
    return DualState(coef, K.apply(coef), n_steps=n_steps, exact=True, trail=Iterate(a, f, K.weights))


def _primal_objective(machine: Machine, f: np.ndarray, square: float) -> float:
    """Return the primal objective with the best intercept."""
    return machine.upper(f, machine.loss.intercept(machine.y, f, machine.C), square)


def _slope_along(
    machine: Machine, a: np.ndarray, f: np.ndarray, b: float, da: np.ndarray, df: np.ndarray, db: float
) -> float:
    """Return the slope of the primal objective along the step; never positive."""
    slope = machine.C * machine.loss.slope(machine.y, f + b)
    return min(0.0, float(slope @ (df + db) + da @ f))


def in_features(machine: Machine, K: Combined, state: DualState, known: Normal) -> DualState:
    """Return the state after a Newton step on the normal w and the intercept."""
    Z, w = Factor(known.Z), known.normal
    f = Z.times(w)
    moved, _, _, gain, coef = newton_step(machine, Z, w, f, best_intercept(machine, f, 0.0))
    # coef follows w at the rate C: what is left of its gap once w rests is rounding, and a matter of luck
    idle = known.idle + 1 if gain <= IDLE else 0
    final = bool(np.array_equal(moved, w)) or state.n_steps >= END or idle >= MAX_IDLE
    trail = replace(known, normal=moved, idle=idle)
    return DualState(coef, K.apply(coef), n_steps=state.n_steps + 1, final=final, exact=True, trail=trail)
