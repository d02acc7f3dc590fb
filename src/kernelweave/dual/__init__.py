"""Dual solvers: find coef for given weights."""

from __future__ import annotations

import numpy as np

from ..choices import from_text, name_of
from ..errors import InputError
from ..gram import Combined, Needs
from ..losses import Loss, SmoothLoss
from .active_set import ActiveSet
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine, Trail
from .chunking import Chunking
from .coordinate import Coordinate
from .interior import InteriorPoint
from .newton import Newton
from .primal import Primal
from .ridge import Ridge
from .sets import Sets
from .smo import SMO, minimise

#: Every dual solver, in the order in which `choose` asks them; the conformance tests read this.
DUAL_SOLVERS = (Primal, ActiveSet, Coordinate, Ridge, Newton, Sets, SMO, Chunking, InteriorPoint)


def choose(machine: Machine, K: Combined | None = None) -> DualSolver:
    """Return the first dual solver that can solve the machine, with the kernel as it is held."""
    for kind in DUAL_SOLVERS:
        solver = kind()
        if solver.fits(machine, K):
            return solver
    raise InputError(f"No dual solver fits the loss {machine.loss!r}.")


def as_dual(dual: str | DualSolver, machine: Machine, K: Combined) -> DualSolver:
    """Return a dual solver by its text, "auto", or as given; an error where it does not fit."""
    if isinstance(dual, str) and dual == "auto":
        return choose(machine, K)
    solver = dual if isinstance(dual, DualSolver) else _from_text(dual)
    if not solver.fits(machine, K):
        others = [kind.name for kind in DUAL_SOLVERS if kind().fits(machine, K)]
        raise InputError(
            f"{type(solver).__name__} cannot solve {machine.loss!r} with this kernel. "
            f'Use dual="auto", or one of {others}.'
        )
    return solver


def dual_kind(dual: object) -> type[DualSolver]:
    """Return the class of a dual solver that is given or named."""
    return type(dual if isinstance(dual, DualSolver) else _from_text(dual))


def needs_of(loss: Loss, dual: object, *, ridged: bool = False, n_jobs: int = 1, tol: float = 0.0) -> Needs:
    """Return what machines with this loss need of their kernel, where `dual` was asked for; ridged for a learned C."""
    smooth = isinstance(loss, SmoothLoss)
    on_all = smooth or bool(loss.dual(np.ones(1), np.ones(1)).free)
    asked = dual != "auto" and dual_kind(dual).matrix_free
    descends = asked if dual != "auto" else not (smooth or ridged)
    vectors = not ridged and (asked or dual == "auto")
    kind = ActiveSet if dual == "auto" else dual_kind(dual)
    by_rows = kind.by_rows if descends and not on_all else (0, 0)
    return Needs(n_jobs, on_all, ridged, descends, asked, tol, vectors, by_rows)


def _from_text(text: object) -> DualSolver:
    names = ["auto", *map(name_of, DUAL_SOLVERS)]
    return from_text(text, DUAL_SOLVERS, f"dual must be one of {names} or a DualSolver")


__all__ = [
    "DUAL_SOLVERS",
    "SMO",
    "UNLIMITED",
    "ActiveSet",
    "Chunking",
    "Coordinate",
    "DualSolver",
    "DualState",
    "Effort",
    "InteriorPoint",
    "Machine",
    "Newton",
    "Primal",
    "Ridge",
    "Sets",
    "Trail",
    "as_dual",
    "choose",
    "dual_kind",
    "minimise",
    "needs_of",
]
