"""Kernels on columns in units of their own spread, as learned from the training samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from ..units import Units
from ..views import Views
from .base import ATOM, ClearWrapper, Kernel, bracketed
from .pieces import Piece
from .values import real_numbers, same_value, shown, typed

#: What a spread is, and what is done where numbers are missing.
BY, MISSING = ("std", "robust"), ("error", "centre", "expected", "unlike")


@dataclass(eq=False, repr=False)
class Standardized(ClearWrapper):
    """k((x − centres) / spreads, (y − centres) / spreads): numbers without their units.

    Typed as `RBF(0.1).standardized()`. Centres and spreads of the columns are learned by an estimator, from its
    training samples alone; its `base_kernel_` prints them. In a sum or a product, and around `.on`, every kernel gets
    its own.

    Parameters
    ----------
    kernel : a kernel on numbers
    by : {"std", "robust"}
        Mean and standard deviation, or median and quartiles (whose distance is 1.349 deviations of a normal).
    missing : {"error", "centre", "expected", "unlike"}
        Where numbers are missing (NaN). "centre": as if the centre of the column stood there. "expected": for `RBF`
        the mean of the kernel over a normal column of that centre and spread, in closed form; for others the kernel
        at the centre. "unlike": zero, to all samples and to itself.
    centres, spreads : list of float or None
        What was learned, one for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import RBF, MKLRegressor
    >>> X = np.array([[1.0, 2000.0], [2.0, 1000.0], [3.0, 5000.0], [4.0, 4000.0]])
    >>> MKLRegressor(RBF(0.5).standardized()).fit(X, [1.0, 2.0, 3.0, 4.0]).base_kernel_
    RBF(gamma=0.5).standardized(centres=[2.5, 3000.0], spreads=[1.12, 1580.0])
    """

    kernel: Kernel
    by: str = "std"
    missing: str = "error"
    centres: Any = None
    spreads: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel.reads != "numbers" or not hasattr(self.kernel, "between"):
            raise InputError(f"Only kernels on numbers are standardized; {self.kernel!r} reads {self.kernel.reads}.")
        for name, known in (("by", BY), ("missing", MISSING)):
            if getattr(self, name) not in known:
                raise InputError(f"{name} of .standardized() is one of {known}; got {shown(getattr(self, name))}.")
        spreads = real_numbers(self.spreads)
        centres = spreads if self.centres is None else real_numbers(self.centres)
        fits = spreads.ndim == 1 and spreads.shape == centres.shape and np.isfinite(centres).all()
        if (self.spreads is not None or self.centres is not None) and not (
            fits and (spreads > 0).all() and np.isfinite(spreads).all()
        ):
            raise InputError(
                f".standardized() takes one spread > 0 and one centre per column; got {shown(self.spreads)}."
            )

    @property
    def takes_gaps(self) -> bool:
        return self.missing != "error"

    @property
    def units(self) -> Units:
        """What the columns are moved and divided by."""
        if self.spreads is None:
            raise InputError(f"{self!r} has no spreads yet: an estimator learns them; its base_kernel_ shows them.")
        centres = None if self.centres is None else tuple(map(float, self.centres))
        return Units(centres, tuple(map(float, self.spreads)), self.missing)

    def seen(self, X: Views) -> Views:
        return self.units.of(X)

    def check(self, X: Views) -> None:
        self.kernel.check(X)

    @property
    def _clear(self) -> bool:
        """Whether it is nothing but the kernel inside, on other numbers."""
        return self.missing in ("error", "centre")

    def view(self, X: Views) -> Views:
        return self.seen(X) if self.takes_gaps else X  # samples that differ in one unit differ in another

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        if self.spreads is not None:
            return self
        units = Units.learned(X.matrix(self.takes_gaps), share, self.by == "robust")
        centres = None if units.centres is None else list(units.centres)
        return replace(self, centres=centres, spreads=list(units.spreads))

    def standardized(self, *how: Any, **more: Any) -> Kernel:
        raise InputError(f"{self!r} is standardized already.")

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        if not self._clear:
            return iter([replace(outer, core=self)])
        units = Units(None, ()) if self.spreads is None else self.units  # which columns are read is known before
        return self.kernel.walk(replace(outer, path=(*outer.path, units)), X)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        if self._clear:
            return super().compute(X, Y)
        A: Any = self.seen(X).matrix()
        B: Any = A if Y is None else self.seen(Y).matrix()
        kernel: Any = self.kernel
        holes_a, holes_b = _with_gaps(A), _with_gaps(B)
        if not holes_a.any() and not holes_b.any():
            return kernel.between(A, B)
        if self.missing == "expected":
            return kernel.expected(A, B)
        K = kernel.between(np.nan_to_num(A), np.nan_to_num(B))
        K[holes_a], K[:, holes_b] = 0.0, 0.0
        return K

    def compute_diag(self, X: Views) -> np.ndarray:
        if self._clear:
            return super().compute_diag(X)
        A: Any = self.seen(X).matrix()
        kernel: Any = self.kernel
        holes = _with_gaps(A)
        if not holes.any():
            return kernel.within(A)
        if self.missing == "expected":
            return kernel.expected_within(A)
        return np.where(holes, 0.0, kernel.within(np.nan_to_num(A)))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "kernel"}
        defaults = {field.name: field.default for field in fields(self)}
        said = [f"{name}={typed(value)}" for name, value in given.items() if not same_value(value, defaults[name])]
        return f"{bracketed(self.kernel, ATOM)}.standardized({', '.join(said)})"


def _with_gaps(A: Any) -> np.ndarray:
    """Say of every row whether a number is missing; a sparse matrix has none."""
    return np.zeros(A.shape[0], bool) if sparse.issparse(A) else np.isnan(A).any(axis=1)
