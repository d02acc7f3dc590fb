"""What was learned: the expression, and the weight of every term."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..explain.terms import places_of, term_table
from .context import Context, Section, section
from .markup import Html, cell, clipped, number, number_cell, percent, table, tag
from .samples import class_names
from .svg import Axis, Plot, bar, figure, thinned

#: Terms whose names are listed at once; more are folded away behind a profile of all weights.
FEW_TERMS = 24
#: Summands of the expression that are printed at once, and most characters of the whole one.
FEW_SUMMANDS, EXPRESSION_SIZE = 8, 60_000
#: Samples from which the terms' shares are found.
SHARE_SAMPLES = 1000


def terms_section(context: Context) -> Section:
    """Return the learned expression and the weights of its terms."""
    model, weights = context.model, context.weights
    kept = int((weights > 0).any(axis=0).sum())
    said = f"{kept} of {len(model.term_names_)} terms have a weight above zero. A weight is that of the scaled term, "
    said += "so weights can be compared whatever the units of the data."
    if len(model.term_names_) == 1:
        said = "The kernel has one term, so there was nothing to weigh."
    parts = [tag("p", said), *_expressions(context)]
    if len(model.term_names_) > FEW_TERMS:
        parts.append(_places(context) or _profile(context))
    if len(weights) > 1:
        parts.append(_by_class(context))
    parts.append(_terms_table(context))
    if getattr(model, "widths_", None) is not None:
        parts.append(_widths_table(model))
    return section("terms", "What was learned", *parts)


def _expressions(context: Context) -> list[Html]:
    model = context.model
    kernels = model.kernel_ if isinstance(model.kernel_, list) else [model.kernel_]
    titles = class_names(model) if len(kernels) > 1 else [""]
    shown = []
    for title, row in zip(titles, context.weights, strict=True):
        lead = None if not title else tag("b", title, ": ")
        shown.append(tag("p", lead, tag("code", _summands(model, row)), class_="expression"))
    whole = "\n".join(repr(kernel) for kernel in kernels)
    if len(whole) <= EXPRESSION_SIZE:
        shown.append(tag("details", tag("summary", "with all digits, to be typed back"), tag("pre", whole)))
    return shown


def _summands(model: Any, weights: np.ndarray) -> str:
    order = [int(m) for m in np.argsort(-weights, kind="stable") if weights[m] > 0]
    some = sorted(order[:FEW_SUMMANDS])
    texts = [f"{weights[m] / model.scales_[m]:.3g} * {clipped(model.term_names_[m])}" for m in some]
    more = len(order) - len(some)
    return (" + ".join(texts) or "0") + (f" + … ({more} more)" if more else "")


def _profile(context: Context) -> Html:
    """Return all weights side by side, in the order of the terms."""
    weights, names = context.weights, context.model.term_names_
    drawn = np.max(weights, axis=0)
    n = len(drawn)
    plot = Plot(
        Axis(-0.5, n - 0.5, "number of the term, as typed", whole=True),
        Axis(0.0, float(drawn.max()) * 1.05 or 1.0, "weight"),
        "Weights in the order of the terms" + (", the largest of all classes" if len(weights) > 1 else ""),
        width=920,
        height=220,
    )
    tips = [f"{m}: {clipped(name)}\nweight {number(w)}" for m, (name, w) in enumerate(zip(names, drawn, strict=True))]
    plot.bars(np.arange(n + 1) - 0.5, drawn, "c0", tips=tips)
    return plot.html(class_="full")


def _places(context: Context) -> Html | None:
    """Return a map of the weights of a kernel that was split by position and degree; None for other terms."""
    places = places_of(context.fitted.terms, context.fitted.support)
    if len(context.weights) > 1 or not places.is_grid:
        return None
    values, degrees, positions = places.grid(context.weights[0])
    values, rows, columns = np.nan_to_num(values), degrees.tolist(), positions.tolist()
    plot = Plot(
        Axis(columns[0] - 0.5, columns[-1] + 0.5, "position, from 0", whole=True),
        Axis(rows[0] - 0.5, rows[-1] + 0.5, "degree, letters", whole=True),
        "Weights by position and degree",
        width=920,
        height=90 + 18 * len(rows),
    )
    shown = [[number(value) for value in row] for row in values]
    plot.cells(values, tip="degree {0}, position {1}\nweight {2}", shown=shown, columns=columns, rows=rows)
    return plot.html("The stronger the colour, the larger the weight.", class_="full")


def _by_class(context: Context) -> Html:
    """Return one row of squares per class, one column per term."""
    weights, names = context.weights, context.model.term_names_
    classes, size = class_names(context.model), 18
    left, width = 120, 120 + size * len(names) + 4
    marks = []
    for c, row in enumerate(weights):
        marks.append(tag("text", clipped(classes[c], 16), x=left - 6, y=c * size + 13, class_="ty"))
        for m, weight in enumerate(row):
            tip = f"{classes[c]}: {clipped(names[m])}\nweight {number(weight)}"
            strength = float(np.sqrt(weight / (weights.max() or 1.0)))
            box = {"x": left + m * size, "y": c * size, "width": size - 1, "height": size - 1}
            marks.append(tag("rect", **box, fill_opacity=max(strength, 0.04), class_="c0 bar", data_tip=tip))
    drawn = tag("svg", *marks, viewBox=f"0 0 {width} {len(weights) * size}", width=width, class_="plot",
                role="img", aria_label="weights by class and term")  # fmt: skip
    return figure("Weights by class", tag("div", drawn, class_="wide"), "One column per term; darker is larger.")


def _terms_table(context: Context) -> Html:
    model, weights = context.model, context.weights
    largest, mean = float(weights.max()) or 1.0, weights.mean(axis=0)
    shares = _shares(context)
    alignment = model.alignment_ if isinstance(getattr(model, "alignment_", None), dict) else None
    head = [("#", True), ("term", False), ("weight" if len(weights) == 1 else "mean weight", True), ("", False)]
    head += [("scale", True)]
    head += [("share of the decision", True)] if shares is not None else []
    head += [("alignment", True)] if alignment is not None else []
    rows = []
    for m in np.argsort(-mean, kind="stable"):
        cells = [cell(str(m), m, numeric=True), cell(tag("code", clipped(model.term_names_[m], 300), class_="name"))]
        cells += [number_cell(mean[m]), cell(bar(mean[m] / largest)), number_cell(model.scales_[m])]
        if shares is not None:
            cells.append(cell(percent(shares[m]), repr(float(shares[m])), numeric=True))
        if alignment is not None:
            cells.append(number_cell(alignment["terms"][m]))
        rows.append(cells)
    said = "Each term was divided by its scale before learning."
    if shares is not None and context.judged is not None:
        said += f" The share is the term's part in the variance of the decision values of the {context.judged.label} "
        said += "samples; shares add up to 100 %."
    if alignment is not None:
        said += " The alignment says how like the ideal kernel a term is: 1 is ideal, 0 is chance."
    return join_with_note(
        table(head, rows, fold=FEW_TERMS if len(rows) <= FEW_TERMS else FEW_TERMS // 2, label="terms"), said
    )


def join_with_note(shown: Html, said: str) -> Html:
    """Return something with a small line below."""
    return tag("div", shown, tag("p", said, class_="note"))


def _shares(context: Context) -> np.ndarray | None:
    """Return each term's part in the variance of the decision values; None where that says nothing."""
    judged = context.judged
    if judged is None or len(context.model.term_names_) < 2 or len(judged) < 2:
        return None
    return term_table(context.model, judged.X.rows(thinned(len(judged), SHARE_SAMPLES)))["share"]


def _widths_table(model: Any) -> Html:
    gamma = np.asarray(model.widths_.gamma)
    names = getattr(model, "feature_names_in_", [f"column {i}" for i in range(len(gamma))])
    names = names if len(names) == len(gamma) else [f"feature {i}" for i in range(len(gamma))]
    largest = float(gamma.max()) or 1.0
    rows = [
        [cell(tag("bdi", names[i])), number_cell(gamma[i]), cell(bar(gamma[i] / largest))]
        for i in np.argsort(-gamma, kind="stable")
    ]
    shown = table([("feature", False), ("gamma", True), ("", False)], rows, fold=FEW_TERMS, label="learned widths")
    return join_with_note(shown, "Learned widths: a feature with gamma 0 is not looked at.")
