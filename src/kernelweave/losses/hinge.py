"""Hinge and squared hinge: the support vector machines for labels."""

from __future__ import annotations

import numpy as np

from .base import BoxQP, Loss, kink_minimum, rising_root


class Hinge(Loss):
    """max(0, 1 − y f)."""

    name = "hinge"
    reads = "labels"

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - y * f)

    def dual(self, y: np.ndarray, C: np.ndarray, f: np.ndarray | None = None) -> BoxQP:
        return BoxQP(-y, np.zeros(len(y)), 0.0, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))

    def conjugate(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> float:
        return -float(y @ coef)

    def intercept(self, y: np.ndarray, f: np.ndarray, C: np.ndarray) -> float:
        return kink_minimum(y - f, C, -float(C[y > 0].sum()))


class SquaredHinge(Loss):
    """max(0, 1 − y f)²."""

    name = "squared_hinge"
    reads = "labels"
    quadratic = True
    differentiable = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return 2.0 * (y * f < 1.0)

    def dual(self, y: np.ndarray, C: np.ndarray, f: np.ndarray | None = None) -> BoxQP:
        lower, upper = np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)
        return BoxQP(-y, 0.5 / C, 0.0, lower, upper)

    def conjugate(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> float:
        return float(-y @ coef + (coef * (coef / (4.0 * C))).sum())

    def intercept(self, y: np.ndarray, f: np.ndarray, C: np.ndarray) -> float:
        def slope(b: float) -> tuple[float, float]:
            short = np.maximum(0.0, 1.0 - y * (f + b))
            return -2.0 * float((C * y * short).sum()), 2.0 * float(C[short > 0].sum())

        return rising_root(slope, 0.0, 1.0 + float(np.ptp(f)))
