"""A Gaussian around another kernel: near in its feature space is similar, far is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..views import Views
from .base import Kernel, Wrapper
from .values import real_number, shown, typed


@dataclass(eq=False, repr=False)
class Gaussian(Wrapper):
    """exp(−gamma/2 · ‖φ(x) − φ(y)‖²), with φ the features of a kernel: ‖φ(x) − φ(y)‖² = k(x, x) + k(y, y) − 2 k(x, y).

    Around a normalised kernel that is exp(gamma (k(x, y) − 1)), the RBF kernels of LS-GKM. `Gaussian(Linear(), 2 * g)`
    is `RBF(g)`. It is always held by its matrix.

    Parameters
    ----------
    kernel : Kernel
    gamma : float
        Above 0: how quickly similarity falls with the distance.

    Examples
    --------
    >>> from kernelweave import Gaussian, Spectrum
    >>> Gaussian(Spectrum(2).normalized(), gamma=2.0)(["GATTACA", "GATTACC", "CCCC"]).round(3)
    array([[1.   , 0.717, 0.135],
           [0.717, 1.   , 0.306],
           [0.135, 0.306, 1.   ]])
    """

    kernel: Kernel
    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < real_number(self.gamma) < np.inf:
            raise InputError(f"Gaussian needs a finite gamma > 0; got {shown(self.gamma)}.")

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        K = self.kernel.compute(X, Y)  # first, so that sequences of X are read as those of Y are
        own = self.kernel.compute_diag(X)
        others = own if Y is None else self.kernel.compute_diag(Y)
        squares = own[:, None] + others - 2.0 * K
        if Y is None:
            np.fill_diagonal(squares, 0.0)
        return np.exp(-0.5 * self.gamma * np.maximum(squares, 0.0, out=squares))

    def compute_diag(self, X: Views) -> np.ndarray:
        return np.ones(len(X))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"Gaussian({self.kernel!r}, gamma={typed(self.gamma)})"
