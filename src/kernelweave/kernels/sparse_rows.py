"""Sparse rows of counts, and the products of two sets of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..parallel import blocks

#: Counts up to here are whole in single precision.
MAX_SINGLE = 1 << 24
#: What a multiplication costs in a product of dense matrices, per byte of a number, against one in a sum over shared
#: features (measured).
DENSE_COST = 0.005
#: Products of counts that are added up between two looks at the clock: a tenth of a second.
BURST = 1e8
#: Bytes of dense rows that such a product may take.
DENSE_BYTES = 1 << 28


@dataclass
class Rows:
    """Sparse rows: sample r has the features ids[starts[r] : starts[r + 1]], each counts[...] · scale[r] times.

    K = weight · (scale C)(scale C)' with C the counts, so that counts stay whole numbers, kept in single precision.
    """

    ids: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    n_columns: int
    #: Σ counts^p of every sample for p = 0, 1, 2, over all its features: also those without a number.
    powers: np.ndarray
    scale: np.ndarray | None = None
    weight: float = 1.0
    #: What every feature counts (n_columns,), until `valued`; `powers` has Σ (worth · count)², Σ worth² as well then.
    worth: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays that jitted functions take."""
        return self.ids, self.counts, self.starts

    @property
    def diag(self) -> np.ndarray:
        """k(x, x) of every sample."""
        return self.weight * (self.powers[2] if self.scale is None else self.powers[2] * self.scale**2)

    def scaled(self, factor: np.ndarray) -> Rows:
        """Return the rows times a factor each."""
        return replace(self, scale=factor if self.scale is None else self.scale * factor)

    def valued(self, values: str) -> Rows:
        """Return the rows with "count" of every feature, "binary" (1 where it occurs) or "frequency" (its share)."""
        if self.worth is not None:
            times, square = (1.0, 4) if values == "binary" else (self.counts, 3)
            counts, powers = times * self.worth[self.ids], self.powers[[0, 1, square]]
            rows = replace(self, counts=counts, powers=powers, worth=None)
            return rows if values == "binary" else rows.valued(values)
        if values == "binary":
            return replace(self, counts=np.ones_like(self.counts), powers=self.powers[[0, 0, 0]])
        if values == "frequency":
            return self.scaled(1.0 / np.maximum(self.powers[1], 1.0))
        return self

    def take(self, rows: np.ndarray) -> Rows:
        """Return some of the rows."""
        from .._fast.sparse import take

        ids, counts, starts = take(*self.arrays, rows)
        scale = None if self.scale is None else self.scale[rows]
        return replace(self, ids=ids, counts=counts, starts=starts, powers=self.powers[:, rows], scale=scale)

    @cached_property
    def fit_single(self) -> bool:
        """Whether products are exact in single precision: counts are whole, and no k(x, x) is too large."""
        return bool(self.powers[2].max(initial=0) <= MAX_SINGLE and (self.counts == np.rint(self.counts)).all())

    @cached_property
    def by_feature(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which rows have a feature, how often, and where the rows of every feature start."""
        from .._fast.sparse import transpose

        return transpose(*self.arrays, self.n_columns)


def add_products(A: Rows, B: Rows, out: np.ndarray, first: int = 0, factor: float = 1.0) -> None:
    """Add factor · k(A_i, B_j) to out, for the rows i of A from `first` on, as many as out has."""
    from .._fast.sparse import inverted_block, inverted_square, mirror

    part: np.ndarray = np.zeros(out.shape)
    low, high, square = A.starts[first], A.starts[first + len(out)], A is B and len(out) == len(A)
    shared = int(np.diff(B.by_feature[2])[A.ids[low:high]].sum())
    kind: type = np.float32 if A.fit_single and B.fit_single else np.float64
    size = np.dtype(kind).itemsize
    n_dense = len(out) * len(B) * B.n_columns
    if n_dense * DENSE_COST * size < shared and size * B.n_columns * (len(out) + len(B)) <= DENSE_BYTES:
        right = _spread(B, 0, len(B), kind)
        part = (right if square else _spread(A, first, len(out), kind)) @ right.T
    else:
        reached = B.by_feature[2].copy() if square else None
        for rows in blocks(len(out), max(1, int(len(out) * BURST / max(1, shared)))):
            if square:
                inverted_square(*A.arrays, *B.by_feature, reached, rows.start, rows.stop, part)
            else:
                inverted_block(*A.arrays, first + rows.start, *B.by_feature, part[rows])
        if square:
            mirror(part)
    scaled = np.multiply(part, factor * B.weight, dtype=np.float64)
    if A.scale is not None:
        scaled *= A.scale[first : first + len(out), None]
    if B.scale is not None:
        scaled *= B.scale
    out += scaled


def _spread(rows: Rows, first: int, n: int, kind: type) -> np.ndarray:
    from .._fast.sparse import spread

    out: np.ndarray = np.zeros((n, rows.n_columns), kind)
    spread(*rows.arrays, first, out)
    return out
