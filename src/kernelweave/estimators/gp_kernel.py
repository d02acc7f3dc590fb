"""A kernel of the library in scikit-learn's Gaussian processes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import GenericKernelMixin
from sklearn.gaussian_process.kernels import Kernel as ProcessKernel

from ..kernels import Kernel, as_kernel


class GPKernel(GenericKernelMixin, ProcessKernel):
    """A kernel, learned or typed, as a kernel of `sklearn.gaussian_process`.

    It has nothing to optimise, and joins those that have: `ConstantKernel() * GPKernel(model.kernel_) + WhiteKernel()`.
    Samples are whatever the kernel reads and scikit-learn passes on: matrices, and columns of strings or ids.

    Parameters
    ----------
    kernel : Kernel or str

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from kernelweave import RBF, GPKernel, Linear, MKLRegressor
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * X[:, 0]
    >>> model = MKLRegressor(RBF(1.0) + Linear(), C=100.0).fit(X, y)
    >>> process = GaussianProcessRegressor(GPKernel(model.kernel_), alpha=1e-4).fit(X, y)
    >>> mean, deviation = process.predict(X, return_std=True)
    >>> bool(np.abs(mean - y).max() < 0.05)
    True
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __sklearn_clone__(self) -> GPKernel:
        return type(self)(self.kernel)  # with what it has learned

    def _known(self) -> Kernel:
        return as_kernel(self.kernel)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return k(X, Y), a fresh matrix; with `eval_gradient` also its gradient, of no parameters."""
        K = np.array(self._known()(X, Y), dtype=np.float64)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> np.ndarray:
        """Return k(x, x) of every sample."""
        return np.array(self._known().diag(X), dtype=np.float64)

    def is_stationary(self) -> bool:
        """Return False: nothing is known of it."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GPKernel) and self._known() == other._known()

    __hash__ = None  # type: ignore[assignment]  # scikit-learn's are not hashed either

    def __repr__(self) -> str:
        return f"GPKernel({self._known()!r})"
