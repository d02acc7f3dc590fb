"""The samples of a report, with what the model says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

from ..errors import InputError
from ..kernels.values import typed
from ..validation import check_numbers
from ..views import Views, as_views
from .trained import SEEN, TRAINING, UNSEEN, UNSURE


@dataclass(frozen=True)
class Samples:
    """One set of samples.

    Attributes
    ----------
    label : "training", "held-out" (not trained on), "trained-on" or "given" (that is not known)
    series : the class of its colour
    X : Views
    y : array or None
        Class numbers for a classifier, −1 and 1 for a one-class machine, numbers for a regressor.
    decision : array of shape (n,) or (n, n_classes)
        Decision values; for a regressor the predictions.
    names : list of str or None
    """

    label: str
    series: str
    X: Views
    y: np.ndarray | None
    decision: np.ndarray
    names: list[str] | None

    def __len__(self) -> int:
        return len(self.X)

    def part(self, which: np.ndarray, label: str) -> Samples:
        """Return some of the samples under a label of their own."""
        rows = np.flatnonzero(which)
        names = None if self.names is None else [self.names[i] for i in rows]
        y = None if self.y is None else self.y[rows]
        return Samples(label, SERIES[label], self.X.rows(rows), y, self.decision[rows], names)

    def name(self, i: int) -> str:
        """Return what sample i is called."""
        return f"{self.label} sample {i}" if self.names is None else self.names[i]


#: The class of the colour of each set.
SERIES = {TRAINING: "train", SEEN: "train", UNSEEN: "test", UNSURE: "test"}


def gather(model: Any, label: str, X: Any, y: Any, names: Sequence[Any] | None) -> Samples | None:
    """Return the samples with their decision values, or None where there are none.

    Parameters
    ----------
    model : fitted estimator
    label : "training", or "given" for samples that may or may not have been trained on
    X, y : samples and targets, as for `fit`; y may be None
    names : what the samples are called
    """
    if X is None:
        if y is not None or names is not None:
            raise InputError(f"The {label} targets or names came without samples; pass the samples they belong to.")
        return None
    decide = model.predict if is_regressor(model) else model.decision_function
    decision = np.asarray(decide(X), dtype=np.float64)
    if is_outlier_detector(model):  # many samples lie on the border itself, which belongs to the inside
        decision = np.where(decision == 0.0, np.finfo(np.float64).tiny, decision)
    views, n = as_views(X), len(decision)
    if names is not None and len(names) != n:
        raise InputError(f"There are {n} {label} samples, but names for {len(names)}.")
    targets = None if y is None else _targets(model, y, n, label)
    return Samples(
        label, SERIES[label], views, targets, decision, None if names is None else [str(one) for one in names]
    )


def _targets(model: Any, y: Any, n: int, label: str) -> np.ndarray:
    if is_regressor(model):
        return check_numbers(y, n)
    found = np.asarray(y)
    if found.shape != (n,):
        raise InputError(f"There are {n} {label} samples, but their targets have the shape {found.shape}.")
    classes = model.classes_ if is_classifier(model) else np.array([-1, 1])
    strange = ~np.isin(found, classes)
    if strange.any():
        raise InputError(
            f"The {label} targets hold {typed(found[strange][0])}, which the model does not know; it knows "
            f"{', '.join(typed(one) for one in classes[:10])}."
        )
    order = np.argsort(classes)  # the positive class is last, whether or not it sorts so
    codes = order[np.searchsorted(classes, found, sorter=order)]
    return codes if is_classifier(model) else np.where(codes > 0, 1, -1)


def is_binary(model: Any) -> bool:
    """Whether one decision value separates two classes: two classes, or inside and outside."""
    return not is_regressor(model) and len(getattr(model, "classes_", (-1, 1))) == 2


def class_names(model: Any) -> list[str]:
    """Return the names of the classes; those of a one-class machine are outside and inside."""
    return [str(one) for one in getattr(model, "classes_", ("outside", "inside"))]


def directions(model: Any, machine: int | None = None) -> tuple[str, str]:
    """Return what it means to add to the decision value of a machine, or of whichever decides, and to take from it."""
    if is_regressor(model):
        return "raises the prediction", "lowers it"
    names = class_names(model)
    if len(names) > 2 and machine is None:
        return "speaks for the class that it is called", "speaks against it"
    return f"speaks for {names[1 if len(names) == 2 else machine or 0]}", "speaks against it"


def positives(samples: Samples) -> np.ndarray | None:
    """Return which samples are of the class that positive decision values stand for."""
    return None if samples.y is None else samples.y == 1
