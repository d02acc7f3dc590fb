"""How near to the optimum the fit stopped, and how it got there."""

from __future__ import annotations

from typing import Any

import numpy as np

from .context import Context, Section, section
from .markup import Html, facts, number, tag
from .samples import class_names
from .svg import Axis, Plot, thinned

#: Steps of the history that are drawn.
STEPS = 200


def certificate_section(context: Context) -> Section:
    """Return how near to the optimum the fit stopped, and how it got there."""
    model = context.model
    seconds = _seconds(model.history_)
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
    plots = [plot for plot in (_bounds_plot(model), _gap_plot(model)) if plot is not None]
    grid = tag("div", *plots, class_="grid") if plots else None
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


def _seconds(history: list[dict[str, Any]]) -> float | None:
    last = {entry.get("problem", 0): entry["seconds"] for entry in history}
    return float(sum(last.values())) if last else None


def _problems(history: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the steps of every problem, a few hundred at most."""
    found: dict[int, list[dict[str, Any]]] = {}
    for entry in history:
        found.setdefault(entry.get("problem", 0), []).append(entry)
    return [[steps[i] for i in thinned(len(steps), STEPS)] for steps in found.values()]


def _bounds_plot(model: Any) -> Html | None:
    problems = _problems(model.history_)
    if len(problems) != 1 or len(problems[0]) < 2:
        return None
    steps = problems[0]
    x = np.array([entry["iteration"] for entry in steps])
    bounds = {name: np.array([entry[name] for entry in steps], dtype=np.float64) for name in ("upper", "lower")}
    shown = np.concatenate([bounds["upper"][np.isfinite(bounds["upper"])], bounds["lower"][-1:]])
    start = np.isfinite(bounds["lower"]) & (bounds["lower"] > shown.min() - 2 * np.ptp(shown))
    axis = Axis.around([*shown, *bounds["lower"][start]], "objective")
    plot = Plot(Axis.around(x, "step of the solver", whole=True), axis, "Bounds on the optimum")
    for name, series in (("upper", "c0"), ("lower", "c1")):
        keep = np.isfinite(bounds[name])
        values = [[int(i), number(v, 6)] for i, v in zip(x[keep], bounds[name][keep], strict=True)]
        if len(values) > 1:
            plot.line(x[keep], bounds[name][keep], series, tip=f"step {{0}}\n{name} bound {{1}}", values=values,
                      name=f"{name} bound")  # fmt: skip
    return plot.html()


def _gap_plot(model: Any) -> Html | None:
    problems = _problems(model.history_)
    gaps = [np.array([entry["gap"] for entry in steps], dtype=np.float64) for steps in problems]
    if not gaps or max(map(len, gaps)) < 2:
        return None
    xs = [np.array([entry["iteration"] for entry in steps]) for steps in problems]
    tol = float(model.tol)
    y = Axis.around(np.concatenate([*gaps, [tol]]), "relative gap", log=True)
    x = Axis.around(np.concatenate(xs), "step of the solver", whole=True)
    plot = Plot(x, y, "Relative gap" + (" of every class" if len(gaps) > 1 else ""))
    plot.rule((x.low, x.high), (tol, tol), name="asked for")
    several = len(gaps) > 1
    for c, (at, gap, steps) in enumerate(zip(xs, gaps, problems, strict=True)):
        keep = np.isfinite(gap) & (gap > 0)
        lead = class_names(model)[c] if several else None
        values = [
            [int(i), number(g), number(entry["seconds"])]
            for i, g, entry, k in zip(at, gap, steps, keep, strict=True)
            if k
        ]
        tip, name = "step {0}\ngap {1}\nafter {2} s", "" if several else "reached"
        plot.line(at[keep], gap[keep], f"c{c % 8}", tip=tip, values=values, name=name, lead=lead)
    return plot.html()
