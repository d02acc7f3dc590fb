"""Kernels: values that say what is similar."""

from collections.abc import Callable

from .auto import Auto, learned_kernel
from .base import ClearWrapper, Kernel, On, Product, Scaled, Sum, Wrapper
from .categorical import Categorical
from .chi2 import Chi2
from .cosine import Cosine
from .explicit import ExplicitKernel
from .expression import as_kernel, parse
from .gapped import GappedKmer
from .gaussian import Gaussian
from .identity import Identity
from .if_missing import IfMissing
from .low_rank import LowRank
from .matern import Matern
from .mismatch import Mismatch
from .normalized import Normalized
from .oligo import LocalityImproved, Oligo
from .ordinal import Ordinal
from .periodic import Periodic
from .precomputed import Function, Precomputed
from .similar_kmers import SimilarKmers
from .spectrum import Spectrum
from .standardized import Standardized
from .strings import Only, Split, StringKernel
from .subsequence import Subsequence
from .tanimoto import Tanimoto
from .vectors import RBF, Laplacian, Linear, Polynomial
from .weighted_degree import WeightedDegree
from .words import BagOfWords
from .wrappers import Frozen, PerFeature, per_feature

#: Every kernel that can be typed; the command line, the docs and the conformance tests read this.
KERNELS: tuple[type[Kernel], ...] = (Linear, Polynomial, RBF, Laplacian, Identity, Precomputed)
KERNELS += (Matern, Periodic, Cosine, Chi2, Tanimoto, Categorical, Ordinal, Auto)
KERNELS += (
    WeightedDegree,
    LocalityImproved,
    Oligo,
    Spectrum,
    Mismatch,
    GappedKmer,
    BagOfWords,
    Subsequence,
    SimilarKmers,
)
#: Every kernel around a kernel that is typed as a call, or the function that makes it.
WRAPPERS: tuple[Callable[..., Kernel], ...] = (Frozen, per_feature, Gaussian, LowRank)

__all__ = [
    "KERNELS",
    "RBF",
    "WRAPPERS",
    "Auto",
    "BagOfWords",
    "Categorical",
    "Chi2",
    "ClearWrapper",
    "Cosine",
    "ExplicitKernel",
    "Frozen",
    "Function",
    "GappedKmer",
    "Gaussian",
    "Identity",
    "IfMissing",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalityImproved",
    "LowRank",
    "Matern",
    "Mismatch",
    "Normalized",
    "Oligo",
    "On",
    "Only",
    "Ordinal",
    "PerFeature",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "SimilarKmers",
    "Spectrum",
    "Split",
    "Standardized",
    "StringKernel",
    "Subsequence",
    "Sum",
    "Tanimoto",
    "WeightedDegree",
    "Wrapper",
    "as_kernel",
    "learned_kernel",
    "parse",
    "per_feature",
]
