"""The chi-squared kernel, for histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from .values import real_number, shown
from .vectors import VectorKernel


@dataclass(eq=False, repr=False)
class Chi2(VectorKernel):
    """k(x, y) = exp(−gamma Σ_c (x_c − y_c)² / (x_c + y_c)) for counts and histograms, which are never below 0.

    x_c y_c / (x_c + y_c) is positive semi-definite, so the distance is conditionally negative definite, and its
    exponential is positive semi-definite.

    Parameters
    ----------
    gamma : float
        Inverse width, above 0.
    """

    gamma: float = 1.0
    definite = True

    def between(self, A: Any, B: Any) -> np.ndarray:
        from sklearn.metrics.pairwise import additive_chi2_kernel

        gamma = real_number(self.gamma)
        if not 0 < gamma < np.inf:
            raise InputError(f"Chi2 needs gamma > 0; got {shown(self.gamma)}.")
        K = additive_chi2_kernel(*(non_negative(self, M) for M in (A, B)))
        K *= gamma
        return np.exp(K, out=K)

    def within(self, A: Any) -> np.ndarray:
        return np.ones(non_negative(self, A).shape[0])


def non_negative(kernel: Any, A: Any) -> np.ndarray:
    """Return a dense matrix without numbers below 0, or say where one is."""
    dense = A.toarray() if sparse.issparse(A) else A
    if dense.size and dense.min() < 0:
        row, column = np.argwhere(dense < 0)[0]
        raise InputError(
            f"{type(kernel).__name__} compares counts or shares, which are never below 0; row {row}, column {column} "
            f"holds {dense[row, column]:g}."
        )
    return np.ascontiguousarray(dense)
