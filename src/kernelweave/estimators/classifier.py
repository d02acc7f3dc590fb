"""`MKLClassifier`: binary and multi-class machines with learned kernel weights."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ..errors import InputError
from ..losses import Logistic, Loss, as_loss
from ..progress import Callback
from ..validation import (
    check_class_weight,
    check_costs,
    check_indicator,
    check_label_weight,
    check_labels,
    check_sample_weight,
    check_X,
    warn_ratio,
)
from ..views import Views
from .base import BaseMKL
from .listeners import Listeners
from .probabilities import calibrate

#: What a loss for labels may be made for: squares of numbers tell classes apart as well.
TARGETS = ("labels", "numbers")


def _has_probabilities(estimator: Any) -> bool:
    if estimator.probability:
        return True
    with suppress(InputError):
        if estimator.loss is not None and isinstance(as_loss(estimator.loss, TARGETS), Logistic):
            return True
    raise AttributeError(
        "predict_proba needs probability=True, or loss='logistic', whose decision values are log-odds."
    )


class MKLClassifier(ClassifierMixin, BaseMKL):
    """Classify with a kernel whose terms are weighed by learning.

    Minimises Σ C·loss(y, f) + ½ Σ_m ‖w_m‖² / weights[m] over the machine and the weights
    together, and says how near to the optimum it stopped.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        What is similar; its top-level summands are the terms whose weights are learned. None or "auto" for `Auto()`,
        which chooses one by the look of the data.
    C : float, "auto", "cv", list of float or None
        Cost of errors, against a smooth machine. "auto": by what ridge regression misses when samples are left out,
        one after another. "cv", or a list of values: the one with the best score by `cv` and `scoring`. The choice is
        `C_`. None for 1, and for "auto" where no kernel is given.
    learn_C : bool
        For squared losses: find C together with the weights, as the weight of one more term, `Identity()`;
        the result is `C_`.
    loss : {"hinge", "squared_hinge", "logistic", "smooth_hinge", "squared"}, Loss or None
        None for "hinge", and for "squared" where C is chosen by its left-out errors for up to 5,000 samples.
        Parameters go into brackets, "smooth_hinge(sigma=3)"; so do those of norm, solver and dual.
    norm : 1, float > 1, "fixed", WeightNorm, "auto" or None
        Where the weights live: 1 keeps few terms, p > 1 keeps all, "fixed" learns none. "auto": weights are chosen as
        C is, among equal ones, single terms and those of "two_stage". None for 1, and for "auto" where no kernel is
        given.
    solver : {"auto", "silp", "silp_chunking", "simple", "hessian", "analytic", "two_stage"} or Solver
        How the weights are found; "auto" takes Newton's method for norm=1 and the closed form for p > 1. "two_stage"
        chooses them before the machine, by their alignment with y; its gap speaks of the machine alone.
    dual : {"auto", "active_set", "coordinate", "ridge", "newton", "smo", "chunking"} or DualSolver
        How the machine at given weights is found; "auto" goes by the loss, and by whether there is a matrix.
    scaling : {"variance", "trace", None}
        Divide every term by its variance in feature space, so that no term wins by its units.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most steps of the solver.
    max_seconds : float or None
        Most seconds of the fit.
    class_weight : dict, "balanced", list or None
        Multiplies C by class. Of several labels: by whether a sample has the label, {0: 1, 1: 5}, the same for all, or
        a list with one for each; "balanced" looks at each label by itself.
    probability : bool
        Whether `predict_proba` is wanted: five more fits, each of which judges a fifth of the samples that it does not
        know, and a logistic curve through these decision values, of every class or label. With `groups` of `fit`, whole
        groups are left out. Not needed for loss="logistic".
    weights : {"shared", "per_class"}
        For more than two classes, and for several labels: one set of weights for all machines, or one for each.
    cv : int, splitter of scikit-learn, or list of (train, test)
        For C="cv" and lists: the folds. A number makes them keep the shares of the classes; with `groups` of `fit`,
        they keep groups together.
    scoring : str, callable or None
        For C="cv" and lists: any scorer of scikit-learn; None for `score`.
    warm_start : bool
        Go on from the last fit where shapes agree.
    memory : str, int or None
        Budget for kernel matrices, such as "2GB"; half of what is free by default.
    random_state : int, Generator or None
        Kept for solvers that draw at random.
    n_jobs : int or None
        Threads.
    verbose : int
        1 to write one line per iteration to standard error.

    Attributes
    ----------
    weights_ : array of shape (n_terms,) or (n_classes, n_terms)
        Learned weights of the scaled terms.
    term_names_ : list of str
    base_kernel_ : Kernel
        The kernel before its terms are weighed, with what it learned from the training samples, such as spreads.
    kernel_ : Kernel or list of Kernel
        The learned kernel: `kernel_(X, X_train[support_]) @ dual_coef_.T + intercept_` is the decision.
    scales_ : array of shape (n_terms,)
        What each term was divided by.
    dual_coef_ : array of shape (n_machines, n_support)
    intercept_ : array of shape (n_machines,)
    support_ : array of row numbers
    objective_, lower_bound_, gap_ : float
        Best upper and lower bound of the optimum, and their relative distance.
    converged_ : bool
    stop_reason_ : {"converged", "max_iter", "max_seconds", "stalled", "interrupted"}
    n_iter_, n_solves_ : int
    history_ : list of dict
    solver_ : str
    alignment_ : dict, list of dict or None
        For solver="two_stage": how like the ideal kernel the "terms" are, and their sum "before" and "after".
    loss_ : str
        The name of the loss.
    calibration_ : array of shape (n_machines, 2)
        With `probability`: slope and offset of the logistic curve of every machine.
    C_ : float or array
        The C of the fit: given, chosen or learned.
    cv_results_ : dict of arrays
        For C="cv" and lists: "C", "mean_test_score", "std_test_score", and "split_test_scores" with a row for every C
        and a column for every fold.
    classes_ : array
        The classes; of several labels the numbers of their columns.
    multilabel_ : bool
        Whether samples may have several labels.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelweave import MKLClassifier, RBF, Linear
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = MKLClassifier(kernel=RBF(0.1) + RBF(1.0) + RBF(10.0) + Linear()).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: Any = None,
        learn_C: bool = False,
        loss: Any = None,
        norm: Any = None,
        solver: Any = "auto",
        dual: Any = "auto",
        scaling: str | None = "variance",
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        class_weight: Any = None,
        probability: bool = False,
        weights: str = "shared",
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
        self.norm = norm
        self.solver = solver
        self.dual = dual
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.probability = probability
        self.weights = weights
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
    ) -> MKLClassifier:
        """Learn weights and machine.

        Parameters
        ----------
        X : matrix, table, dict or list of views, or column
        y : array of labels, or 0/1 matrix of shape (n, n_labels) where a sample may have several
        sample_weight : array, optional
            Multiplies C by sample; a weight of 2 is the same as being there twice.
        groups : array, optional
            For C="cv" and `probability`: samples of one group are left out together.
        checkpoint : path or Checkpoint, optional
            Keep the fit in this file every two minutes, and go on from it where it is there.
        callback : callable, optional
            Called with a dict after every iteration and a few times a second in between: `iteration`, `upper`, `lower`,
            `gap`, `active`, `support`, `seconds`, `seconds_left`, ...; see `kernelweave.progress.FitProgress`.
        engine : Dask client, Engine or str, optional
            Where products with all samples are made, for samples in packed files (`Shards`, `SequenceSet.open`); see
            `kernelweave.engine`. The fitted model is the same, and lives here.
        """
        if self.weights not in ("shared", "per_class"):
            raise InputError(f'weights must be "shared" or "per_class"; got {self.weights!r}.')
        views = check_X(self, X, self._kernel(), reset=True)
        weight = check_sample_weight(sample_weight, len(views))
        indicator = check_indicator(y, len(views))
        self.multilabel_ = indicator is not None
        if indicator is not None:
            if self._searches():
                self._search(views, indicator.astype(np.int64), weight, groups, callback, engine)
            self._fit_labels(views, indicator, weight, self._listeners(checkpoint, callback, engine))
            if self.probability:
                self.calibration_ = calibrate(self, views, indicator, weight, groups, callback)
            return self
        self.classes_, codes = check_labels(y, len(views))
        weight_C = weight * check_class_weight(self.class_weight, self.classes_, codes, weight)
        if len(np.unique(codes[weight_C > 0])) < 2:
            raise InputError("Only one class has samples of positive weight; a classifier needs at least two classes.")
        warn_ratio(self.classes_, codes, weight_C)
        if self._searches():
            self._search(views, self.classes_[codes], weight, groups, callback, engine)
        C = check_costs(self._cost() * weight_C)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        targets = [np.where(codes == k, 1.0, -1.0) for k in positives]
        self._fit_problem(
            views, targets, C, weight, self._listeners(checkpoint, callback, engine), getattr(y, "name", None)
        )
        if self.probability:
            self.calibration_ = calibrate(self, views, self.classes_[codes], weight, groups, callback)
        return self

    def _fit_labels(self, X: Views, indicator: np.ndarray, weight: np.ndarray, listeners: Listeners) -> None:
        """Learn one machine for each of several labels that a sample may have."""
        if self.class_weight is not None and self.learn_C:
            raise InputError("learn_C=True has one C for all labels, and class_weight one for each; give one of them.")
        self.classes_ = np.arange(indicator.shape[1])
        C = self._cost() * weight * check_label_weight(self.class_weight, indicator, weight)
        self._fit_problem(X, list(np.where(indicator.T, 1.0, -1.0)), check_costs(C), weight, listeners)

    def _loss(self) -> Loss:
        return as_loss(self._plain_loss("hinge") if self.loss is None else self.loss, TARGETS)

    def _shared(self) -> bool:
        return self.weights == "shared" or (len(self.classes_) == 2 and not self._several())

    def _several(self) -> bool:
        return bool(getattr(self, "multilabel_", False))  # which models of older versions lack

    def decision_function(self, X: Any) -> np.ndarray:
        """Return decision values: (n,) for two classes, (n, n_classes) for more, and for several labels."""
        f = self.fitted_.decide(X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted class of every sample; a 0/1 matrix, (n, n_labels), where it may have several labels."""
        f = self.decision_function(X)
        if self._several():
            return (f > 0).astype(np.int64)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, by `probability` or loss="logistic"; those of several classes sum to 1.

        Where a sample may have several labels: the probability of each.
        """
        f = self.fitted_.decide(X)
        if self.probability:
            f = f * self.calibration_[:, 0] + self.calibration_[:, 1]
        p = expit(f)
        if self._several():
            return p
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - p[:, 0], p[:, 0]])
        return p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, split: bool = False) -> Any:
        """Return the accuracy; with split=True, its share per term (they add up to it).

        A term's share is its part in the variance of the decision values. Of several labels, all have to be right.
        """
        score = super().score(X, y, sample_weight)
        return score * self.fitted_.shares(X) if split else score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = True
        return tags
