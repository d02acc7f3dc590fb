"""The periodic kernel: what comes again after a period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from .matern import checked_length
from .values import real_number, shown
from .vectors import RBF, VectorKernel


@dataclass(eq=False, repr=False)
class Periodic(VectorKernel):
    """k(x, y) = exp(−2 / length² Σ_c sin²(π (x_c − y_c) / period)).

    It is an `RBF` on the places (cos, sin)(2π x_c / period) on a circle, hence positive semi-definite. For hours of a
    day, days of a week or of a year, angles.

    Parameters
    ----------
    period : float
        After which all is the same again, in units of x.
    length : float or None
        Distance over which samples become unlike, in radians or so; None for √(number of columns).
    """

    period: float = 1.0
    length: float | None = None
    definite = True
    always_shown = ("period",)

    def between(self, A: Any, B: Any) -> np.ndarray:
        length = checked_length(self, A.shape[1])
        return RBF(0.5 / length**2).between(self._circle(A), self._circle(B))

    def within(self, A: Any) -> np.ndarray:
        return np.ones(A.shape[0])

    def _circle(self, A: Any) -> np.ndarray:
        period = real_number(self.period)
        if not 0 < period < np.inf:
            raise InputError(f"Periodic needs period > 0; got {shown(self.period)}.")
        dense = A.toarray() if sparse.issparse(A) else A
        angles = (2.0 * np.pi) * np.mod(dense / period, 1.0)  # a large angle would lose its last digits
        return np.hstack([np.cos(angles), np.sin(angles)])
