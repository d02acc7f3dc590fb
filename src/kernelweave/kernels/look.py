"""What a column looks like: numbers, categories, dates, text, sequences, names of rows, or nothing to learn from."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from ..categories import category_names, ordered_names
from ..errors import InputError, InputTypeError
from ..matrices import as_times, is_nothing
from ..views import Views

#: A column of text with at most this many different values, or this share of the rows, is one of categories ...
MAX_CATEGORIES, CATEGORY_SHARE = 20, 0.05
#: ... if no value is longer than this many letters.
MAX_NAME = 60
#: Fewer rows than this do not show whether each of them has a name of its own.
MIN_ROWS = 10
#: What a column of whole numbers is called that names the rows.
ROW_NAMES = ("id", "index", "row", "rowid", "row_id", "sample_id", "uid", "uuid")
#: Text that would say more if it were not text.
PRINTED = {
    "numbers": re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*"),
    "dates": re.compile(r"\d{4}-\d\d-\d\d.*"),
}


@dataclass(frozen=True)
class Look:
    """What one column looks like.

    `kind` is "numbers", "dates", "categories", "ordered", "text", "sequences", "names" (of the rows) or "constant".
    """

    label: Hashable
    kind: str
    gaps: bool = False
    #: From the first to the last, of numbers and dates.
    span: float = 0.0
    #: What a column of text with many values spells: "numbers", "dates" or nothing of that kind.
    printed: str = ""


def look_at(label: Hashable, column: Views) -> Look:
    """Return what a single column looks like."""
    raw = column.column()
    dtype = as_times(np.asarray(raw)).dtype if not hasattr(raw, "alphabet") else np.dtype(object)
    if dtype.kind in "biufmM" or (dtype.kind == "O" and _holds_numbers(raw)):
        return _look_at_numbers(label, column, dtype)
    if hasattr(raw, "alphabet"):  # sequences that are packed already
        return Look(label, "sequences")
    try:
        names = category_names(raw)
    except TypeError:
        raise InputTypeError(
            f"Column {label!r} holds lists or the like, which no kernel reads as they are. Leave it out, or spread it "
            "over columns of numbers."
        ) from None
    if ordered_names(raw) is not None:
        return _unless_constant(Look(label, "ordered", "" in names), set(names))
    return _with_print(_look_at_text(label, names), names)


def look_at_matrix(values: Any) -> list[Look]:
    """Return what the columns of a matrix of numbers look like, by their positions."""
    if sparse.issparse(values):
        spans = (values.max(axis=0).toarray() - values.min(axis=0).toarray()).ravel()
        gaps = np.zeros(values.shape[1], bool)
    else:
        gaps = np.isnan(values).any(axis=0)
        spans = np.fmax.reduce(values, axis=0) - np.fmin.reduce(values, axis=0)
    kinds = np.where(spans > 0, "numbers", "constant")
    return [Look(i, str(kind), bool(gap), float(span)) for i, (kind, gap, span) in enumerate(zip(kinds, gaps, spans))]  # noqa: B905


def _look_at_numbers(label: Hashable, column: Views, dtype: np.dtype) -> Look:
    values = np.asarray(column.matrix(gaps=True)).ravel()
    found = look_at_matrix(values[:, None])[0]
    kind = "dates" if dtype.kind == "M" and found.kind == "numbers" else found.kind
    named = isinstance(label, str) and label.lower() in ROW_NAMES
    if named and dtype.kind in "iu" and len(values) >= MIN_ROWS and len(np.unique(values)) == len(values):
        kind = "names"
    return Look(label, kind, found.gaps, found.span)


def _holds_numbers(raw: Any) -> bool:
    """Say whether objects are numbers, with gaps perhaps."""
    values = raw.to_pylist() if hasattr(raw, "to_pylist") else list(raw)
    known = [value for value in values if not is_nothing(value)]
    return bool(known) and all(isinstance(value, (Real, Decimal, np.bool_)) for value in known)


def _look_at_text(label: Hashable, names: list[str]) -> Look:
    there = [name for name in names if name.strip()]
    gaps, distinct = len(there) < len(names), set(there)
    short = max(map(len, distinct), default=0) <= MAX_NAME
    words = not any(sign.isspace() for name in distinct for sign in name.strip())
    if len(distinct) <= 1:
        return Look(label, "constant", gaps)
    if short and len(distinct) <= max(MAX_CATEGORIES, CATEGORY_SHARE * len(there)) and len(distinct) < len(there):
        return Look(label, "categories", gaps)
    if words and _reads_as_sequences(there):
        return Look(label, "sequences", gaps)
    if words and short:
        alone = len(distinct) == len(there) and len(there) >= MIN_ROWS
        return Look(label, "names" if alone else "categories", gaps)
    return Look(label, "text", gaps)


def _with_print(look: Look, names: list[str]) -> Look:
    """Return the look of a column of text with what it spells, unless it has so few values that they are categories."""
    distinct = set(names) - {""}
    if len(distinct) <= MAX_CATEGORIES:
        return look
    spelt = [kind for kind, sign in PRINTED.items() if all(map(sign.fullmatch, distinct))]
    return replace(look, printed=spelt[0]) if spelt else look


def _reads_as_sequences(texts: list[str]) -> bool:
    from ..sequences import TEXT, as_sequences

    try:
        return as_sequences(texts).alphabet != TEXT
    except InputError:
        return False


def _unless_constant(look: Look, names: set[str]) -> Look:
    return look if len(names - {""}) > 1 else Look(look.label, "constant", look.gaps)
