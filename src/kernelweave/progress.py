"""FitProgress as callbacks: the library itself never prints."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Callback = Callable[[dict[str, Any]], Any]

#: Seconds between two calls from inside a long solve.
EVERY = 0.3
#: Seconds between two lines that `printer` writes from inside a long solve.
LINE_EVERY = 5.0


class FitProgress:
    """Tells callbacks how a run stands: after every iteration, and a few times a second in between.

    Callbacks get a dict:

    - ``iteration``: how many are done, or, from inside one, its number;
    - ``inside``: True between two iterations, where the dual solver is at work;
    - ``upper``, ``lower``, ``gap``: the best bounds so far, and their relative distance; infinite until known;
    - ``active``: how many samples the dual solver works on, None where it works on all or does not say;
    - ``support``: how many samples have a coefficient;
    - ``seconds``: since the fit began; ``seconds_left``: until `tol`, if the logarithm of the gap goes on falling as
      it did; None where that is not known;
    - ``problem``, ``n_problems``: which of several problems this is, from 0;
    - ``phase``: "solving"; or "compiling", where a function has to be compiled first: ``what`` names it, else it is
      None. That is done once per machine, and its time does not count.

    After an iteration there are ``weights`` and ``n_solves`` too, as in `history_`.

    Parameters
    ----------
    callbacks : sequence of callables
    tol : float
        The gap that the run aims at.
    n_problems : int
    began : float, optional
        When the fit began, on the clock of `time.monotonic`; now by default.
    """

    def __init__(
        self, callbacks: Sequence[Callback], tol: float, n_problems: int = 1, began: float | None = None
    ) -> None:
        self.callbacks, self.tol, self.n_problems = tuple(callbacks), tol, n_problems
        self._began = time.monotonic() if began is None else began
        self._told = -math.inf
        self.begin(0, 1, False)

    def begin(self, problem: int, n_machines: int, fixed: bool) -> None:
        """Start a problem of some machines; at fixed weights, the bounds of its machines are its own."""
        self.problem, self.n_machines, self.fixed = problem, n_machines, fixed
        self._iteration, self._upper, self._lower = 0, math.inf, -math.inf
        self._at: np.ndarray | None = None
        self._states: dict[int, Any] = {}
        self._trend: deque[tuple[float, float]] = deque(maxlen=30)

    def inside(self, machine: int, state: Any, weights: np.ndarray) -> None:
        """Take a step of the dual solver."""
        if self._at is None or not np.array_equal(self._at, weights):
            self._at, self._states = weights, {}
        self._states[machine] = state
        now = time.monotonic()
        if not self.callbacks or now - self._told < EVERY:
            return
        upper, lower = self._upper, self._lower
        if len(self._states) == self.n_machines:
            upper = min(upper, sum(s.upper for s in self._states.values()))
            if self.fixed:
                lower = max(lower, sum(s.lower for s in self._states.values()))
        entry = {"iteration": self._iteration + 1, "upper": upper, "lower": lower, "gap": relative_gap(upper, lower)}
        self._tell(entry | {"inside": True}, now)

    def step(self, entry: dict[str, Any], states: Sequence[Any]) -> None:
        """Take an iteration, as an entry of the history, with the states of the machines."""
        self._iteration, self._upper, self._lower = entry["iteration"], entry["upper"], entry["lower"]
        self._states = dict(enumerate(states))
        if self.callbacks:
            self._tell(entry | {"inside": False}, time.monotonic())

    def _tell(self, entry: dict[str, Any], now: float) -> None:
        self._told, seconds = now, now - self._began
        if 0 < entry["gap"] < math.inf:
            self._trend.append((seconds, math.log(entry["gap"])))
        states = self._states.values()
        active = [s.active for s in states if s.active is not None]
        entry |= {
            "active": max(active) if active else None,
            "support": int(np.any([s.coef != 0 for s in states], axis=0).sum()) if states else 0,
            "seconds": seconds,
            "seconds_left": seconds_left(self._trend, self.tol),
            "problem": self.problem,
            "n_problems": self.n_problems,
            "phase": "solving",
            "what": None,
        }
        for callback in self.callbacks:
            callback(dict(entry))


def compiling(seconds: float, what: str) -> dict[str, Any]:
    """Return what callbacks are told where a function has to be compiled, once per machine."""
    known = {"iteration": 0, "inside": True, "upper": math.inf, "lower": -math.inf, "gap": math.inf, "active": None}
    return known | {"support": 0, "seconds": seconds, "seconds_left": None, "problem": 0, "n_problems": 1,
                    "phase": "compiling", "what": what}  # fmt: skip


def seconds_left(trend: Sequence[tuple[float, float]], tol: float) -> float | None:
    """Return when log gap reaches log tol on the line through the last (seconds, log gap); None where it does not."""
    if len(trend) < 3:
        return None
    t, g = np.array(trend).T
    if g[-1] <= math.log(tol):
        return 0.0
    spread = float(((t - t.mean()) ** 2).sum())
    slope = float(((t - t.mean()) * (g - g.mean())).sum()) / spread if spread > 0 else 0.0
    return (math.log(tol) - float(g[-1])) / slope if slope < 0 else None


def relative_gap(upper: float, lower: float, unit: float = 0.0) -> float:
    """Return (upper − lower) / max(|upper|, unit), and 0 where both are 0; infinite until both are known.

    `unit` is what is as good as zero beside the numbers that an objective is summed up from (`Problem.unit`).
    """
    if not (math.isfinite(upper) and math.isfinite(lower)):
        return math.inf
    return max(0.0, upper - lower) / max(abs(upper), unit, 1e-300)


def printer(verbose: int) -> Callback | None:
    """Return a callback that writes one line per iteration to standard error, or None for verbose=0.

    From inside a long iteration, it writes a line every few seconds.
    """
    if not verbose:
        return None
    last: float | None = None

    def write(entry: dict[str, Any]) -> None:
        nonlocal last
        if entry.get("phase") == "compiling":
            print(f"compiling {entry['what']}, once per machine", file=sys.stderr)
            return
        if entry["inside"] and entry["seconds"] - (last or 0.0) < LINE_EVERY:
            return
        if last is None:
            print(f"{'iteration':>9} {'upper':>14} {'lower':>14} {'gap':>9} {'seconds':>8}", file=sys.stderr)
        last = entry["seconds"]
        print(
            f"{entry['iteration']:>9} {entry['upper']:>14.7g} {entry['lower']:>14.7g} {entry['gap']:>9.2e} "
            f"{entry['seconds']:>8.2f}",
            file=sys.stderr,
        )

    return write


def round_printer(verbose: int) -> Callable[[Any], None] | None:
    """Return what keeps one line on a terminal about the round that runs, or None: for verbose=0, and for files.

    The line is gone when the round is over, so that nothing is left of it between two iterations.
    """
    if not verbose or not sys.stderr.isatty():
        return None
    told = -math.inf

    def write(state: Any) -> None:
        nonlocal told
        now, over = time.monotonic(), state.done == state.parts
        if over or now - told >= EVERY:
            told = now
            print(f"\r\x1b[2K{'' if over else state}", end="", file=sys.stderr, flush=True)

    return write
