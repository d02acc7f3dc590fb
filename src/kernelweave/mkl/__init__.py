"""MKL solvers: find the weights of the terms."""

from __future__ import annotations

from ..errors import InputError
from ..norms import Fixed, Polyhedral
from .active_terms import ActiveTerms
from .analytic import Analytic
from .base import Problem, Result, Solver, Step, run
from .fixed import Plain
from .hessian import Hessian
from .silp import SILP
from .silp_chunking import SILPChunking
from .simple import Simple
from .two_stage import TwoStage

#: Every MKL solver; estimators, docs and the conformance tests read this.
SOLVERS = (SILP, SILPChunking, Simple, Hessian, Analytic, TwoStage)


def choose(problem: Problem) -> Solver:
    """Return the solver that suits the problem's norm and number of terms."""
    if problem.gram.n_terms == 1 or isinstance(problem.norm, Fixed):
        return Plain()
    if isinstance(problem.norm, Polyhedral):
        return ActiveTerms() if problem.gram.streams else Hessian()
    return Analytic()


def as_solver(solver: str | Solver, problem: Problem) -> Solver:
    """Return a solver by name, "auto", or as given."""
    if isinstance(solver, Solver):
        return solver
    if problem.gram.n_terms == 1 or isinstance(problem.norm, Fixed):
        known = {"auto", *(kind.name for kind in SOLVERS)}
        if solver in known:
            return Plain()
    if solver == "auto":
        return choose(problem)
    for kind in SOLVERS:
        if kind.name == solver:
            return ActiveTerms() if kind is Hessian and problem.gram.streams else kind()
    raise InputError(f"solver must be one of {['auto', *(kind.name for kind in SOLVERS)]} or a Solver; got {solver!r}.")


__all__ = [
    "SILP",
    "SOLVERS",
    "ActiveTerms",
    "Analytic",
    "Hessian",
    "Plain",
    "Problem",
    "Result",
    "SILPChunking",
    "Simple",
    "Solver",
    "Step",
    "TwoStage",
    "as_solver",
    "choose",
    "run",
]
