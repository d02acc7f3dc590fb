"""`ConvergenceDisplay`: how a solver closed in on the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...estimators.fitted import steps_of
from ..convergence import Trajectory, bounds_range, trajectories
from .base import COLOURS, QUIET, STYLES, Display, bare, whole_numbers

AXES = {"iteration": "step of the solver", "seconds": "time (seconds)"}
WHATS = ("gap", "bounds")
#: Up to so many steps are marked one by one.
MARKED = 60


class ConvergenceDisplay(Display):
    """The relative gap on a logarithmic axis, or the two bounds that it lies between.

    Parameters
    ----------
    history : list of dict
        Entries with "iteration", "seconds", "upper", "lower" and "gap", as in `history_`; "problem" tells machines
        apart that were solved one after the other.
    tol : float, optional
        The gap at which the solver was to stop.
    label : str, optional
        What the curve is called.

    Attributes
    ----------
    ax_, figure_ : what was drawn on
    lines_ : list of lines
    """

    def __init__(
        self, history: Sequence[dict[str, Any]], *, tol: float | None = None, label: str | None = None
    ) -> None:
        if not history:
            raise InputError("The history is empty: there is no step to draw. Fit the model first.")
        self.history = list(history)
        self.tol = tol
        self.label = label

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Any = None, label: str | None = None, **options: Any
    ) -> ConvergenceDisplay:
        """Draw the history of a fitted model; `options` are those of `plot`."""
        machine = steps_of(model)[-1]
        if not getattr(machine, "history_", None):
            raise InputError(
                "This model has no history_; a model from a file does not keep it. Fit it again to see one."
            )
        return cls(machine.history_, tol=machine.tol, label=label or machine.solver_).plot(ax, **options)

    @classmethod
    def from_history(
        cls, history: Sequence[dict[str, Any]], *, ax: Any = None, label: str | None = None, **options: Any
    ) -> ConvergenceDisplay:
        """Draw a history from wherever it comes; `options` are those of `plot`."""
        return cls(history, label=label).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, what: str = "gap", over: str = "iteration", color: str | None = None
    ) -> ConvergenceDisplay:
        """Draw the way to the optimum.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Curves of several models may share one.
        what : {"gap", "bounds"}
        over : {"iteration", "seconds"}
        color : colour of the curve of the gap
        """
        for name, value, known in (("what", what, WHATS), ("over", over, tuple(AXES))):
            if value not in known:
                raise InputError(f"{name} must be one of {known}; got {value!r}.")
        ax = self._start(ax, (6.5, 4.0))
        self.lines_: list[Any] = []
        ways = trajectories(self.history)
        for way in ways:
            label = self.label if len(ways) == 1 else f"{self.label or 'machine'} {way.problem}"
            x = way.iteration if over == "iteration" else way.seconds
            if what == "gap":
                self._gap(ax, x, way.gap, label, color)
            else:
                self._bounds(ax, x, way, label, len(ways) > 1)
        if what == "gap":
            self._gap_axis(ax)
        else:
            self._bounds_axis(ax, ways)
        ax.set_xlabel(AXES[over])
        if over == "iteration":
            whole_numbers(ax.xaxis)
        bare(ax)
        return self

    def _gap(self, ax: Any, x: np.ndarray, gap: np.ndarray, label: str | None, color: str | None) -> None:
        number = sum(1 for line in ax.get_lines() if line.get_gid() == "gap")
        self.lines_ += ax.plot(
            x,
            gap,
            color=color or COLOURS[number % len(COLOURS)],
            linestyle=STYLES[number % len(STYLES)],
            marker="." if len(x) <= MARKED else None,
            label=label,
            gid="gap",
        )

    def _gap_axis(self, ax: Any) -> None:
        ax.set_yscale("log")
        ax.set_ylabel("relative duality gap (no unit)")
        if self.tol is not None and not any(line.get_gid() == f"tol {self.tol}" for line in ax.get_lines()):
            ax.axhline(self.tol, color=QUIET, linestyle=":", label=f"tol = {self.tol:g}", gid=f"tol {self.tol}")
        named = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
        if named:
            ax.legend(handles=sorted(named, key=lambda line: line.get_gid() != "gap"), frameon=False)

    def _bounds(self, ax: Any, x: np.ndarray, way: Trajectory, label: str | None, several: bool) -> None:
        upper, lower, name = way.upper, way.lower, "" if label is None else f"{label}: "
        above, below = (COLOURS[way.problem % len(COLOURS)],) * 2 if several else (COLOURS[1], COLOURS[0])
        marker = "." if len(x) <= MARKED else None
        self.lines_ += ax.plot(x, upper, color=above, marker=marker, label=f"{name}reached so far (upper bound)")
        self.lines_ += ax.plot(
            x, lower, color=below, linestyle="--", marker=marker, label=f"{name}cannot be undercut (lower bound)"
        )
        ax.fill_between(x, lower, upper, color=QUIET, alpha=0.3, linewidth=0)

    def _bounds_axis(self, ax: Any, ways: list[Trajectory]) -> None:
        ax.set_ylabel("objective (C · Σ loss + ½‖w‖², no unit)")
        ax.legend(frameon=False, fontsize="small")
        shown = bounds_range(ways)
        if shown is not None:
            ax.set_ylim(*shown)
