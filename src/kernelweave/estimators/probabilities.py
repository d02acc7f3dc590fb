"""Probabilities of decision values: a logistic curve through values of samples that the machine did not know."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold

from ..errors import InputError
from ..progress import Callback
from ..views import Views
from .left_out import machines_without

#: Parts that the training samples are cut into; each is judged by a machine that learned from the others.
N_FOLDS = 5


def left_out_decisions(
    model: Any, X: Views, y: np.ndarray, weight: np.ndarray, groups: Any, callback: Callback | None
) -> np.ndarray:
    """Return decision values of training samples by machines that did not know them: (n_samples, n_machines)."""
    folds = _folds_of_labels(y, groups) if y.ndim == 2 else _folds_of_classes(y, groups)
    out = np.empty((len(y), len(model.intercept_)))
    for test, part in machines_without(model, X, y, weight, folds, callback):
        if len(part.classes_) < len(model.classes_):
            raise InputError("probability=True leaves samples out, and the others have to have samples of every class.")
        out[test] = part.decision_function(X.rows(test)).reshape(len(test), -1)
    return out


def _folds_of_classes(y: np.ndarray, groups: Any) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    codes = np.unique(y, return_inverse=True)[1]
    parts = codes if groups is None else np.unique(np.column_stack([codes, _numbers(groups)]), axis=0)[:, 0]
    rarest = int(np.bincount(parts).min())
    if rarest < 2:
        where = "of every class; one has a single one" if groups is None else "groups with every class; one is in one"
        raise InputError(f"probability=True leaves samples out, and needs at least two {where}.")
    n_folds = min(N_FOLDS, rarest)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(n_folds, shuffle=True, random_state=0).split(codes, codes, groups)


def _folds_of_labels(y: np.ndarray, groups: Any) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Yield folds that spread samples evenly by the rarest label that each of them has; rare labels may miss some."""
    if groups is not None:
        return GroupKFold(max(2, min(N_FOLDS, len(np.unique(groups))))).split(y, y, groups)
    counts = y.sum(axis=0)
    rarest = np.where(y, counts, len(y) + 1).argmin(axis=1)
    rarest[~y.any(axis=1)] = -1
    order = np.lexsort([np.random.default_rng(0).random(len(y)), rarest])
    fold = np.empty(len(y), dtype=int)
    fold[order] = np.arange(len(y)) % N_FOLDS
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(min(N_FOLDS, len(y)))]


def _numbers(groups: Any) -> np.ndarray:
    return np.unique(groups, return_inverse=True)[1]


def logistic_curve(f: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return slope ≥ 0 and offset under which expit(slope · f + offset) fits the labels best.

    Minimises the log loss on targets a little inside of 0 and 1, (n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2), as if one sample
    of either class were still to come (Platt 1999); n₊ and n₋ are sums of weights.
    """
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    size = max(float(np.abs(f).max(initial=0.0)), 1e-300)  # decision values may be in any unit

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        z = at[0] * f / size + at[1]
        slope = weight * (expit(z) - target)
        value = weight @ (np.logaddexp(0.0, z) - target * z)
        return float(value), np.array([slope @ (f / size), slope.sum()])

    start = np.array([1.0, np.log((n_positive + 1.0) / (n_negative + 1.0))])
    slope, offset = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)]).x
    return float(slope / size), float(offset)


def calibrate(
    model: Any,
    X: Views,
    y: np.ndarray,
    weight: np.ndarray,
    groups: Any = None,
    callback: Callback | None = None,
) -> np.ndarray:
    """Return slope and offset of the curve of every machine, (n_machines, 2), for classes y or an indicator of labels.

    Parameters
    ----------
    model : fitted classifier
    y : array of shape (n_samples,), or (n_samples, n_labels) of bool
    groups : samples of one group are left out together
    """
    kept = np.flatnonzero(weight > 0)  # a weight of zero is the same as not being there
    X, y, weight = X.rows(kept), y[kept], weight[kept]
    groups = None if groups is None else np.asarray(groups)[kept]
    f = left_out_decisions(model, X, y, weight, groups, callback)
    positives = model.classes_[1:] if f.shape[1] == 1 else model.classes_
    positive = y if y.ndim == 2 else y[:, None] == positives
    return np.array([logistic_curve(*column, weight) for column in zip(f.T, positive.T, strict=True)])
