"""Parameters as values: how they print, when they are the same."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError

#: Terms of one expression at the most; every one takes time and memory of its own.
MAX_TERMS = 100_000
#: Letters of a word, places of a shift and the like: longer ones would only take memory.
MAX_LETTERS = 10_000
#: Power of a number: above, all but a few values are 0 or infinite.
MAX_POWER = 1000

_Item = TypeVar("_Item")


def typed(value: Any) -> str:
    """Print a parameter so that it can be typed back."""
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, (list, tuple)):
        inner = ", ".join(typed(v) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return repr(value)


def hashable(value: Any) -> Hashable:
    """Return what equal parameters have in common: 1 and 1.0, or an array and a list of its numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(map(hashable, value))
    return repr(value) if isinstance(value, slice) else value


def same_value(a: Hashable | Any, b: Hashable | Any) -> bool:
    """Equality of parameters, where arrays and lists of the same numbers are the same."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return a is not None and b is not None and np.array_equal(np.asarray(a), np.asarray(b))
    return (type(a) is type(b) and a == b) or (isinstance(a, numbers.Real) and isinstance(b, numbers.Real) and a == b)


def shown(value: Any) -> str:
    """Print a value for an error message: shortened, and without the digits of a number that has thousands."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a whole number of {value.bit_length():,} bits"
    try:
        text = repr(value)
    except ValueError:  # such a number inside of a list
        return f"a {type(value).__name__} with a number that is too long to print"
    return text if len(text) <= 200 else text[:197] + "..."


def many(number: int) -> str:
    """Print a count for an error message."""
    return f"{number:,}" if number < 10**15 else f"more than 10^{(number.bit_length() - 1) * 3 // 10}"


def real_number(value: Any) -> float:
    """Return a number as a float; NaN or infinity, which no parameter accepts, where it is none or too large."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def real_numbers(values: Any) -> np.ndarray:
    """Return numbers as an array; a lone NaN, which no parameter accepts, where they are none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


def limited(terms: Iterable[_Item], what: str) -> tuple[_Item, ...]:
    """Return all terms, or say that there are too many; no more than that many are ever made."""
    found = tuple(islice(terms, MAX_TERMS + 1))
    if len(found) > MAX_TERMS:
        raise InputError(
            f"{what} has more than {MAX_TERMS:,} terms, which is the limit. Join some of them, as Frozen(a + b) or in "
            "one kernel on several columns, or split by less."
        )
    return found
