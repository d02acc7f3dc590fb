"""Losses: what a wrong decision costs, as quadratic records for the dual solvers."""

from __future__ import annotations

from typing import Any

from ..choices import from_text, name_of
from ..errors import InputError
from .base import BoxQP, Loss
from .hinge import Hinge, SquaredHinge
from .one_class import OneClass
from .regression import EpsilonInsensitive, Squared
from .smooth import CustomLoss, Logistic, SmoothHinge, SmoothLoss

#: Every loss that has a name; estimators, docs and the conformance tests read this.
LOSSES = (Hinge, SquaredHinge, Logistic, SmoothHinge, EpsilonInsensitive, Squared, OneClass)


def as_loss(loss: str | Loss, reads: tuple[str, ...], **parameters: Any) -> Loss:
    """Return a loss by its text or as given, checked to be of a kind that fits the task.

    `parameters` are for losses that have them, where the text does not say otherwise.
    """
    fitting = [kind for kind in LOSSES if kind.reads in reads]
    names = sorted(map(name_of, fitting))
    if not isinstance(loss, Loss):
        return from_text(loss, fitting, f"loss must be one of {names} or a Loss", parameters)
    if loss.reads not in reads:
        raise InputError(f"{loss!r} reads {loss.reads}; this estimator needs one of {names}.")
    return loss


__all__ = [
    "LOSSES",
    "BoxQP",
    "CustomLoss",
    "EpsilonInsensitive",
    "Hinge",
    "Logistic",
    "Loss",
    "OneClass",
    "SmoothHinge",
    "SmoothLoss",
    "Squared",
    "SquaredHinge",
    "as_loss",
]
