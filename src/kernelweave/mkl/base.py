"""The frame of every MKL solver: `Problem`, `Step`, `run`, `Result`, and the one certificate."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .. import clock
from ..dual import DualSolver, DualState, Machine, as_dual, relative_gap
from ..errors import InputError, InternalError, TimeLimitError
from ..gram import Combined, Gram
from ..kernels import Kernel
from ..norms import WeightNorm
from .drift import Drift

#: Up to this many samples the machines are solved to the last digits: it costs next to nothing.
EXACT_SAMPLES = 1000
EXACT_GAP = 1e-10
#: Gaps below this are nothing but rounding.
ROUNDING = 1e-14
#: How far the lower bound may be above the upper one, as a share of the numbers that they are summed up from.
ROUNDING_SHARE = 1e-9
#: How far coef' K coef may be off by rounding, as a share of √n Σ coef_i² K_ii (measured: a sixth of this).
EPSILON = 2.0**-52
#: Most steps of a dual solver at one set of weights.
MAX_DUAL_STEPS = 20_000
#: How many of them may bring nothing; after a tenth of them the dual solver is told to take its slow but sure way.
MAX_STUCK = 400
#: Where machines are lost in rounding: what a few steps must leave of the gap, and the gap that proves next to nothing.
HARD_GAIN, LOOSE = 0.99, 0.1
#: After how many of them f is computed anew, so that the rounding of its updates cannot add up.
REBUILD = 500


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
    #: What only the solver that made the step understands, to go on from it.
    memory: Any = None

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


Steps = Generator[Step, float, None]
#: Told of every step of a dual solver: the machine's number, its state, and the weights of all terms.
DualWatch = Callable[[int, DualState, np.ndarray], None]


@dataclass
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
    watch: DualWatch | None = None
    interrupted: bool = False
    #: True once a dual solver got nowhere although f had been computed anew.
    stalled: bool = False
    #: True once a machine was too slow for the quick way to solve it.
    hard: bool = False
    n_solves: int = 0
    _combined: Combined | None = field(default=None, repr=False)

    def start_weights(self) -> np.ndarray:
        """Return the weights to begin with."""
        return self.norm.start(self.gram.n_terms) if self.start is None else self.start.weights

    def inner_tol(self, gap: float) -> float:
        """Return how well the machines are to be solved while the outer gap is `gap`: a third of it."""
        return float(np.clip(gap, self.tol, 0.1)) / 3.0

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
        if states is None:
            states = self.start.states if self.start is not None else [None] * len(self.machines)  # type: ignore[list-item]
        with clock.until(np.inf):  # what a step leaves to be finished is finished: steps alone are held to the deadline
            solved = tuple(self._solve_one(i, K, state, tol) for i, state in enumerate(states))
        self.n_solves += 1
        return self.certify(weights, solved) if certify else uncertified(weights, solved)

    def combined(self, weights: np.ndarray) -> Combined:
        """Return the kernel that these weights make; the last one is kept."""
        if self._combined is None or not np.array_equal(self._combined.weights, weights):
            self._combined = None  # let go of the old matrix before the new one is made
            self._combined = self.gram.at(weights)
        return self._combined

    def certify(self, weights: np.ndarray, states: tuple[DualState, ...]) -> Step:
        """Return the step that these states make, with both bounds of the whole problem."""
        coef = np.column_stack([state.coef for state in states])
        step = uncertified(weights, states)
        if self.gram.n_terms == 1 and weights[0] > 0:  # f = weight · K coef is at hand
            quad = np.array([sum(float(state.coef @ state.f) for state in states) / weights[0]])
        else:
            quad = self.gram.quad(coef)
        found = self._bounded(step, quad)
        if not self.gram.single:
            return found
        # so far this holds for the rounded matrices only
        safe = self._bounded(step, self.gram.safe_quad(coef))
        if relative_gap(safe.upper, safe.lower) > self.tol >= relative_gap(found.upper, found.lower):
            safe = self._bounded(step, self.gram.safe_quad(coef, exact=True))
        return safe

    def exactly(self, step: Step) -> Step:
        """Return the step with its decision values and its upper bound in double precision."""
        f = self.gram.exact_apply(step.coef, step.weights)
        K, states = self.combined(step.weights), []
        for machine, state, column in zip(self.machines, step.states, f.T, strict=True):
            states.append(replace(state, f=np.ascontiguousarray(column)).certified(machine.at(K)))
        return replace(step, states=tuple(states), upper=sum(state.upper for state in states))

    def _bounded(self, step: Step, quad: np.ndarray) -> Step:
        # coef' K_m coef may be next to nothing beside what it is summed up from, coef_i² K_ii, as at very high C
        squares = sum(float(state.coef @ state.coef) for state in step.states)
        quad = quad + EPSILON * self.gram.n**0.5 * squares * self.gram.sizes
        return replace(step, quad=quad, lower=step.linear - 0.5 * self.norm.dual_norm(quad))

    def _solve_one(self, number: int, K: Combined, state: DualState | None, tol: float) -> DualState:
        machine = self.machines[number].at(K)
        dual, drift = as_dual(self.dual, machine, K), Drift(machine, K)
        state = drift.marked(dual.start(machine, K, None if state is None else state.coef).certified(machine))
        small = K.n <= EXACT_SAMPLES
        dual.budget, dual.hurried = self.budget, self.hard
        dual.goal = goal = EXACT_GAP if small else tol
        best, lowest, stuck, deadline = state, state, 0, self._deadline(number, state)
        for turn in range(MAX_DUAL_STEPS):
            # a coef from other weights may look exact: its error counts squared in the gap, but once in quad
            enough = state.gap <= goal and (turn > 0 or not small)
            if enough or state.final or self.out_of_time() or clock.now() > deadline:
                break
            try:
                with clock.until(deadline):
                    state = dual.step(machine, K, state)
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
            dual.hurried |= stuck >= MAX_STUCK // 10
        self.hard |= "path" in state.memory or "normal" in state.memory
        best = best if self.interrupted else drift.rebuilt(best)
        if self.interrupted or best.gap <= tol or clock.now() > deadline:
            return best  # where time was up, a machine on its way is better than none
        return drift.lowest(best, lowest if best.gap > LOOSE else best)

    def _deadline(self, number: int, state: DualState) -> float:
        """Return until when a machine may be worked on: one that begins shares the time with those after it."""
        left = len(self.machines) - number
        if left == 1 or np.isinf(self.deadline) or state.coef.any():
            return self.deadline
        here = clock.now()
        return here + (self.deadline - here) / left

    def restricted(self, picked: np.ndarray, step: Step) -> Problem:
        """Return the problem with some of the terms only, to go on from `step`."""
        weights = step.weights[picked]
        start = replace(step, weights=weights / weights.sum(), quad=step.quad[picked])

        def lifted(number: int, state: DualState, some: np.ndarray) -> None:
            if self.watch is not None:
                every = np.zeros(self.gram.n_terms)
                every[picked] = some
                self.watch(number, state, every)

        gram = self.gram.only(picked.tolist())
        return replace(self, gram=gram, start=start, watch=lifted, n_solves=0, interrupted=False, _combined=None)

    def out_of_time(self) -> bool:
        """Say whether the deadline has passed, the user wants to stop, or going on is of no use."""
        return self.interrupted or self.stalled or clock.now() > self.deadline


class Solver:
    """Finds weights: a generator of steps that reads like its paper."""

    name: ClassVar[str]
    #: The capabilities that the norm must have.
    needs: ClassVar[tuple[type, ...]] = ()
    #: False where the weights are chosen by other means than the machines' objective: its bounds hold, but stay apart.
    exact: ClassVar[bool] = True

    def steps(self, problem: Problem) -> Steps:
        """Yield one step after another; each `yield` returns the best relative gap so far."""
        raise NotImplementedError

    def first_stage(self, problem: Problem) -> Any:
        """Return weights that are chosen before any machine, with how they were found; None where there are none."""
        return None

    def check(self, problem: Problem) -> None:
        """Raise an error that teaches where the norm lacks what the solver needs."""
        for capability in self.needs:
            if not isinstance(problem.norm, capability):
                raise InputError(
                    f"{type(self).__name__} needs a {capability.__name__} norm; got {problem.norm!r}. {self.remedy}"
                )

    remedy: ClassVar[str] = 'Use solver="auto".'

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


@dataclass
class Result:
    """What a run found, and how near to the optimum it is known to be."""

    step: Step
    upper: float
    lower: float
    stop_reason: str
    history: list[dict[str, Any]]
    n_solves: int
    interrupted: bool = False
    #: How the weights were chosen, where that was done before any machine (`Solver.first_stage`).
    stage: Any = None

    @property
    def gap(self) -> float:
        """``(best upper − best lower) / |best upper|``."""
        return relative_gap(self.upper, self.lower)

    @property
    def converged(self) -> bool:
        """True where the gap met the tolerance."""
        return self.stop_reason == "converged"


def run(
    solver: Solver,
    problem: Problem,
    *,
    max_iter: int = 1000,
    patience: int = 200,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    keep: Callable[[Step], None] | None = None,
) -> Result:
    """Run a solver: the only loop that stops, logs and warns.

    Stops when the best upper and the best lower bound seen are within `problem.tol` of each
    other, after `max_iter` steps, at the problem's deadline, on an interrupt, or when `patience` steps brought nothing
    ("stalled"). The bounds stay valid whatever the reason. After every step, `callback` gets its entry of the history,
    and `keep` the step.
    """
    solver.check(problem)
    started, steps = time.monotonic(), solver.steps(problem)
    best: Step | None = None
    upper, lower, gap, last, since, slack = np.inf, -np.inf, np.inf, np.inf, 0, 0.0
    history: list[dict[str, Any]] = []
    reason = "stalled"
    try:
        step = next(steps)
        while True:
            if best is None or step.upper < upper:
                best, upper = step, step.upper
            lower, slack = max(lower, step.lower), max(slack, step.rounding)
            if problem.convex and not problem.gram.single:
                check_bounds(upper, lower, slack, problem)
            gap = relative_gap(upper, lower)
            last, since = (gap, 0) if gap < (HARD_GAIN if problem.hard else 1.0) * last else (last, since + 1)
            history.append(
                {
                    "iteration": len(history) + 1,
                    "upper": upper,
                    "lower": lower,
                    "gap": gap,
                    "seconds": time.monotonic() - started,
                    "n_solves": problem.n_solves,
                    "weights": step.weights,
                }
            )
            if keep is not None:
                keep(step)
            if callback is not None:
                callback(history[-1])
            # the first step after a warm start only repeats where the last run ended
            n_iter = len(history) - (problem.start is not None)
            reason = _why_stop(problem, gap, n_iter, max_iter, since, patience)
            if reason:
                break
            step = steps.send(gap)
    except StopIteration:  # the solver gave up: because it was told to, or because it found nothing better
        reason = _why_stop(problem, gap, 0, max_iter, since, patience) or "stalled"
    except KeyboardInterrupt:
        if best is None:
            raise
        problem.interrupted, reason = True, "interrupted"
    finally:
        steps.close()
    assert best is not None
    best = replace(best, memory=step.memory)  # the best weights, but all that was learned on the way
    if problem.gram.single:  # up to here, upper was that of rounded matrices
        best = problem.exactly(best)
        upper = best.upper
        if problem.convex:
            check_bounds(upper, lower, slack, problem)
        if reason == "converged" and relative_gap(upper, lower) > problem.tol:
            reason = "stalled"
    return Result(best, upper, lower, reason, history, problem.n_solves, problem.interrupted)


def check_bounds(upper: float, lower: float, slack: float, problem: Problem) -> None:
    """Raise an error where the lower bound is above the upper one by more than rounding explains."""
    if lower <= upper + slack:
        return
    raise InternalError(
        f"The lower bound of the optimum, {lower:.9g}, is above the objective that was reached, {upper:.9g}: one of "
        "them is wrong, so no model is returned. Either a kernel is not positive semi-definite "
        f"({_names(problem.gram.terms)}), or the functions of a loss of your own do not fit each other "
        f"({problem.machines[0].loss!r}), or this is a fault of kernelweave: then please report it, with the call."
    )


def _names(terms: Sequence[Kernel]) -> str:
    return ", ".join(map(repr, terms[:3])) + (", ..." if len(terms) > 3 else "")


def _why_stop(problem: Problem, gap: float, n_iter: int, max_iter: int, since: int, patience: int) -> str:
    if gap <= problem.tol:
        return "converged"
    if problem.interrupted:
        return "interrupted"
    if clock.now() > problem.deadline:
        return "max_seconds"
    if n_iter >= max_iter:
        return "max_iter"
    # where machines are lost in rounding, so are the weights: what a few steps do not find, many will not
    return "stalled" if problem.stalled or since >= (patience // 5 if problem.hard else patience) else ""


def uncertified(weights: np.ndarray, states: tuple[DualState, ...]) -> Step:
    """Return the step that these states make, with nothing said about other weights."""
    return Step(weights, states, np.empty(0), sum(state.upper for state in states), -np.inf)


def with_lower(step: Step, lower: float, memory: Any = None) -> Step:
    """Return the step with a lower bound that a solver proved by other means, where it is better."""
    return replace(step, lower=max(step.lower, lower), memory=memory)
