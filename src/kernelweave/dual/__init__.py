"""Dual solvers: find coef for given weights."""

from __future__ import annotations

from ..errors import InputError
from .base import DualSolver, DualState, Machine, relative_gap
from .newton import Newton
from .ridge import Ridge
from .smo import SMO, minimise

#: Every dual solver, in the order in which `choose` asks them; the conformance tests read this.
DUAL_SOLVERS = (Ridge, Newton, SMO)


def choose(machine: Machine) -> DualSolver:
    """Return the first dual solver that can solve the machine."""
    for kind in DUAL_SOLVERS:
        solver = kind()
        if solver.fits(machine):
            return solver
    raise InputError(f"No dual solver fits the loss {machine.loss!r}.")


__all__ = [
    "DUAL_SOLVERS",
    "SMO",
    "DualSolver",
    "DualState",
    "Machine",
    "Newton",
    "Ridge",
    "choose",
    "minimise",
    "relative_gap",
]
