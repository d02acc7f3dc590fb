"""The frame of every MKL solver: `Solver`, the one loop `run`, and its `Result`."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .. import clock
from ..errors import InputError, InternalError
from ..kernels import Kernel
from ..progress import relative_gap
from .machines import DualWatch, Run
from .problem import Problem, Step, with_lower

#: Where machines are lost in rounding: what a few steps must leave of the gap.
HARD_GAIN = 0.99

Steps = Generator[Step, float, None]


class Solver:
    """Finds weights: a generator of steps that reads like its paper."""

    name: ClassVar[str]
    #: The capabilities that the norm must have.
    needs: ClassVar[tuple[type, ...]] = ()
    #: False where the weights are chosen by other means than the machines' objective: its bounds hold, but stay apart.
    exact: ClassVar[bool] = True

    def steps(self, problem: Problem, run: Run) -> Steps:
        """Yield one step after another; each `yield` returns the best relative gap so far.

        `run.solve(weights, states, tol)` solves the machines.
        """
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

    def joined(self, later: Result) -> Result:
        """Return what both runs of a problem found, one after the other."""
        best = later if later.upper <= self.upper else self
        shift, solved = self.history[-1], self.n_solves
        moved = [
            entry
            | {
                "iteration": shift["iteration"] + entry["iteration"],
                "seconds": shift["seconds"] + entry["seconds"],
                "n_solves": solved + entry["n_solves"],
            }
            for entry in later.history
        ]
        return replace(
            later,
            step=best.step,
            upper=best.upper,
            lower=max(self.lower, later.lower),
            history=self.history + moved,
            n_solves=solved + later.n_solves,
        )


def run(
    solver: Solver,
    problem: Problem,
    *,
    max_iter: int = 1000,
    patience: int = 200,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    keep: Callable[[Step], None] | None = None,
    watch: DualWatch | None = None,
    interrupted: bool = False,
) -> Result:
    """Run a solver: the only loop that stops, logs and warns.

    Stops when the best upper and the best lower bound seen are within `problem.tol` of each
    other, after `max_iter` steps, at the problem's deadline, on an interrupt, or when `patience` steps brought nothing
    ("stalled"). The bounds stay valid whatever the reason. After every step, `callback` gets its entry of the history,
    and `keep` the step; `watch` is told of every step of a dual solver. A run that is interrupted before it begins gets
    as far as its first step: to a usable model, at once.
    """
    solver.check(problem)
    this = Run(problem, watch, interrupted)
    steps, reached = solver.steps(problem, this), Reached(problem)
    reason = "stalled"
    try:
        step = next(steps)
        while True:
            reached.take(step, this)
            if keep is not None:
                keep(step)
            if callback is not None:
                callback(reached.history[-1])
            # the first step after a warm start only repeats where the last run ended
            n_iter = len(reached.history) - (problem.start is not None)
            reason = _why_stop(this, reached, n_iter, max_iter, patience)
            if reason:
                break
            step = steps.send(reached.gap)
    except StopIteration:  # the solver gave up: because it was told to, or because it found nothing better
        reason = _why_stop(this, reached, 0, max_iter, patience) or "stalled"
    except KeyboardInterrupt:
        if reached.best is None:
            raise
        this.interrupted, reason = True, "interrupted"
    finally:
        steps.close()
    assert reached.best is not None
    # the best weights, but all that was learned on the way
    best, upper = replace(reached.best, cuts=step.cuts, active=step.active), reached.upper
    if problem.gram.held.single:  # up to here, upper was that of rounded matrices
        best = this.exactly(best)
        upper = best.upper
        if problem.convex:
            check_bounds(upper, reached.lower, reached.slack, problem)
        if reason == "converged" and relative_gap(upper, reached.lower) > problem.tol:
            reason = "stalled"
    found = Result(best, upper, reached.lower, reason, reached.history, this.n_solves, this.interrupted)
    exact = problem.gram.in_double(problem.budget) if reason == "stalled" and problem.gram.held.single else None
    if exact is None:
        return found
    # rounding is all that is left: the same once more, from here on and in double precision
    told: dict[str, Any] = {"callback": callback, "keep": keep, "watch": watch}
    again = run(solver, replace(problem, gram=exact, start=best), max_iter=max_iter, patience=patience, **told)
    return found.joined(again)


@dataclass
class Reached:
    """The best of both bounds that a run has seen, and the history of its steps."""

    problem: Problem
    best: Step | None = None
    upper: float = np.inf
    lower: float = -np.inf
    gap: float = np.inf
    #: What rounding may hide between the bounds.
    slack: float = 0.0
    #: The gap after the last step that was worth it, and how many steps there were since.
    last: float = np.inf
    since: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def take(self, step: Step, run: Run) -> None:
        """Take note of a step."""
        if self.best is None or step.upper < self.upper:
            self.best, self.upper = step, step.upper
        self.lower, self.slack = max(self.lower, step.lower), max(self.slack, step.rounding)
        if self.problem.convex and not self.problem.gram.held.single:
            check_bounds(self.upper, self.lower, self.slack, self.problem)
        self.gap = relative_gap(self.upper, self.lower)
        better = self.gap < (HARD_GAIN if run.hard else 1.0) * self.last
        self.last, self.since = (self.gap, 0) if better else (self.last, self.since + 1)
        self.history.append(
            {
                "iteration": len(self.history) + 1,
                "upper": self.upper,
                "lower": self.lower,
                "gap": self.gap,
                "seconds": time.monotonic() - self.started,
                "n_solves": run.n_solves,
                "weights": step.weights,
            }
        )


def check_bounds(upper: float, lower: float, slack: float, problem: Problem) -> None:
    """Raise an error where the lower bound is above the upper one by more than rounding explains."""
    if lower <= upper + slack:
        return
    raise InternalError(
        f"The lower bound of the optimum, {lower:.9g}, is above the objective that was reached, {upper:.9g}: one of "
        "them is wrong, so no model is returned. Either a kernel is not positive semi-definite "
        f"({_term_names(problem.gram.terms)}), or the functions of a loss of your own do not fit each other "
        f"({problem.machines[0].loss!r}), or this is a fault of kernelweave: then please report it, with the call."
    )


def _term_names(terms: Sequence[Kernel]) -> str:
    return ", ".join(map(repr, terms[:3])) + (", ..." if len(terms) > 3 else "")


def _why_stop(run: Run, reached: Reached, n_iter: int, max_iter: int, patience: int) -> str:
    if reached.gap <= run.problem.tol:
        return "converged"
    if run.interrupted:
        return "interrupted"
    if clock.now() > run.problem.deadline:
        return "max_seconds"
    if n_iter >= max_iter:
        return "max_iter"
    # where machines are lost in rounding, so are the weights: what a few steps do not find, many will not
    return "stalled" if run.stalled or reached.since >= (patience // 5 if run.hard else patience) else ""


#: What a solver's file works with.
__all__ = ["Problem", "Result", "Run", "Solver", "Step", "Steps", "check_bounds", "run", "with_lower"]
