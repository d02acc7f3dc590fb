"""Active set and screening: the dual solver for many samples, of which few matter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import clock
from ..gram import SPARE_BYTES, Bytes, Combined
from ..gram.pair_rows import Pairs, in_places, row_room
from ..losses import BoxQP
from .base import UNLIMITED, DualState, Effort, Machine, Trail
from .chunking import Chunking
from .coordinate import FAR, SHARE, Coordinate, Slow, descend, is_slow, next_gap
from .interior import InteriorPoint
from .rows import rows_pay, solve_by_rows
from .smo import scores

#: Up to so many samples all of them are active from the start, by descent and by rows, which take memory in proportion
#: to their square; of more, so many are to begin with.
ALL, ALL_BY_ROWS, START = 10_000, 6_000, 4_000
#: And with fewer where their coordinates, matrices say, would take more bytes than this.
START_BYTES = 2**28
#: How much the active set may grow in a round.
GROWTH = 3.0
#: How much of the gap that is asked for a machine of all samples may have.
WHOLE_SHARE = 0.9
#: A sample at a bound stays active while the pull that holds it there is below this share of the targets' size.
MARGIN = 0.2


@dataclass(frozen=True)
class Screened(Trail):
    """Of which samples f is known, and not only about; and the rows that were made."""

    rows: np.ndarray
    pairs: Pairs | None = None


class Stuck(Trail):
    """SMO on rows got nowhere: descent is to go on."""


class ActiveSet(Coordinate):
    """Coordinate descent on a small set of samples, which one look at all samples ("screening") then corrects.

    Each step solves the machine on the active samples, applies the kernel to all, and hands both to the certificate.
    The next set holds the support, what lies near its bound, and the samples that the new machine treats worst, up to
    three times as many as before. Only screening touches all samples: it reads them block by block, from memory or from
    a mapped file, on threads. Terms without listed features, numbers beside the words, take part by the matrix of the
    active samples; where the support outgrows what fits, `Chunking` does the rest.

    Parameters
    ----------
    n_start : int
        Samples to begin with, drawn at random, at least a third of them from each side.
    """

    name = "active_set"
    by_rows = (ALL_BY_ROWS, int(GROWTH * START))

    def __init__(self, n_start: int = START, max_passes: int = 60) -> None:
        super().__init__(max_passes)
        self.n_start = n_start

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        state = state if np.isfinite(state.upper) else state.certified(machine)
        if is_slow(state, effort) and InteriorPoint().fits(machine, K):
            return self.step_on_all(machine, K, state, effort)
        taken, room = K.gram.bytes, max(effort.bytes, SPARE_BYTES)
        few = min(self._few(machine, K, effort), most_samples(taken, K.n, START_BYTES))
        rows = self._next_active(machine.qp, state, few, most_samples(taken, K.n, room))
        # the support alone may take more than there is; and where descent gets nowhere, SMO does
        if taken.coordinates(len(rows)) > room or (effort.sure and Chunking().fits(machine)):
            return Chunking().step(machine, K, state, effort)
        by_rows = rows_pay(machine, K, len(rows), effort) and not isinstance(state.trail, Stuck)
        if len(rows) == K.n and not by_rows:
            return self.step_on_all(machine, K, state, effort)
        if by_rows:
            pairs = _pairs_of(K, state, rows, effort)
            rows, found = pairs.samples, self._by_rows(machine, K, state, pairs, effort)
        else:
            pairs, found = None, self._by_descent(machine, K, state, rows, effort)
        coef = np.zeros(K.n)
        coef[rows] = found.coef
        moved = replace(found, coef=coef, n_steps=state.n_steps + 1, active=len(rows), final=False)
        with clock.until(np.inf):  # or what was found would be lost
            if state.gap <= FAR or len(rows) == K.n:
                known = Screened(np.arange(K.n), pairs)
                left = found.trail if isinstance(found.trail, (Slow, Stuck)) else known
                return replace(moved, f=K.apply(coef), exact=True, trail=left)
            f = K.gram.apply_about(coef, K.weights)
        f[rows] = found.f
        return replace(moved, f=f, exact=False, trail=Screened(rows, pairs))

    def _by_descent(
        self, machine: Machine, K: Combined, state: DualState, rows: np.ndarray, effort: Effort
    ) -> DualState:
        """Return the machine of some samples, by descent."""
        machine = replace(machine, y=machine.y[rows], C=machine.C[rows])
        descent, tol = K.gram.coordinates(rows).at(K.weights), next_gap(state, effort)
        found = descend(machine, descent, state.coef[rows], state.intercept, tol, self.max_passes, state.n_steps)
        slow = Slow() if found.gap > tol and not clock.is_over() else None
        return DualState(found.a, found.f, found.intercept, trail=slow)

    def _by_rows(self, machine: Machine, K: Combined, state: DualState, pairs: Pairs, effort: Effort) -> DualState:
        """Return the machine of some samples, or of all, by SMO on rows.

        Rows are rounded: f is made anew from what was found, and the next step goes on from there.
        """
        rows, whole = pairs.samples, pairs.n == K.n
        tol = max(WHOLE_SHARE * effort.gap, SHARE * state.gap) if whole else next_gap(state, effort)
        machine = replace(machine, y=machine.y[rows], C=machine.C[rows])
        found = solve_by_rows(machine, pairs, state.coef[rows], _values_of(K, state, pairs), tol)
        stuck = whole and found.gap > max(tol, 0.5 * state.gap)
        return replace(found, trail=Stuck() if stuck else None)

    def _few(self, machine: Machine, K: Combined, effort: Effort) -> int:
        """Return how many samples to begin with: the few that were asked for, or all where they are not many."""
        if self.n_start != START or K.n > ALL:
            return self.n_start
        return self.n_start if K.n > ALL_BY_ROWS and rows_pay(machine, K, K.n, effort) else ALL

    def _next_active(self, qp: BoxQP, state: DualState, few: int, most: int) -> np.ndarray:
        """Return the samples to solve on next: the support, and as many others as may be."""
        n = len(state.coef)
        support = np.flatnonzero(state.coef)
        before = state.active or 0
        if before == 0 and len(support) < few // 10:
            return np.union1d(support, sample(qp, max(min(few, most), few // 4)))
        climb, fall = scores(qp, state.coef, state.f)
        pull = np.maximum(climb - state.intercept, state.intercept - fall)
        pull[support] = np.inf
        size = float(np.abs(qp.linear).max()) + qp.l1 or float(np.abs(state.f).max())  # one class has no targets
        limit = int(max(GROWTH * max(before, len(support)), few))
        limit = max(min(limit, most), len(support) + min(few, limit) // 4)
        near = np.flatnonzero(pull > -MARGIN * size)
        if len(near) > limit:
            # coefficients rise and fall in pairs: where only one side is let in, it has nobody to move with
            for side in (climb, -fall):
                pull[_places_of_largest(np.where(np.isinf(pull), -np.inf, side), (limit - len(support)) // 4)] = np.inf
            near = _places_of_largest(pull, limit)
        # where half of the samples matter, a look at the others would cost as much as having them along
        return np.arange(n) if 2 * len(near) >= n and n <= most else np.sort(near)


def _pairs_of(K: Combined, state: DualState, rows: np.ndarray, effort: Effort) -> Pairs:
    """Return the kernel on some samples, and on others that cost nothing, with the rows that the last step made."""
    before = state.trail.pairs if isinstance(state.trail, Screened) else None
    goes_on = before is not None and np.array_equal(before.weights, K.weights)
    rows = in_places(rows, before.samples) if before is not None and goes_on else rows
    pairs = K.gram.pairs(rows, K.weights, row_room(effort.bytes), np.float32)
    if before is not None and goes_on:
        pairs.take_over(before)
    return pairs


def _values_of(K: Combined, state: DualState, pairs: Pairs) -> np.ndarray:
    """Return K coef of some samples, where the state has it only of some, and of others about."""
    rows = pairs.samples
    f = state.f[rows]
    if isinstance(state.trail, Screened):
        new = np.flatnonzero(~np.isin(rows, state.trail.rows))
        if len(new) and pairs.has_rows:  # those of the support, most of them
            f[new] = pairs.apply(state.coef[rows])[new]
        elif len(new):
            f[new] = K.gram.apply(state.coef, K.weights, K.gram.X.rows(rows[new]))
    return f


def most_samples(taken: Bytes, n: int, budget: float) -> int:
    """Return of how many of n samples the coordinates fit into so many bytes."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if taken.coordinates(middle) <= budget else (low, middle - 1)
    return low


def _places_of_largest(values: np.ndarray, size: int) -> np.ndarray:
    """Return where the largest values are, in any order."""
    return np.argpartition(-values, size)[:size]


def sample(qp: BoxQP, size: int, seed: int = 0) -> np.ndarray:
    """Return some samples: at random, but at least a third of them with a target on either side where there are."""
    n = len(qp.linear)
    if size >= n:
        return np.arange(n)
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(n, size // 3, replace=False)]
    for side in (qp.linear < 0, qp.linear >= 0):
        members = np.flatnonzero(side)
        chosen.append(rng.choice(members, min(len(members), size // 3), replace=False))
    return np.unique(np.concatenate(chosen))
