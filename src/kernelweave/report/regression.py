"""Regression: predicted against true numbers, and what is left over."""

from __future__ import annotations

import numpy as np

from . import measures
from .context import Context, missing
from .markup import Html, cell, number, number_cell, table, tag
from .samples import Samples
from .svg import Axis, Plot, thinned

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
        at = _picked(samples)
        true, predicted = _y(samples)[at], samples.decision[at]
        values = [[samples.name(i), number(a, 4), number(b, 4)] for i, a, b in zip(at, true, predicted, strict=True)]
        tip = "{0}\ntrue {1}\npredicted {2}"
        plot.dots(true, predicted, samples.series, tip=tip, values=values, name=samples.label)
    return plot.html()


def _residuals(labelled: list[Samples]) -> Html:
    x = Axis.around(np.concatenate([samples.decision for samples in labelled]), "predicted value, in units of y")
    off = np.concatenate([_y(samples) - samples.decision for samples in labelled])
    plot = Plot(x, Axis.around(np.append(off, 0.0), "true − predicted, in units of y"), "Residuals")
    plot.rule((x.low, x.high), (0.0, 0.0))
    for samples in labelled:
        at = _picked(samples)
        left = (_y(samples) - samples.decision)[at]
        values = [
            [samples.name(i), number(a, 4), number(b, 3)]
            for i, a, b in zip(at, samples.decision[at], left, strict=True)
        ]
        tip = "{0}\npredicted {1}\nresidual {2}"
        plot.dots(samples.decision[at], left, samples.series, tip=tip, values=values, name=samples.label)
    return plot.html()


def _histogram(labelled: list[Samples]) -> Html:
    off = [_y(samples) - samples.decision for samples in labelled]
    x = Axis.around(np.concatenate(off), "true − predicted, in units of y")
    edges = np.linspace(x.low, x.high, BINS + 1)
    counted = [np.histogram(part, edges)[0] for part in off]
    heights = [100.0 * count / max(count.sum(), 1) for count in counted]
    y = Axis(0.0, 1.08 * max(float(height.max()) for height in heights), "share of the samples, %")
    plot = Plot(x, y, "Distribution of the residuals", zoom=False)
    for samples, count, height in zip(labelled, counted, heights, strict=True):
        tips = [
            f"{samples.label}: {number(c)} samples\nresidual {number(a)} to {number(b)}"
            for c, a, b in zip(count, edges[:-1], edges[1:], strict=True)
        ]
        plot.bars(edges, height, f"{samples.series} half", tips=tips, name=samples.label)
    return plot.html()
