"""scikit-learn's checks of an estimator, as pytest takes them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks


def with_checks(estimators):
    """One test for every check of every estimator: a list, since generators are not taken for long any more."""
    made = parametrize_with_checks(estimators)
    names, checks = made.args
    return pytest.mark.parametrize(names, list(checks), **made.kwargs)
