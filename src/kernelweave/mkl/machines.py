"""The machines of a problem, solved at the weights that a solver asks for: what a run counts, and what ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .. import clock
from ..dual import DualState, Effort, as_dual
from ..errors import TimeLimitError
from ..gram import Combined
from ..gram.rounding import exact_apply
from .drift import Drift
from .problem import Problem, Step, uncertified, with_lower

#: Up to this many samples the machines are solved to the last digits: it costs next to nothing.
EXACT_SAMPLES = 1000
EXACT_GAP = 1e-10
#: How far decision values in single precision are taken to be off at the least, beside what they are summed up from.
SINGLE_SHARE = 1e-6
#: Gaps below this are nothing but rounding.
ROUNDING = 1e-14
#: Most steps of a dual solver at one set of weights.
MAX_DUAL_STEPS = 20_000
#: How many of them may bring nothing; after a tenth of them the dual solver is told to take its slow but sure way.
MAX_STUCK = 400
#: Where machines are lost in rounding: the gap that proves next to nothing.
LOOSE = 0.1
#: After how many of them f is computed anew, so that the rounding of its updates cannot add up.
REBUILD = 500

#: Told of every step of a dual solver: the machine's number, its state, and the weights of all terms.
DualWatch = Callable[[int, DualState, np.ndarray], None]


@dataclass
class Run:
    """One run of a solver on a problem: it solves the machines, counts, and hears interrupts."""

    problem: Problem
    watch: DualWatch | None = None
    interrupted: bool = False
    #: True once a dual solver got nowhere although f had been computed anew.
    stalled: bool = False
    #: True once a machine was too slow for the quick way to solve it.
    hard: bool = False
    n_solves: int = 0
    _combined: Combined | None = field(default=None, init=False, repr=False)
    #: Of machines whose best bounds are those of two states: the one with the better lower bound, by number.
    _proofs: dict[int, DualState] = field(default_factory=dict, init=False, repr=False)

    def solve(self, weights: np.ndarray, states: Sequence[DualState] | None, tol: float, certify: bool = True) -> Step:
        """Solve the machines at these weights to a relative gap of `tol`, and certify.

        Parameters
        ----------
        weights : array of shape (n_terms,)
        states : the states to go on from, at whatever weights they were made; None for the start
        tol : relative duality gap of every machine
        certify : False leaves `quad` and `lower` out, for weights that may not be kept
        """
        K = self.combined(weights)
        given: Sequence[DualState | None] | None = states
        if given is None:
            start = self.problem.start
            given = [None] * len(self.problem.machines) if start is None else start.states
        with clock.until(np.inf):  # what a step leaves to be finished is finished: steps alone are held to the deadline
            self._proofs = {}
            solved = self._solve_together(K, given, tol) or tuple(
                self._solve_one(i, K, state, tol) for i, state in enumerate(given)
            )
            self.n_solves += 1
            return self._certified(weights, solved) if certify else uncertified(weights, solved)

    def _certified(self, weights: np.ndarray, solved: tuple[DualState, ...]) -> Step:
        """Return the step of these machines; where others prove more than those that are kept, with their bound."""
        step = self.problem.certify(weights, solved)
        if not self._proofs:
            return step
        proven = self.problem.certify(weights, tuple(self._proofs.get(i, state) for i, state in enumerate(solved)))
        return with_lower(step, proven.lower, step.cuts)

    def combined(self, weights: np.ndarray) -> Combined:
        """Return the kernel that these weights make; the last one is kept."""
        if self._combined is None or not np.array_equal(self._combined.weights, weights):
            self._combined = None  # let go of the old matrix before the new one is made
            self._combined = self.problem.gram.at(weights)
        return self._combined

    def exactly(self, step: Step) -> Step:
        """Return the step with its upper bound in double precision, and so its decision values where they count.

        A sample outside of the support whose loss is nothing, and would be so if its decision value were off by more
        than rounding explains, says nothing else in double precision. Rounding is judged by those that are looked at.
        """
        K, coef, gram = self.combined(step.weights), step.coef, self.problem.gram
        machines, states = [machine.at(K) for machine in self.problem.machines], list(step.states)
        size = float(step.weights @ gram.sizes)
        margins = [SINGLE_SHARE * size * float(np.abs(column).sum()) for column in coef.T]
        counts, known = coef.any(axis=1), np.zeros(len(coef), dtype=bool)
        while True:
            for machine, state, margin in zip(machines, states, margins, strict=True):
                counts |= machine.may_cost(state.f + state.intercept, margin)
            new = np.flatnonzero(counts & ~known)
            if len(new) == 0:
                return replace(step, states=tuple(states), upper=sum(state.upper for state in states))
            known[new] = True
            with clock.until(np.inf):  # without it, there is nothing to return
                found = exact_apply(gram, coef, step.weights, new)
            for i, (machine, state, values) in enumerate(zip(machines, states, found.T, strict=True)):
                margins[i] = max(margins[i], 10.0 * float(np.abs(values - state.f[new]).max()))
                f = state.f.copy()
                f[new] = values
                states[i] = replace(state, f=f).certified(machine)

    def _solve_together(
        self, K: Combined, given: Sequence[DualState | None], tol: float
    ) -> tuple[DualState, ...] | None:
        """Return the solved machines where their dual solver solves them all at once; None where it does not."""
        machines = [machine.at(K) for machine in self.problem.machines]
        if len(machines) == 1 or K.ridge is not None or self.out_of_time():
            return None
        try:
            found = as_dual(self.problem.dual, machines[0], K).together(machines, K)
        except KeyboardInterrupt:
            self.interrupted = True
            return None
        if found is None:
            return None
        states, goal = [], EXACT_GAP if K.n <= EXACT_SAMPLES else tol
        for number, (machine, state) in enumerate(zip(machines, found, strict=True)):
            state = state.certified(machine)
            states.append(state if state.gap <= goal else self._solve_one(number, K, state, tol))
            if self.watch is not None:
                self.watch(number, states[-1], K.weights)
        return tuple(states)

    def _solve_one(self, number: int, K: Combined, state: DualState | None, tol: float) -> DualState:
        machine = self.problem.machines[number].at(K)
        dual, drift = as_dual(self.problem.dual, machine, K), Drift(machine, K)
        state = dual.start(machine, K, None if state is None else state.coef).certified(machine)
        small = K.n <= EXACT_SAMPLES
        goal = EXACT_GAP if small else tol
        effort = Effort(goal, self.problem.budget, sure=self.hard)
        best, lowest, stuck, deadline = state, state, 0, self._deadline(number, state)
        for turn in range(MAX_DUAL_STEPS):
            # a coef from other weights may look exact: its error counts squared in the gap, but once in quad
            enough = state.gap <= goal and (turn > 0 or not small)
            if enough or state.final or self.out_of_time() or clock.now() > deadline:
                break
            try:
                with clock.until(deadline):
                    state = dual.step(machine, K, state, effort)
                state = state.certified(machine)
                if state.gap <= goal or state.final or (turn + 1) % REBUILD == 0 or drift.fell(state, best):
                    state, wrong = drift.removed(state)
                    best, lowest = (state, state) if wrong else (best, lowest)
                if self.watch is not None:
                    self.watch(number, state, K.weights)
            except KeyboardInterrupt:
                self.interrupted = True
                break
            except TimeLimitError:
                break
            if drift.strikes > 1:
                self.stalled = best.gap > tol
                break
            stuck = 0 if state.gap < 0.999 * best.gap else stuck + 1
            best = state if state.gap <= max(best.gap, ROUNDING) else best  # the later of two that look the same
            lowest = state if state.upper <= lowest.upper else lowest
            if stuck >= (4 if best.gap <= tol else MAX_STUCK):
                break
            effort = replace(effort, sure=True) if stuck >= MAX_STUCK // 10 else effort
        self.hard |= state.trail is not None and state.trail.sure
        best = best if self.interrupted else drift.rebuilt(best)
        if self.interrupted or best.gap <= tol or clock.now() > deadline:
            return best  # where time was up, a machine on its way is better than none
        kept = drift.lowest(best, lowest if best.gap > LOOSE else best)
        if best.lower > kept.lower:  # lost in rounding as a machine, but not as a proof
            self._proofs[number] = best
        return kept

    def _deadline(self, number: int, state: DualState) -> float:
        """Return until when a machine may be worked on: one that begins shares the time with those after it."""
        left = len(self.problem.machines) - number
        if left == 1 or np.isinf(self.problem.deadline) or state.coef.any():
            return self.problem.deadline
        here = clock.now()
        return here + (self.problem.deadline - here) / left

    def on_terms(self, picked: np.ndarray, step: Step) -> Run:
        """Return a run of the problem with some of the terms only, to go on from `step`."""

        def lifted(number: int, state: DualState, weights: np.ndarray) -> None:
            if self.watch is not None:
                every = np.zeros(self.problem.gram.n_terms)
                every[picked] = weights
                self.watch(number, state, every)

        return Run(self.problem.restricted(picked, step), lifted, stalled=self.stalled, hard=self.hard)

    def out_of_time(self) -> bool:
        """Say whether the deadline has passed, the user wants to stop, or going on is of no use."""
        return self.interrupted or self.stalled or clock.now() > self.problem.deadline
