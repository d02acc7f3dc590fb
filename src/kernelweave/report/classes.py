"""More than two classes: who is taken for whom, and every class against the others."""

from __future__ import annotations

import numpy as np

from ..explain.curves import Curves, curves_of
from . import measures
from .context import Context, missing
from .markup import Html, cell, clipped, number, number_cell, table, tag
from .samples import Samples, class_names
from .svg import figure
from .threshold import roc_plot

#: Colours, and kinds of lines, by which classes are told apart in a plot.
COLOURS, STROKES = 8, 3
#: Letters of a class in the picture of who is taken for whom.
LABEL = 13


def multiclass(context: Context) -> list[Html]:
    """Return the accuracy, the confusion of the judged samples, and curves of every class."""
    labelled = [samples for samples in context.sets if samples.y is not None]
    if not labelled:
        return [missing("No targets came with the samples, so errors cannot be counted: pass y or y_test.")]
    names, judged = class_names(context.model), labelled[-1]
    rows = [[cell(s.label), number_cell(len(s)), number_cell(accuracy(s), 4)] for s in labelled]
    scores = table([("samples", False), ("number", True), ("accuracy", True)], rows, label="scores")
    found = [curves_of(np.asarray(judged.y) == c, judged.decision[:, c]) for c in range(len(names))]
    plots = tag("div", _confusion_plot(judged, names), *_roc(judged, names, found), class_="grid")
    return [scores, plots, _classes_table(judged, names, found)]


def _roc(judged: Samples, names: list[str], found: list[Curves]) -> list[Html]:
    """Return a curve for every class that there are samples of; the most common ones have a look of their own."""
    order = np.argsort([-curves.n_positive for curves in found], kind="stable").tolist()
    drawn = sorted(c for c in order if found[c].n_positive and found[c].n_negative)
    if not drawn:
        return []
    looks = {c: f"c{i % COLOURS} stroke{i // COLOURS}" for i, c in enumerate(order[: COLOURS * STROKES])}
    lines = [(names[c], looks.get(c, "other"), found[c]) for c in drawn]
    notes = []
    grey = sum(c not in looks for c in drawn)
    if grey:
        notes.append(f"{grey} rarer classes are grey lines; point at one to see which it is.")
    absent = [names[c] for c in range(len(names)) if c not in drawn]
    if absent:
        shown = ", ".join(absent[:10]) + (f" and {len(absent) - 10} more" if len(absent) > 10 else "")
        notes.append(f"Without a curve, because there are no samples: {shown}.")
    return [roc_plot(lines, f"ROC curve of every class, {judged.label} samples", " ".join(notes) or None)]


def accuracy(samples: Samples) -> float:
    """Return the share of samples whose class is found."""
    return float(np.mean(samples.decision.argmax(axis=1) == samples.y))


def _confusion_plot(samples: Samples, names: list[str]) -> Html:
    """Return squares, one row per true class, one column per predicted class; darker is more often."""
    assert samples.y is not None
    n = len(names)
    count = measures.confusion(samples.y, samples.decision.argmax(axis=1), n)
    size, top, longest = max(14, min(44, 330 // n)), 22, max(len(clipped(name, LABEL)) for name in names)
    left = 16 + round(7.5 * longest)
    marks = [tag("text", "is", x=left - 6, y=top - 8, class_="ty"), tag("text", "called", x=left, y=top - 8)]
    for i in range(n):
        marks.append(tag("text", clipped(names[i], LABEL), x=left - 6, y=top + (i + 0.5) * size + 4, class_="ty"))
        at = f"translate({left + (i + 0.5) * size + 4:.1f} {top + n * size + 6}) rotate(-60)"
        marks.append(tag("text", clipped(names[i], LABEL), transform=at, class_="ty"))
        for j in range(n):
            marks += _square(count, names, i, j, (left + j * size, top + i * size, size))
    width, height = left + n * size + 8, top + n * size + 16 + round(6.5 * longest)
    drawn = tag("svg", *marks, viewBox=f"0 0 {width} {height}", width=width, class_="plot confused", role="img",
                aria_label="confusion of the classes")  # fmt: skip
    return figure(f"Confusion, {samples.label} samples", drawn)


def _square(count: np.ndarray, names: list[str], i: int, j: int, place: tuple[float, float, float]) -> list[Html]:
    x, y, size = place
    share = count[i, j] / max(int(count[i].sum()), 1)
    tip = f"is {names[i]}, called {names[j]}\n{number(count[i, j])} samples, {100 * share:.1f} % of the class"
    box = {"x": x, "y": y, "width": size - 1, "height": size - 1, "fill_opacity": max(0.03, float(np.sqrt(share)))}
    found = [tag("rect", **box, class_=f"bar {'c0' if i == j else 'c1'}", data_tip=tip)]
    if size >= 24 and count[i, j]:
        strong = " strong" if share > 0.35 else ""
        found.append(tag("text", number(count[i, j]), x=x + size / 2, y=y + size / 2 + 4, class_=f"tx within{strong}"))
    return found


def _classes_table(samples: Samples, names: list[str], found: list[Curves]) -> Html:
    assert samples.y is not None
    count = measures.confusion(samples.y, samples.decision.argmax(axis=1), len(names))
    rows = []
    for c, name in enumerate(names):
        called, there = int(count[:, c].sum()), int(count[c].sum())
        precision = count[c, c] / called if called else float("nan")
        recall = count[c, c] / there if there else float("nan")
        figures = (precision, recall, found[c].roc_area, found[c].average_precision)
        rows.append([cell(tag("bdi", name)), number_cell(there), *(number_cell(value) for value in figures)])
    head = [("class", False), ("samples", True), ("precision", True), ("recall", True), ("area under ROC", True)]
    return table([*head, ("average precision", True)], rows, fold=24, label=f"classes, {samples.label} samples")
