"""Kernels whose samples are vectors of a few numbers: k(x, y) = φ(x)·φ(y) with φ written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..views import Views

#: Numbers that `embed` makes of a sample at the most; where there are more, matrices or rows of them are quicker.
MAX_SIZE = 4096


class Embeddable:
    """A kernel that may say φ; those that do say `embedding_size` and `embed`."""

    def embedding_size(self, X: Views) -> int | None:
        """Return how many numbers φ has for samples like these; None where there is no φ, or a long or sparse one."""
        return None

    def embed(self, X: Views) -> np.ndarray:
        """Return φ(x) of every sample, (n, size) in double precision, with k(x, y) = φ(x)·φ(y)."""
        raise InputError(f"{self!r} has no vectors that could be written out.")

    def embedded_sum(self, X: Views, coef: np.ndarray) -> np.ndarray:
        """Return Σ_i coef_i φ(x_i), (size, n_machines), for coef of shape (n, n_machines)."""
        return self.embed(X).T @ coef

    def embedded_values(self, X: Views, normal: np.ndarray) -> np.ndarray:
        """Return φ(x)·normal of every sample, (n, n_machines), for normals of shape (size, n_machines)."""
        return self.embed(X) @ normal


def monomials(A: Any, gamma: float, coef0: float) -> np.ndarray:
    """Return φ of (gamma x·y + coef0)², (n, (d + 1)(d + 2) / 2): squares, products of two, numbers and a constant."""
    n, d = A.shape
    left, right = np.triu_indices(d, 1)
    out = np.empty((n, (d + 1) * (d + 2) // 2))
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are reported, with the term's name, by the gram
        np.multiply(A, gamma * A, out=out[:, :d])
        np.multiply(A[:, left], np.sqrt(2.0) * gamma * A[:, right], out=out[:, d : d + len(left)])
        np.multiply(A, np.sqrt(2.0 * gamma * coef0), out=out[:, d + len(left) : -1])
    out[:, -1] = coef0
    return out
