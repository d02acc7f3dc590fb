"""What kernels on numbers share: a quantity of every pair of samples, of which each makes its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from ..views import Path, Views
from .pieces import Piece, pieces

if TYPE_CHECKING:
    from .base import Kernel

#: What is shared by the kernels of a family, by the number under which `_fast.tiles` knows it.
SQUARES, DISTANCES, PRODUCTS = range(3)
#: Powers up to this one are products of their factors.
MAX_DEGREE = 16


@dataclass(frozen=True)
class Form:
    """k(x, y) = exp(−gamma q) for degree 0, and (gamma q + coef0)^degree otherwise.

    q is one of Σ_c (u_c − v_c)², Σ_c |u_c − v_c| and u·v, with u and v the samples, their columns stretched.
    """

    shared: int
    gamma: float
    coef0: float = 0.0
    degree: int = 0
    #: What the columns are multiplied with; None leaves them as they are.
    stretch: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Seen:
    """Samples as the kernels of one family see them: through a path of columns, stretched, of length one or not."""

    shared: int
    path: Path
    stretch: tuple[float, ...] | None = None
    #: (gamma, coef0) where samples are divided by √(gamma x·x + coef0): [√gamma x, √coef0] has length one then.
    unit: tuple[float, float] | None = None

    @cached_property
    def key(self) -> str:
        """What two of them that see the same have in common."""
        return f"{self.shared} {self.path!r} {self.stretch} {self.unit}"

    def rows(self, X: Views, n_columns: int | None = None) -> np.ndarray:
        """Return the samples, (n, d), which must have as many columns as said."""
        A: Any = X.through(self.path).matrix()
        if n_columns is not None and A.shape[1] != n_columns:
            raise InputError(f"X has {A.shape[1]} columns, but Y has {n_columns}; they must agree.")
        A = A.toarray() if sparse.issparse(A) else A
        if self.stretch is not None:
            A = A * np.asarray(self.stretch)
        if self.unit is not None:
            gamma, coef0 = self.unit
            A = np.column_stack([np.sqrt(gamma) * A, np.full(len(A), np.sqrt(coef0))])
            sizes = np.sqrt(np.einsum("ij,ij->i", A, A))
            A = A * np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)[:, None]
        return np.asarray(A)


@dataclass(frozen=True)
class Formed:
    """A piece of a term: scale · form(q) of the samples as seen."""

    seen: Seen
    form: Form
    scale: float


def parts_in_form(term: Kernel, X: Views, dense: dict[Any, int] | None = None) -> list[Formed] | None:
    """Return the pieces that a term is the sum of, each in its form; None where one of them has none.

    Parameters
    ----------
    dense : dict, optional
        How many columns the matrices have that paths lead to, −1 for those that are not dense: for those who ask for
        many terms on the same samples.
    """
    if not all(_has_form(leaf) for leaf in term.leaves()):
        return None
    dense = {} if dense is None else dense
    found = [_in_form(piece, X, dense) for piece in pieces(term, X)]
    return [part for part in found if part is not None] if all(part is not None for part in found) else None


def _has_form(core: Kernel) -> bool:
    # a subclass may compute something else, so what its parent says of itself does not hold for it
    return "form" in vars(type(core))


def _in_form(piece: Piece, X: Views, dense: dict[Any, int]) -> Formed | None:
    if not _has_form(piece.core):
        return None
    key = repr(piece.path)
    if key not in dense:
        matrix = X.through(piece.path).rows(np.arange(min(1, len(X)))).matrix()  # all may be far away
        dense[key] = matrix.shape[1] if isinstance(matrix, np.ndarray) else -1
    if dense[key] < 0:
        return None
    form = piece.core.form(dense[key])
    if form is None or form.degree > MAX_DEGREE:
        return None
    part = Formed(Seen(form.shared, piece.path, form.stretch), replace(form, stretch=None), piece.scale)
    return part if not piece.norms else _normalised(part, piece, X)


def _normalised(part: Formed, piece: Piece, X: Views) -> Formed | None:
    """Return a piece that is divided by its own norms; None where they are those of something else."""
    own = pieces(piece.norms[0].kernel, X)
    if len(piece.norms) > 1 or len(own) > 1 or own[0].norms or own[0].scale == 0.0 or own[0].core != piece.core:
        return None
    form, scale = part.form, part.scale / own[0].scale
    if form.degree == 0:  # k(x, x) = 1 already
        return replace(part, scale=scale)
    seen = replace(part.seen, unit=(form.gamma, form.coef0))
    return Formed(seen, replace(form, gamma=1.0, coef0=0.0), scale)
