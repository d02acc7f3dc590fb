"""Where the weights live, and what a norm may be able to do."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..errors import InputError

#: How far weights may lie off their norm's set: what a linear program rounds, and not more.
ROUNDING = 1e-6


class WeightNorm:
    """A convex set of weights ≥ 0 over which the objective is minimised.

    dual_norm(quad) = max over the set of weights·quad: with it, every coef certifies a
    lower bound whatever the weights.
    """

    #: What it is called in text; without one, by the name of the class.
    name: ClassVar[str]

    def start(self, n_terms: int) -> np.ndarray:
        """Return the weights to begin with."""
        raise NotImplementedError

    def dual_norm(self, quad: np.ndarray) -> float:
        """Return max over the set of weights·quad."""
        raise NotImplementedError

    def scaled(self, weights: np.ndarray) -> np.ndarray:
        """Return the multiple of weights ≥ 0 that lies on the edge of the set, for weights that come from elsewhere."""
        raise NotImplementedError(f"{type(self).__name__} does not say how weights are scaled into its set.")

    def holds(self, weights: np.ndarray) -> bool:
        """Say whether weights that come from elsewhere lie on the edge of the set, but for rounding."""
        with np.errstate(all="ignore"):  # a sum that is zero or infinite gives nan, which is close to nothing
            try:
                return np.allclose(self.scaled(weights), weights, rtol=ROUNDING, atol=ROUNDING)
            except NotImplementedError:  # then by what every norm can do: no direction may reach beyond the set's edge
                probes = (*np.eye(len(weights)), np.ones(len(weights)), weights)
                return all(weights @ probe <= self.dual_norm(probe) * (1 + ROUNDING) + ROUNDING for probe in probes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Polyhedral(WeightNorm):
    """Capability: the set is {weights ≥ 0, Σ weights = 1}, so a linear program can choose."""


class ClosedForm(WeightNorm):
    """Capability: the best weights for given norms of the parts are a formula."""

    def closed_form(self, norms: np.ndarray) -> np.ndarray:
        """Return the weights that minimise Σ norms[m]² / weights[m]."""
        raise NotImplementedError


class Fixed(WeightNorm):
    """The weights are given and stay: one per term, or all one.

    Parameters
    ----------
    weights : array or None
        None for 1 each: the sum as it is typed.
    """

    name = "fixed"

    def __init__(self, weights: np.ndarray | None = None) -> None:
        self.weights = weights

    def start(self, n_terms: int) -> np.ndarray:
        if self.weights is None:
            return np.ones(n_terms)
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):  # text, or rows of different lengths
            weights = np.empty(0)
        if weights.shape != (n_terms,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise InputError(f"Fixed needs {n_terms} finite weights ≥ 0, one per term; got {self.weights!r}.")
        return weights

    def dual_norm(self, quad: np.ndarray) -> float:
        return float(self.start(len(quad)) @ quad)

    def scaled(self, weights: np.ndarray) -> np.ndarray:
        return self.start(len(weights))


class Simplex(Polyhedral, ClosedForm):
    """Σ weights = 1: many weights end at exactly zero."""

    name = "simplex"

    def start(self, n_terms: int) -> np.ndarray:
        return np.full(n_terms, 1.0 / n_terms)

    def dual_norm(self, quad: np.ndarray) -> float:
        return float(quad.max())

    def scaled(self, weights: np.ndarray) -> np.ndarray:
        return weights / weights.sum()

    def closed_form(self, norms: np.ndarray) -> np.ndarray:
        return norms / norms.sum()


class LpNorm(ClosedForm):
    """‖weights‖_p = 1 with p > 1: all weights stay positive, more equal as p grows.

    Parameters
    ----------
    p : float
        Above 1.
    """

    name = "lp"

    def __init__(self, p: float = 2.0) -> None:
        self.p = float(p)
        if not 1.0 < self.p < np.inf:
            raise InputError(
                f"LpNorm needs a finite p > 1, since the weights are a convex problem for no other; got p={p!r}. "
                "For sparse weights use Simplex(), or norm=1."
            )

    def start(self, n_terms: int) -> np.ndarray:
        return np.full(n_terms, n_terms ** (-1.0 / self.p))

    def dual_norm(self, quad: np.ndarray) -> float:
        top = float(quad.max())
        if top <= 0.0:
            return 0.0
        conjugate = self.p / (self.p - 1.0)
        return top * float(((np.maximum(quad, 0.0) / top) ** conjugate).sum() ** (1.0 / conjugate))

    def scaled(self, weights: np.ndarray) -> np.ndarray:
        weights = weights / weights.max()
        return weights / (weights**self.p).sum() ** (1.0 / self.p)

    def closed_form(self, norms: np.ndarray) -> np.ndarray:
        return self.scaled((norms / norms.max()) ** (2.0 / (self.p + 1.0)))
