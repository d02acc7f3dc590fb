"""Numbers and containers at the edge: what cannot be computed with is refused, in words that name it."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelweave import RBF, InputError, Linear, MKLClassifier, MKLOneClass, MKLRegressor

N = 40


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(N) > 0, 1, -1), X[:, 0] + 0.1 * rng.standard_normal(N)


@pytest.mark.parametrize("weight", [1e-300, 1e-101, 1e51, 1e308])
def test_costs_that_leave_no_digits_are_refused(weight, data):
    X, y, t = data
    one = np.full(N, weight)
    for model, target in ((MKLClassifier(), y), (MKLRegressor(loss="squared"), t), (MKLOneClass(), None)):
        with pytest.raises(InputError, match="sample_weight reaches"):
            model.fit(X, target, one)
    with pytest.raises(InputError, match="C times the weights of samples and classes reaches"):
        MKLClassifier(C=weight).fit(X, y)


@pytest.mark.parametrize("C", [1e-99, 1e-30, 1e30])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "smooth_hinge", "squared"])
def test_costs_of_any_other_size_are_taken(C, loss, data):
    X, y, _ = data
    model = MKLClassifier(RBF(), loss=loss, C=C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert 0 <= model.lower_bound_ <= model.objective_ * (1 + 1e-9)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.converged_ or C > 1


@pytest.mark.parametrize("tiny", [1e-320, 1e-300, 1e-150, 0.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared"])
def test_row_51_a_weight_of_nothing_is_as_none(tiny, loss, data):
    X, y, _ = data
    weight = np.ones(N)
    weight[:5] = tiny
    model = MKLClassifier(RBF() + Linear(), loss=loss).fit(X, y, weight)
    without = MKLClassifier(RBF() + Linear(), loss=loss).fit(X[5:], y[5:])
    assert model.converged_
    assert model.objective_ == without.objective_
    assert (model.support_ >= 5).all()


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_row_35_targets_too_large_to_be_squared_are_refused(loss, data):
    X, _, t = data
    with pytest.raises(InputError, match=r"The target y reaches .* too large to be squared"):
        MKLRegressor(loss=loss).fit(X, 1e160 * t)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e-300, 1e100, 1 / 3])
@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_targets_are_met_exactly(value, loss, weighted, data):
    X = data[0]
    weight = np.random.default_rng(1).uniform(0.1, 5.0, N) if weighted else None
    model = MKLRegressor(RBF() + Linear(), loss=loss, epsilon=0.0 if loss != "squared" else 0.1)
    model.fit(X, np.full(N, value), weight)
    assert model.converged_
    assert model.objective_ == 0.0
    assert (model.predict(X) == value).all()


def broken(kind):
    X = kind(np.arange(1.0, 13.0).reshape(4, 3))
    X.indices[5] = 1000
    return X


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix])
def test_sparse_matrices_with_places_outside_are_refused(kind):
    y = [0, 1, 0, 1]
    with pytest.raises(InputError, match="no valid sparse matrix"):
        MKLClassifier(Linear()).fit(broken(kind), y)
    model = MKLClassifier(Linear()).fit(kind(np.arange(1.0, 13.0).reshape(4, 3)), y)
    with pytest.raises(InputError, match="no valid sparse matrix"):
        model.predict(broken(kind))
    with pytest.raises(InputError, match="no valid sparse matrix"):
        RBF()(broken(kind))


def test_values_that_are_masked_are_not_used_in_silence(data):
    X, y, _ = data
    with pytest.raises(InputError, match="masked array"):
        MKLClassifier(RBF()).fit(np.ma.array(X, mask=X > 1), y)
    with pytest.raises(InputError, match="masked array"):
        MKLClassifier(RBF().on("a")).fit({"a": np.ma.array(X, mask=X > 1)}, y)
    plain = MKLClassifier(RBF()).fit(X, y)
    assert MKLClassifier(RBF()).fit(np.ma.array(X), y).objective_ == plain.objective_
