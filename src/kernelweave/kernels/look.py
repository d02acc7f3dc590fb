"""What a column looks like: numbers, categories, dates, text, sequences, names of rows, or nothing to learn from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..categories import category_names, ordered_names
from ..errors import InputError
from ..views import Views

#: A column of text with at most this many different values, or this share of the rows, is one of categories ...
MAX_CATEGORIES, CATEGORY_SHARE = 20, 0.05
#: ... if no value is longer than this many letters.
MAX_NAME = 60
#: Fewer rows than this do not show whether each of them has a name of its own.
MIN_ROWS = 10
#: What a column of whole numbers is called that names the rows.
ROW_NAMES = ("id", "index", "row", "rowid", "row_id", "sample_id", "uid", "uuid")


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


def look_at(label: Hashable, column: Views) -> Look:
    """Return what a single column looks like."""
    raw = column.column()
    dtype = np.asarray(raw).dtype if not hasattr(raw, "alphabet") else np.dtype(object)
    if dtype.kind in "biufmM" or (dtype.kind == "O" and _holds_numbers(raw)):
        return _look_at_numbers(label, column, dtype)
    if hasattr(raw, "alphabet"):  # sequences that are packed already
        return Look(label, "sequences")
    if ordered_names(raw) is not None:
        return _unless_constant(Look(label, "ordered", "" in category_names(raw)), set(category_names(raw)))
    return _look_at_text(label, category_names(raw))


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
    known = [value for value in values if value is not None and type(value).__name__ not in ("NAType", "NaTType")]
    return bool(known) and all(isinstance(value, (int, float, np.number, np.bool_)) for value in known)


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


def _reads_as_sequences(texts: list[str]) -> bool:
    from ..sequences import TEXT, as_sequences

    try:
        return as_sequences(texts).alphabet != TEXT
    except InputError:
        return False


def _unless_constant(look: Look, names: set[str]) -> Look:
    return look if len(names - {""}) > 1 else Look(look.label, "constant", look.gaps)
