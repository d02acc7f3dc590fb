"""Intervals around predicted numbers: as wide as machines were off for samples that they did not know."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from ..errors import InputError
from ..progress import Callback
from ..views import Views
from .left_out import machines_without

#: Parts that the training samples are cut into; each is predicted by a machine that learned from the others.
N_FOLDS = 10


def left_out_errors(
    model: Any, X: Views, y: np.ndarray, weight: np.ndarray, groups: Any, callback: Callback | None = None
) -> np.ndarray:
    """Return |y − prediction| of training samples by machines that did not know them, sorted; shaped like y."""
    kept = np.flatnonzero(weight > 0)  # a weight of zero is the same as not being there
    X, y, weight = X.rows(kept), y[kept], weight[kept]
    own = None if groups is None else np.asarray(groups)[kept]
    n_parts = len(y) if own is None else len(np.unique(own))
    if n_parts < 3:
        raise InputError(
            f"intervals=True leaves samples out, and needs at least three {'samples' if own is None else 'groups'} for "
            f"that; got {n_parts}."
        )
    n_folds = min(N_FOLDS, n_parts)
    splitter = KFold(n_folds, shuffle=True, random_state=0) if own is None else GroupKFold(n_folds)
    errors = np.empty(y.shape)
    for test, part in machines_without(model, X, y, weight, splitter.split(y, y, own), callback):
        errors[test] = np.abs(y[test] - part.predict(X.rows(test)))
    return np.sort(errors, axis=0)


def half_width(errors: np.ndarray, coverage: Any) -> np.ndarray:
    """Return the error that is exceeded by at most 1 − coverage of new samples, by as many as there are: (1,) or more.

    Were the new sample one of n + 1, any place among them were as likely: ⌈(n + 1) · coverage⌉ of the sorted errors is
    not exceeded with that chance. Where n is too small for it, no finite width is wide enough.
    """
    if not (isinstance(coverage, (float, np.floating)) and 0 < coverage < 1):
        raise InputError(f"coverage must be a share between 0 and 1, such as 0.9; got {coverage!r}.")
    place = int(np.ceil((len(errors) + 1) * coverage - 1e-9))
    return np.full(errors.shape[1:], np.inf) if place > len(errors) else np.asarray(errors[place - 1])
