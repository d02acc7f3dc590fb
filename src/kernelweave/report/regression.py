"""Regression: predicted against true numbers, and what is left over."""

from __future__ import annotations

import numpy as np

from . import measures
from .context import Context, missing
from .markup import Html, cell, number, number_cell, table, tag
from .samples import Samples
from .svg import Axis, Plot, histogram, thinned

#: Points of a scatter plot, and bars of a histogram.
DOTS, BINS = 400, 30


def regression(context: Context) -> list[Html]:
    """Return errors, predicted against true, and residuals."""
    labelled = [samples for samples in context.sets if samples.y is not None]
    if not labelled:
        return [missing("No targets came with the samples, so errors cannot be measured: pass y or y_test.")]
    found = [(samples, measures.errors(_y(samples), samples.decision)) for samples in labelled]
    rows = [[cell(s.label), number_cell(len(s)), *(number_cell(v, 4) for v in e.values())] for s, e in found]
    head = [("samples", False), ("number", True), *((name, True) for name in found[0][1])]
    grid = tag("div", _scatter(labelled), _residuals(labelled), _histogram(labelled), class_="grid")
    shown = [table(head, rows, label="errors"), grid]
    if any(len(samples) > DOTS for samples in labelled):
        said = (
            f"The plots of points show {DOTS} samples of each set, evenly picked from the order of their true values."
        )
        shown.append(tag("p", said, class_="note"))
    return shown


def _y(samples: Samples) -> np.ndarray:
    assert samples.y is not None
    return samples.y


def _picked(samples: Samples) -> np.ndarray:
    """Return the samples to draw: all, or some that are even in the order of y, so that both ends are there."""
    return np.argsort(_y(samples), kind="stable")[thinned(len(samples), DOTS)]


def _scatter(labelled: list[Samples]) -> Html:
    both = np.concatenate([part for samples in labelled for part in (_y(samples), samples.decision)])
    x, y = Axis.around(both, "true value, in units of y"), Axis.around(both, "predicted value, in units of y")
    plot = Plot(x, y, "Predicted against true")
    plot.rule((x.low, x.high), (x.low, x.high))
    for samples in labelled:
        _dots(plot, samples, _y(samples), samples.decision, "{0}\ntrue {1}\npredicted {2}")
    return plot.html()


def _dots(plot: Plot, samples: Samples, x: np.ndarray, y: np.ndarray, tip: str) -> None:
    """Draw some of the samples, which tell their names and both numbers."""
    at = _picked(samples)
    values = [[samples.name(i), number(x[i], 4), number(y[i], 4)] for i in at]
    plot.dots(x[at], y[at], samples.series, tip=tip, values=values, name=samples.label)


def _residuals(labelled: list[Samples]) -> Html:
    x = Axis.around(np.concatenate([samples.decision for samples in labelled]), "predicted value, in units of y")
    off = np.concatenate([_y(samples) - samples.decision for samples in labelled])
    plot = Plot(x, Axis.around(np.append(off, 0.0), "true − predicted, in units of y"), "Residuals")
    plot.rule((x.low, x.high), (0.0, 0.0))
    for samples in labelled:
        left = _y(samples) - samples.decision
        _dots(plot, samples, samples.decision, left, "{0}\npredicted {1}\nresidual {2}")
    return plot.html()


def _histogram(labelled: list[Samples]) -> Html:
    off = [_y(samples) - samples.decision for samples in labelled]
    x = Axis.around(np.concatenate(off), "true − predicted, in units of y")
    groups = [(samples.label, samples.series, values) for samples, values in zip(labelled, off, strict=True)]
    edges, labels = np.linspace(x.low, x.high, BINS + 1), (x.label, "share of the samples, %")
    return histogram(edges, groups, labels, "residual", "Distribution of the residuals").html()
