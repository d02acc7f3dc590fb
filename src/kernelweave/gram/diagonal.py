"""A gram of one diagonal matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels import Identity
from ..views import Views
from .base import Gram
from .offer import Held


class DiagonalGram(Gram):
    """K = diag(values), as the term `Identity()`; nothing of size n² is held.

    Parameters
    ----------
    values : array of shape (n,) or None
        1 each where None.
    """

    def __init__(self, X: Views, values: np.ndarray | None = None, factors: np.ndarray | None = None) -> None:
        super().__init__([Identity()], X, factors)
        self.values = np.ones(len(X)) if values is None else values

    held = Held(coordinates=frozenset())

    def rescaled(self, factors: np.ndarray) -> Gram:
        return DiagonalGram(self.X, self.values, factors)

    def only(self, picked: Sequence[int]) -> Gram:
        return self

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        if at is not None:  # new samples are like none of these
            return np.zeros((1, len(at), *coef.shape[1:]))
        return (self.factors[0] * (self.values * coef.T).T)[None]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        cols = np.arange(self.n) if cols is None else cols
        return self.ridge(weights)[rows][:, None] * (rows[:, None] == cols)

    def diag_each(self) -> np.ndarray:
        return self.values[None]

    def ridge(self, weights: np.ndarray) -> np.ndarray:
        return weights[0] * self.factors[0] * self.values

    def matrix(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        return np.diag(self.ridge(weights)), 1.0
