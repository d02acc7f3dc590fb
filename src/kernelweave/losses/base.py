"""`BoxQP`, the record that losses hand to dual solvers, and what a loss must say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

#: From so many points on a minimum is looked for between two of a sample of them, which has so many.
MANY_POINTS, MARKS = 2_000, 256


@dataclass
class BoxQP:
    """min ½ a'(K + diag(ridge)) a + linear'a + l1‖a‖₁  s.t.  lower ≤ a ≤ upper,  Σ a = total."""

    linear: np.ndarray
    ridge: np.ndarray
    l1: float
    lower: np.ndarray
    upper: np.ndarray
    total: float = 0.0

    @property
    def free(self) -> bool:
        """True where nothing but Σ a = total constrains: one linear system solves it."""
        return self.l1 == 0.0 and bool(np.isneginf(self.lower).all() and np.isposinf(self.upper).all())

    def feasible(self, near: np.ndarray | None = None) -> np.ndarray:
        """Return a point that meets the constraints: `near` where it does, and otherwise close to it."""
        a = np.clip(np.zeros(len(self.linear)) if near is None else near, self.lower, self.upper)
        if abs(self.total - a.sum()) <= 1e-12 * np.abs(a).sum():
            return a
        left = self.total - a.sum()
        room = (self.upper if left > 0 else self.lower) - a
        # fill sample by sample up to the bounds: sparse, as a start should be
        fill = np.clip(left - np.concatenate([[0.0], np.cumsum(room)[:-1]]), *sorted((0.0, left)))
        filled = a + (np.minimum(fill, room) if left > 0 else np.maximum(fill, room))
        return np.clip(filled, self.lower, self.upper)  # a sum may round past its bound


class Loss:
    """How wrong a decision value f is for a target y: convex in f.

    The machine minimises Σ_i C_i value(y_i, f_i) + total · b + ½‖w‖² with f = ⟨w, φ⟩ + b, and
    C is an array: class weights and sample weights are already inside.
    """

    name: ClassVar[str]
    #: "labels" where y is ±1, "numbers" where y is any number, "nothing" where y is not read.
    reads: ClassVar[str]
    #: True where the dual's only trace of C is the ridge 1/(2C), so that C can be learned as a weight.
    quadratic: ClassVar[bool] = False
    #: True where the loss has a slope everywhere, and a curvature almost everywhere (`slope`, `curvature`).
    differentiable: ClassVar[bool] = False
    #: What Σ a must be: the factor of the intercept in the objective.
    total: float = 0.0

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss of every sample."""
        raise NotImplementedError

    def dual(self, y: np.ndarray, C: np.ndarray, f: np.ndarray | None = None) -> BoxQP:
        """Return the dual problem; for losses that are not piecewise quadratic, its model at f."""
        raise NotImplementedError

    def conjugate(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> float:
        """Return Σ_i sup_f (−coef_i f − C_i value(y_i, f)): minus the linear part of the dual."""
        raise NotImplementedError

    def intercept(self, y: np.ndarray, f: np.ndarray, C: np.ndarray) -> float:
        """Return the b that minimises Σ_i C_i value(y_i, f_i + b) + total · b."""
        raise NotImplementedError

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative in f, where there is one."""
        raise NotImplementedError

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivative in f, where there is one."""
        raise NotImplementedError

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return `slope` and `curvature`; both are the caller's to change."""
        return np.array(self.slope(y, f)), np.array(self.curvature(y, f))

    def allows(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Say of every sample whether coef is minus a slope of its loss, so that the conjugate is finite."""
        qp = self.dual(y, C)
        return np.asarray((qp.lower <= coef) & (coef <= qp.upper))

    def check(self, y: np.ndarray) -> None:
        """Raise an error where the loss contradicts itself on these targets; those of the library do not."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_") and k != "total")
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = object.__hash__


def kink_minimum(points: np.ndarray, jumps: np.ndarray, slope: float) -> float:
    """Return where a convex piecewise linear function is lowest; the middle where it is flat.

    Its slope is `slope` far to the left and grows by jumps[i] ≥ 0 at points[i].
    """
    flat = 1e-12 * float(jumps.sum())
    near, steps, slope, end = _around_minimum(points, jumps, slope, -flat)
    order = near.argsort()
    slopes = slope + steps[order].cumsum()
    first = min(int(slopes.searchsorted(-flat)), len(order) - 1)
    left, after = float(near[order[first]]), order[first + 1 :]
    if abs(slopes[first]) > flat:
        return left
    rising = near[after[steps[after] > flat]]
    right = rising[0] if len(rising) else points[(points > end) & (jumps > flat)].min(initial=np.inf)
    return 0.5 * (left + float(right)) if np.isfinite(right) else left


def _around_minimum(
    points: np.ndarray, jumps: np.ndarray, slope: float, least: float
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the points among which the slope reaches `least`, their jumps, the slope before them, and where they end.

    All of them where they are few. Of many, those between two of a sample of them: only these need to be sorted.
    """
    end = np.inf
    if len(points) <= MANY_POINTS:
        return points, jumps, slope, end
    marks = np.sort(points[:: len(points) // MARKS])
    first, last = 0, len(marks)
    while first < last:
        middle = (first + last) // 2
        before = points <= marks[middle]
        here = slope + float(np.where(before, jumps, 0.0).sum())
        if here < least and not before.all():
            first, slope = middle + 1, here
            before = ~before
        else:
            last, end = middle, float(marks[middle])
        points, jumps = points[before], jumps[before]
    return points, jumps, slope, end


def rising_root(slope_at: object, start: float, width: float) -> float:
    """Return where an increasing function (value, derivative) of one number crosses zero.

    Newton steps inside a bracket that only shrinks, so it always ends.
    """
    low, high, x = -np.inf, np.inf, start
    for _ in range(200):
        value, derivative = slope_at(x)  # type: ignore[operator]
        if value == 0.0:
            return x
        if value > 0:
            high = x
        else:
            low = x
        step = -value / derivative if derivative > 0 else -np.sign(value) * width
        step = float(np.clip(step, -width, width))
        target = x + step
        if not low < target < high:
            target = 0.5 * (low + high) if np.isfinite(high - low) else x - np.sign(value) * width
        if target == x or abs(target - x) <= 1e-16 * abs(x):
            return x
        width = width if np.isfinite(low) and np.isfinite(high) else 2 * width
        x = target
    return x
