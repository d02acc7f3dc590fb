"""`MKLRegressor`: regression with learned kernel weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from ..errors import InputError
from ..losses import Loss, as_loss
from ..progress import Callback
from ..validation import check_costs, check_numbers, check_sample_weight, check_X
from .base import BaseMKL
from .intervals import half_width, left_out_errors

#: The default: what a loss that says another one overrides.
EPSILON = 0.1


def _has_intervals(estimator: Any) -> bool:
    if estimator.intervals:
        return True
    raise AttributeError("predict_interval needs intervals=True, before the fit.")


class MKLRegressor(RegressorMixin, BaseMKL):
    """Predict numbers with a kernel whose terms are weighed by learning.

    Parameters and attributes are those of `MKLClassifier`, but for these. y may have several columns, (n, n_targets):
    one machine for each, all on the same kernels; with the squared loss, one factorisation serves all of them.

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared"}, Loss or None
        None for "epsilon_insensitive", and for "squared" where C is chosen by its left-out errors for up to 5,000
        samples.
    epsilon : float
        For "epsilon_insensitive": how far a prediction may be off at no cost, in units of the scaled y.
    scaling_y : {"std", None}
        Whether y is moved by its mean and divided by its standard deviation first, so that C and epsilon mean the
        same on all data. Predictions, `dual_coef_` and `intercept_` are in units of y all the same; `objective_`,
        `lower_bound_` and `gap_` are those of the scaled y. None takes y as it is.
    intervals : bool
        Whether `predict_interval` is wanted: ten more fits, each of which predicts a tenth of the samples that it does
        not know; with `groups` of `fit`, whole groups.
    weights : {"shared", "per_target"}
        For several targets: one set of weights for all, or one for each. A C that is chosen is one for each anyway.

    Attributes
    ----------
    y_units_ : (float, float)
        What y was moved and divided by; two arrays for several targets.
    n_outputs_ : int
        How many targets there are.
    left_out_errors_ : array of shape (n,) or (n, n_targets)
        With `intervals`: how far the training samples were off, each by a machine that did not know it; sorted.

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
        C: Any = None,
        learn_C: bool = False,
        loss: Any = None,
        epsilon: float = EPSILON,
        scaling_y: str | None = "std",
        weights: str = "shared",
        norm: Any = None,
        solver: Any = "auto",
        dual: Any = "auto",
        scaling: str | None = "variance",
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        intervals: bool = False,
        cv: Any = 5,
        scoring: Any = None,
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
        self.scaling_y = scaling_y
        self.weights = weights
        self.norm = norm
        self.solver = solver
        self.dual = dual
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.intervals = intervals
        self.cv = cv
        self.scoring = scoring
        self.warm_start = warm_start
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        checkpoint: Any = None,
        callback: Callback | None = None,
        engine: Any = None,
    ) -> MKLRegressor:
        """Learn weights and machines for targets y, (n,) or (n, n_targets); see `MKLClassifier.fit`."""
        if self.weights not in ("shared", "per_target"):
            raise InputError(f'weights must be "shared" or "per_target"; got {self.weights!r}.')
        views = check_X(self, X, self._kernel(), reset=True)
        name = getattr(y, "name", None)  # of a series; a table may have a column of that name
        y = check_numbers(y, len(views), several=True)
        weight = check_sample_weight(sample_weight, len(views))
        if self._searches():
            self._search(views, y, weight, groups, callback, engine)
        C = check_costs(self._cost() * weight)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        units = [self._units_of(column, weight) for column in _columns(y)]
        targets = [(column - shift) / spread for column, (shift, spread) in zip(_columns(y), units, strict=True)]
        several = [np.array(part) for part in zip(*units, strict=True)]
        self.y_units_ = units[0] if self.n_outputs_ == 1 else (several[0], several[1])
        name = name if isinstance(name, str) else None
        self._fit_problem(views, targets, C, weight, self._listeners(checkpoint, callback, engine), name)
        if self.intervals:
            self.left_out_errors_ = left_out_errors(self, views, y, weight, groups, callback)
        return self

    def _units_of(self, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
        if self.scaling_y is None:
            return 0.0, 1.0
        if self.scaling_y != "std":
            raise InputError(f'scaling_y must be "std" or None; got {self.scaling_y!r}.')
        mean = float(np.average(y, weights=weight))
        spread = float(np.sqrt(np.average(np.square(y - mean), weights=weight)))
        # targets that are all the same have no spread, whatever rounding makes of their mean
        return mean, spread if spread > 1e-12 * np.abs(y).max() else 1.0

    def _shared(self) -> bool:
        return self.weights == "shared" or not self._several()

    def _several(self) -> bool:
        return getattr(self, "n_outputs_", 1) > 1

    def _loss(self) -> Loss:
        given = self._plain_loss("epsilon_insensitive") if self.loss is None else self.loss
        loss = as_loss(given, ("numbers",), epsilon=self.epsilon)
        if self.epsilon != EPSILON and getattr(loss, "epsilon", self.epsilon) != self.epsilon:
            raise InputError(
                f"epsilon={self.epsilon!r} and loss={self.loss!r} contradict each other; give one of them."
            )
        return loss

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted number of every sample: (n,), or (n, n_targets) for several targets."""
        f = self.fitted_.decide(X)
        return f if self._several() else f[:, 0]

    @available_if(_has_intervals)
    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return low and high ends between which new numbers lie with about that chance: (n, 2).

        The prediction less and plus the ⌈(n + 1) · coverage⌉th of the n sorted errors that machines made for training
        samples that they did not know. This holds on the average over samples that come from where the training
        samples came from; it does not say that every kind of sample is covered as well. For several targets:
        (n, n_targets, 2), each target by itself.
        """
        f, half = self.predict(X), half_width(self.left_out_errors_, coverage)
        return np.stack([f - half, f + half], axis=-1)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, split: bool = False) -> Any:
        """Return R², the mean over several targets; with split=True, its share per term (they add up to it)."""
        score = super().score(X, y, sample_weight)
        return score * self.fitted_.shares(X) if split else score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _columns(y: np.ndarray) -> np.ndarray:
    """Return one row for every target."""
    return np.ascontiguousarray(y.reshape(len(y), -1).T)
