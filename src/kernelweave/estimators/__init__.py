"""Estimators: kernels and machines in scikit-learn's language."""

from .classifier import MKLClassifier
from .fitted import FittedModel, fitted_model
from .one_class import MKLOneClass
from .regressor import MKLRegressor

#: Every estimator; docs and the conformance tests read this.
ESTIMATORS = (MKLClassifier, MKLRegressor, MKLOneClass)

__all__ = ["ESTIMATORS", "FittedModel", "MKLClassifier", "MKLOneClass", "MKLRegressor", "fitted_model"]
