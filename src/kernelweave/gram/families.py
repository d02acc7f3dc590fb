"""Families of terms: parts of one weighted degree kernel on one view, whose products share one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels import WeightedDegree
from ..kernels.pieces import Piece
from ..kernels.weighted_degree import code_matrix, planes_of
from ..sequences import SequenceSet
from ..views import Views


@dataclass
class Family:
    """Some terms scale · core.only(degree, position), all seen through one path of columns and divided by one norm."""

    #: Any of the terms: what it says of core, columns and norms holds for all.
    piece: Piece
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

    @property
    def core(self) -> WeightedDegree:
        """The kernel that the terms are parts of."""
        core: WeightedDegree = self.piece.core
        return core

    def sequences(self, X: Views, like: SequenceSet | None = None) -> SequenceSet:
        """Return the sequences that the family sees, over the alphabet of others where given."""
        seen = X.through(self.piece.path)
        return seen.sequences(self.core.alphabet) if like is None else seen.sequences_like(like)

    def roots(self, X: Views) -> np.ndarray | None:
        """Return 1 / √k(x, x) of every sample, or None where the terms are not normalised."""
        return self.piece.inverse_norms(X) if self.piece.norms else None

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


def families_of(parts: Sequence[Piece]) -> list[Family]:
    """Group parts of weighted degree kernels so that each group is served by one pass."""
    found: dict[Any, Family] = {}
    for number, piece in enumerate(parts):
        key = (piece.core, repr(piece.path), repr(piece.norms), piece.degree is None, piece.position is None)
        family = found.setdefault(key, Family(piece))
        family.numbers.append(number)
        family.scales.append(piece.scale)
        family.degrees.append(piece.degree)
        family.positions.append(piece.position)
    return list(found.values())


def block_of(family: Family, table: np.ndarray, a: SequenceSet, b: SequenceSet) -> np.ndarray:
    """Return the matrix of the kernel with these weights, (len(a), len(b)), without the norms."""
    from .._fast.weighted_degree import cumulative, wd_block, wd_shift_block, wd_weighted_block

    out = np.empty((len(a), len(b)))
    if family.core.shift:
        delta = family.core.distance_weights()
        wd_shift_block(planes_of(a), planes_of(b), table[0].copy(), delta, out)
    elif is_even(table):
        wd_block(planes_of(a), planes_of(b), table[0].copy(), out)
    else:
        wd_weighted_block(code_matrix(a), code_matrix(b), cumulative(table), out)
    return out


def is_even(table: np.ndarray) -> bool:
    """Whether all positions have the same weights, so that pairs are compared bit by bit."""
    return bool((table == table[0]).all())
