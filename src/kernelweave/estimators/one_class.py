"""`MKLOneClass`: novelty detection with learned kernel weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from ..errors import InputError
from ..kernels import Auto, Kernel
from ..losses import Loss, OneClass
from ..progress import Callback
from ..validation import check_positive, check_sample_weight, check_X
from .base import BaseMKL
from .chosen import is_auto


class MKLOneClass(OutlierMixin, BaseMKL):
    """Find samples unlike the others, with a kernel whose terms are weighed by learning.

    Parameters and attributes are those of `MKLClassifier`, but for these.

    Parameters
    ----------
    nu : float
        Share of the training samples that may lie outside, in (0, 1].

    Attributes
    ----------
    offset_ : float
        `decision_function` is `score_samples` minus this.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLOneClass, RBF
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> MKLOneClass(RBF(0.5) + RBF(0.05), nu=0.1).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        nu: float = 0.5,
        norm: Any = None,
        solver: Any = "auto",
        dual: Any = "auto",
        scaling: str | None = "variance",
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        warm_start: bool = False,
        memory: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.norm = norm
        self.solver = solver
        self.dual = dual
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        callback: Callback | None = None,
        engine: Any = None,
    ) -> MKLOneClass:
        """Learn weights and machine; y is not read."""
        nu = check_positive("nu", self.nu, what="a share in (0, 1]")
        if nu > 1:
            raise InputError(f"nu must be a share in (0, 1]; got {self.nu!r}.")
        views = check_X(self, X, self._kernel(), reset=True)
        weight = check_sample_weight(sample_weight, len(views))
        C = weight / (nu * weight.sum())
        self._fit_problem(views, [np.zeros(len(views))], C, weight, self._listeners(checkpoint, callback, engine))
        self.offset_ = -float(self.intercept_[0])
        return self

    def _loss(self) -> Loss:
        return OneClass()

    def _kernel(self) -> Kernel:
        return Auto(several=False) if is_auto(self.kernel) else super()._kernel()

    def _chosen(self) -> tuple[bool, bool]:
        return False, False  # there are no targets to choose by

    def decision_function(self, X: Any) -> np.ndarray:
        """Return how far inside (> 0) or outside (< 0) every sample is."""
        f = self.fitted_.decide(X)[:, 0]
        # many training samples lie on the border itself: rounding must not push them over it
        return np.where(np.abs(f) <= 1e-9 * abs(self.offset_), 0.0, f)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the decision values before the offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for samples like the training ones, −1 for others."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
