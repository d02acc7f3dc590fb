"""Kernels: values that say what is similar."""

from .base import Frozen, Kernel, Normalized, On, PerFeature, Product, Scaled, Sum, per_feature
from .expression import as_kernel, parse
from .identity import Identity
from .precomputed import Function, Precomputed
from .strings import Only, Split, StringKernel
from .vectors import RBF, Laplacian, Linear, Polynomial
from .weighted_degree import WeightedDegree

#: Every kernel that can be typed; the command line, the docs and the conformance tests read this.
KERNELS = (Linear, Polynomial, RBF, Laplacian, Identity, Precomputed, WeightedDegree)

__all__ = [
    "KERNELS",
    "RBF",
    "Frozen",
    "Function",
    "Identity",
    "Kernel",
    "Laplacian",
    "Linear",
    "Normalized",
    "On",
    "Only",
    "PerFeature",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "Split",
    "StringKernel",
    "Sum",
    "WeightedDegree",
    "as_kernel",
    "parse",
    "per_feature",
]
