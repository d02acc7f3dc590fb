"""Parameters as values: how they print, when they are the same."""

from __future__ import annotations

import numbers
from collections.abc import Hashable
from typing import Any

import numpy as np


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
