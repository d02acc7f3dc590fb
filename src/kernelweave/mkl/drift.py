"""Rounding that adds up: f as a dual solver carries it along, against f = K coef."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dual import DualState, Machine
from ..gram import Combined


class Drift:
    """Compares the f of a machine's states with K coef, so that drift or damage shows.

    A state is wrong where the bounds that its f claims are off by a tenth of their distance. Its f is then computed
    anew; where the gap did not fall by half between two such findings, there are two `strikes`, and going on is of
    no use. A dual solver that computes f itself says so by ``exact=True``.
    """

    def __init__(self, machine: Machine, K: Combined) -> None:
        self.machine, self.K = machine, K
        self.strikes = 0
        self._last_gap = np.inf

    def fell(self, state: DualState, best: DualState) -> bool:
        """Say whether the dual objective, which rises as long as f is right, fell by more than rounding explains."""
        return state.lower < best.lower - 0.1 * max(best.upper - best.lower, 1e-12 * abs(best.upper))

    def removed(self, state: DualState) -> tuple[DualState, bool]:
        """Return the state with f as it should be, and whether it was wrong before."""
        true = self.rebuilt(state)
        distance = max(true.upper - true.lower, 1e-12 * abs(true.upper))
        if abs(true.upper - state.upper) + abs(true.lower - state.lower) <= 0.1 * distance:
            return true, False
        self.strikes = self.strikes + 1 if true.gap > 0.5 * self._last_gap else 1
        self._last_gap = true.gap
        return replace(true, final=False), True

    def rebuilt(self, state: DualState) -> DualState:
        """Return the state with f = K coef computed anew, unless it is known to be that."""
        if state.exact:
            return state
        return replace(state, f=self.K.apply(state.coef), exact=True).certified(self.machine)

    def lowest(self, *states: DualState) -> DualState:
        """Return the state with the lowest objective, of these and of that which has an intercept and nothing else."""
        qp, nothing = self.machine.qp, np.zeros(self.K.n)
        found = [self.rebuilt(state) for state in states]
        if qp.total == 0 and (qp.lower <= 0).all() and (qp.upper >= 0).all():
            found.append(DualState(nothing, nothing, final=True, exact=True).certified(self.machine))
        return min(found, key=lambda state: state.upper)
