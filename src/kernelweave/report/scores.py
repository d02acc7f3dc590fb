"""The scores of a report as plain numbers, for terminals and programs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from ..explain.curves import curves_of
from ..explain.validation import mcc
from . import measures
from .classes import accuracy
from .context import Context
from .samples import Samples, is_binary, positives


def scores(context: Context) -> dict[str, dict[str, float]]:
    """Return the scores of every set of samples with targets, by what the samples are; those to judge by come first."""
    labelled = [samples for samples in reversed(context.sets) if samples.y is not None]
    return {samples.label: {"samples": len(samples), **_of(context.model, samples)} for samples in labelled}


def _of(model: Any, samples: Samples) -> dict[str, float]:
    assert samples.y is not None
    if is_regressor(model):
        return {
            name.replace("²", "2"): float(value) for name, value in measures.errors(samples.y, samples.decision).items()
        }
    if not is_binary(model):
        return {"accuracy": accuracy(samples), "balanced accuracy": _balanced(samples)}
    positive = positives(samples)
    assert positive is not None
    found = {"accuracy": float(np.mean((samples.decision > 0) == positive)), "MCC": mcc(positive, samples.decision)}
    if positive.all() or not positive.any():
        return found  # there is no curve of one class
    curves = curves_of(positive, samples.decision)
    return {"auROC": float(curves.roc_area), "auPRC": float(curves.average_precision), **found}


def _balanced(samples: Samples) -> float:
    """Return the mean of the shares of every class that are found."""
    right = samples.decision.argmax(axis=1) == samples.y
    assert samples.y is not None
    return float(np.mean([right[samples.y == label].mean() for label in np.unique(samples.y)]))
