"""Machines that do not know some of the training samples: what they say of these is said of new samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from ..progress import Callback
from ..views import Views

#: Parameters that ask for such machines; each of these is a plain one.
ASKING = ("intervals", "probability")


def machines_without(
    model: Any,
    X: Views,
    y: np.ndarray,
    weight: np.ndarray,
    folds: Iterable[tuple[np.ndarray, np.ndarray]],
    callback: Callback | None = None,
) -> Iterator[tuple[np.ndarray, Any]]:
    """Yield the rows that are left out, and a machine with the model's parameters that learned from the others.

    All of them together may take as long as the model itself.
    """
    folds = list(folds)
    plain = {name: False for name in ASKING if hasattr(model, name)}
    limit = None if model.max_seconds is None else model.max_seconds / len(folds)
    for train, test in folds:
        part = clone(model).set_params(**plain, warm_start=False, verbose=0, max_seconds=limit)
        if hasattr(model, "cv_results_"):  # what a path over C found is not looked for again
            part.set_params(C=model.C_)
        part.fit(X.rows(train), y[train], weight[train], callback=callback)
        yield test, part
