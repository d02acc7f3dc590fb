"""Kernels around kernels: sums that are kept whole, and one term per column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..views import Columns, DictViews, Views
from .base import ClearWrapper, Kernel, Sum, add_all
from .kinds import joint_kind
from .pieces import Piece
from .values import limited


@dataclass(eq=False, repr=False)
class Frozen(ClearWrapper):
    """Keep a sum whole: `Frozen(a + b)` is one term, not two.

    Examples
    --------
    >>> from kernelweave import RBF, Frozen, Linear
    >>> Frozen(RBF(0.5) + Linear()) + RBF(2.0)
    Frozen(RBF(gamma=0.5) + Linear()) + RBF(gamma=2.0)
    """

    kernel: Kernel
    passes_rule = True

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"Frozen({self.kernel!r})"


@dataclass(eq=False, repr=False)
class PerFeature(ClearWrapper):
    """One term per column: Σ_j k(x_j, y_j), each j with its own learned weight."""

    kernel: Kernel
    passes_rule = True

    @property
    def gram_kind(self) -> str:  # type: ignore[override]
        return joint_kind([self.kernel.gram_kind])

    def check(self, X: Views) -> None:
        for term in self.terms(X):
            term.check(X)

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        found = [self.kernel.learned(X.select(label), share) for label in X.labels]
        if all(kernel is self.kernel for kernel in found):
            return self
        return add_all([kernel.on(label) for kernel, label in zip(found, X.labels, strict=True)])

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        for label in X.through(outer.path).labels:
            yield from self.kernel.walk(replace(outer, path=(*outer.path, label)), X)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        return Sum(self.terms(X)).compute(X, Y)

    def compute_diag(self, X: Views) -> np.ndarray:
        return Sum(self.terms(X)).compute_diag(X)

    def part(self, start: int = 0, stop: int | None = None) -> Kernel:
        return PerFeature(self.kernel.part(start, stop))

    def terms(self, X: Views) -> tuple[Kernel, ...]:
        return limited((self.kernel.on(label) for label in X.labels), f"{self!r} on {len(X.labels):,} columns")

    def terms_on(self, columns: Columns, X: Views) -> tuple[Kernel, ...]:
        seen = X.select(columns)
        if isinstance(X, DictViews) and not isinstance(seen, DictViews):
            return super().terms_on(columns, X)
        return tuple(self.kernel.on(label) for label in seen.labels)  # labels that X knows as well

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"per_feature({self.kernel!r})"


def per_feature(kernel: Kernel) -> Kernel:
    """Make one term per column of the data (or of the columns chosen with `.on`).

    Examples
    --------
    >>> from kernelweave import RBF, per_feature
    >>> per_feature(RBF(0.5)).on(["age", "gc"])
    per_feature(RBF(gamma=0.5)).on(['age', 'gc'])
    """
    if isinstance(kernel, Sum):
        return Sum(tuple(PerFeature(part) for part in kernel.kernels))
    return PerFeature(kernel)
