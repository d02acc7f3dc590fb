"""One machine at given weights: the record of what is solved, and the state of solving it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..gram import Combined
from ..losses import BoxQP, Loss
from ..progress import relative_gap


@dataclass(frozen=True)
class Machine:
    """min over w, b of Σ_i C_i loss(y_i, ⟨w, φ_i⟩ + b) + total · b + ½‖w‖²."""

    loss: Loss
    y: np.ndarray
    C: np.ndarray
    #: Where C is learned (and at its upper end here): what the identity term adds to the kernel's diagonal, 1/(2C).
    soft: np.ndarray | None = None

    def at(self, K: Combined) -> Machine:
        """Return the machine at the weights of K: its softness where C is learned, and otherwise itself."""
        return self if K.ridge is None else replace(self, soft=K.ridge)

    @cached_property
    def qp(self) -> BoxQP:
        """The dual problem (for smooth losses: its model at f = 0)."""
        return self.loss.dual(self.y, self.C)

    def upper(self, f: np.ndarray, intercept: float, square: float) -> float:
        """Return the primal objective at decision values f + intercept, with ‖w‖² = square."""
        loss = float(self.C @ self.loss.value(self.y, f + intercept))
        return loss + self.loss.total * intercept + 0.5 * square

    def may_cost(self, f: np.ndarray, margin: float) -> np.ndarray:
        """Say which samples may have a loss where decision values are off by up to a margin: losses are convex."""
        if self.soft is not None:
            return np.ones(len(f), dtype=bool)
        return (self.loss.value(self.y, f - margin) != 0) | (self.loss.value(self.y, f + margin) != 0)

    def lower(self, coef: np.ndarray, square: float) -> float:
        """Return the dual objective at coef, with coef'K coef = square."""
        return -self.loss.conjugate(self.y, coef, self.C) - 0.5 * square


@dataclass(frozen=True)
class Effort:
    """How much a step is to do, and with what."""

    #: The relative gap that is wanted: no step needs to do better.
    gap: float = 0.0
    #: Bytes that the solver may hold beside coef and f.
    bytes: float = np.inf
    #: True where quick ways got nowhere: the slow but sure one is taken at once.
    sure: bool = False


#: An effort without limits.
UNLIMITED = Effort()


class Trail:
    """What one step of a solver leaves behind for its next step."""

    #: True on the ways that a solver takes only where its quick ones get nowhere.
    sure: ClassVar[bool] = False


@dataclass
class DualState:
    """Where a dual solver stands: coef, f = K coef, both bounds, and what its next step needs.

    States are values: a step returns a new one, so an interrupted step loses nothing.
    """

    coef: np.ndarray
    f: np.ndarray
    intercept: float = 0.0
    upper: float = np.inf
    lower: float = -np.inf
    #: True where a further step would change nothing.
    final: bool = False
    n_steps: int = 0
    #: True where f was computed as K coef, and not carried along by updates.
    exact: bool = False
    #: How many samples the solver works on, where it does not work on all.
    active: int | None = None
    #: What the solver that made the state left behind.
    trail: Trail | None = None

    @property
    def gap(self) -> float:
        """The relative duality gap at these weights."""
        return relative_gap(self.upper, self.lower)

    def certified(self, machine: Machine) -> DualState:
        """Return the state with the best intercept for f, and both bounds."""
        square = float(self.coef @ self.f)
        lower = machine.lower(self.coef, square)
        f = self.f
        if machine.soft is not None:  # the identity's part of f is slack: it is paid for as loss
            f = self.f - self.coef * machine.soft
            square -= float(self.coef @ (self.f - f))
            machine = replace(machine, C=0.5 / (machine.soft + 0.5 / machine.C), soft=None)
        b = best_intercept(machine, f, self.intercept)
        lower -= abs(b * (float(self.coef.sum()) - machine.loss.total))  # what the last digits of Σ coef may hide
        upper = machine.upper(f, b, square)
        return replace(self, intercept=b, upper=upper, lower=lower)


def best_intercept(machine: Machine, f: np.ndarray, near: float) -> float:
    """Return the best intercept for decision values f, looked for near a guess where that is the quicker for it."""
    if not machine.loss.differentiable:
        return machine.loss.intercept(machine.y, f, machine.C)
    return near + machine.loss.intercept(machine.y, f + near, machine.C)


class DualSolver:
    """Finds coef for given weights, step by step."""

    name: ClassVar[str]
    #: True where string kernels are to get no matrix, whatever their size.
    matrix_free: ClassVar[bool] = False
    #: Of how many samples it may keep rows, see `Needs.by_rows`.
    by_rows: ClassVar[tuple[int, int]] = (0, 0)

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        """Say whether this solver can solve that machine, and on that kernel where one is given."""
        raise NotImplementedError

    def start(self, machine: Machine, K: Combined, coef: np.ndarray | None = None) -> DualState:
        """Return the state to begin with, at `coef` where given."""
        coef = machine.qp.feasible(coef)
        return DualState(coef, K.apply(coef), exact=True)

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        """Return a better state; compiled loops in it take well under a second, so that an interrupt is heard."""
        raise NotImplementedError

    def together(self, machines: Sequence[Machine], K: Combined) -> list[DualState] | None:
        """Return states of several machines on one kernel, where they are found sooner together; None where not."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


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
