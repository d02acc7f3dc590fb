"""The Tanimoto kernel: how much of two sets, or of two lists of counts, is shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .chi2 import non_negative
from .vectors import VectorKernel, absolute_distances, dots


@dataclass(eq=False, repr=False)
class Tanimoto(VectorKernel):
    """k(x, y) = Σ_c min(x_c, y_c) / Σ_c max(x_c, y_c): what is shared of all there is, and 1 for two empty ones.

    Of columns of 0 and 1, such as the fingerprints of molecules, it is the Jaccard index of sets: what both have, of
    what either has. Of counts it is the min-max form of that. Positive semi-definite: Σ min is, and 1 / Σ max =
    1 / (Σ x + Σ y − Σ min) is a limit of sums of powers of it (Ralaivola et al. 2005).
    """

    definite = True

    def between(self, A: Any, B: Any) -> np.ndarray:
        sums = _sizes(self, A)[:, None] + _sizes(self, B)
        if _is_binary(A) and _is_binary(B):
            shared = dots(A, B)  # one product instead of all differences
        else:
            shared = absolute_distances(A, B)
            np.subtract(sums, shared, out=shared)
            shared *= 0.5
        sums -= shared
        return np.divide(shared, sums, out=np.ones_like(shared), where=sums > 0)

    def within(self, A: Any) -> np.ndarray:
        return np.ones(len(_sizes(self, A)))


def _sizes(kernel: Any, A: Any) -> np.ndarray:
    if sparse.issparse(A) and not (A.nnz and A.data.min() < 0):
        return np.asarray(A.sum(axis=1)).ravel()
    return non_negative(kernel, A).sum(axis=1)


def _is_binary(A: Any) -> bool:
    values = A.data if sparse.issparse(A) else A
    return bool(((values == 0.0) | (values == 1.0)).all())
