"""What a kernel expression is made of: `pieces` takes it apart, and nothing else looks inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..views import Path, Views

if TYPE_CHECKING:
    from .base import Kernel


@dataclass(frozen=True, eq=False)
class Norm:
    """What samples are divided by: the root of the diagonal of a kernel that sees them through a path of columns."""

    path: Path
    kernel: Kernel

    def inverse(self, X: Views) -> np.ndarray:
        """Return 1 / √k(x, x) of every sample, 0 where there is nothing to divide."""
        return inverse_root(self.kernel.compute_diag(X.through(self.path)))


@dataclass(frozen=True, eq=False)
class Piece:
    """scale · core (or one part of it), seen through a path of columns and divided by norms.

    A term is the sum of its pieces. `degree` and `position` say which part of the core is meant, None for all.
    """

    core: Any
    path: Path = ()
    scale: float = 1.0
    norms: tuple[Norm, ...] = ()
    degree: int | None = None
    position: int | None = None

    def inverse_norms(self, X: Views) -> np.ndarray:
        """Return what every sample is multiplied with: Π 1 / √k(x, x) over all norms."""
        return np.prod([np.ones(len(X)), *(norm.inverse(X) for norm in self.norms)], axis=0)

    @property
    def whole(self) -> str:
        """What the piece is a part of, as text: core, norms and columns."""
        inner = f"{self.core!r}.normalized()" if self.norms else repr(self.core)
        return inner + "".join(f".on({columns!r})" for columns in reversed(self.path))


def pieces(term: Kernel, X: Views) -> list[Piece]:
    """Return what a term is the sum of, on these samples.

    Scaling, choosing columns, normalising, freezing, splitting and adding are taken apart; products, and wrappers that
    do not say otherwise (`Kernel.walk`), are pieces of their own.
    """
    return list(term.walk(Piece(term), X))


def readers(kernel: Kernel, X: Views, path: Path = ()) -> Iterator[tuple[Path, Kernel]]:
    """Yield the kernels at the ends of an expression, each with the columns that it is seen through.

    Whole columns are meant, as they are given: all letters of sequences, and numbers in the units that they came in.
    """
    for piece in kernel.walk(Piece(kernel, path), X):
        if not piece.core.inside:
            whole = (columns for columns in piece.path if not hasattr(columns, "of") or hasattr(columns, "given"))
            yield tuple(whole), piece.core
        for part in piece.core.inside:
            yield from readers(part, X, (*piece.path, *piece.core.inner_path))


def cosine(K: np.ndarray, kernel: Kernel, X: Views, Y: Views | None) -> np.ndarray:
    """Return a matrix divided by the norms of a kernel; Y = X where None."""
    inverse_x = inverse_root(kernel.compute_diag(X))
    K = K * inverse_x[:, None]
    K *= inverse_x if Y is None else inverse_root(kernel.compute_diag(Y))
    return K


def inverse_root(diag: np.ndarray) -> np.ndarray:
    """Return 1 / √diag, and 0 where that is not positive."""
    root = np.sqrt(np.maximum(diag, 0.0))
    return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
