"""Categories: the same, or not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..categories import CATEGORIES
from ..errors import InputError
from ..views import Views
from .base import Kernel
from .strings import StringKernel
from .values import real_numbers, shown


class CategoryKernel(StringKernel):
    """A kernel on the names of categories, whatever the column holds: text, numbers, yes and no."""

    alphabet = CATEGORIES
    #: The names that are known, in order; None before they are learned.
    levels: Any

    def known(self) -> list[str]:
        """Return the levels, checked."""
        levels: list[Any] = list(self.levels) if isinstance(self.levels, (list, tuple)) else [None]
        if not all(isinstance(level, str) and level for level in levels) or len(set(levels)) < len(levels):
            name, given = type(self).__name__, shown(self.levels)
            raise InputError(f"{name} takes a list of different names as levels; got {given}.")
        return levels

    def names(self, X: Views) -> list[str]:
        """Return the category of every sample, "" where it is missing."""
        return [str(name) for name in self.sequences(X)]

    def codes(self, X: Views) -> np.ndarray:
        """Return the number of the level of every sample; −1 where it is missing or not among them."""
        number = {name: i for i, name in enumerate(self.known())}
        return np.array([number.get(name, -1) for name in self.names(X)], dtype=np.int64)

    def unseen(self, X: Views) -> int:
        """Return how many samples have a category that is none of the levels."""
        if self.levels is None:
            return 0
        known = {"", *self.known()}
        return sum(name not in known for name in self.names(X))


@dataclass(eq=False, repr=False)
class Categorical(CategoryKernel):
    """k(x, y) = 1 where x and y are of the same category, and 0 otherwise.

    A category that is missing, or that no training sample has, is unlike everything, itself included: 0. With
    `rare=True`, k(x, x) = 1 / (share of the category among the training samples): to have a rare one in common says
    more. A product of vectors with one entry each, hence positive semi-definite.

    Parameters
    ----------
    rare : bool
        Whether rare categories count more.
    levels : list of str or None
        The categories, as learned from the training samples. Numbers go by their names, as in "3".
    worth : list of float or None
        k(x, x) of each level, as learned where `rare`.

    Examples
    --------
    >>> from kernelweave import Categorical
    >>> Categorical()(["red", "blue", "red", None])
    array([[1., 0., 1., 0.],
           [0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 0., 0., 0.]])
    """

    rare: bool = False
    levels: Any = None
    worth: Any = None
    definite = True

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        if self.levels is not None and (self.worth is not None or not self.rare):
            return self
        names = self.names(X)
        levels = sorted({name for name in names if name}) if self.levels is None else self.known()
        if not self.rare:
            return replace(self, levels=levels)
        codes = replace(self, levels=levels).codes(X)
        seen, weight = codes >= 0, np.ones(len(codes)) if share is None else share
        sums = np.bincount(codes[seen], weight[seen], len(levels))
        # a level that no training sample has counts as the rarest of the others
        sums = np.where(sums > 0, sums, sums[sums > 0].min(initial=1.0))
        return replace(self, levels=levels, worth=[float(f"{sums.sum() / one:.3g}") for one in sums])

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        a, worth = self._codes_and_worth(X, Y)
        b = a if Y is None else self._codes_and_worth(Y, X)[0]
        return np.where((a[:, None] == b) & (a >= 0)[:, None], worth[a][:, None], 0.0)

    def compute_diag(self, X: Views) -> np.ndarray:
        a, worth = self._codes_and_worth(X, None)
        return np.where(a >= 0, worth[a], 0.0)

    def _codes_and_worth(self, X: Views, others: Views | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of X, and k(x, x) of each level; all names at hand are levels where none are known."""
        if self.levels is None and not self.rare:
            names = {name for one in (X, others) if one is not None for name in self.names(one) if name}
            return replace(self, levels=sorted(names))._codes_and_worth(X, None)
        if self.rare and self.worth is None:
            raise InputError(f"{self!r} does not know yet what is rare: an estimator learns it; base_kernel_ shows it.")
        worth = real_numbers(self.worth) if self.rare else np.ones(len(self.known()))
        if worth.shape != (len(self.known()),) or not (np.isfinite(worth).all() and (worth >= 0).all()):
            raise InputError(f"Categorical takes one worth ≥ 0 for each level; got {shown(self.worth)}.")
        return self.codes(X), np.append(worth, 0.0)

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        worth = dict(zip(self.levels or (), self.worth or (), strict=False))
        if sequence and (self.levels is None or sequence in self.levels):
            yield 0, sequence, float(np.sqrt(worth.get(sequence, 1.0)))
