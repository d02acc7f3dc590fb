"""MKL solvers: find the weights of the terms."""

from __future__ import annotations

from ..choices import from_text, name_of
from ..norms import Fixed, Polyhedral
from .active_terms import ActiveTerms
from .analytic import Analytic
from .base import Problem, Result, Run, Solver, Step, run
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
        return ActiveTerms() if problem.gram.held.streams else Hessian()
    return Analytic()


def as_solver(solver: str | Solver, problem: Problem) -> Solver:
    """Return a solver by its text, "auto", or as given."""
    if isinstance(solver, Solver):
        return solver
    if solver == "auto":
        return choose(problem)
    names = ["auto", *map(name_of, SOLVERS)]
    made = from_text(solver, SOLVERS, f"solver must be one of {names} or a Solver")
    if problem.gram.n_terms == 1 or isinstance(problem.norm, Fixed):
        return Plain()
    return ActiveTerms() if solver == Hessian.name and problem.gram.held.streams else made


__all__ = [
    "SILP",
    "SOLVERS",
    "ActiveTerms",
    "Analytic",
    "Hessian",
    "Plain",
    "Problem",
    "Result",
    "Run",
    "SILPChunking",
    "Simple",
    "Solver",
    "Step",
    "TwoStage",
    "as_solver",
    "choose",
    "run",
]
