"""Displays in scikit-learn's style: a class each, `from_estimator(...)`, and `plot(ax=None)`.

matplotlib is loaded by `plot` and not before.
"""

from __future__ import annotations

from .convergence import ConvergenceDisplay
from .curves import CurvesDisplay
from .embedding import EmbeddingDisplay
from .logo import SequenceLogoDisplay
from .maps import KmerMapDisplay, MutationMapDisplay, PositionImportanceDisplay
from .path import PathDisplay
from .stability import StabilityDisplay
from .weights import KernelWeightsDisplay

__all__ = [
    "ConvergenceDisplay",
    "CurvesDisplay",
    "EmbeddingDisplay",
    "KernelWeightsDisplay",
    "KmerMapDisplay",
    "MutationMapDisplay",
    "PathDisplay",
    "PositionImportanceDisplay",
    "SequenceLogoDisplay",
    "StabilityDisplay",
]
