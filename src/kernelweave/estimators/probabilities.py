"""Probabilities of decision values: a logistic curve through values of samples that the machine did not know."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from ..errors import InputError
from ..views import Views

#: Parts that the training samples are cut into; each is judged by a machine that learned from the others.
N_FOLDS = 5


def left_out_decisions(model: Any, X: Views, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return decision values of training samples by machines that did not know them: (n_samples, n_machines)."""
    rarest = int(np.bincount(codes).min())
    if rarest < 2:
        raise InputError(
            "probability=True leaves samples out, and needs at least two of every class; one has a single one."
        )
    labels = model.classes_[codes]
    n_machines = 1 if len(model.classes_) == 2 else len(model.classes_)
    out = np.empty((len(codes), n_machines))
    for train, test in StratifiedKFold(min(N_FOLDS, rarest), shuffle=True, random_state=0).split(codes, codes):
        part = clone(model).set_params(probability=False, warm_start=False)
        part.fit(X.rows(train), labels[train], weight[train])
        out[test] = part.decision_function(X.rows(test)).reshape(len(test), n_machines)
    return out


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


def calibrate(model: Any, X: Views, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return slope and offset of the curve of every machine: (n_machines, 2)."""
    kept = np.flatnonzero(weight > 0)  # a weight of zero is the same as not being there
    X, codes, weight = X.rows(kept), codes[kept], weight[kept]
    f = left_out_decisions(model, X, codes, weight)
    positives = [1] if f.shape[1] == 1 else range(f.shape[1])
    return np.array([logistic_curve(f[:, m], codes == label, weight) for m, label in enumerate(positives)])
