"""Norms: where the weights of the terms live."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..choices import from_text, name_of
from ..errors import InputError
from .base import ClosedForm, Fixed, LpNorm, Polyhedral, Simplex, WeightNorm

#: Every norm; docs and the conformance tests read this.
NORMS = (Simplex, LpNorm, Fixed)


def as_norm(norm: Any) -> WeightNorm:
    """Return the norm for 1, a number p > 1, a text such as "fixed", or an instance."""
    if isinstance(norm, WeightNorm):
        return norm
    if isinstance(norm, numbers.Real) and not isinstance(norm, bool):
        if norm == 1:
            return Simplex()
        if 1 < float(norm) < np.inf:
            return LpNorm(float(norm))
    wanted = f"norm must be 1 (sparse weights), a number p > 1, one of {list(map(name_of, NORMS))} or a WeightNorm"
    if isinstance(norm, str):
        return from_text(norm, NORMS, wanted)
    raise InputError(f"{wanted}; got {norm!r}.")


__all__ = ["NORMS", "ClosedForm", "Fixed", "LpNorm", "Polyhedral", "Simplex", "WeightNorm", "as_norm"]
