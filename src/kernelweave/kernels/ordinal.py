"""Ordered categories: the nearer in rank, the more alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..categories import as_number, ordered_names
from ..errors import InputError
from ..views import Views
from .base import Kernel
from .categorical import CategoryKernel


@dataclass(eq=False, repr=False)
class Ordinal(CategoryKernel):
    """k(x, y) = 1 − abs(rank(x) − rank(y)) / (number of levels − 1), and 0 where one is missing or unknown.

    min(i, j) + min(m − i, m − j) = m − abs(i − j), and each minimum is positive semi-definite, so the kernel is.

    Parameters
    ----------
    levels : list of str or None
        The levels in their order. None takes the order of ordered categories (pandas, polars), or of numbers; new
        numbers between two levels have a rank between theirs.

    Examples
    --------
    >>> from kernelweave import Ordinal
    >>> Ordinal(["low", "middle", "high"])(["low", "middle", "high"])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    levels: Any = None
    definite = True

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        if self.levels is not None:
            return self
        known = ordered_names(X.column())
        if known is None:
            names = {name for name in self.names(X) if name}
            if any(np.isnan(as_number(name)) for name in names):
                some = ", ".join(map(repr, sorted(names)[:5]))
                raise InputError(
                    f"Ordinal needs the order of the categories, which text does not tell: levels=[{some}, ...] in "
                    "their order, or a column of ordered categories. Categorical() needs none."
                )
            known = sorted(names, key=as_number)
        return replace(self, levels=known)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        a = self._ranks(X)
        b = a if Y is None else self._ranks(Y)
        return np.nan_to_num(1.0 - np.abs(a[:, None] - b), nan=0.0)

    def compute_diag(self, X: Views) -> np.ndarray:
        return np.where(np.isnan(self._ranks(X)), 0.0, 1.0)

    def _ranks(self, X: Views) -> np.ndarray:
        """Return ranks from 0 to 1, NaN where there is none."""
        if self.levels is None:
            raise InputError(f"{self!r} knows no order yet: give levels, or have an estimator learn them.")
        known = self.known()
        places = np.linspace(0.0, 1.0, len(known))
        numbers = np.array([as_number(level) for level in known])
        if len(known) and not np.isnan(numbers).any() and (np.diff(numbers) > 0).all():
            values = np.array([as_number(name) if name else np.nan for name in self.names(X)])
            return np.interp(values, numbers, places)
        codes = self.codes(X)
        return np.where(codes < 0, np.nan, np.append(places, 0.0)[codes])
