"""kernelweave: learn which similarities matter.

Names are imported when they are first used, so that `import kernelweave` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "estimators": ("FittedModel", "MKLClassifier", "MKLOneClass", "MKLRegressor", "fitted_model"),
    # apart, because they load more of scikit-learn than the machines do
    "estimators.compare": ("compare_solvers",),
    "estimators.converted": ("from_gkm",),
    "estimators.markov": ("PositionalMarkovChain",),
    "estimators.preclustering": ("PreClustering",),
    "estimators.gp_kernel": ("GPKernel",),
    "estimators.transformer": ("WeaveTransformer",),
    "kernels": (
        "RBF",
        "Frozen",
        "Gaussian",
        "Identity",
        "Kernel",
        "Laplacian",
        "Linear",
        "LowRank",
        "Polynomial",
        "Precomputed",
        "parse",
        "per_feature",
        "LocalityImproved",
        "Oligo",
        "WeightedDegree",
        "BagOfWords",
        "GappedKmer",
        "Mismatch",
        "Spectrum",
        "Auto",
        "Categorical",
        "Chi2",
        "Cosine",
        "Matern",
        "Ordinal",
        "Periodic",
        "SimilarKmers",
        "Subsequence",
        "Tanimoto",
    ),
    "explain.displays": (
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
    ),
    "losses": ("CustomLoss",),
    "multiview": ("MultiView",),
    "norms": ("Fixed",),
    "omics": ("from_anndata", "to_obs"),
    "io.model_file": ("load", "save"),
    "io.checkpoint": ("Checkpoint",),
    "scan": ("call_peaks", "scan_file", "scan_to_file"),
    "cluster": ("NumberShards", "engine"),
    "errors": ("CheckpointError", "DataWarning", "EngineError", "InputError", "ModelFormatError"),
    "sequences": ("Shards",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kernelweave")
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
