"""The cosine of the angle between two samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .pieces import inverse_root
from .vectors import VectorKernel, dots, squares


@dataclass(eq=False, repr=False)
class Cosine(VectorKernel):
    """k(x, y) = x·y / (‖x‖ ‖y‖), and 0 where x or y is 0: `Linear().normalized()` in one word.

    A product of unit vectors, hence positive semi-definite. Quick on sparse counts, such as a TF-IDF matrix.
    """

    definite = True

    def between(self, A: Any, B: Any) -> np.ndarray:
        return dots(_unit(A), _unit(B))

    def within(self, A: Any) -> np.ndarray:
        return (squares(A) > 0).astype(np.float64)


def _unit(A: Any) -> Any:
    inverse = inverse_root(squares(A))
    return A.multiply(inverse[:, None]).tocsr() if sparse.issparse(A) else A * inverse[:, None]
