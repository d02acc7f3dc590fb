"""Newton's method on the normal: the dual solver for smooth losses on samples that are vectors of a few numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from .. import clock
from ..gram import Combined
from ..losses import Squared
from ..losses.smooth import MIN_CURVATURE, TINY_CURVATURE
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine, Trail, best_intercept

#: Up to so many numbers a sample, the Hessian is factored; above, conjugate gradients do with products.
MAX_FACTORED = 2_000
#: Where there are many more samples, the first normal is that of so many, or so many for each number of a sample; steps
#: there, and what share of the objective the last of them gains.
MIN_SOME, SOME_EACH, SOME_STEPS, SOME_GAIN = 5_000, 20, 15, 1e-5
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
        """Return Σ_i coef_i z_i: (size,), or (size, k) for coef of shape (n, k)."""

    def moments(self, slope: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Σ_i slope_i z_i, Σ_i share_i z_i and Σ_i share_i z_i z_i', in one pass."""


@dataclass(frozen=True)
class Explicit(Trail):
    """The normal at these weights, with its decision values, and how many steps gained nothing."""

    normal: np.ndarray
    f: np.ndarray
    intercept: float
    weights: np.ndarray
    idle: int = 0


class Moved(NamedTuple):
    """Where a Newton step leads to."""

    normal: np.ndarray
    f: np.ndarray
    intercept: float
    #: What it gained, as a share of the objective.
    gain: float
    #: Coefficients that meet the dual constraints, and whose normal is about `normal`.
    coef: np.ndarray


class Primal(DualSolver):
    """Newton's method on min over w, b of Σ_i C_i loss(y_i, ⟨w, z_i⟩ + b) + ½‖w‖², with samples z of a few numbers.

    A step forms the Hessian of `size`² numbers in one pass over the samples, or, where that is too many, solves by
    conjugate gradients. The coefficients are minus the slopes that its parabola has where it leads to: their normal is
    that of the step to the last digits, and Σ coef = 0 is the condition for b. So the certificate is the one of all
    other solvers.
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
        b = machine.loss.intercept(machine.y, f, machine.C)
        if coef is None:
            one_step = isinstance(machine.loss, Squared)  # leads to the end from anywhere
            if K.n >= 4 * n_some(Z.size) and not one_step:
                w, b = _found_on_some(machine, Z)
                f = Z.times(w)
            return _state(K, newton_step(machine, Z, w, f, b), 1)
        given = Z.sums(coef)
        here = Z.times(given)
        c = best_intercept(machine, here, b)
        if machine.upper(here, c, float(given @ given)) < machine.upper(f, b, 0.0):  # else made too far from here
            w, f, b = given, here, c
        return _state(K, Moved(w, f, b, np.inf, _coef(machine, f, b)), 0)

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        known, Z = state.trail, K.gram.vectors(K.weights)
        if not (isinstance(known, Explicit) and np.array_equal(known.weights, K.weights)):
            w = Z.sums(state.coef)
            f = Z.times(w)
            known = Explicit(w, f, best_intercept(machine, f, 0.0), K.weights)
        moved = newton_step(machine, Z, known.normal, known.f, known.intercept)
        return _state(K, moved, state.n_steps + 1, known.idle)


def _state(K: Combined, moved: Moved, n_steps: int, idle: int = 0) -> DualState:
    w, there, b, gain, coef = moved
    with clock.until(np.inf):  # or what was found would be lost
        f = K.apply(coef)
    near = b + float((there - f).mean())  # f is that of vectors without their middle
    idle = idle + 1 if gain <= IDLE else 0
    final, trail = idle >= MAX_IDLE or n_steps >= END, Explicit(w, there, b, K.weights, idle)
    return DualState(coef, f, near, final=final, n_steps=n_steps, exact=True, trail=trail)


def n_some(size: int) -> int:
    """Return of how many samples a normal of so many numbers is worth having, to begin with."""
    return max(MIN_SOME, SOME_EACH * size)


def _found_on_some(machine: Machine, Z: Any) -> tuple[np.ndarray, float]:
    """Return normal and intercept of a random part of the samples: near enough for a step or two on all of them."""
    n = len(machine.y)
    rows = np.sort(np.random.default_rng(0).choice(n, n_some(Z.size), replace=False))
    small = replace(machine, y=machine.y[rows], C=machine.C[rows] * (n / len(rows)))
    part, w, f = Z.some(rows), np.zeros(Z.size), np.zeros(len(rows))
    b = small.loss.intercept(small.y, f, small.C)
    for _ in range(SOME_STEPS):
        w, f, b, gain, _ = newton_step(small, part, w, f, b)
        if gain <= SOME_GAIN:
            break
    return w, b


def newton_step(machine: Machine, Z: Any, w: np.ndarray, f: np.ndarray, b: float) -> Moved:
    """Return where a step leads to from the normal w, with f = z·w and any intercept b."""
    slope, curvature = slope_and_curvature(machine, f + b)
    total, off = float(curvature.sum()), float(slope.sum())
    if Z.size <= MAX_FACTORED:
        steep, mean, second = Z.moments(slope, curvature)
    else:
        (steep, mean), second = Z.sums(np.column_stack([slope, curvature])).T, None
    mean = mean / total
    gradient = w + steep - mean * off  # the best change of b for a change d of w is −mean·d − its own slope
    d = _direction(Z, curvature, mean, second, gradient)
    if d is None:
        return Moved(w, f, b, 0.0, _coef(machine, f, b))
    df, db = Z.times(d), -float(mean @ d) - off / total
    here, fall, length = machine.upper(f, b, float(w @ w)), float(gradient @ d) - off * off / total, 1.0
    while length > 1e-10:
        moved, there, c = w + length * d, f + length * df, b + length * db
        value = machine.upper(there, c, float(moved @ moved))
        if value <= here + 1e-4 * length * min(0.0, fall):
            coef = _model_coef(machine, slope, curvature, df + db) if length == 1.0 else None
            coef = _coef(machine, there, c) if coef is None else coef
            return Moved(moved, there, c, (here - value) / max(abs(here), 1e-300), coef)
        length *= 0.5
    return Moved(w, f, b, 0.0, _coef(machine, f, b))


def _coef(machine: Machine, f: np.ndarray, near: float) -> np.ndarray:
    """Return minus the slopes at f and its best intercept: their sum is zero, as the dual wants it."""
    return -machine.C * machine.loss.slope(machine.y, f + best_intercept(machine, f, near))


def _model_coef(machine: Machine, slope: np.ndarray, curvature: np.ndarray, df: np.ndarray) -> np.ndarray | None:
    """Return minus the slopes of the parabolas after a full step; None where too many are no slopes of the loss.

    Their normal is that of the step by its own equation, while the normal of the true slopes there is off by C times
    what w is off.
    """
    coef, loss, y, C = -(slope + curvature * df), machine.loss, machine.y, machine.C
    bad = ~loss.allows(y, coef, C)
    if bad.any():
        coef[bad] = -slope[bad]
        coef -= curvature * (float(coef.sum()) / float(curvature.sum()))
        if not loss.allows(y, coef, C).all():
            return None
    return coef


def slope_and_curvature(machine: Machine, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return C l'(f) and C l''(f), the latter never zero."""
    slope, curvature = machine.loss.derivatives(machine.y, f)
    least = np.maximum(MIN_CURVATURE * np.abs(slope), TINY_CURVATURE)
    return machine.C * slope, machine.C * np.maximum(curvature, least)


def _direction(
    Z: Samples, curvature: np.ndarray, mean: np.ndarray, second: np.ndarray | None, gradient: np.ndarray
) -> np.ndarray | None:
    """Return −H⁻¹ gradient with H = I + Σ_i curvature_i (z_i − mean)(z_i − mean)'; None where rounding leaves none.

    `second` is Σ_i curvature_i z_i z_i'; without it, products do.
    """
    size = len(gradient)
    if size == 0:
        return None
    if second is not None:
        H = second - np.outer(mean, mean) * float(curvature.sum())
        H.flat[:: size + 1] += 1.0
        factor, failed = lapack.dpotrf(H, lower=1, clean=0)
        return None if failed else np.asarray(-lapack.dpotrs(factor, gradient, lower=1)[0])

    def times(v: np.ndarray) -> np.ndarray:
        clock.check()
        return v + Z.sums(curvature * (Z.times(v) - mean @ v))

    operator = LinearOperator((size, size), times, dtype=np.float64)
    return np.asarray(cg(operator, -gradient, rtol=CG_TOLERANCE, maxiter=CG_TURNS)[0])
