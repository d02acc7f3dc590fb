"""The cosine of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..views import Views
from .base import ATOM, ClearWrapper, Kernel, bracketed
from .pieces import Norm, Piece, cosine


@dataclass(eq=False, repr=False)
class Normalized(ClearWrapper):
    """The cosine of a kernel: k(x, y) / √(k(x, x) k(y, y)), and 0 where a norm is 0."""

    kernel: Kernel

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        K = self.kernel.compute(X, Y)  # first, so that sequences of X are read as those of Y are
        return cosine(K, self.kernel, X, Y)

    def compute_diag(self, X: Views) -> np.ndarray:
        return (self.kernel.compute_diag(X) > 0).astype(np.float64)

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        return self.kernel.walk(replace(outer, norms=(*outer.norms, Norm(outer.path, self.kernel))), X)

    def split(self, *by: str) -> Kernel:
        """Return the parts of the normalised kernel, each divided by the norms of the whole."""
        whole = self.kernel.split(*by)
        return type(whole)(self, whole.by)

    def only(self, degree: int | None = None, position: int | None = None) -> Kernel:
        """Return one part of the normalised kernel, divided by the norms of the whole."""
        part = self.kernel.only(degree, position)
        return type(part)(self, degree, position)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{bracketed(self.kernel, ATOM)}.normalized()"
