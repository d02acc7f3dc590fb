"""What a model of sequences looks for: importance by position, logos, and the words of the largest weights."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..errors import InputError
from ..explain.importance import importance, logo, reach, stacked
from ..explain.kmers import kmer_table
from ..explain.normals import word_views
from .context import Context, Section, missing, section
from .markup import Html, cell, name_of, number, number_cell, table, tag
from .samples import class_names, directions
from .svg import Axis, Plot, push

#: Machines whose words are shown, and rows of the table of words before it is folded.
MACHINES, FOLD = 6, 15
#: Letters of a logo, of those that differ from zero by more than this share of the tallest stack.
LEAST = 0.01


def words_section(context: Context) -> Section | None:
    """Return what the words of a sequence are worth to the model; None where no term reads words."""
    model = context.model
    if not word_views(model):
        return None
    n = len(model.dual_coef_)
    said = "A word weighs what it adds to the decision value where it stands. Positions are counted from 0."
    parts: list[Html] = [tag("p", said)]
    for machine in range(min(n, MACHINES)):
        shown = _machine(context, machine)
        title = f"Class {class_names(model)[machine]} against the others" if n > 1 else ""
        parts += [tag("details", tag("summary", title), *shown, open=machine == 0)] if n > 1 else shown
    if n > MACHINES:
        parts.append(missing(f"The first {MACHINES} of {n} classes are shown; explain.kmer_table has all of them."))
    return section("words", "What it looks for in sequences", *parts)


def _machine(context: Context, machine: int) -> list[Html]:
    parts = []
    for group in word_views(context.model):
        if group.placed:
            which = {"term": list(group.terms), "machine": machine}
            parts += _attempt(lambda which=which: _logo_plot(context, which))
            parts += _attempt(lambda which=which: _importance_plot(context, which))
    return parts + _attempt(lambda: _words_table(context, machine))


def _attempt(make: Any) -> list[Html]:
    """Return what can be made, or a line that says why it cannot."""
    try:
        return [make()]
    except InputError as error:
        return [missing(str(error))]


def _titled(title: str, view: Hashable) -> str:
    return title if view is None else f"{title}, column {view!r}"


def _logo_plot(context: Context, which: dict[str, Any]) -> Html:
    """Return letters at their positions, as tall as what they add; those that speak against are below zero."""
    found = logo(context.model, **which)
    values, n = found.values, len(found.values)
    low, high = reach(values)
    if high == low:
        raise InputError("No letter matters by itself at any position, so there is no logo to draw.")
    space = 0.05 * (high - low)
    x = Axis(found.positions[0] - 0.5, found.positions[0] + n - 0.5, "position in the sequence, from 0", whole=True)
    y = Axis(low - space, high + space, "added to the decision")
    plot = Plot(x, y, _titled("Logo: what each letter adds", found.view), width=920, height=250)
    plot.rule((x.low, x.high), (0.0, 0.0))
    least = LEAST * (high - low)
    for p, row in zip(found.positions, values, strict=True):
        for c, foot, height in stacked(row, least):
            letter = found.letters[c]
            plot.letter(letter, float(p), foot, foot + height, letter if letter in "ACGTU" else "L")
    said = [[_strongest_letters(row, found.letters) for row in values]]
    plot.told(said, tip="position {1}\n{2}", columns=found.positions.tolist(), rows=[""])
    return plot.html(class_="full")


def _strongest_letters(row: np.ndarray, letters: str) -> str:
    """Return the letters that matter at a position, the strongest first."""
    order = [c for c in np.argsort(-np.abs(row), kind="stable")[:6] if row[c]]
    return "\n".join(f"{letters[c]} {'+' if row[c] > 0 else ''}{number(row[c])}" for c in order) or "nothing"


def _importance_plot(context: Context, which: dict[str, Any]) -> Html:
    """Return a map of the strongest words by their length and position."""
    found = importance(context.model, context.options.orders, "signed", **which)
    n = len(found.positions)
    plot = Plot(
        Axis(found.positions[0] - 0.5, found.positions[0] + n - 0.5, "start of the word, from 0", whole=True),
        Axis(0.5, len(found.orders) + 0.5, "length of the word, letters", whole=True),
        _titled("Strongest word of each length at each position", found.view),
        width=920,
        height=90 + 22 * len(found.orders),
    )
    shown = [[number(value) for value in row] for row in found.values]
    tip = "words of {0} letters, from position {1}\nscore of the strongest {2}"
    plot.cells(found.values, tip=tip, shown=shown, columns=found.positions.tolist(), rows=found.orders.tolist())
    up, down = directions(context.model, which["machine"])
    note = f"Orange {up}, blue {down}. Words share the weights of all words that they overlap."
    return plot.html(note, class_="full")


def _words_table(context: Context, machine: int) -> Html:
    if context.options.top == 0:
        raise InputError("No words were asked for (top=0).")
    found = kmer_table(context.model, machine=machine, top=context.options.top)
    if not len(found):
        raise InputError("No word has a weight: the terms that read words were not kept.")
    columns = found.columns
    largest = float(np.abs(columns["weight"]).max(initial=0.0)) or 1.0
    placed = bool((columns["position"] >= 0).any())
    head = [("word", False), *([("position", True)] if placed else []), ("weight", True), ("", False)]
    head += [("support sequences", True)] if "count" in columns else []
    head += [("column", False)] if "view" in columns else []
    rows = []
    for row in found:
        place = "any" if row["position"] < 0 else str(row["position"])
        cells = [cell(tag("code", row["kmer"]))]
        cells += [cell(place, row["position"], numeric=True)] if placed else []
        cells += [number_cell(row["weight"]), cell(push(row["weight"] / largest))]
        cells += [number_cell(row["count"])] if "count" in columns else []
        cells += [cell(name_of(row["view"]))] if "view" in columns else []
        rows.append(cells)
    shown = table(head, rows, fold=FOLD, label="words of the largest weights")
    return tag("div", tag("h3", "Words of the largest weights"), shown)
