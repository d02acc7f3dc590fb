"""Squared and ε-insensitive loss: the machines for numbers."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .base import BoxQP, Loss, kink_minimum


class EpsilonInsensitive(Loss):
    """max(0, |y − f| − epsilon).

    Parameters
    ----------
    epsilon : float
        How far f may be from y at no cost, in units of y.
    """

    name = "epsilon_insensitive"
    reads = "numbers"

    def __init__(self, epsilon: float = 0.1) -> None:
        if not (np.isfinite(epsilon) and epsilon >= 0):
            raise InputError(f"epsilon must be a finite number ≥ 0, in units of y; got {epsilon!r}.")
        self.epsilon = float(epsilon)

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def dual(self, y: np.ndarray, C: np.ndarray, f: np.ndarray | None = None) -> BoxQP:
        return BoxQP(-y, np.zeros(len(y)), self.epsilon, -C, C)

    def conjugate(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> float:
        return float(-y @ coef + self.epsilon * np.abs(coef).sum())

    def intercept(self, y: np.ndarray, f: np.ndarray, C: np.ndarray) -> float:
        points = np.concatenate([y - f - self.epsilon, y - f + self.epsilon])
        return kink_minimum(points, np.concatenate([C, C]), -float(C.sum()))


class Squared(Loss):
    """(y − f)²: kernel ridge regression with an intercept, or least squares on labels."""

    name = "squared"
    reads = "numbers"
    quadratic = True
    differentiable = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return (y - f) ** 2

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return 2.0 * (f - y)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.full(len(f), 2.0)

    def dual(self, y: np.ndarray, C: np.ndarray, f: np.ndarray | None = None) -> BoxQP:
        n = len(y)
        return BoxQP(-y, 0.5 / C, 0.0, np.full(n, -np.inf), np.full(n, np.inf))

    def conjugate(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> float:
        return float(-y @ coef + (coef * (coef / (4.0 * C))).sum())

    def intercept(self, y: np.ndarray, f: np.ndarray, C: np.ndarray) -> float:
        missed = y - f
        first = float(missed[0])  # taken off, so that the mean of equal numbers is that number to the last digit
        return first + float(C @ (missed - first) / C.sum())
