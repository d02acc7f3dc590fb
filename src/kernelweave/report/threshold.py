"""Two classes: curves, decision values, and the counts at a threshold that can be moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..explain.curves import Curves, curves_of
from . import measures
from .context import Context, missing
from .markup import Html, cell, decimals, number, number_cell, percent, table, tag
from .samples import Samples, class_names, positives
from .svg import Axis, Plot, histogram

#: Bars of a histogram.
BINS = 40
#: Shares that a precision or a recall may be wanted to reach.
WANTED = (0.5, 0.8, 0.9, 0.95, 0.99)


def binary(context: Context) -> list[Html]:
    """Return curves, a histogram and counts, with one threshold for all of them."""
    labelled = [samples for samples in context.sets if samples.y is not None]
    thresholds, zero = measures.cuts([samples.decision for samples in context.sets])
    if not labelled:
        said = "No targets came with the samples, so there are neither curves nor counts: pass y or y_test."
        return [missing(said), tag("div", _histogram(context, thresholds), class_="grid")]
    found = [(samples, curves_of(_positive(samples), samples.decision)) for samples in labelled]
    roc = roc_plot([(samples.label, samples.series, curves) for samples, curves in found], "ROC curve")
    grid = tag("div", roc, _pr_plot(found), _histogram(context, thresholds), class_="grid")
    return [_scores(found), _panel(context, labelled, thresholds, zero, grid), _wanted(*found[-1])]


def _positive(samples: Samples) -> np.ndarray:
    found = positives(samples)
    assert found is not None
    return found


def _scores(found: list[tuple[Samples, Curves]]) -> Html:
    rows = []
    for samples, curves in found:
        right = float(np.mean((samples.decision > 0) == _positive(samples)))
        figures = (curves.roc_area, curves.average_precision, right)
        sizes = (number_cell(len(samples)), number_cell(curves.n_positive))
        rows.append([cell(samples.label), *sizes, *(cell(decimals(v, 4), repr(v), numeric=True) for v in figures)])
    head = [("samples", False), ("number", True), ("positive", True), ("area under ROC", True)]
    return table([*head, ("average precision", True), ("accuracy", True)], rows, label="scores")


def _wanted(samples: Samples, curves: Curves) -> Html:
    """Return the thresholds that reach a precision with the most recall, and a recall with the most precision."""
    rows, pair = [], (curves.precision, curves.recall)
    for name, (reached, other) in {"precision": pair, "recall": pair[::-1]}.items():
        for share in WANTED:
            best = measures.reaching(share, np.where(curves.tp > 0, reached, 0.0), other)
            found = [np.nan] * 3 if best is None else [curves.thresholds[best], pair[0][best], pair[1][best]]
            shown = ["–" if best is None else number(found[0], 4), *(percent(value) for value in found[1:])]
            cells = (cell(text, repr(float(v)), numeric=True) for text, v in zip(shown, found, strict=True))
            rows.append([cell(f"{name} of {percent(share, 0)}"), *cells])
    head = [(f"wanted, {samples.label} samples", False), ("threshold", True), ("precision", True), ("recall", True)]
    said = (
        "Samples with a decision value above the threshold are called positive. On other samples precision and recall "
        "will differ a little; a dash stands where no threshold gets there."
    )
    shown_table = table(head, rows, label="thresholds")
    return tag("div", tag("h3", "Thresholds for what is wanted"), shown_table, tag("p", said, class_="note"))


# -- plots -------------------------------------------------------------------------------------------------------------


def roc_plot(curves: list[tuple[str, str, Curves]], title: str, note: str | None = None) -> Html:
    """Return ROC curves; those of the series "other" are drawn, but not named."""
    plot = Plot(Axis(-0.02, 1.02, "false positive rate"), Axis(-0.02, 1.02, "true positive rate"), title)
    plot.rule((0.0, 1.0), (0.0, 1.0))
    for name, series, found in curves:
        x, y = found.fall_out, found.recall
        keep = measures.few_points(x, y)
        values = [[f"{x[i]:.3f}", f"{y[i]:.3f}", number(found.thresholds[i])] for i in keep]
        tip = "false positive rate {0}\ntrue positive rate {1}\nthreshold {2}"
        shown = f"{name}: {decimals(found.roc_area)}" if series != "other" else ""
        plot.line(x[keep], y[keep], series, tip=tip, values=values, name=shown, lead=name)
    return plot.html(note, class_="roc")


def _pr_plot(found: list[tuple[Samples, Curves]]) -> Html:
    plot = Plot(Axis(-0.02, 1.02, "recall"), Axis(-0.02, 1.02, "precision"), "Precision and recall")
    for samples, curves in found:
        x, y = curves.recall, curves.precision
        keep = measures.few_points(x, y)
        values = [[f"{x[i]:.3f}", f"{y[i]:.3f}", number(curves.thresholds[i])] for i in keep]
        tip = "recall {0}\nprecision {1}\nthreshold {2}"
        name = f"{samples.label}: {decimals(curves.average_precision)}"
        plot.line(x[keep], y[keep], samples.series, tip=tip, values=values, name=name, lead=samples.label)
    return plot.html(class_="pr")


def _histogram(context: Context, thresholds: np.ndarray) -> Html:
    """Return the decision values of the judged samples, one colour per class, each class adding up to 100 %."""
    judged, names = context.judged, class_names(context.model)
    assert judged is not None
    edges = np.linspace(thresholds[0], thresholds[-1], BINS + 1)
    groups = [("samples", "c0", judged.decision)]
    if judged.y is not None:
        positive = _positive(judged)
        groups = [(names[0], "neg", judged.decision[~positive]), (names[1], "pos", judged.decision[positive])]
    labels, title = ("decision value", "share of the class, %"), f"Decision values, {judged.label} samples"
    return histogram(edges, groups, labels, "decision value", title).html(class_="histogram")


# -- the threshold -----------------------------------------------------------------------------------------------------


def _panel(context: Context, labelled: list[Samples], thresholds: np.ndarray, zero: int, grid: Html) -> Html:
    """Return the slider with what it moves: counts, figures, and marks in the plots."""
    tables = [measures.counts(_positive(samples), samples.decision, thresholds) for samples in labelled]
    best, judged = measures.best_f1(tables[-1]), labelled[-1]
    slider = tag("input", type="range", min=0, max=len(thresholds) - 1, value=zero, aria_label="threshold")
    buttons = [
        tag("button", "as predict, 0", type="button", data_to=zero),
        tag("button", f"best F1, {judged.label}", type="button", data_to=best),
    ]
    control = tag("div", slider, *buttons, class_="control")
    names = class_names(context.model)
    said = tag(
        "p", "A sample with a decision value above ", tag("output", "0"), f" is called {names[1]}.", class_="said"
    )
    shown = [
        _confusion(i, samples, names, count[zero])
        for i, (samples, count) in enumerate(zip(labelled, tables, strict=True))
    ]
    data = {
        "thresholds": thresholds.tolist(),
        "sets": [{"series": s.series, "counts": t.tolist()} for s, t in zip(labelled, tables, strict=True)],
    }
    return tag("div", said, control, tag("div", *shown, class_="grid"), grid, class_="cutting", data_cuts=data)


def _confusion(which: int, samples: Samples, names: list[str], count: np.ndarray) -> Html:
    """Return the four counts, and what is made of them; the script fills them in anew when the threshold moves."""
    tp, fp, fn, tn = (int(c) for c in count)
    head = tag("tr", tag("td", samples.label), *(tag("th", "called ", tag("bdi", n), scope="col") for n in names[::-1]))
    rows = [
        tag("tr", tag("th", "is ", tag("bdi", names[1]), scope="row"), _count(tp, 0, "right"), _count(fn, 2, "wrong")),
        tag("tr", tag("th", "is ", tag("bdi", names[0]), scope="row"), _count(fp, 1, "wrong"), _count(tn, 3, "right")),
    ]
    figures = [
        tag("div", tag("dt", name), tag("dd", percent(value, 2), data_figure=name))
        for name, value in rates(tp, fp, fn, tn).items()
    ]
    shown = tag("table", tag("tbody", head, *rows), class_="confusion", aria_label=f"confusion, {samples.label}")
    return tag("div", shown, tag("dl", *figures, class_="rates"), class_="counts", data_set=which)


def _count(value: int, place: int, kind: str) -> Html:
    return tag("td", number(value), class_=kind, data_count=place)


def rates(tp: int, fp: int, fn: int, tn: int) -> dict[str, float]:
    """Return what is made of the four counts; NaN where it is 0 / 0."""

    def share(part: float, whole: float) -> float:
        return part / whole if whole else float("nan")

    found: dict[str, Any] = {
        "accuracy": share(tp + tn, tp + fp + fn + tn),
        "precision": share(tp, tp + fp),
        "recall": share(tp, tp + fn),
        "specificity": share(tn, tn + fp),
        "F1": share(2 * tp, 2 * tp + fp + fn),
    }
    return found
