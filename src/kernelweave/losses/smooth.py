"""Losses with a derivative everywhere: logistic, smooth hinge, and any you bring."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from ..errors import InputError
from .base import BoxQP, Loss, rising_root

#: Least curvature of a Newton model, in shares of the slope: keeps samples that are far on the wrong side in the model.
MIN_CURVATURE = 1e-10
#: Least curvature at all. Well below 1/C for any C that is used: on the right side C l'' is of the size of coef, and
#: a model that is more curved than the loss makes steps that are too short.
TINY_CURVATURE = 1e-24


#: What adding up many numbers may leave of a sum that is zero, as a share of what was added.
ROUNDING = 1e-15


class SmoothLoss(Loss):
    """A strictly convex differentiable loss, met by a few quadratic models.

    At the decision values f the loss is replaced by its second-order model, whose dual is a
    `BoxQP` without bounds: ridge = 1/(C l''), linear = l'/l'' − f. The certificate uses the exact
    conjugate, so the models only have to be good, not right.
    """

    differentiable = True

    def conjugate_each(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Return sup_f (slope · f − l(f)) per sample."""
        raise NotImplementedError

    def dual(self, y: np.ndarray, C: np.ndarray, f: np.ndarray | None = None) -> BoxQP:
        f = np.zeros(len(y)) if f is None else f
        slope, n = self.slope(y, f), len(y)
        h = np.maximum(self.curvature(y, f), np.maximum(MIN_CURVATURE * np.abs(slope), TINY_CURVATURE))
        return BoxQP(slope / h - f, 1.0 / (C * h), 0.0, np.full(n, -np.inf), np.full(n, np.inf))

    def conjugate(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> float:
        return float((C * self.conjugate_each(y, -coef / C)).sum())

    def intercept(self, y: np.ndarray, f: np.ndarray, C: np.ndarray) -> float:
        def slope(b: float) -> tuple[float, float]:
            first, second = self.derivatives(y, f + b)
            first *= C
            total = float(first.sum())
            # the rounding of a sum is no reason to search on
            return 0.0 if abs(total) <= ROUNDING * float(np.abs(first).sum()) else total, float(C @ second)

        return rising_root(slope, 0.0, 1.0 + float(np.ptp(f)))

    def allows(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> np.ndarray:
        return np.isfinite(self.conjugate_each(y, -coef / C))


class SmoothHinge(SmoothLoss):
    """log(1 + exp(sigma (1 − y f))) / sigma: the hinge with a rounded corner.

    Parameters
    ----------
    sigma : float
        How sharp the corner is; the hinge itself as sigma grows.
    """

    name = "smooth_hinge"
    reads = "labels"
    _margin = 1.0

    def __init__(self, sigma: float = 5.0) -> None:
        if not (np.isfinite(sigma) and sigma > 0):
            raise InputError(f"sigma must be a finite number > 0; got {sigma!r}.")
        self.sigma = float(sigma)

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        z = self.sigma * (self._margin - y * f)
        return (np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))) / self.sigma

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -y * expit(self.sigma * (self._margin - y * f))

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        z = self.sigma * (self._margin - y * f)
        return self.sigma * expit(z) * expit(-z)

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share = expit(self.sigma * (self._margin - y * f))
        return -y * share, self.sigma * share * (1.0 - share)

    def allows(self, y: np.ndarray, coef: np.ndarray, C: np.ndarray) -> np.ndarray:
        given = y * coef
        return np.asarray((given >= 0.0) & (given <= C))

    def conjugate_each(self, y: np.ndarray, slope: np.ndarray) -> np.ndarray:
        given = -y * slope
        u = np.clip(given, 0.0, 1.0)
        values = -self._margin * u + (xlogy(u, u) + xlog1py(1.0 - u, -u)) / self.sigma
        return np.where(np.abs(given - u) <= 1e-9, values, np.inf)  # no slope is outside, but for rounding


class Logistic(SmoothHinge):
    """log(1 + exp(−y f)): the loss whose decision values are log-odds."""

    name = "logistic"
    _margin = 0.0

    def __init__(self) -> None:
        self.sigma = 1.0

    def __repr__(self) -> str:
        return "Logistic()"


class CustomLoss(SmoothLoss):
    """Any strictly convex differentiable loss, given by three functions.

    Parameters
    ----------
    value : callable (y, f) -> array
        The loss of every sample.
    slope : callable (y, f) -> array
        Its derivative in f.
    conjugate : callable (y, slope) -> array
        Its convex conjugate in f: sup_f (slope · f − value(y, f)). The certificate rests on it.
    curvature : callable (y, f) -> array, optional
        Its second derivative in f; by default from differences of the slope.
    reads : {"numbers", "labels"}
        Whether y is any number, or ±1.
    """

    name = "custom"

    def __init__(
        self,
        value: Callable[[np.ndarray, np.ndarray], np.ndarray],
        slope: Callable[[np.ndarray, np.ndarray], np.ndarray],
        conjugate: Callable[[np.ndarray, np.ndarray], np.ndarray],
        curvature: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
        reads: str = "numbers",
    ) -> None:
        self.value = value  # type: ignore[method-assign, assignment]
        self.slope = slope  # type: ignore[method-assign, assignment]
        self.conjugate_each = conjugate  # type: ignore[method-assign, assignment]
        self._curvature = curvature
        self.reads = reads  # type: ignore[misc]

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        if self._curvature is not None:
            return self._curvature(y, f)
        step = 1e-5 * np.maximum(1.0, np.abs(f))
        return (self.slope(y, f + step) - self.slope(y, f - step)) / (2.0 * step)

    def check(self, y: np.ndarray) -> None:
        """Raise an error where value, slope and conjugate do not fit: value(f) + conjugate(slope) = slope · f."""
        some = np.unique(np.quantile(y, np.linspace(0.0, 1.0, 5)) if self.reads == "numbers" else y)
        shift = max(1.0, float(np.ptp(some))) * np.array([-3.0, -0.7, -0.1, 0.1, 0.7, 3.0])
        target, f = np.repeat(some, len(shift)), (some[:, None] + shift).ravel()
        slope = self.slope(target, f)
        parts = self.value(target, f), self.conjugate_each(target, slope), slope * f
        off = np.abs(parts[0] + parts[1] - parts[2])
        wrong = np.flatnonzero(~(off <= 1e-6 * (1e-3 + sum(np.abs(part) for part in parts))))
        if len(wrong):
            i = wrong[0]
            raise InputError(
                f"The functions of {self!r} do not fit each other, so no certificate could rest on them: at y = "
                f"{target[i]:.3g} and f = {f[i]:.3g}, value = {parts[0][i]:.6g} and conjugate(y, slope) = "
                f"{parts[1][i]:.6g} should add up to slope · f = {parts[2][i]:.6g}. The conjugate is that in f: "
                "sup_f (slope · f − value(y, f))."
            )

    def __repr__(self) -> str:
        return f"CustomLoss({getattr(self.value, '__name__', 'value')})"
