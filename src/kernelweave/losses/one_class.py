"""One-class loss, for samples unlike the others."""

from __future__ import annotations

import numpy as np

from .base import BoxQP, Loss, kink_minimum


class OneClass(Loss):
    """max(0, −f), with the intercept itself in the objective: the ν-machine of novelty detection.

    With C_i = 1/(ν n), at most a share ν of the samples ends up with f < 0.
    """

    name = "one_class"
    reads = "nothing"
    total = 1.0

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, -f)

    def dual(self, y: np.ndarray, C: np.ndarray, f: np.ndarray | None = None) -> BoxQP:
        n = len(C)
        return BoxQP(np.zeros(n), np.zeros(n), 0.0, np.zeros(n), np.asarray(C, dtype=np.float64), self.total)

    def conjugate(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> float:
        return 0.0

    def intercept(self, y: np.ndarray, f: np.ndarray, C: np.ndarray) -> float:
        return kink_minimum(-f, C, self.total - float(C.sum()))
