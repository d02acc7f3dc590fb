"""What is solved, and what was found so far: `Problem` and `Step`, records both, and the one certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..dual import DualSolver, DualState, Machine
from ..gram import Gram
from ..gram.rounding import safe_quad
from ..norms import WeightNorm
from ..progress import relative_gap

#: How far the lower bound may be above the upper one, as a share of the numbers that they are summed up from.
ROUNDING_SHARE = 1e-9
#: How far coef' K coef may be off by rounding, as a share of √n Σ coef_i² K_ii (measured: a sixth of this).
EPSILON = 2.0**-52

#: The coef of a cut, as places of samples and the values there of every machine.
CutCoef = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Step:
    """Weights, the machines at these weights, and what they prove.

    upper = Σ C·loss(y, f + b) + ½ weights·quad, lower = −conjugate(coef) − ½ norm.dual_norm(quad).
    """

    weights: np.ndarray
    states: tuple[DualState, ...]
    quad: np.ndarray
    upper: float
    lower: float
    #: The coef that the solver's cuts were made of: whoever takes them up proves them anew.
    cuts: tuple[CutCoef, ...] = ()
    #: The terms that the solver works on, where it does not work on all; the cuts are then of these alone.
    active: np.ndarray | None = None

    @property
    def coef(self) -> np.ndarray:
        """The signed dual coefficients, (n, n_machines)."""
        return np.column_stack([state.coef for state in self.states])

    @property
    def rounding(self) -> float:
        """How far apart rounding may push the bounds: a share of what they are summed up from."""
        return ROUNDING_SHARE * (abs(self.upper) + abs(self.linear) + float(np.abs(self.quad).max(initial=0.0)))

    @property
    def linear(self) -> float:
        """−conjugate(coef): the dual objective but for its quadratic part."""
        return sum(state.lower + 0.5 * float(state.coef @ state.f) for state in self.states)


@dataclass(frozen=True)
class Problem:
    """min over weights of the machines' summed objective: the machines share the weights."""

    gram: Gram
    machines: Sequence[Machine]
    norm: WeightNorm
    tol: float = 1e-3
    #: When to stop, on the clock of `clock.now`.
    deadline: float = np.inf
    #: Where to begin: an earlier step of the same shape.
    start: Step | None = None
    #: How the machines are solved: "auto", a name, or a dual solver.
    dual: str | DualSolver = "auto"
    #: Bytes that a dual solver may hold.
    budget: float = np.inf
    #: False where a kernel may not be positive semi-definite, as the user knows: then no lower bound is one.
    convex: bool = True

    def start_weights(self) -> np.ndarray:
        """Return the weights to begin with."""
        return self.norm.start(self.gram.n_terms) if self.start is None else self.start.weights

    def inner_tol(self, gap: float) -> float:
        """Return how well the machines are to be solved while the outer gap is `gap`: a third of it."""
        return float(np.clip(gap, self.tol, 0.1)) / 3.0

    def certify(self, weights: np.ndarray, states: tuple[DualState, ...]) -> Step:
        """Return the step that these states make, with both bounds of the whole problem."""
        coef = np.column_stack([state.coef for state in states])
        step = uncertified(weights, states)
        if self.gram.n_terms == 1 and weights[0] > 0:  # f = weight · K coef is at hand
            quad = np.array([sum(float(state.coef @ state.f) for state in states) / weights[0]])
        else:
            quad = self.gram.quad(coef).sum(axis=1)
        found = self._with_bounds(step, quad)
        if not self.gram.held.single:
            return found
        # so far this holds for the rounded matrices only
        safe = self._with_bounds(step, safe_quad(self.gram, coef))
        if relative_gap(safe.upper, safe.lower) > self.tol >= relative_gap(found.upper, found.lower):
            safe = self._with_bounds(step, safe_quad(self.gram, coef, exact=True))
        return safe

    def _with_bounds(self, step: Step, quad: np.ndarray) -> Step:
        # coef' K_m coef may be next to nothing beside what it is summed up from, coef_i² K_ii, as at very high C
        squares = sum(float(state.coef @ state.coef) for state in step.states)
        quad = quad + EPSILON * self.gram.n**0.5 * squares * self.gram.sizes
        return replace(step, quad=quad, lower=step.linear - 0.5 * self.norm.dual_norm(quad))

    def restricted(self, picked: np.ndarray, step: Step) -> Problem:
        """Return the problem with some of the terms only, to go on from `step`."""
        weights = step.weights[picked]
        start = replace(step, weights=weights / weights.sum(), quad=step.quad[picked])
        return replace(self, gram=self.gram.only(picked.tolist()), start=start)


def uncertified(weights: np.ndarray, states: tuple[DualState, ...]) -> Step:
    """Return the step that these states make, with nothing said about other weights."""
    return Step(weights, states, np.empty(0), sum(state.upper for state in states), -np.inf)


def with_lower(step: Step, lower: float, cuts: tuple[CutCoef, ...]) -> Step:
    """Return the step with a lower bound that a solver proved by other means, where it is better, and by which cuts."""
    return replace(step, lower=max(step.lower, lower), cuts=cuts)
