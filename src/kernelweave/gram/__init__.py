"""Grams: kernels bound to data. `plan` is the one rule table from kernels to grams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..kernels import Kernel
from ..memory import budget_bytes
from ..views import Views
from . import plan
from .base import Combined, Gram
from .cached import CachedGram
from .definite import check_definite
from .dense import MAX_GATHERED, DenseGram
from .dense_features import DenseFeatureGram
from .diagonal import DiagonalGram
from .features import FeatureGram
from .linadd import LinaddGram
from .looks import worth_a_round
from .offer import SPARE_BYTES, WORKING_SET, Bytes, Held, Needs, Offer, Room, n_active
from .plan import Plan, unheld
from .sharded import ShardedGram, sharded_values
from .stacked import StackedGram
from .streamed import StreamedGram
from .tiled import MAX_SET, TiledGram
from .word_tables import WordTableGram

#: Every way to hold a kernel; `plan` and the conformance tests read this.
GRAMS: tuple[type[Gram], ...] = (
    DenseGram,
    CachedGram,
    StreamedGram,
    DiagonalGram,
    ShardedGram,
    LinaddGram,
    FeatureGram,
    WordTableGram,
    DenseFeatureGram,
    StackedGram,
    TiledGram,
)
#: Bytes for products with new samples.
PREDICTION_BYTES = 2**30


def bind(
    kernel: Kernel,
    X: Views,
    *,
    memory: str | int | float | None = None,
    needs: Needs | None = None,
    directory: str | Path | None = None,
) -> Gram:
    """Bind the terms of a kernel to data, as `plan` says: as the memory budget allows, and the machine needs.

    Raises
    ------
    MemoryBudgetError
        Where nothing fits; says how much it would take and what to do.
    InputError
        Where a term that was given as a function, or by a class of the user's, is no kernel on these samples.
    """
    return check_definite(plan.plan(kernel, X, budget_bytes(memory), needs, directory).make())


def estimate(
    kernel: Kernel, X: Views, memory: str | int | float | None = None, needs: Needs | None = None
) -> tuple[str, float]:
    """Return how `bind` would hold the terms, in words, and about how many bytes a fit takes beside the data.

    Nothing is computed. What does not fit at all is the error that `bind` would raise.
    """
    found = plan.plan(kernel, X, budget_bytes(memory), needs)
    return found.how, found.need


def for_prediction(terms: Sequence[Kernel], X: Views, factors: np.ndarray, n_jobs: int = 1) -> Gram:
    """Bind terms to support samples, to be multiplied with new samples only: nothing is held."""
    return unheld(terms, X, Room(PREDICTION_BYTES, Needs(n_jobs))).rescaled(factors)


__all__ = [
    "GRAMS",
    "MAX_GATHERED",
    "MAX_SET",
    "SPARE_BYTES",
    "WORKING_SET",
    "Bytes",
    "CachedGram",
    "Combined",
    "DenseFeatureGram",
    "DenseGram",
    "DiagonalGram",
    "FeatureGram",
    "Gram",
    "Held",
    "LinaddGram",
    "Needs",
    "Offer",
    "Plan",
    "Room",
    "ShardedGram",
    "StackedGram",
    "StreamedGram",
    "TiledGram",
    "WordTableGram",
    "bind",
    "estimate",
    "for_prediction",
    "n_active",
    "plan",
    "sharded_values",
    "worth_a_round",
]
