"""Machines on vectors that are written out: the optima of scikit-learn's linear models, and those of matrices."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, LinearSVC

from kernelweave import RBF, DataWarning, Linear, LowRank, MKLClassifier, MKLOneClass, MKLRegressor, Polynomial
from kernelweave.dual import DualState, Machine, Primal
from kernelweave.dual import primal as primal_file
from kernelweave.estimators import prepared_terms
from kernelweave.gram import DenseFeatureGram, bind
from kernelweave.gram.embedding import Factor
from kernelweave.kernels.low_rank import with_landmarks
from kernelweave.losses import Hinge, Logistic, Squared, SquaredHinge
from kernelweave.views import as_views

N = 3300  # more than get a matrix


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6)) * [1, 2, 0.5, 1, 1, 0] + 1.5  # away from the origin, one column constant
    signal = X[:, 0] - 0.5 * X[:, 1] + 0.2 * X[:, 2] * X[:, 3]
    return X, np.where(signal + rng.normal(size=N) > signal.mean(), 1.0, -1.0), signal + 0.3 * rng.normal(size=N)


def objective(loss, X, y, w, b, C=1.0):
    """The primal objective, with the best intercept near b."""
    f = X @ w
    return C * loss.value(y, f + loss.intercept(y, f, np.full(len(y), C))).sum() + 0.5 * w @ w


def peers():
    linear = LinearSVC(loss="squared_hinge", C=1.0, intercept_scaling=30.0, dual=False, tol=1e-8)
    return {
        "hinge": (Hinge(), SVC(kernel="linear", C=1.0, tol=1e-5)),
        "squared_hinge": (SquaredHinge(), linear),
        "logistic": (Logistic(), LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)),
    }


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_classifiers_are_those_of_scikit_learn(loss, data):
    X, y, _ = data
    model = MKLClassifier(Linear(), loss=loss, scaling=None, tol=1e-6).fit(X, y)
    assert model.converged_
    kind, peer = peers()[loss]
    peer.fit(X, y)
    theirs = objective(kind, X, y, np.asarray(peer.coef_)[0], 0.0)
    assert model.lower_bound_ <= theirs * (1 + 1e-6)
    assert model.objective_ == pytest.approx(theirs, rel=1e-4)


def test_regression_is_that_of_scikit_learn(data):
    X, _, target = data
    model = MKLRegressor(Linear(), loss="squared", scaling=None, scaling_y=None, tol=1e-9).fit(X, target)
    peer = Ridge(alpha=0.5).fit(X, target)
    assert model.objective_ == pytest.approx(objective(Squared(), X, target, peer.coef_, 0.0), rel=1e-9)
    np.testing.assert_allclose(model.predict(X[:50]), peer.predict(X[:50]), rtol=1e-6)


KERNEL = Linear() + Polynomial(degree=2).on([0, 1]) + LowRank(RBF(0.1), rank=30)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "smooth_hinge"])
def test_several_terms_are_weighed_as_with_matrices(loss, data):
    X, y, _ = data
    some, labels = X[:3050], y[:3050]
    by_table = MKLClassifier(KERNEL, loss=loss, tol=1e-4).fit(some, labels)
    assert by_table.converged_
    if loss != "smooth_hinge":  # the same, and matrices take their time
        by_matrix = MKLClassifier(KERNEL, loss=loss, tol=1e-3, dual="smo" if "hinge" in loss else "newton")
        by_matrix.fit(some, labels)
        assert by_table.objective_ == pytest.approx(by_matrix.objective_, rel=2e-3)


def test_regression_and_one_class(data):
    X, _, target = data
    for loss in ("squared", "epsilon_insensitive"):
        model = MKLRegressor(KERNEL, loss=loss, C=0.1).fit(X, target)
        assert model.converged_
        assert model.score(X, target) > 0.9
    assert MKLOneClass(Linear() + Polynomial(degree=2).on([0, 1])).fit(X).converged_


def test_single_precision_certifies_the_same(data):
    X, y, _ = data
    whole = MKLClassifier(KERNEL, tol=1e-4).fit(X, y)
    small = MKLClassifier(KERNEL, tol=1e-4, memory="1MB").fit(X, y)
    assert bind(with_landmarks(KERNEL, as_views(X)), as_views(X), memory="1MB").held.single == (0, 1, 2)
    assert small.converged_
    assert small.lower_bound_ <= whole.objective_ * (1 + 1e-12)
    assert small.objective_ == pytest.approx(whole.objective_, rel=2e-4)


def test_pairs_of_very_many_samples_are_a_reason_to_suggest_landmarks(data, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr(prepared_terms, "MANY", 200)
    with pytest.warns(DataWarning, match=r"RBF\(gamma=0.1\) compares 300 samples pair by pair.*LowRank\(RBF"):
        model = MKLClassifier(RBF(0.1) + Linear()).fit(X[:300], y[:300])
    assert "pair by pair" in model.notes_[0]
    assert not [n for n in MKLClassifier(KERNEL).fit(X[:300], y[:300]).notes_ if "pair" in n]


def test_many_classes_and_weights(data):
    X, _, target = data
    classes = np.digitize(target, np.quantile(target, [0.3, 0.7]))
    weight = np.where(classes == 1, 2.0, 1.0)
    model = MKLClassifier(Linear() + Polynomial(degree=2), weights="per_class").fit(X, classes, sample_weight=weight)
    assert model.converged_
    assert model.score(X, classes) > 0.8


def test_conjugate_gradients_and_a_start_on_some(data, monkeypatch):
    X, y, _ = data
    wanted = MKLClassifier(KERNEL, loss="logistic", tol=1e-6).fit(X, y)
    for name, value in (("MAX_FACTORED", 5), ("MIN_SOME", 400), ("SOME_EACH", 1)):
        monkeypatch.setattr(primal_file, name, value)
        found = MKLClassifier(KERNEL, loss="logistic", tol=1e-6, dual="primal").fit(X, y)
        assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-5)


@pytest.mark.parametrize("loss", [Logistic(), Squared(), SquaredHinge()])
def test_coefficients_of_a_step_have_its_normal(loss, rng):
    X = rng.normal(size=(400, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=400) > 0, 1.0, -1.0)
    machine = Machine(loss, y, np.full(400, 10.0))
    Z, w, f, b = Factor(X), np.zeros(5), np.zeros(400), 0.3
    for _ in range(6):
        w, f, b, _, coef = primal_file.newton_step(machine, Z, w, f, b)
        assert loss.allows(y, coef, machine.C).all()
        assert abs(coef.sum()) <= 1e-9 * np.abs(coef).sum()
    np.testing.assert_allclose(X.T @ coef, w, rtol=1e-6)
    state = DualState(coef, X @ (X.T @ coef)).certified(machine)
    assert state.gap <= 1e-9
    np.testing.assert_allclose(f, X @ w)


@pytest.mark.parametrize("C", [1e-6, 1e2, 1e6])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
def test_any_cost(C, loss, data):
    X, y, _ = data
    assert MKLClassifier(Linear(), loss=loss, C=C).fit(X, y).converged_


def test_primal_fits_vectors_only(data):
    gram = DenseFeatureGram([Linear()], as_views(data[0][:50]))
    machine = Machine(Logistic(), data[1][:50], np.ones(50))
    assert Primal().fits(machine, gram.at(np.ones(1)))
    assert not Primal().fits(machine, None)
    assert not Primal().fits(Machine(Hinge(), data[1][:50], np.ones(50)), gram.at(np.ones(1)))
