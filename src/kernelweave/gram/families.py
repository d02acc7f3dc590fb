"""Families of terms: parts of one weighted degree kernel on one view, whose products share one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels import Frozen, Kernel, Normalized, On, Only, Scaled, Split, WeightedDegree
from ..kernels.weighted_degree import code_matrix, planes_of
from ..sequences import SequenceSet
from ..views import Views

Path = tuple[Any, ...]


@dataclass
class Family:
    """Some terms scale · core.only(degree, position), all seen through one path of columns and divided by one norm."""

    core: WeightedDegree
    path: Path
    #: Where, and by the root of whose diagonal, every row and column is divided.
    norms: tuple[tuple[Path, Kernel], ...]
    #: Per term: its number, its factor, and what `only` chose (None for all).
    numbers: list[int] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    degrees: list[int | None] = field(default_factory=list)
    positions: list[int | None] = field(default_factory=list)

    @property
    def by_degree(self) -> bool:
        """Whether the terms are of one degree each."""
        return self.degrees[0] is not None

    @property
    def by_position(self) -> bool:
        """Whether the terms are of one position each."""
        return self.positions[0] is not None

    def seen(self, X: Views, path: Path | None = None) -> Views:
        """Return the view that the family looks at."""
        for columns in self.path if path is None else path:
            X = X.select(columns)
        return X

    def sequences(self, X: Views, like: SequenceSet | None = None) -> SequenceSet:
        """Return the sequences that the family sees, over the alphabet of others where given."""
        seen = self.seen(X)
        return seen.sequences(self.core.alphabet) if like is None else seen.sequences_like(like)

    def roots(self, X: Views) -> np.ndarray | None:
        """Return 1 / √k(x, x) of every sample, or None where the terms are not normalised."""
        if not self.norms:
            return None
        out = np.ones(len(X))
        for path, kernel in self.norms:
            diag = kernel.compute_diag(self.seen(X, path))
            out *= np.divide(1.0, np.sqrt(np.maximum(diag, 0.0)), out=np.zeros(len(X)), where=diag > 0)
        return out

    def base(self, length: int) -> np.ndarray:
        """Return the kernel's own weight of every position and degree, (length, degree)."""
        core = self.core
        return np.tile(core.degree_weights(), (length, 1)) if core.shift else core.table(length)

    def moves(self) -> list[tuple[int, float]]:
        """Return (shift of the support, weight) of everything that a word is compared with."""
        if not self.core.shift:
            return [(0, 1.0)]
        delta = self.core.distance_weights()
        return [(s, float(delta[abs(s)]) * (2.0 if s == 0 else 1.0)) for s in range(1 - len(delta), len(delta))]

    def table(self, length: int, weights: np.ndarray) -> np.ndarray:
        """Return the weight of every position and degree in Σ weights[t] · term t, (length, degree)."""
        base = self.base(length)
        total = np.zeros_like(base)
        for weight, scale, k, i in zip(weights, self.scales, self.degrees, self.positions, strict=True):
            total[slice(None) if i is None else i, slice(None) if k is None else k - 1] += weight * scale
        return base * total


def families_of(terms: Sequence[Kernel]) -> list[Family]:
    """Group terms so that each group is served by one pass."""
    found: dict[Any, Family] = {}
    for number, term in enumerate(terms):
        scale, path, norms, core, degree, position = _unwrapped(term)
        key = (core, repr(path), repr(norms), degree is None, position is None)
        family = found.setdefault(key, Family(core, path, norms))
        family.numbers.append(number)
        family.scales.append(scale)
        family.degrees.append(degree)
        family.positions.append(position)
    return list(found.values())


def _unwrapped(term: Kernel) -> tuple[float, Path, tuple, WeightedDegree, int | None, int | None]:
    scale, path, norms = 1.0, [], []
    degree = position = None
    while not isinstance(term, WeightedDegree):
        if isinstance(term, Scaled):
            scale *= term.scale
        elif isinstance(term, On):
            path.append(term.columns)
        elif isinstance(term, Normalized):
            norms.append((tuple(path), term.kernel))
        elif isinstance(term, Only):
            degree, position = term.degree, term.position
        elif not isinstance(term, (Frozen, Split)):
            raise TypeError(f"{term!r} is not a part of a weighted degree kernel")
        term = term.kernel
    return scale, tuple(path), tuple(norms), term, degree, position


def block_of(family: Family, table: np.ndarray, a: SequenceSet, b: SequenceSet) -> np.ndarray:
    """Return the matrix of the kernel with these weights, (len(a), len(b)), without the norms."""
    from .._fast.weighted_degree import cumulative, wd_block, wd_shift_block, wd_weighted_block

    out = np.empty((len(a), len(b)))
    if family.core.shift:
        delta = family.core.distance_weights()
        limits = np.full(len(table), len(delta) - 1)
        wd_shift_block(planes_of(a), planes_of(b), table[0].copy(), delta, limits, out)
    elif is_even(table):
        wd_block(planes_of(a), planes_of(b), table[0].copy(), out)
    else:
        wd_weighted_block(code_matrix(a), code_matrix(b), cumulative(table), out)
    return out


def is_even(table: np.ndarray) -> bool:
    """Whether all positions have the same weights, so that pairs are compared bit by bit."""
    return bool((table == table[0]).all())
