"""Grams: kernels bound to data. `bind` is the one rule table from kernels to grams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import MemoryBudgetError
from ..kernels import Kernel
from ..memory import budget_bytes, readable
from ..views import Views
from .base import Combined, Gram
from .cached import CachedGram
from .dense import DenseGram
from .diagonal import DiagonalGram
from .stacked import StackedGram
from .streamed import StreamedGram

#: Terms that must fit as matrices where the others are streamed.
MIN_HELD_TERMS = 60
#: Rows that a cache must hold at the least for a solver to make headway.
MIN_CACHED_ROWS = 64

GRAMS = (DenseGram, CachedGram, StreamedGram, DiagonalGram, StackedGram)


def bind(
    kernel: Kernel,
    X: Views,
    *,
    memory: str | int | float | None = None,
    directory: str | Path | None = None,
    n_jobs: int = 1,
) -> Gram:
    """Bind the terms of a kernel to data, as the memory budget allows.

    Matrices in float64 where they fit, in float32 where only those fit (or in a
    memory-mapped file where a directory is given): n_terms · n² numbers. Otherwise, with many
    terms on few samples, terms are streamed and only the active ones held; with many
    samples, rows are computed on demand and the latest kept.

    Raises
    ------
    MemoryBudgetError
        Where not even a small cache fits; says how much it would take and what to do.
    """
    terms = kernel.terms(X)
    n, budget = len(X), budget_bytes(memory)
    fresh = sum(not term.stored for term in terms)
    whole = 8 * n * n * (fresh + (len(terms) > 1))  # the combined matrix counts too
    if whole <= budget or directory is not None:
        return DenseGram.compute(terms, X, directory=directory, n_jobs=n_jobs)
    if whole // 2 <= budget:
        return DenseGram.compute(terms, X, dtype=np.float32, n_jobs=n_jobs)
    if len(terms) > MIN_HELD_TERMS and 2 * 8 * n * n * MIN_HELD_TERMS <= budget:
        return StreamedGram(terms, X, cache_bytes=budget // 2, n_jobs=n_jobs)
    least = 8 * n * len(terms) * MIN_CACHED_ROWS
    if 2 * least <= budget:
        return CachedGram(terms, X, cache_bytes=budget // 2)
    raise MemoryBudgetError(
        f"{len(terms)} terms on {n:,} samples take {readable(whole)} as matrices, {readable(2 * least)} with the "
        f"smallest cache of rows; the budget is {readable(budget)}. Raise memory=..., use fewer terms, or fewer samples."
    )


def for_prediction(terms: Sequence[Kernel], X: Views, factors: np.ndarray) -> Gram:
    """Bind terms to support samples, to be multiplied with new samples only: nothing is held."""
    return CachedGram(terms, X, factors=factors)


__all__ = [
    "GRAMS",
    "CachedGram",
    "Combined",
    "DenseGram",
    "DiagonalGram",
    "Gram",
    "StackedGram",
    "StreamedGram",
    "bind",
    "for_prediction",
]
