"""A loss that is made of a parabola and two lines."""

import numpy as np

from kernelweave import losses
from kernelweave.losses.base import rising_root


class Huber(losses.Loss):
    """½ (y − f)² up to delta, and delta (|y − f| − ½ delta) beyond."""

    name = "huber"
    reads = "numbers"

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = float(delta)

    def value(self, y, f):
        off = np.abs(y - f)
        return np.where(off <= self.delta, 0.5 * off**2, self.delta * (off - 0.5 * self.delta))

    def dual(self, y, C, f=None):
        return losses.BoxQP(-y, 1.0 / C, 0.0, -self.delta * C, self.delta * C)

    def conjugate(self, y, coef, C):
        return float(-y @ coef + 0.5 * (coef * coef / C).sum())

    def intercept(self, y, f, C):
        def slope(b):
            off = f + b - y
            return float(C @ np.clip(off, -self.delta, self.delta)), float(C @ (np.abs(off) < self.delta))

        return rising_root(slope, float(np.median(y - f)), self.delta)


losses.LOSSES += (Huber,)
