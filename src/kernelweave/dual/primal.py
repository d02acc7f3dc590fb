"""Newton's method on the normal: the dual solver for smooth losses on samples that are vectors of a few numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

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
        """Return Σ_i coef_i z_i."""

    def second(self, share: np.ndarray) -> np.ndarray:
        """Return Σ_i share_i z_i z_i'."""


@dataclass(frozen=True)
class Explicit(Trail):
    """The normal at these weights, with its decision values, and how many steps gained nothing."""

    normal: np.ndarray
    f: np.ndarray
    intercept: float
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
        one_step = isinstance(machine.loss, Squared)  # leads to the end from anywhere
        if coef is None and K.n >= 4 * n_some(Z.size) and not one_step:
            w = _found_on_some(machine, Z)
            f = Z.times(w)
            return _state(machine, K, Explicit(w, f, best_intercept(machine, f, 0.0), K.weights), 0)
        w, f = np.zeros(Z.size), np.zeros(K.n)
        b = machine.loss.intercept(machine.y, f, machine.C)
        if coef is not None:
            given = Z.sums(coef)
            here = Z.times(given)
            c = best_intercept(machine, here, b)
            if machine.upper(here, c, float(given @ given)) < machine.upper(f, b, 0.0):  # else made too far from here
                w, f, b = given, here, c
        return _state(machine, K, Explicit(w, f, b, K.weights), 0)

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        known, Z = state.trail, K.gram.vectors(K.weights)
        if not (isinstance(known, Explicit) and np.array_equal(known.weights, K.weights)):
            w = Z.sums(state.coef)
            f = Z.times(w)
            known = Explicit(w, f, best_intercept(machine, f, 0.0), K.weights)
        w, f, b, gain = newton_step(machine, Z, known.normal, known.f, known.intercept)
        idle = known.idle + 1 if gain <= IDLE else 0
        found = _state(machine, K, Explicit(w, f, b, K.weights, idle), state.n_steps + 1)
        return replace(found, final=idle >= MAX_IDLE or found.n_steps >= END)


def _state(machine: Machine, K: Combined, trail: Explicit, n_steps: int) -> DualState:
    coef = -machine.C * machine.loss.slope(machine.y, trail.f + trail.intercept)
    with clock.until(np.inf):  # or what was found would be lost
        f = K.apply(coef)
    near = trail.intercept + float((trail.f - f).mean())  # f is that of vectors without their middle
    return DualState(coef, f, near, n_steps=n_steps, exact=True, trail=trail)


def n_some(size: int) -> int:
    """Return of how many samples a normal of so many numbers is worth having, to begin with."""
    return max(MIN_SOME, SOME_EACH * size)


def _found_on_some(machine: Machine, Z: Any) -> np.ndarray:
    """Return the normal of a random part of the samples: near enough for a step or two on all of them."""
    n = len(machine.y)
    rows = np.sort(np.random.default_rng(0).choice(n, n_some(Z.size), replace=False))
    small = replace(machine, y=machine.y[rows], C=machine.C[rows] * (n / len(rows)))
    part, w, f, b = Z.some(rows), np.zeros(Z.size), np.zeros(len(rows)), 0.0
    b = small.loss.intercept(small.y, f, small.C)
    for _ in range(SOME_STEPS):
        w, f, b, gain = newton_step(small, part, w, f, b)
        if gain <= SOME_GAIN:
            break
    return w


def newton_step(
    machine: Machine, Z: Any, w: np.ndarray, f: np.ndarray, b: float
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return w, f = z·w and the best intercept after a step, and what it gained, as a share of the objective.

    b is the best intercept for f.
    """
    slope, curvature = slope_and_curvature(machine, f + b)
    total = float(curvature.sum())
    mean = Z.sums(curvature) / total  # the best change of b for a change d of w is −mean·d − its own slope
    gradient = w + Z.sums(slope) - mean * slope.sum()
    d = _direction(Z, curvature, mean, total, gradient)
    if d is None:
        return w, f, b, 0.0
    df, db = Z.times(d), -float(mean @ d) - float(slope.sum() / total)
    here, fall, length = machine.upper(f, b, float(w @ w)), min(0.0, float(gradient @ d)), 1.0
    while length > 1e-10:
        moved, there = w + length * d, f + length * df
        value = machine.upper(there, b + length * db, float(moved @ moved))
        if value <= here + 1e-4 * length * fall:
            b = best_intercept(machine, there, b + length * db)
            return moved, there, b, (here - value) / max(abs(here), 1e-300)
        length *= 0.5
    return w, f, b, 0.0


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
