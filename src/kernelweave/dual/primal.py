"""Newton's method on the normal: the dual solver for smooth losses on samples that are vectors of a few numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from .. import clock
from ..gram import Combined
from ..losses.smooth import MIN_CURVATURE, TINY_CURVATURE
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine, Trail

#: Up to so many numbers a sample, the Hessian is factored; above, conjugate gradients do with products.
MAX_FACTORED = 2_000
#: How well conjugate gradients solve a step, and how many turns they get.
CG_TOLERANCE, CG_TURNS = 1e-2, 300
#: Steps that may gain nothing but rounding, what share of the objective that is, and steps in all.
MAX_IDLE, IDLE, END = 4, 1e-12, 80


class Samples(Protocol):
    """Samples as vectors z, (n, size)."""

    @property
    def size(self) -> int:
        """How many numbers a sample has."""

    def times(self, w: np.ndarray) -> np.ndarray:
        """Return z·w of every sample."""

    def sums(self, coef: np.ndarray) -> np.ndarray:
        """Return Σ_i coef_i z_i."""

    def second(self, share: np.ndarray) -> np.ndarray:
        """Return Σ_i share_i z_i z_i'."""


@dataclass(frozen=True)
class Explicit(Trail):
    """The normal at these weights, with its decision values, and how many steps gained nothing."""

    normal: np.ndarray
    f: np.ndarray
    weights: np.ndarray
    idle: int = 0


class Primal(DualSolver):
    """Newton's method on min over w, b of Σ_i C_i loss(y_i, ⟨w, z_i⟩ + b) + ½‖w‖², with samples z of a few numbers.

    A step forms the Hessian of `size`² numbers in one pass over the samples, or, where that is too many, solves by
    conjugate gradients. The coefficients are −C loss'(f + b), which meet the dual constraints: Σ coef = 0 is the
    condition for b. So the certificate is the one of all other solvers.
    """

    name = "primal"
    matrix_free = True

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        if not machine.loss.differentiable or machine.loss.total != 0.0 or machine.soft is not None:
            return False
        return K is not None and K.matrix is None and K.gram.vectors(K.weights) is not None

    def start(self, machine: Machine, K: Combined, coef: np.ndarray | None = None) -> DualState:
        Z = K.gram.vectors(K.weights)
        w, f = np.zeros(Z.size), np.zeros(K.n)
        if coef is not None:
            given = Z.sums(coef)
            here = Z.times(given)
            if _objective(machine, here, given) < _objective(machine, f, w):  # else made at weights too far from here
                w, f = given, here
        return _state(machine, K, Explicit(w, f, K.weights), 0)

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        known, Z = state.trail, K.gram.vectors(K.weights)
        if not (isinstance(known, Explicit) and np.array_equal(known.weights, K.weights)):
            w = Z.sums(state.coef)
            known = Explicit(w, Z.times(w), K.weights)
        w, f, gain = newton_step(machine, Z, known.normal, known.f)
        idle = known.idle + 1 if gain <= IDLE else 0
        found = _state(machine, K, Explicit(w, f, K.weights, idle), state.n_steps + 1)
        return replace(found, final=idle >= MAX_IDLE or found.n_steps >= END)


def _state(machine: Machine, K: Combined, trail: Explicit, n_steps: int) -> DualState:
    loss, y, C = machine.loss, machine.y, machine.C
    b = loss.intercept(y, trail.f, C)
    coef = -C * loss.slope(y, trail.f + b)
    with clock.until(np.inf):  # or what was found would be lost
        return DualState(coef, K.apply(coef), n_steps=n_steps, exact=True, trail=trail)


def _objective(machine: Machine, f: np.ndarray, w: np.ndarray) -> float:
    """Return the primal objective with the best intercept."""
    return machine.upper(f, machine.loss.intercept(machine.y, f, machine.C), float(w @ w))


def newton_step(machine: Machine, Z: Any, w: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return w and f = z·w after a step on w and the intercept, and what it gained, as a share of the objective."""
    loss, y, C = machine.loss, machine.y, machine.C
    b = loss.intercept(y, f, C)
    slope, curvature = slope_and_curvature(machine, f + b)
    total = float(curvature.sum())
    mean = Z.sums(curvature) / total  # the best change of b for a change d of w is −mean·d − its own slope
    gradient = w + Z.sums(slope) - mean * slope.sum()
    d = _direction(Z, curvature, mean, total, gradient)
    if d is None:
        return w, f, 0.0
    df, db = Z.times(d), -float(mean @ d) - float(slope.sum() / total)
    here, fall, length = machine.upper(f, b, float(w @ w)), min(0.0, float(gradient @ d)), 1.0
    while length > 1e-10:
        moved, there = w + length * d, f + length * df
        value = machine.upper(there, b + length * db, float(moved @ moved))
        if value <= here + 1e-4 * length * fall:
            return moved, Z.times(moved), (here - value) / max(abs(here), 1e-300)
        length *= 0.5
    return w, f, 0.0


def slope_and_curvature(machine: Machine, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return C l'(f) and C l''(f), the latter never zero."""
    slope = machine.loss.slope(machine.y, f)
    least = np.maximum(MIN_CURVATURE * np.abs(slope), TINY_CURVATURE)
    return machine.C * slope, machine.C * np.maximum(machine.loss.curvature(machine.y, f), least)


def _direction(
    Z: Samples, curvature: np.ndarray, mean: np.ndarray, total: float, gradient: np.ndarray
) -> np.ndarray | None:
    """Return −H⁻¹ gradient with H = I + Σ_i curvature_i (z_i − mean)(z_i − mean)'; None where rounding leaves none."""
    size = len(gradient)
    if size == 0:
        return None
    if size <= MAX_FACTORED:
        H = Z.second(curvature) - np.outer(mean, mean) * total
        H.flat[:: size + 1] += 1.0
        factor, failed = lapack.dpotrf(H, lower=1, clean=0)
        return None if failed else np.asarray(-lapack.dpotrs(factor, gradient, lower=1)[0])

    def times(v: np.ndarray) -> np.ndarray:
        clock.check()
        return v + Z.sums(curvature * (Z.times(v) - mean @ v))

    operator = LinearOperator((size, size), times, dtype=np.float64)
    return np.asarray(cg(operator, -gradient, rtol=CG_TOLERANCE, maxiter=CG_TURNS)[0])
