"""The restricted master of SILP: a linear program that grows by one row per cut."""

from __future__ import annotations

import numpy as np

from ..errors import InputError


class MasterLP:
    """min θ over weights on the simplex, s.t. θ ≥ linear_t − ½ weights·quad_t for every cut t.

    HiGHS keeps the model between calls, so a new row costs a few simplex steps from the last
    basis. Cuts are the objective of the machines at fixed coef: the true objective of any
    weights is at least as high as every cut.
    """

    def __init__(self, n_terms: int) -> None:
        import highspy

        self._status = highspy.HighsModelStatus
        self.n_terms = n_terms
        self.linears: list[float] = []
        self.quads: list[np.ndarray] = []
        self._scale = 1.0
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)
        for _ in range(n_terms):
            self.highs.addVar(0.0, 1.0)
        infinity = highspy.kHighsInf
        self._infinity = infinity
        self.highs.addVar(-infinity, infinity)
        self.highs.changeColCost(n_terms, 1.0)
        self.highs.addRow(1.0, 1.0, n_terms, np.arange(n_terms, dtype=np.int32), np.ones(n_terms))

    def add_cut(self, linear: float, quad: np.ndarray) -> None:
        """Add θ + ½ weights·quad ≥ linear."""
        if not self.linears:
            # in units of the objective, so that HiGHS' absolute tolerances mean something
            self._scale = max(abs(linear), 0.5 * float(np.abs(quad).max()), 1e-300)
        self.linears.append(linear)
        self.quads.append(quad)
        index = np.arange(self.n_terms + 1, dtype=np.int32)
        row = np.append(0.5 * quad / self._scale, 1.0)
        self.highs.addRow(linear / self._scale, self._infinity, self.n_terms + 1, index, row)

    def solve(self) -> tuple[np.ndarray, float]:
        """Return the best weights and a lower bound of the MKL objective.

        The bound is that of the cuts' convex combination by the LP's dual values; it holds for
        any such combination, so it does not rest on the LP's tolerances.
        """
        self.highs.run()
        if self.highs.getModelStatus() != self._status.kOptimal:
            self.highs.clearSolver()  # drop the warm basis and try from scratch
            self.highs.run()
        solution = self.highs.getSolution()
        if self.highs.getModelStatus() != self._status.kOptimal or not len(solution.col_value):
            raise InputError("The linear program of SILP could not be solved; use solver='hessian' or another norm.")
        #: What the cuts say the best weights cost.
        self.value = solution.col_value[self.n_terms] * self._scale
        weights = np.maximum(np.array(solution.col_value[: self.n_terms]), 0.0)
        shares = np.maximum(np.array(solution.row_dual[1:]), 0.0)
        shares /= shares.sum()
        mixed = shares @ np.array(self.quads)
        return weights / weights.sum(), float(shares @ np.array(self.linears) - 0.5 * mixed.max())

    def drop(self, rows: list[int]) -> None:
        """Forget some cuts."""
        for row in sorted(rows, reverse=True):
            del self.linears[row], self.quads[row]
        self.highs.deleteRows(len(rows), np.array([r + 1 for r in sorted(rows)], dtype=np.int32))
