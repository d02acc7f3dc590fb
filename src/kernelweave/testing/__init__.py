"""Conformance suites: what every kernel, gram, loss, norm, solver and engine must keep to.

Each suite takes one instance and raises an AssertionError that says which promise is
broken. Run them on your own additions; the library's tests run them over every registry.
"""

from .engines import check_engine
from .kernels import check_gram, check_kernel
from .losses import check_loss, check_norm
from .sequences import check_sequence_estimator, sequence_checks
from .solvers import check_dual_solver, check_solver

__all__ = [
    "check_dual_solver",
    "check_engine",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_norm",
    "check_sequence_estimator",
    "check_solver",
    "sequence_checks",
]
