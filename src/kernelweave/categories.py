"""Categories as names: any column as text, with nothing where a value is missing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: What kernels ask for in place of an alphabet.
CATEGORIES = "categories"


def category_names(column: Any) -> list[str]:
    """Return the name of every value: text as it is, whole numbers without a point, and "" for what is missing."""
    if hasattr(column, "to_pylist"):
        values = column.to_pylist()
    else:
        values = column.tolist() if hasattr(column, "tolist") else list(column)
    known: dict[Any, str] = {}
    return [_remembered(value, known) for value in values]


def _remembered(value: Any, known: dict[Any, str]) -> str:
    """Return the name of a value; most columns have few, and many numbers are slow to print."""
    if isinstance(value, str):
        return value
    key = (type(value), value)
    if key not in known:
        known[key] = _name(value)
    return known[key]


def _name(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (float, np.floating)):
        number = float(value)
        whole = number.is_integer() and abs(number) < 2**53
        return "" if math.isnan(number) else str(int(number)) if whole else repr(number)
    # None, and what pandas calls NA and NaT
    return "" if value is None or type(value).__name__ in ("NAType", "NaTType") else str(value)


def as_number(name: str) -> float:
    """Return the number that a name stands for; NaN where it is none."""
    try:
        return float(name)
    except ValueError:
        return math.nan


def ordered_names(column: Any) -> list[str] | None:
    """Return the names of a column in the order that its type knows (ordered categories); None where it knows none."""
    import narwhals as nw

    series = nw.from_native(column, series_only=True, pass_through=True)
    categories = getattr(getattr(series, "dtype", None), "categories", None)
    return None if categories is None else category_names(list(categories))
