"""The head of a report, what it was trained on, its notes, and how to make the model again."""

from __future__ import annotations

import platform
from collections.abc import Hashable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from ..errors import InputError
from ..estimators.fitted import FittedModel
from ..explain.curves import curves_of
from ..explain.normals import label_of
from ..io.support import requests_of
from ..kernels.values import typed
from ..sequences import SequenceSet
from ..views import Views
from . import measures
from .classes import accuracy
from .context import Context, Section, section
from .markup import Html, cell, decimals, facts, name_of, number, number_cell, percent, table, tag
from .samples import Samples, class_names, is_binary, positives
from .trained import SEEN, TRAINING, UNSEEN, UNSURE

PACKAGES = ("kernelweave", "numpy", "scipy", "scikit-learn", "numba", "highspy")
#: A gap below this is as good as none, in large print.
LEAST_GAP = 1e-6


# -- head --------------------------------------------------------------------------------------------------------------


def header(context: Context, title: str) -> Html:
    """Return the title with the verdict: how good, how sure, of what."""
    model = context.model
    cards = [*_score_cards(context), _gap_card(model), _terms_card(context), _support_card(context)]
    told = None if context.said is None else tag("p", *_first_words(context), class_="warned", role="alert")
    return tag("header", tag("p", f"kernelweave · {type(model).__name__}", class_="kind"), tag("h1", title), told,
               tag("div", *cards, class_="cards"))  # fmt: skip


def _first_words(context: Context) -> Iterator[Any]:
    """Yield what a reader has to know before any score."""
    if context.test is None:
        yield tag("b", "Not a test. ")
    yield context.said
    if context.test is not None and context.seen is not None:
        n = len(context.test)
        yield f" The score below is that of the {number(n)} {'other' if n == 1 else 'others'}."


def _card(value: str, what: str, more: str, kind: str | None = None) -> Html:
    inner = (tag("b", value), tag("span", what), tag("small", more))
    return tag("div", *inner, class_="card" if kind is None else f"card {kind}")


def _score_cards(context: Context) -> list[Html]:
    judged = context.judged
    if judged is None or judged.y is None:
        return []
    where = f"on {caption(judged)}"
    if is_regressor(context.model):
        found = measures.errors(judged.y, judged.decision)
        return [_card(decimals(found["R²"]), "R²", f"RMSE {number(found['RMSE'])}; {where}")]
    if not is_binary(context.model):
        return [_card(percent(accuracy(judged)), "accuracy", f"{len(class_names(context.model))} classes; {where}")]
    positive = positives(judged)
    assert positive is not None
    curves = curves_of(positive, judged.decision)
    if not curves.n_positive or not curves.n_negative:
        return [_card(percent(float(np.mean((judged.decision > 0) == positive))), "accuracy", where)]
    more = f"average precision {decimals(curves.average_precision)}; {where}"
    return [_card(decimals(curves.roc_area), "area under ROC", more)]


def caption(samples: Samples) -> str:
    """Return what samples are, for the score that they give."""
    n = f"{number(len(samples))} {'sample' if len(samples) == 1 else 'samples'}"
    return {
        UNSEEN: f"{n} held out",
        UNSURE: f"{n}, and it is not known whether these were trained on",
        SEEN: f"{n} that the model was trained on: expect less on new ones",
        TRAINING: f"{n} that the model was trained on: expect less on new ones",
    }[samples.label]


def _gap_card(model: Any) -> Html:
    gap = number(100 * model.gap_, 2) if model.gap_ >= LEAST_GAP else f"<\u202f{number(100 * LEAST_GAP)}"
    if model.converged_:
        more = f"converged: the gap is below the {number(100 * model.tol)}\u202f% that were asked for"
        return _card(f"{gap}\u202f%", "from the optimum, at most", more, "good")
    more = f"not converged ({model.stop_reason_}): {number(100 * model.tol)}\u202f% were asked for"
    return _card(f"{gap}\u202f%", "from the optimum, at most", more, "poor")


def _terms_card(context: Context) -> Html:
    kept, n = int((context.weights > 0).any(axis=0).sum()), context.weights.shape[1]
    return _card(f"{kept} of {n}", "terms kept" if n > 1 else "term kept", f"solver {context.model.solver_}")


def _support_card(context: Context) -> Html:
    n, known = len(context.model.support_), context.model.trained_
    total = len(context.train) if context.train is not None else None if known is None else known.n_samples
    share = "" if total is None else f"{percent(n / max(total, 1), 0)} of the {number(total)} training samples"
    return _card(number(n), "support samples", share or "kept in the model")


# -- data --------------------------------------------------------------------------------------------------------------


def data_section(context: Context) -> Section:
    """Return what was trained on what."""
    model, train = context.model, context.train
    known = model.trained_
    size = "not known; an older version wrote the model" if train is None else number(len(train))
    size = size if known is None else number(known.n_samples)
    rows = [
        ("kernel", tag("code", _shortened(repr(context.fitted.kernel)), class_="long")),
        ("predicts", None if known is None or known.target is None else tag("code", known.target)),
        ("positive class", name_of(class_names(model)[1]) if is_classifier(model) and is_binary(model) else None),
        ("training samples", size),
        *((f"{s.label} samples", number(len(s))) for s in (context.test, context.seen) if s is not None),
        ("columns or views", number(model.n_features_in_)),
        ("support samples", number(len(model.support_))),
    ]
    parts = [facts(rows), _classes(context), _targets(context), _sequences(context)]
    return section("data", "What was trained on what", *parts)


def _shortened(text: str, most: int = 1500) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({number(len(text))} characters)"


def _classes(context: Context) -> Html | None:
    if not is_classifier(context.model):
        return None
    names = class_names(context.model)
    labelled = [samples for samples in context.sets if samples.y is not None]
    if not labelled:
        return tag("p", "Classes: ", *_listed(names), ".")
    rows = []
    for c, name in enumerate(names):
        cells = [cell(name_of(name))]
        for samples in labelled:
            count = int(np.sum(samples.y == c))
            cells += [number_cell(count), cell(percent(count / len(samples)), count, numeric=True)]
        rows.append(cells)
    head = [("class", False)]
    for samples in labelled:
        head += [(samples.label, True), ("share", True)]
    return table(head, rows, fold=24, label="classes")


def _listed(names: list[str], most: int = 30) -> Iterator[Any]:
    for i, name in enumerate(names[:most]):
        yield Html(", ") if i else None
        yield name_of(name)
    if len(names) > most:
        yield f" and {len(names) - most} more"


def _targets(context: Context) -> Html | None:
    labelled = [samples for samples in context.sets if samples.y is not None]
    if not is_regressor(context.model) or not labelled:
        return None
    head = [("targets", False), ("mean", True), ("spread", True), ("lowest", True), ("highest", True)]
    return table(head, [_target_row(samples) for samples in labelled], label="targets")


def _target_row(samples: Samples) -> list[Html]:
    assert samples.y is not None
    found = (samples.y.mean(), samples.y.std(), samples.y.min(), samples.y.max())
    return [cell(samples.label), *(number_cell(float(value), 4) for value in found)]


def _sequences(context: Context) -> Html | None:
    """Return the alphabet and the lengths of every column of sequences that a kernel reads."""
    sets = [("support", context.fitted.support), *((s.label, s.X) for s in context.sets)]
    rows = []
    for label, views in sets:
        for view, found in sequences_by_view(context.fitted, views).items():
            rows.append([cell(label), cell(name_of("–" if view is None else view)), *_letters(found)])
    head = [("samples", False), ("column", False), ("alphabet", False), ("length", True), ("letters", True)]
    head += [("unknown letters", True)]
    return table(head, rows, label="sequences") if rows else None


def sequences_by_view(fitted: FittedModel, views: Views) -> dict[Hashable, SequenceSet]:
    """Return the sequences that the kernels read, by the view that they look at, as the support sequences are read."""
    found: dict[Hashable, SequenceSet] = {}
    for term in fitted.terms:
        try:
            for path, leaf in requests_of(term, views):
                if leaf.reads == "sequences" and label_of(path) not in found:
                    support = fitted.support.through(path).sequences(leaf.alphabet)
                    found[label_of(path)] = views.through(path).sequences_like(support)
        except InputError:  # a loaded model holds only what its terms with a positive weight read
            continue
    return found


def _letters(found: SequenceSet) -> list[Html]:
    lengths = found.lengths
    if not len(lengths):
        return [cell("–") for _ in range(4)]
    low, high = int(lengths.min()), int(lengths.max())
    span = number(low) if low == high else f"{number(low)} to {number(high)}"
    unknown = len(found.unknown)
    return [
        cell(repr(found.alphabet)),
        cell(span, low, numeric=True),
        number_cell(found.n_letters),
        cell(f"{number(unknown)} ({percent(unknown / max(found.n_letters, 1))})", unknown, numeric=True),
    ]


# -- notes and versions ------------------------------------------------------------------------------------------------


def notes_section(context: Context, warned: list[str]) -> Section:
    """Return what a reader should know of the data and of the fit."""
    notes = [*([] if context.said is None else [context.said]), *context.model.notes_, *warned]
    if not context.model.converged_:
        notes.append(
            f"The fit stopped at a relative gap of {context.model.gap_:.2g}, above tol={context.model.tol:g}. Scale "
            "the data, lower C, or raise max_iter, max_seconds or tol."
        )
    shown = tag("ul", *(tag("li", note) for note in notes)) if notes else tag("p", "Nothing to report.")
    return section("notes", "Notes and warnings", shown)


def reproduce_section(context: Context, steps: list[Any]) -> Section:
    """Return the parameters and versions that make the same model again."""
    machine = context.model
    rows = [
        [cell(tag("code", key)), cell(tag("code", _shortened(typed(value))))]
        for key, value in machine.get_params(deep=False).items()
    ]
    versions = [(name, _version(name)) for name in PACKAGES]
    versions.append(("Python", platform.python_version()))
    return section(
        "reproduce",
        "To make it again",
        tag("pre", "\n".join(_shortened(repr(step), 4000) for step in steps)),
        tag("details", tag("summary", "all parameters"), table([("parameter", False), ("value", False)], rows)),
        facts([*versions, ("system", f"{platform.system()} {platform.machine()}")]),
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
