"""SMO inside working sets: the dual solver for boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .. import clock
from ..gram import Combined
from ..losses import BoxQP, SmoothLoss
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine, Trail
from .interior import InteriorPoint, Path, can_factor, is_open
from .polish import MAX_FREE, free_set, polish

#: Work of one call of the jitted loop, in numbers touched: about a tenth of a second.
BURST = 3e7
#: Most samples that are gathered into a matrix of their own: 200 MB.
MAX_GATHERED = 5000
#: To which share of the violation that is left one step goes: of few samples, where a step costs more than its turns,
#: and of many, where a smaller set soon does the rest.
FEW, SHARE_OF_FEW, SHARE = 1000, 0.01, 0.1
#: How many multiplications of a Cholesky factor take as long as SMO takes for one number, times six.
POLISH_WORK = 200.0
#: After how many numbers touched `InteriorPoint` takes over, and how many more per n³: a third of a second, and as
#: long as it takes itself. Where it cannot, so many per n² are the end.
SLOW, SLOW_PER_CUBE, END_PER_SQUARE = 1e8, 2.0, 1000.0
#: Violations below this share of the gradients are not for turns in single precision; nor are numbers so large.
SINGLE_SHARE, LARGE = 3e-6, 1e9


@dataclass(frozen=True)
class Turns(Trail):
    """What the turns so far say of the next: the violation that was left, and how many numbers they touched."""

    violation: float = np.inf
    work: float = 0.0


class SMO(DualSolver):
    """Sequential minimal optimisation with second-order selection, on a set that shrinks.

    Each step optimises the samples that may still move, to a tenth of the violation that is
    left (a hundredth, of few samples): all of them at first, then those that are not clearly at a bound, gathered
    into a small matrix that stays near the processor. Where the matrix is not held, the set has at
    most `working_set` samples, the worst violators. Where few samples lie strictly between their
    bounds, `polish` finds their exact values. Where turns get nowhere, as they do for large C and few features,
    `InteriorPoint` does the rest.

    Parameters
    ----------
    working_set : int
        How many samples are optimised at a time where rows have to be computed.
    """

    name = "smo"
    #: Whether linear systems find the exact values of the free samples: their last bits depend on threads.
    polishes: ClassVar[bool] = True

    def __init__(self, working_set: int = 512) -> None:
        self.working_set = working_set

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        return not isinstance(machine.loss, SmoothLoss) and not machine.qp.free

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        return self.advance(machine.qp, K, state, effort)

    def advance(self, qp: BoxQP, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        """Return a better state of any BoxQP."""
        before = turns_of(state)
        slow = effort.sure or isinstance(state.trail, Path) or before.work > SLOW + SLOW_PER_CUBE * K.n**3
        if slow and can_factor(K) and is_open(qp):
            return InteriorPoint().advance(qp, K, state)
        if self.at_an_end(K, before):
            return replace(state, final=True, n_steps=state.n_steps + 1)
        if self.polishes and worth_polishing(qp, state):
            state = polish(qp, K, state)
        climb, fall = scores(qp, state.coef, state.f)
        top, low = climb.max(), fall.min()
        scale = self.scale(qp, K, state)
        if top - low <= 1e-15 * scale:
            return replace(state, final=True, n_steps=state.n_steps + 1)
        if K.n > self.working_set and self._in_sets(K):
            chosen = _most_violating(climb, fall, self.working_set)
        else:
            # a sample that could only move the wrong way, by more than anything pulls at it, rests
            chosen = np.flatnonzero((climb >= low) | (fall <= top))
            if len(chosen) > min(0.45 * K.n, MAX_GATHERED):
                chosen = np.arange(K.n)
        share = SHARE_OF_FEW if K.n <= FEW else SHARE
        moved, work = self._optimise(qp, K, state, chosen, max(share * (top - low), 1e-14 * scale))
        turns = Turns((top - low) / scale, work + before.work)
        return replace(moved, n_steps=state.n_steps + 1, final=False, exact=False, active=None, trail=turns)

    def at_an_end(self, K: Combined, turns: Turns) -> bool:
        """Say whether so many turns were taken that more of them will not help."""
        return turns.work > 100 * SLOW + END_PER_SQUARE * K.n**2

    def scale(self, qp: BoxQP, K: Combined, state: DualState) -> float:
        """Return the size of the numbers that violations are differences of."""
        size = float(np.abs(qp.linear).max(initial=0.0))
        if size == 0.0:  # then they are those that f is summed up from, which may cancel
            heaviest = np.abs(state.coef).argmax(keepdims=True)
            size = abs(float(state.coef[heaviest[0]] * K.block(heaviest, heaviest)[0, 0]))
        return max(size, float(np.abs(state.f).max(initial=0.0)))

    def _in_sets(self, K: Combined) -> bool:
        """Say whether samples are optimised in working sets: where rows have to be computed."""
        return K.matrix is None

    def _optimise(self, qp: BoxQP, K: Combined, state: DualState, W: np.ndarray, eps: float) -> tuple[DualState, float]:
        """Return the state after SMO on the samples W, and how many numbers that touched."""
        whole = K.matrix if len(W) == K.n else None  # also in single precision: a copy would be twice as large
        block, factor = (K.block(W, W), 1.0) if whole is None else (whole, K.factor)
        # dividing the problem by the matrix's factor spares a copy of the matrix
        coef = state.coef[W]
        g = (state.f[W] + qp.ridge[W] * coef + qp.linear[W]) / factor
        before, ridge = coef.copy(), qp.ridge[W] / factor
        box = qp.l1 / factor, qp.lower[W], qp.upper[W]
        work = take_turns(block, ridge, *box, coef, g, eps / factor, int(BURST / max(1, len(W))))
        if whole is not None:
            return replace(state, coef=coef, f=factor * g - qp.ridge * coef - qp.linear), work
        full = state.coef.copy()
        full[W] = coef
        moved = np.flatnonzero(coef != before)
        with clock.until(np.inf):  # or what was found would be lost
            f = state.f + K.rows_times(W[moved], (coef - before)[moved])
        return replace(state, coef=full, f=f), work


def take_turns(
    K: np.ndarray,
    ridge: np.ndarray,
    l1: float,
    lower: np.ndarray,
    upper: np.ndarray,
    coef: np.ndarray,
    g: np.ndarray,
    eps: float,
    max_iter: int,
    bursts: int = 1,
) -> float:
    """Take turns of SMO in bursts, on coef and its gradient g in place; return how many numbers they touched.

    Where the matrix is in single precision, turns are chosen in it as long as that is enough for eps.
    """
    from .._fast.smo import smo, smo_single

    work, single = 0.0, K.dtype == np.float32
    for _ in range(bursts):
        size, diag = float(np.abs(g).max(initial=0.0)), float(K.diagonal().max(initial=0.0))
        single = single and eps > SINGLE_SHARE * size and max(size, diag) < LARGE and diag > 1.0 / LARGE
        turns, violation = (smo_single if single else smo)(K, ridge, l1, lower, upper, coef, g, eps, max_iter)
        work += float(turns) * len(coef)
        if violation <= eps or clock.is_over() or (turns < max_iter and not single):
            break
        single = single and turns == max_iter  # what rounding left is for double precision
    return work


def minimise(qp: BoxQP, H: np.ndarray, start: np.ndarray, tol: float = 1e-12) -> np.ndarray:
    """Return the a that minimises a small BoxQP with K = H, from a feasible start."""
    K, solver = Combined(H), SMO()
    state = DualState(start, K.apply(start))
    for _ in range(200):
        state = solver.advance(qp, K, state)
        climb, fall = scores(qp, state.coef, state.f)
        if state.final or climb.max() - fall.min() <= tol * max(1.0, float(np.abs(qp.linear).max())):
            break
    return state.coef


def worth_polishing(qp: BoxQP, state: DualState) -> bool:
    """Say whether the free samples are few and settled enough for a linear system to pay."""
    turns = turns_of(state)
    n_free = len(free_set(qp, state.coef)) if turns.violation <= 0.5 else 0
    if not 2 <= n_free <= MAX_FREE:
        return False
    return n_free <= 300 or (turns.violation <= 1e-2 and n_free**3 <= POLISH_WORK * turns.work)


def turns_of(state: DualState) -> Turns:
    """Return what is known of the turns that led to a state."""
    return state.trail if isinstance(state.trail, Turns) else Turns()


def scores(qp: BoxQP, a: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how much every sample wants up, and how little it resists down; closed ones at ∓∞."""
    g = f + qp.ridge * a + qp.linear
    climb = np.where(a < qp.upper, -g - np.where(a >= 0, qp.l1, -qp.l1), -np.inf)
    fall = np.where(a > qp.lower, -g - np.where(a > 0, qp.l1, -qp.l1), np.inf)
    return climb, fall


def _most_violating(climb: np.ndarray, fall: np.ndarray, size: int) -> np.ndarray:
    half = min(size // 2, len(climb) // 2)
    risers = np.argpartition(-climb, half)[:half]
    fallers = np.argpartition(fall, half)[:half]
    return np.union1d(risers[np.isfinite(climb[risers])], fallers[np.isfinite(fall[fallers])])
