"""SMO on rows that are made from pairs as they are needed, and the rule that tells when that beats descent."""

from __future__ import annotations

from math import log2

import numpy as np

from .. import clock
from ..gram import Combined
from ..gram.pair_rows import NEEDED, row_room
from .base import DualState, Effort, Machine
from .smo import SMO

#: Samples that are optimised at a time, and most steps between two certificates.
WORKING_SET, MOST_STEPS = 256, 8
#: Certificates in a row that may bring nothing.
MAX_STUCK = 10
#: What a row costs beside the pairs it takes.
UPDATES = 1.5
#: What descent costs in visits to every sample: to begin with, and in passes where C k(x, x) is one; and how those
#: grow with C k(x, x). Measured on splice sites: 11 passes at 1, 18 at 10, 51 at 126.
MAKING, PASSES, GROWTH = 4.0, 11.0, 1 / 3


class _Turns(SMO):
    """SMO whose bits do not depend on threads."""

    polishes = False


def rows_pay(machine: Machine, K: Combined, n: int, effort: Effort) -> bool:
    """Say whether rows among n samples cost less than descent: for few samples, and for more the larger C is."""
    qp = machine.qp
    if effort.sure or qp.free:  # where nothing bounds them all samples matter, and pairs of them move slowly
        return False
    pair = K.gram.pair_time(K.weights)
    if not np.isfinite(pair) or 4 * NEEDED * n**2 > row_room(effort.bytes):
        return False
    bound = float(np.mean(np.minimum(qp.upper - qp.lower, 1e300)))
    hardness = float((K.weights * K.gram.sizes).sum()) / (1.0 / bound + float(qp.ridge.mean()))
    passes = PASSES * max(1.0, hardness) ** GROWTH
    return UPDATES * NEEDED * n * pair <= MAKING + passes


def solve_by_rows(machine: Machine, K: Combined, a: np.ndarray, f: np.ndarray, tol: float) -> DualState:
    """Return a state with a relative gap of at most tol, or the best there is; f = K a at the start.

    f is carried along, and the closer the gap comes to tol, the more often it is looked at.
    """
    solver, stuck = _Turns(WORKING_SET), 0
    best = state = DualState(a, f).certified(machine)
    while best.gap > tol and stuck < MAX_STUCK and not state.final:
        for _ in range(_steps_until_a_look(state.gap, tol)):
            with clock.until(np.inf):  # it takes a tenth of a second, and would be lost
                state = solver.advance(machine.qp, K, state)
            if state.final or clock.is_over():
                break
        state = state.certified(machine)
        stuck = 0 if state.gap < 0.99 * best.gap else stuck + 1
        best = state if state.gap < best.gap else best
        if clock.is_over():  # after one look at the least: a machine on its way is better than none
            break
    return best


def _steps_until_a_look(gap: float, tol: float) -> int:
    """Return how many steps to go before the gap is looked at: one where it is about to be small enough."""
    return int(np.clip(2 * log2(gap / tol), 1, MOST_STEPS)) if gap > tol > 0 else 1
