"""The estimators in scikit-learn's language: what they take, what they keep, what they show."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelweave import (
    RBF,
    Fixed,
    Frozen,
    InputError,
    Linear,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    Precomputed,
    parse,
    per_feature,
)
from kernelweave.estimators import ESTIMATORS
from kernelweave.losses import LOSSES, EpsilonInsensitive
from sklearn_checks import with_checks

KERNEL = RBF(0.2) + RBF(1.0).on([0, 1]) + Linear()


def every_loss():
    """Every estimator with every loss by name that it takes; a new loss is picked up."""
    for kind in ESTIMATORS:
        reads = {"MKLClassifier": ("labels", "numbers"), "MKLRegressor": ("numbers",)}.get(kind.__name__, ())
        names = [loss.name for loss in LOSSES if loss.reads in reads]
        if kind is MKLClassifier:
            names.remove("epsilon_insensitive")  # for numbers, at a distance in units of y
        yield from (kind(loss=name) for name in names)
        if not names:
            yield kind()


@with_checks([*every_loss(), MKLClassifier(RBF() + Linear(), norm=2, weights="per_class")])
@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def fitted(kind, X, y, kernel=KERNEL, **options):
    return kind(kernel, **options).fit(X, y)


@pytest.mark.parametrize("scaling", ["variance", "trace", None])
@pytest.mark.parametrize("norm", [1, 1.5, "fixed"])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_learned_kernel_is_the_decision(kind, norm, scaling, blobs):
    X, y = blobs
    model = fitted(kind, X[:40], y[:40], norm=norm, scaling=scaling)
    expected = model.kernel_(X, X[:40][model.support_]) @ model.dual_coef_.T + model.intercept_
    got = model.predict(X) if kind is MKLRegressor else model.decision_function(X)
    np.testing.assert_allclose(got, expected[:, 0], rtol=1e-10, atol=1e-12)
    again = parse(repr(model.kernel_))
    np.testing.assert_array_equal(again(X), model.kernel_(X))


@pytest.mark.parametrize("weights", ["shared", "per_class"])
def test_many_classes(weights, blobs):
    X, y = blobs
    y = np.array(["a", "b", "c"])[(y > 0).astype(int) + (X[:, 0] > 1)]
    model = MKLClassifier(KERNEL, weights=weights).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.decision_function(X).shape == (60, 3)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert model.score(X, y) > 0.7
    kernels = [model.kernel_] * 3 if weights == "shared" else model.kernel_
    for k, kernel in enumerate(kernels):
        expected = kernel(X, X[model.support_]) @ model.dual_coef_[k] + model.intercept_[k]
        np.testing.assert_allclose(model.decision_function(X)[:, k], expected, rtol=1e-9, atol=1e-11)
    assert model.weights_.shape == ((3,) if weights == "shared" else (3, 3))
    if weights == "per_class":  # each machine is the one that two classes would get
        alone = MKLClassifier(KERNEL).fit(X, y == "b")
        assert model.weights_[1] == pytest.approx(alone.weights_, abs=1e-6)
        np.testing.assert_allclose(model.decision_function(X)[:, 1], alone.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_fitted_attributes(kind, blobs):
    X, y = blobs
    model = fitted(kind, X, y, tol=1e-4)
    assert model.weights_.shape == (3,)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.term_names_ == ["RBF(gamma=0.2)", "RBF(gamma=1.0).on([0, 1])", "Linear()"]
    assert model.converged_
    assert model.stop_reason_ == "converged"
    assert 0 <= model.gap_ <= 1e-4
    assert model.lower_bound_ <= model.objective_ + 1e-12 * abs(model.objective_)
    assert model.n_iter_ == len(model.history_) >= 1
    assert model.solver_ in ("hessian", "silp", "simple", "silp_chunking", "analytic")
    assert model.n_features_in_ == 4
    assert (np.diff(model.support_) > 0).all()
    assert not hasattr(kind(KERNEL), "weights_")
    with pytest.raises(NotFittedError):
        kind(KERNEL).predict(X)


@pytest.mark.parametrize(("scaling", "total"), [("variance", 1.0), ("trace", 60.0)])
def test_scaling_takes_the_units_out(scaling, total, blobs):
    X, y = blobs
    model = MKLClassifier(KERNEL, scaling=scaling).fit(X, y)
    for term, scale in zip(KERNEL.kernels, model.scales_, strict=True):
        K = term(X)
        centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        assert scale == pytest.approx(total * np.trace(centred) / 60)
    other = MKLClassifier(RBF(0.2) + 1000.0 * RBF(1.0).on([0, 1]) + 0.001 * Linear(), scaling=scaling).fit(X, y)
    np.testing.assert_allclose(other.weights_, model.weights_, atol=1e-6)
    np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), atol=1e-5)


# --- containers ---

NAMES = ["a", "b", "c", "d"]


def containers(X):
    data = {name: X[:, j] for j, name in enumerate(NAMES)}
    return {
        "pandas": pd.DataFrame(data),
        "polars": pl.DataFrame(data),
        "pyarrow": pa.table(data),
        "dict": {"left": X[:, :2], "right": X[:, 2:]},
        "list": [X[:, :2], X[:, 2:]],
        "sparse": sparse.csr_array(X),
        "fortran": np.asfortranarray(X),
        "nested list": X.tolist(),
    }


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("container", containers(np.zeros((2, 4))))
def test_every_container_gives_the_same_model(container, kind, blobs):
    X, y = blobs
    choose = {"dict": ("left", "right"), "list": (0, 1)}.get(container, ([0, 1], [2, 3]))
    plain = kind(RBF(0.3) + Linear().on([0, 1]) + Linear().on([2, 3])).fit(X, y)
    model = kind(RBF(0.3) + Linear().on(choose[0]) + Linear().on(choose[1]))
    data, new = containers(X)[container], containers(X[::2])[container]
    model.fit(data, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(model.weights_, plain.weights_, atol=1e-9)
    assert model.predict(new) == pytest.approx(plain.predict(X[::2]), rel=1e-6)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(copy.deepcopy(model).predict(new), model.predict(new))
    if container in ("pandas", "polars"):
        assert model.feature_names_in_.tolist() == NAMES


def test_pandas_columns_are_checked_by_name(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=NAMES)
    model = MKLClassifier(per_feature(RBF(0.5))).fit(frame, y)
    assert model.term_names_ == [f"RBF(gamma=0.5).on('{name}')" for name in NAMES]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="now missing"):
        model.predict(frame[["a", "b"]])


# --- scikit-learn's tools ---


def test_grid_search_over_kernels_and_their_parameters(blobs):
    X, y = blobs
    kernels = [RBF(0.1) + Linear(), Linear(), "RBF(10.0)"]
    search = GridSearchCV(MKLClassifier(), {"kernel": kernels, "C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["kernel"] in kernels
    assert len(search.cv_results_["params"]) == 6
    search = GridSearchCV(MKLClassifier(RBF(1.0)), {"kernel__gamma": [1e-3, 0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_["kernel__gamma"] in (1e-3, 0.1)
    assert search.best_estimator_.kernel.gamma == search.best_params_["kernel__gamma"]


def test_pipelines(blobs):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), MKLClassifier(KERNEL)).fit(1e5 * X, y)
    inside = MKLClassifier(KERNEL).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(
        pipeline.decision_function(1e5 * X), inside.decision_function(StandardScaler().fit_transform(X)), atol=1e-6
    )


def test_cross_validation_slices_precomputed_matrices(blobs):
    X, y = blobs
    K, L = RBF(0.2)(X), Linear()(X)
    ids = np.arange(60)
    model = MKLClassifier(Precomputed(K) + Precomputed(L, name="linear"))
    assert next(leaf.K for leaf in clone(model).kernel.leaves()) is K
    direct = cross_val_predict(MKLClassifier(RBF(0.2) + Linear()), X, y, cv=4, method="decision_function")
    for column in (ids, ids[:, None], pd.DataFrame({"id": ids})):
        got = cross_val_predict(model, column, y, cv=4, method="decision_function")
        np.testing.assert_allclose(got, direct, atol=1e-6)
    reference = SVC(kernel="precomputed", tol=1e-9)
    ours = MKLClassifier(Precomputed(K), norm="fixed", scaling=None, tol=1e-9)
    scores = cross_val_score(ours, ids, y, cv=5)
    np.testing.assert_allclose(scores, cross_val_score(reference, K, y, cv=5))


def test_rectangular_test_blocks(blobs):
    X, y = blobs
    K = RBF(0.2)(X, X[:40])
    model = MKLClassifier(Precomputed(K)).fit(np.arange(40), y[:40])
    direct = MKLClassifier(RBF(0.2)).fit(X[:40], y[:40])
    np.testing.assert_allclose(
        model.decision_function(np.arange(40, 60)), direct.decision_function(X[40:]), rtol=1e-6, atol=1e-9
    )


def test_a_function_is_a_kernel(blobs):
    X, y = blobs
    model = MKLClassifier(lambda A, B: A @ B.T).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), MKLClassifier(Linear()).fit(X, y).decision_function(X), atol=1e-6
    )


# --- scores, probabilities, fixed weights ---


def test_split_scores_add_up(blobs):
    X, y = blobs
    for model in (MKLClassifier(KERNEL, norm=2).fit(X, y), MKLRegressor(KERNEL, norm=2).fit(X, X[:, 0])):
        target = y if isinstance(model, MKLClassifier) else X[:, 0]
        score, parts = model.score(X, target), model.score(X, target, split=True)
        assert parts.shape == (3,)
        assert parts.sum() == pytest.approx(score)
    useless = MKLRegressor(Linear().on(0) + Linear().on(1), norm=2, C=10).fit(X, 3 * X[:, 0])
    parts = useless.score(X, 3 * X[:, 0], split=True)
    assert parts[0] > 10 * abs(parts[1])
    one = MKLClassifier(RBF(0.2)).fit(X, y)
    assert one.score(X, y, split=True) == pytest.approx([one.score(X, y)])


def test_probabilities(blobs):
    X, y = blobs
    model = MKLClassifier(KERNEL, loss="logistic").fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), model.decision_function(X))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p))
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()
    many = MKLClassifier(KERNEL, loss="logistic").fit(X, np.arange(60) % 3)
    np.testing.assert_allclose(many.predict_proba(X).sum(axis=1), 1.0)
    assert not hasattr(MKLClassifier(loss="hinge"), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = MKLClassifier(loss="hinge").predict_proba


def test_given_weights_stay(blobs):
    X, y = blobs
    model = MKLClassifier(KERNEL, norm=Fixed([0.2, 0.0, 3.0]), scaling=None, tol=1e-8).fit(X, y)
    assert model.weights_.tolist() == [0.2, 0.0, 3.0]
    same = MKLClassifier(Frozen(0.2 * RBF(0.2) + 3.0 * Linear()), norm="fixed", scaling=None, tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-7)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-5)
    with pytest.raises(InputError, match="Fixed needs 3 finite weights"):
        MKLClassifier(KERNEL, norm=Fixed([1.0])).fit(X, y)


def test_one_class_share(rng):
    X = rng.normal(size=(200, 2))
    for nu in (0.05, 0.3):
        model = MKLOneClass(RBF(0.5) + RBF(0.05), nu=nu).fit(X)
        assert (model.predict(X) == -1).mean() <= nu + 1e-9
        assert (model.predict(X) == -1).mean() >= nu - 0.06
        np.testing.assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X))
        assert model.predict([[30.0, 30.0]]) == [-1]


# --- what is shown ---


def test_repr_is_what_was_typed(blobs):
    X, y = blobs
    model = MKLClassifier(2 * RBF(0.5) + Linear(), C=10)
    assert repr(model) == "MKLClassifier(C=10, kernel=2.0 * RBF(gamma=0.5) + Linear())"
    assert repr(model.fit(X, y)) == "MKLClassifier(C=10, kernel=2.0 * RBF(gamma=0.5) + Linear())"
    assert repr(clone(model)) == repr(model)
    assert eval(repr(model)).get_params() == model.get_params()


def test_html_shows_the_learned_kernel_escaped(blobs):
    X, y = blobs
    model = MKLClassifier(RBF(0.5).on("<script>alert(1)</script>") + Linear().on("b"))
    assert "learned kernel" not in model._repr_html_()
    frame = pd.DataFrame({"<script>alert(1)</script>": X[:, 0], "b": X[:, 1]})
    html = model.fit(frame, y)._repr_html_()
    assert "learned kernel" in html
    assert "<script>alert" not in html
    shown = re.search(r"learned kernel</b><br>(.*?)<br>", html)[1]
    assert "RBF(gamma=0.5).on(&#x27;&lt;script&gt;" in shown
    assert f"{(model.weights_ / model.scales_)[1]:.3g} * Linear()" in shown
    assert "learned kernel" in MKLClassifier(KERNEL, weights="per_class").fit(X, np.arange(60) % 3)._repr_html_()


def test_verbose_writes_to_standard_error(blobs, capsys):
    X, y = blobs
    MKLClassifier(KERNEL, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "iteration" in err
    MKLClassifier(KERNEL).fit(X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C must be"),
        ({"C": -1.0}, "C must be"),
        ({"C": np.inf}, "C must be"),
        ({"C": "1"}, "C must be"),
        ({"tol": 0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 1.5}, "max_iter must be"),
        ({"max_seconds": 0}, "max_seconds must be"),
        ({"norm": 0.5}, "norm must be"),
        ({"loss": "hing"}, "loss must be"),
        ({"solver": "newton"}, "solver must be"),
        ({"scaling": "unit"}, "scaling must be"),
        ({"weights": "mine"}, "weights must be"),
        ({"kernel": "RBFF()"}, "did you mean RBF"),
        ({"kernel": 3}, "kernel must be"),
        ({"memory": "lots"}, "memory must be"),
        ({"solver": "silp", "norm": 2}, "SILP needs a Polyhedral norm"),
    ],
)
def test_bad_parameters_are_named(options, message, blobs):
    with pytest.raises(InputError, match=message):
        MKLClassifier(**{"kernel": KERNEL} | options).fit(*blobs)


@pytest.mark.parametrize("nu", [0, 1.5, -0.1, "half"])
def test_bad_nu(nu, blobs):
    with pytest.raises(InputError, match="nu must be"):
        MKLOneClass(nu=nu).fit(blobs[0])


@pytest.mark.parametrize("loss", ["epsilon_insensitive(epsilon=0.3)", EpsilonInsensitive(0.3)], ids=["text", "loss"])
def test_two_different_epsilons_are_refused(loss, blobs):
    X, y = blobs[0], blobs[0][:, 0]
    with pytest.raises(InputError, match="contradict each other"):
        MKLRegressor(loss=loss, epsilon=0.2).fit(X, y)
    assert MKLRegressor(loss=loss, epsilon=0.3).fit(X, y).converged_
    assert MKLRegressor(loss=loss).fit(X, y).converged_
    assert MKLRegressor(loss="squared", epsilon=0.2).fit(X, y).converged_  # as in a search over both
