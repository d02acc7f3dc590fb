"""`MKLRegressor`: regression with learned kernel weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ..errors import InputError
from ..losses import Loss, as_loss
from ..progress import Callback
from ..validation import check_costs, check_numbers, check_positive, check_sample_weight, check_X
from .base import BaseMKL

#: The default: what a loss that says another one overrides.
EPSILON = 0.1


class MKLRegressor(RegressorMixin, BaseMKL):
    """Predict numbers with a kernel whose terms are weighed by learning.

    Parameters and attributes are those of `MKLClassifier`, but for these.

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared"} or Loss
    epsilon : float
        For "epsilon_insensitive": how far a prediction may be off at no cost, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLRegressor, RBF
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> model = MKLRegressor(RBF(0.1) + RBF(1.0), C=10, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> round(model.score(X, np.sin(X[:, 0])), 2)
    1.0
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float = 1.0,
        learn_C: bool = False,
        loss: Any = "epsilon_insensitive",
        epsilon: float = EPSILON,
        norm: Any = 1,
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
        self.C = C
        self.learn_C = learn_C
        self.loss = loss
        self.epsilon = epsilon
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
        self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Any = None, callback: Callback | None = None
    ) -> MKLRegressor:
        """Learn weights and machine for targets y; see `MKLClassifier.fit`."""
        views = check_X(self, X, self._kernel(), reset=True)
        name = getattr(y, "name", None)
        y = check_numbers(y, len(views))
        weight = check_sample_weight(sample_weight, len(views))
        C = check_costs(check_positive("C", self.C) * weight)
        self._fit_problem(views, [y], C, weight, self._listeners(checkpoint, callback), name)
        return self

    def _loss(self) -> Loss:
        loss = as_loss(self.loss, ("numbers",), epsilon=self.epsilon)
        if self.epsilon != EPSILON and getattr(loss, "epsilon", self.epsilon) != self.epsilon:
            raise InputError(
                f"epsilon={self.epsilon!r} and loss={self.loss!r} contradict each other; give one of them."
            )
        return loss

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted number of every sample."""
        return self.fitted_.decide(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, split: bool = False) -> Any:
        """Return R²; with split=True, its share per term (they add up to it)."""
        score = super().score(X, y, sample_weight)
        return score * self.fitted_.shares(X) if split else score
