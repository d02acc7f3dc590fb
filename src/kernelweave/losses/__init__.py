"""Losses: what a wrong decision costs, as quadratic records for the dual solvers."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from .base import BoxQP, Loss
from .hinge import Hinge, SquaredHinge
from .one_class import OneClass
from .regression import EpsilonInsensitive, Squared
from .smooth import CustomLoss, Logistic, SmoothHinge, SmoothLoss

#: Every loss that has a name; estimators, docs and the conformance tests read this.
LOSSES = (Hinge, SquaredHinge, Logistic, SmoothHinge, EpsilonInsensitive, Squared, OneClass)


def as_loss(loss: str | Loss, reads: tuple[str, ...], **parameters: Any) -> Loss:
    """Return a loss by name or as given, checked to be of a kind that fits the task."""
    fitting = {kind.name: kind for kind in LOSSES if kind.reads in reads}
    if isinstance(loss, str):
        if loss not in fitting:
            raise InputError(f"loss must be one of {sorted(fitting)} or a Loss; got {loss!r}.")
        kind = fitting[loss]
        return kind(**(parameters if kind is EpsilonInsensitive else {}))
    if not isinstance(loss, Loss):
        raise InputError(f"loss must be one of {sorted(fitting)} or a Loss; got {loss!r}.")
    if loss.reads not in reads:
        raise InputError(f"{loss!r} reads {loss.reads}; this estimator needs one of {sorted(fitting)}.")
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
