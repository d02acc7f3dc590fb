"""Kernels: values that say what is similar."""

from collections.abc import Callable

from .base import ClearWrapper, Kernel, Normalized, On, Product, Scaled, Sum, Wrapper
from .explicit import ExplicitKernel
from .expression import as_kernel, parse
from .gapped import GappedKmer
from .identity import Identity
from .low_rank import LowRank
from .mismatch import Mismatch
from .oligo import LocalityImproved, Oligo
from .precomputed import Function, Precomputed
from .spectrum import Spectrum
from .strings import Only, Split, StringKernel
from .vectors import RBF, Laplacian, Linear, Polynomial
from .weighted_degree import WeightedDegree
from .words import BagOfWords
from .wrappers import Frozen, PerFeature, per_feature

#: Every kernel that can be typed; the command line, the docs and the conformance tests read this.
KERNELS: tuple[type[Kernel], ...] = (Linear, Polynomial, RBF, Laplacian, Identity, Precomputed)
KERNELS += (WeightedDegree, LocalityImproved, Oligo, Spectrum, Mismatch, GappedKmer, BagOfWords)
#: Every kernel around a kernel that is typed as a call, or the function that makes it.
WRAPPERS: tuple[Callable[..., Kernel], ...] = (Frozen, per_feature, LowRank)

__all__ = [
    "KERNELS",
    "RBF",
    "WRAPPERS",
    "BagOfWords",
    "ClearWrapper",
    "ExplicitKernel",
    "Frozen",
    "Function",
    "GappedKmer",
    "Identity",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalityImproved",
    "LowRank",
    "Mismatch",
    "Normalized",
    "Oligo",
    "On",
    "Only",
    "PerFeature",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "Spectrum",
    "Split",
    "StringKernel",
    "Sum",
    "WeightedDegree",
    "Wrapper",
    "as_kernel",
    "parse",
    "per_feature",
]
