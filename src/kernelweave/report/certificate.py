"""How near to the optimum the fit stopped, and how it got there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..explain.convergence import Trajectory, bounds_range, trajectories
from .context import Context, Section, section
from .markup import Html, facts, number, tag
from .samples import class_names
from .svg import Axis, Plot, thinned

#: Steps of the history that are drawn.
STEPS = 200


def certificate_section(context: Context) -> Section:
    """Return how near to the optimum the fit stopped, and how it got there."""
    model = context.model
    ways = trajectories(model.history_)
    seconds = float(sum(way.seconds[-1] for way in ways)) if ways else None
    shown = facts(
        [
            ("objective reached", number(model.objective_, 6)),
            ("lower bound", number(model.lower_bound_, 6)),
            ("relative gap", f"{number(model.gap_)} (asked for {number(model.tol)})"),
            ("stopped because", _REASONS.get(model.stop_reason_, model.stop_reason_)),
            ("solver", tag("code", model.solver_)),
            ("steps", f"{number(model.n_iter_)}, with {number(model.n_solves_)} solved machines"),
            ("time of the steps", None if seconds is None else f"{number(seconds)} s"),
        ]
    )
    said = (
        "The objective is what the found machine and weights reach, C · Σ loss + ½ ‖w‖². No machine and no weights can "
        "be below the lower bound. The gap is their relative distance: a proof, not a guess."
    )
    if _staged(model):
        said += " The weights were chosen in a first stage; the proof is for the machine at these weights."
    bounds = _bounds_plot(ways[0]) if len(ways) == 1 and len(ways[0]) > 1 else None
    gaps = _gap_plot(ways, model) if ways and max(map(len, ways)) > 1 else None
    path = _path_plot(model) if len(getattr(model, "cv_results_", {}).get("C", ())) > 1 else None
    grid = tag("div", bounds, gaps, path, class_="grid") if gaps or path else None
    return section("certificate", "Certificate and convergence", tag("p", said), shown, grid)


def _staged(model: Any) -> bool:
    """Whether the weights were chosen before the machine."""
    found = getattr(model, "alignment_", None)
    return any(one is not None for one in (found if isinstance(found, list) else [found]))


_REASONS = {
    "converged": "the gap met the tolerance",
    "max_iter": "it had made all its steps (max_iter)",
    "max_seconds": "its time was up (max_seconds)",
    "stalled": "further steps brought nothing",
    "interrupted": "it was interrupted",
}


def _bounds_plot(way: Trajectory) -> Html:
    low, high = bounds_range([way]) or (0.0, 1.0)
    x = Axis.around(way.iteration, "step of the solver", whole=True)
    plot = Plot(x, Axis(low, high, "objective"), "Bounds on the optimum")
    for name, bound, series in (("upper bound", way.upper, "c0"), ("lower bound", way.lower, "c1")):
        at = _drawn(bound)
        values = [[int(way.iteration[i]), number(bound[i], 6)] for i in at]
        if len(at) > 1:
            tip = f"step {{0}}\n{name} {{1}}"
            plot.line(way.iteration[at], bound[at], series, tip=tip, values=values, name=name)
    return plot.html()


def _gap_plot(ways: list[Trajectory], model: Any) -> Html:
    several, tol = len(ways) > 1, float(model.tol)
    y = Axis.around(np.concatenate([*(way.gap for way in ways), [tol]]), "relative gap", log=True)
    x = Axis.around(np.concatenate([way.iteration for way in ways]), "step of the solver", whole=True)
    plot = Plot(x, y, "Relative gap" + (" of every class" if several else ""))
    plot.rule((x.low, x.high), (tol, tol), name="asked for")
    for c, way in enumerate(ways):
        at = _drawn(way.gap)
        values = [[int(way.iteration[i]), number(way.gap[i]), number(way.seconds[i])] for i in at]
        tip, name = "step {0}\ngap {1}\nafter {2} s", "" if several else "reached"
        lead = class_names(model)[c] if several else None
        plot.line(way.iteration[at], way.gap[at], f"c{c % 8}", tip=tip, values=values, name=name, lead=lead)
    return plot.html()


def _path_plot(model: Any) -> Html:
    """Return the scores of samples left out by folds over C, with the deviation of the folds on either side."""
    C, mean, spread = (model.cv_results_[name] for name in ("C", "mean_test_score", "std_test_score"))
    y = Axis.around(np.concatenate([mean - spread, mean + spread]), "score of samples left out")
    plot = Plot(Axis.around(C, "C, the cost of errors", log=True), y, "Scores over C, by folds")
    plot.rule((model.C_, model.C_), (y.low, y.high), name=f"taken: C = {number(model.C_)}")
    for name, values, series in (("mean", mean, "c0"), ("mean − deviation", mean - spread, "other")):
        shown = [[number(c), number(value, 4)] for c, value in zip(C, values, strict=True)]
        plot.line(C, values, series, tip=f"C {{0}}\n{name} {{1}}", values=shown, name=name)
    return plot.html()


def _drawn(values: np.ndarray) -> np.ndarray:
    """Return the steps to draw: a few hundred at most of those that have a value."""
    steps = thinned(len(values), STEPS)
    return steps[np.isfinite(values[steps])]
