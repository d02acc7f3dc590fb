"""The Matérn kernel: as rough or as smooth as `nu` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from .values import real_number, shown
from .vectors import DIRECT_COLUMNS, VectorKernel, squared_distances, squares

#: Largest nu: above, nothing but the Gaussian can be told apart, and the Bessel functions overflow.
MAX_NU = 50.0
#: Squared distances below this share of the squared lengths come from rounding.
ROUNDING = 1e-14


@dataclass(eq=False, repr=False)
class Matern(VectorKernel):
    """k(x, y) = 2^(1−nu) / Γ(nu) · t^nu · K_nu(t), with t = √(2 nu) ‖x − y‖ / length and the Bessel function K_nu.

    With nu = 1/2 it is exp(−‖x − y‖ / length); the larger nu, the smoother, and the nearer to an `RBF`. Halves up to
    5/2 have short formulas; others take many times as long. It is the Fourier transform of a positive density, hence
    positive semi-definite.

    Parameters
    ----------
    nu : float
        Smoothness, above 0 and at most 50.
    length : float or None
        Distance over which samples become unlike; None for √(number of columns).
    """

    nu: float = 1.5
    length: float | None = None
    definite = True
    always_shown = ("nu",)

    def between(self, A: Any, B: Any) -> np.ndarray:
        nu, length = self._checked(A.shape[1])
        t = _distances(A, B)
        t *= np.sqrt(2.0 * nu) / length
        if nu == 0.5:
            return np.exp(-t)
        if nu == 1.5:
            return (1.0 + t) * np.exp(-t)
        if nu == 2.5:
            return (1.0 + t + t * t / 3.0) * np.exp(-t)
        from scipy.special import gammaln, kve

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logs = (1.0 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(t) + np.log(kve(nu, t)) - t
        return np.where(t < 1e-6, 1.0, np.exp(np.minimum(np.nan_to_num(logs, nan=0.0), 0.0)))

    def within(self, A: Any) -> np.ndarray:
        self._checked(A.shape[1])
        return np.ones(A.shape[0])

    def _checked(self, n_columns: int) -> tuple[float, float]:
        nu = real_number(self.nu)
        if not 0 < nu <= MAX_NU:
            raise InputError(f"Matern needs nu > 0, at most {MAX_NU:g} (RBF is smoother still); got {shown(self.nu)}.")
        return nu, checked_length(self, n_columns)


def _distances(A: Any, B: Any) -> np.ndarray:
    """Return ‖x − y‖; 0 where rounding alone tells the samples apart, of which the root would make a lot."""
    mixed = sparse.issparse(A) or sparse.issparse(B)
    if not mixed and A.shape[1] <= DIRECT_COLUMNS:  # these are exact
        return np.sqrt(squared_distances(A, B))
    if not mixed:
        centre = B.mean(axis=0)
        A, B = A - centre, B - centre
    found = squared_distances(A, B)
    found[found <= ROUNDING * (squares(A)[:, None] + squares(B))] = 0.0
    return np.sqrt(found, out=found)


def checked_length(kernel: Any, n_columns: int) -> float:
    """Return the length of a kernel: √columns where None is given."""
    length = float(np.sqrt(max(n_columns, 1))) if kernel.length is None else real_number(kernel.length)
    if not 0 < length < np.inf:
        raise InputError(f"{type(kernel).__name__} needs length > 0; got {shown(kernel.length)}.")
    return length
