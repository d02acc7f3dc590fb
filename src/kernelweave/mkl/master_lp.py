"""The restricted master of SILP: a linear program that grows by one row per cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..gram.rounding import safe_quad
from .problem import CutCoef, Problem


class Cut(NamedTuple):
    """J(weights) ≥ linear − ½ weights·quad, and the coef that proves it, (n, n_machines)."""

    linear: float
    quad: np.ndarray
    coef: np.ndarray


def cuts_before(problem: Problem) -> Iterator[Cut]:
    """Yield the cuts of the step that the problem starts from, made anew for this problem."""
    start = problem.start
    for rows, values in () if start is None or start.active is not None else start.cuts:
        coef = np.zeros((problem.gram.n, len(problem.machines)))
        coef[rows] = values
        pairs = list(zip(problem.machines, coef.T, strict=True))
        coef = np.column_stack([machine.qp.feasible(column) for machine, column in pairs])
        linear = sum(machine.lower(column, 0.0) for machine, column in zip(problem.machines, coef.T, strict=True))
        if np.isfinite(linear) and coef.any():  # that of coef = 0 says nothing, least of all what the unit is
            yield Cut(linear, safe_quad(problem.gram, coef), coef)


class MasterLP:
    """min θ over weights on the simplex, s.t. θ ≥ linear_t − ½ weights·quad_t for every cut t.

    HiGHS keeps the model between calls, so a new row costs a few simplex steps from the last
    basis. Cuts are the objective of the machines at fixed coef: the true objective of any
    weights is at least as high as every cut.

    Parameters
    ----------
    n_terms : int
    patience : int
        After how many solutions at which it does not matter a cut is dropped.
    """

    def __init__(self, n_terms: int, patience: int = 50) -> None:
        import highspy

        self._optimal = highspy.HighsModelStatus.kOptimal
        self._error = highspy.HighsStatus.kError
        self._infinity = highspy.kHighsInf
        self.n_terms = n_terms
        self.patience = patience
        self.linears = np.empty(0)
        self.quads = np.empty((0, n_terms))
        self._coefs: list[CutCoef] = []
        self._idle = np.empty(0, dtype=int)
        self._scale = 1.0
        #: What the cuts say the best weights cost.
        self.value = -np.inf
        #: What part every cut had in the last bound; they add up to 1.
        self.shares = np.empty(0)
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)
        self.highs.addVars(n_terms, np.zeros(n_terms), np.ones(n_terms))
        self.highs.addVar(-self._infinity, self._infinity)
        self.highs.changeColCost(n_terms, 1.0)
        self.highs.addRow(1.0, 1.0, n_terms, np.arange(n_terms, dtype=np.int32), np.ones(n_terms))

    def add_cut(self, linear: float, quad: np.ndarray, coef: np.ndarray | None = None) -> bool:
        """Add θ + ½ weights·quad ≥ linear; False where its numbers are so large that HiGHS takes them for infinite.

        With coef, (n, n_machines), the cut is among those that `cuts` returns.
        """
        if len(self.linears) == 0:
            # in units of the objective, so that HiGHS' absolute tolerances mean something
            self._scale = max(abs(linear), 0.5 * float(np.abs(quad).max())) or 1.0
        index = np.arange(self.n_terms + 1, dtype=np.int32)
        row = np.append(0.5 * quad / self._scale, 1.0)
        if self.highs.addRow(linear / self._scale, self._infinity, self.n_terms + 1, index, row) == self._error:
            return False
        self.linears = np.append(self.linears, linear)
        self.quads = np.vstack([self.quads, quad])
        self._idle = np.append(self._idle, 0)
        if coef is not None:
            rows = np.flatnonzero(coef.any(axis=1))
            self._coefs.append((rows, coef[rows]))
        return True

    def cuts(self) -> tuple[CutCoef, ...]:
        """Return what the cuts were made of."""
        return tuple(self._coefs)

    def recall(self, problem: Problem) -> np.ndarray | None:
        """Make the cuts of the step that the problem starts from, for this problem; return their best weights."""
        for cut in cuts_before(problem):
            self.add_cut(cut.linear, cut.quad, cut.coef)
        return self.solve()[0] if len(self.linears) else None

    def solve(self) -> tuple[np.ndarray | None, float]:
        """Return the best weights (None where the LP cannot be solved) and a lower bound of the MKL objective.

        The bound is that of the cuts' convex combination by the LP's dual values; it holds for
        any such combination, so it does not rest on the LP's tolerances.
        """
        solution = self._optimal_solution()
        if solution is None:
            return None, -np.inf
        self.value = float(solution.col_value[self.n_terms]) * self._scale
        weights = np.maximum(np.array(solution.col_value[: self.n_terms]), 0.0)
        shares = np.maximum(np.array(solution.row_dual[1:]), 0.0)
        if not (weights.sum() > 0 and shares.sum() > 0):
            return None, -np.inf
        self.shares = shares = shares / shares.sum()
        mixed = shares @ self.quads
        bound = float(shares @ self.linears - 0.5 * mixed.max())
        self._drop_slack_cuts(shares > 0)
        return weights / weights.sum(), bound

    def _optimal_solution(self) -> Any:
        for _ in range(2):
            self.highs.run()
            solution = self.highs.getSolution()
            if self.highs.getModelStatus() == self._optimal and len(solution.col_value):
                return solution
            self.highs.clearSolver()  # drop the warm basis and try from scratch
        return None

    def _drop_slack_cuts(self, tight: np.ndarray) -> None:
        """Drop the cuts that have been slack for long."""
        self._idle = np.where(tight, 0, self._idle + 1)
        old = np.flatnonzero(self._idle > self.patience)
        if len(old):
            self.highs.deleteRows(len(old), (old + 1).astype(np.int32))
            self.linears, self.quads = np.delete(self.linears, old), np.delete(self.quads, old, axis=0)
            self._idle = np.delete(self._idle, old)
            self._coefs = [coef for number, coef in enumerate(self._coefs) if number not in set(old.tolist())]
