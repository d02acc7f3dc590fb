"""Why single samples got their decision values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from ..explain.contributions import Contributions, contributions
from ..sequences import SequenceSet
from .context import Context, Section, missing, section
from .markup import Html, cell, clipped, join, name_of, number, number_cell, table, tag
from .overview import sequences_by_view
from .samples import Samples, class_names, directions, is_binary
from .svg import push

#: Letters of a sequence that are shown, strengths of their colour, and terms and words that are listed.
LETTERS, LEVELS, TERMS, WORDS = 600, 4, 6, 6
#: A sum below this is zero but for rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Example:
    """A sample to explain: why it was picked, its row, and the machine that decides about it."""

    why: str
    row: int
    machine: int = 0


def examples_section(context: Context) -> Section | None:
    """Return what adds up to the decision values of a few samples."""
    title = "Single samples explained"
    if context.judged is None:
        return section("examples", title, missing("No samples came with the model; pass X or X_test."))
    picked = _picked(context, context.judged)
    if not picked:
        return None
    what = "predictions" if is_regressor(context.model) else "decision values"
    said = f"{context.judged.label.capitalize()} samples, and what adds up to their {what}."
    by_view = sequences_by_view(context.fitted, context.judged.X)
    if by_view:
        up, down = directions(context.model)
        said += f" Orange {up}, blue {down}; a word's weight is shared by its letters."
    shown: dict[int, Html] = {}
    for machine in sorted({example.machine for example in picked}):
        group = [example for example in picked if example.machine == machine]
        views = context.judged.X.rows(np.array([example.row for example in group]))
        found = contributions(context.model, views, machine=machine)
        texts = sequences_by_view(context.fitted, views)
        shown |= {example.row: _shown(context, example, i, found, texts) for i, example in enumerate(group)}
    kind = "samples" if by_view else "samples pairs"
    return section(
        "examples", title, tag("p", said), tag("div", *(shown[example.row] for example in picked), class_=kind)
    )


# -- which -------------------------------------------------------------------------------------------------------------


def _picked(context: Context, samples: Samples) -> list[Example]:
    """Return a few samples of each kind, none of them twice."""
    found: dict[int, Example] = {}
    for why, order in _orders(context, samples):
        fresh = [int(row) for row in order if int(row) not in found][: context.options.n_examples]
        for row in fresh:
            machine = 0 if samples.decision.ndim == 1 else int(samples.decision[row].argmax())
            found[row] = Example(why, row, machine)
    return list(found.values())


def _orders(context: Context, samples: Samples) -> Iterator[tuple[str, np.ndarray]]:
    """Yield kinds of samples, each with the rows in the order in which they show it best."""
    f, y = samples.decision, samples.y
    if f.ndim == 2:
        top = np.sort(f, axis=1)
        margin = top[:, -1] - top[:, -2]
        yield "surest", np.argsort(-margin, kind="stable")
        yield "least sure", np.argsort(margin, kind="stable")
        if y is not None:
            order = np.argsort(-margin, kind="stable")
            yield "surest of the wrong ones", order[f.argmax(axis=1)[order] != y[order]]
        return
    yield "highest", np.argsort(-f, kind="stable")
    yield "lowest", np.argsort(f, kind="stable")
    if not is_regressor(context.model):
        yield "nearest the threshold", np.argsort(np.abs(f), kind="stable")
    elif y is not None:
        yield "furthest off", np.argsort(-np.abs(f - y), kind="stable")


# -- how ---------------------------------------------------------------------------------------------------------------


def _shown(context: Context, example: Example, i: int, found: Contributions, texts: dict[Any, SequenceSet]) -> Html:
    samples = context.judged
    assert samples is not None
    parts = [tag("h3", name_of(samples.name(example.row))), tag("p", *_line(context, samples, example), class_="note")]
    for view, values in found.by_view.items():
        if len(found.by_view) > 1:
            parts.append(tag("p", f"column {view!r}", class_="note"))
        largest = float(np.abs(values).max(initial=0.0))
        parts.append(_letters(texts[view][i], values[i], largest, texts[view].alphabet.encoding))
    if found.by_view:
        parts.append(_words(found, i))
    if np.count_nonzero(found.terms[i]) > 1 or not found.by_view:
        parts.append(_terms(found, i))
    else:
        parts.append(tag("p", f"intercept {number(found.intercept)}", class_="note"))
    return tag("div", *parts, class_="sample")


def _line(context: Context, samples: Samples, example: Example) -> Iterator[Any]:
    """Yield why the sample was picked, what was decided, and whether that was right."""
    model, row = context.model, example.row
    value = _calm(samples.decision[row])
    yield f"{example.why} · "
    if is_regressor(model):
        yield f"predicted {number(float(value), 4)}" + (
            "" if samples.y is None else f", is {number(samples.y[row], 4)}"
        )
        return
    names = class_names(model)
    called = (1 if value > 0 else 0) if is_binary(model) else example.machine
    yield f"decision value {number(float(value if value.ndim == 0 else value[called]))} · called "
    yield name_of(names[called])
    if samples.y is not None:
        true = int(samples.y[row] > 0) if is_binary(model) else int(samples.y[row])
        if true == called:
            yield ", which is right"
        else:
            yield join([", but is ", name_of(names[true])])


def _letters(text: str, values: np.ndarray, largest: float, encoding: str) -> Html:
    """Return a sequence whose letters are coloured by what they add."""
    sizes = [len(letter.encode(encoding, "surrogateescape")) for letter in text]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    added = np.array([values[a:b].sum() for a, b in pairwise(starts)])
    first = _busiest(added)
    last = min(len(text), first + LETTERS)
    marks: list[Any] = ["… "] if first else []
    for p in range(first, last):
        level = int(np.ceil(LEVELS * abs(added[p]) / largest - 0.5)) if largest else 0
        if level == 0:
            marks.append(text[p])
        else:
            tip = f"{p}: {text[p]} adds {number(added[p])}"
            marks.append(tag("i", text[p], class_=f"{'p' if added[p] > 0 else 'n'}{min(level, LEVELS)}", data_tip=tip))
    if last < len(text):
        marks.append(" …")
    note = None
    if last - first < len(text):
        note = tag("p", f"Letters {first} to {last - 1} of {number(len(text))}, those that add most.", class_="note")
    return join([tag("p", *marks, class_="letters"), note])


def _busiest(added: np.ndarray) -> int:
    """Return where the window of letters starts that adds most, by absolute value."""
    if len(added) <= LETTERS:
        return 0
    sums = np.concatenate([[0.0], np.cumsum(np.abs(added))])
    return int(np.argmax(sums[LETTERS:] - sums[:-LETTERS]))


def _words(found: Contributions, i: int) -> Html:
    """Return the words that add most, in one line."""
    rows = list(found.kmers(i, top=WORDS))
    marks: list[Any] = ["words that add most: " if rows else "no word adds anything"]
    for n, row in enumerate(rows):
        sign = "+" if row["weight"] > 0 else ""
        marks += [
            " · " if n else None,
            tag("code", row["kmer"]),
            f" at {row['position']} {sign}{number(row['weight'])}",
        ]
    return tag("p", *marks, class_="note")


def _terms(found: Contributions, i: int) -> Html:
    """Return what the terms add, up to the decision value."""
    added = found.terms[i]
    order = np.argsort(-np.abs(added), kind="stable")
    largest = float(np.abs(found.terms).max(initial=0.0)) or 1.0
    rows = [
        (tag("code", clipped(found.term_names[m], 90), class_="name"), float(added[m]))
        for m in order[:TERMS]
        if added[m]
    ]
    rest = [m for m in order[TERMS:] if added[m]]
    if rest:
        rows.append((Html(f"{len(rest)} more terms"), float(added[rest].sum())))
    cells = [[cell(name), number_cell(value), cell(push(value / largest))] for name, value in rows]
    sums = {"intercept": found.intercept, "sum": float(_calm(found.decision[i]))}
    cells += [[cell(tag("b", name)), number_cell(value, 4), cell("")] for name, value in sums.items()]
    return table([("term", False), ("adds", True), ("", False)], cells, sortable=False, label="terms")


def _calm(value: np.ndarray) -> np.ndarray:
    """Return the value, or zero for what is zero but for rounding."""
    return np.where(np.abs(value) < ROUNDING, 0.0, value)
