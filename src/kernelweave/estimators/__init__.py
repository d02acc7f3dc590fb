"""Estimators: kernels and machines in scikit-learn's language."""

from .classifier import MKLClassifier
from .compare import Comparison, compare_solvers
from .markov import PositionalMarkovChain
from .one_class import MKLOneClass
from .preclustering import PreClustering
from .regressor import MKLRegressor

#: Every estimator; docs and the conformance tests read this.
ESTIMATORS = (MKLClassifier, MKLRegressor, MKLOneClass)

__all__ = [
    "ESTIMATORS",
    "Comparison",
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "PositionalMarkovChain",
    "PreClustering",
    "compare_solvers",
]
