"""scikit-learn's promises, for estimators that read sequences instead of rows of numbers."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from ..errors import DataWarning
from ..sequences import as_sequences
from .windows import METHODS, fitted, refuses, results, same, targets, windows

Check = Callable[[Any], None]
CHECKS: list[Check] = []


def check_sequence_estimator(estimator: Any) -> None:
    """Check that an estimator on sequences keeps scikit-learn's promises.

    Every check of scikit-learn's own suite that means something for a column of strings is made here on DNA windows
    of equal length; those about columns, sparse or two-dimensional input have no counterpart.

    Parameters
    ----------
    estimator : classifier, regressor or outlier detector that takes a list of DNA windows

    Raises
    ------
    AssertionError
        Names the promise that is broken.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.testing import check_sequence_estimator
    >>> check_sequence_estimator(MKLClassifier(WeightedDegree(degree=3)))
    """
    for _, check in sequence_checks(estimator):
        check()


def sequence_checks(estimator: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield (name, check) for every promise, so that tests can report them one by one."""
    for check in CHECKS:

        def run(check: Check = check) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", DataWarning)
                check(estimator)

        yield check.__name__.removeprefix("_"), run


def _promise(check: Check) -> Check:
    CHECKS.append(check)
    return check


# -- a value with parameters -----------------------------------------------------------------------------------------


@_promise
def _parameters_are_those_of_init(estimator: Any) -> None:
    named = set(inspect.signature(type(estimator).__init__).parameters) - {"self"}
    assert set(estimator.get_params(deep=False)) == named, "get_params and __init__ disagree"
    shallow, deep = estimator.get_params(deep=False), estimator.get_params(deep=True)
    assert set(shallow) <= set(deep), "get_params(deep=False) has keys that deep=True lacks"
    assert set(vars(clone(estimator))) == named, "__init__ sets attributes that are not parameters"
    type(estimator)()  # every parameter has a default


@_promise
def _clone_and_set_params(estimator: Any) -> None:
    twin = clone(estimator)
    assert repr(twin) == repr(estimator), "a clone prints differently"
    assert twin.set_params(**estimator.get_params(deep=False)) is twin, "set_params does not return self"
    assert twin.set_params() is twin, "set_params() does not return self"
    refuses(lambda: clone(estimator).set_params(no_such_parameter=1), "set_params with an unknown name")


@_promise
def _init_and_set_params_never_raise(estimator: Any) -> None:
    for name in estimator.get_params(deep=False):
        for odd in (-np.inf, np.nan, -7, "odd", [], {}, object()):
            type(estimator)(**{name: odd})
            clone(estimator).set_params(**{name: odd})


@_promise
def _repr_and_tags(estimator: Any) -> None:
    assert repr(estimator), "repr is empty"
    assert isinstance(estimator, BaseEstimator)
    tags = get_tags(estimator)
    assert tags.input_tags.string, "the tags do not say that strings are read"
    assert tags.input_tags.one_d_array, "the tags do not say that one column is read"
    names = [kind.__name__ for kind in type(estimator).__mro__]
    mixins = [i for i, name in enumerate(names) if name.endswith("Mixin")]
    assert not mixins or mixins[0] < names.index("BaseEstimator"), "mixins must come before BaseEstimator"


# -- fit -------------------------------------------------------------------------------------------------------------


@_promise
def _fit_returns_self_and_leaves_parameters_alone(estimator: Any) -> None:
    X, y = windows()
    y = targets(estimator, y)
    model = clone(estimator)
    before = {name: pickle.dumps(value) for name, value in model.get_params(deep=False).items()}
    assert model.fit(X, y) is model, "fit does not return self"
    after = {name: pickle.dumps(value) for name, value in model.get_params(deep=False).items()}
    assert before == after, "fit changes parameters"
    added = set(vars(model)) - set(before)
    assert all(name.startswith("_") or name.endswith("_") for name in added), f"fit sets {added}"
    assert model.n_features_in_ == 1, "n_features_in_ is not 1 for one column of sequences"
    assert not hasattr(estimator, "n_features_in_"), "n_features_in_ is there before fit"


@_promise
def _input_is_left_alone(estimator: Any) -> None:
    X, y = windows()
    y = targets(estimator, y)
    column, labels = np.array(X, dtype=object), y.copy()
    column.flags.writeable = labels.flags.writeable = False
    model = clone(estimator).fit(column, labels)
    results(model, column)
    same(fitted(estimator, X, y), model, X, "read-only input")
    again = list(X)
    fitted(estimator, again, y)
    assert again == X, "fit changes the list it was given"


@_promise
def _methods_leave_the_model_alone(estimator: Any) -> None:
    model = fitted(estimator)
    before = {name: repr(value) for name, value in vars(model).items() if not name.startswith("_")}
    results(model, windows()[0])
    after = {name: repr(value) for name, value in vars(model).items() if not name.startswith("_")}
    assert before == after, "predict changes attributes"


@_promise
def _fit_twice_gives_the_same(estimator: Any) -> None:
    X, y = windows()
    y = targets(estimator, y)
    model = fitted(estimator, X, y)
    twin = pickle.loads(pickle.dumps(model))
    same(model, twin.fit(X, y), X, "fit again", 1e-9)
    other, labels = windows(30, seed=5)
    other = [row + "ACG" for row in other]  # longer windows: nothing of the first fit may be left
    same(
        fitted(estimator, other, targets(estimator, labels)), model.fit(other, targets(estimator, labels)), other,
        "fit on other sequences",
    )  # fmt: skip


@_promise
def _pickle_keeps_the_model(estimator: Any) -> None:
    model = fitted(estimator)
    new = windows(10, seed=3)[0]
    same(model, pickle.loads(pickle.dumps(model)), new, "pickle", 1e-12)


@_promise
def _unfitted_is_an_error(estimator: Any) -> None:
    for name in METHODS:
        if hasattr(estimator, name):
            try:
                getattr(clone(estimator), name)(windows()[0])
            except NotFittedError:
                continue
            raise AssertionError(f"{name} before fit does not raise NotFittedError")


@_promise
def _iterations_are_counted(estimator: Any) -> None:
    if hasattr(estimator, "max_iter"):
        assert fitted(estimator).n_iter_ >= 1, "n_iter_ is below 1"


# -- what comes out --------------------------------------------------------------------------------------------------


@_promise
def _subsets_and_order_do_not_matter(estimator: Any) -> None:
    model, (X, _) = fitted(estimator), windows(25, seed=2)
    whole = results(model, X)
    order = np.random.default_rng(0).permutation(len(X))
    parts = {name: [np.asarray(getattr(model, name)(X[i : i + 1])) for i in range(len(X))] for name in whole}
    for name, values in whole.items():
        assert len(values) == len(X), f"{name} gives {len(values)} results for {len(X)} sequences"
        assert np.allclose(np.concatenate(parts[name]), values, rtol=0, atol=1e-7), f"{name} depends on the batch"
        shuffled = np.asarray(getattr(model, name)([X[i] for i in order]))
        assert np.allclose(shuffled, values[order], rtol=0, atol=1e-9), f"{name} depends on the order"


@_promise
def _containers_do_not_matter(estimator: Any) -> None:
    X, y = windows()
    model = fitted(estimator, X, targets(estimator, y))
    for column in (
        tuple(X), np.array(X), np.array(X, dtype=object), np.array(X, dtype="S"), np.array(X)[:, None],
        np.array(X, dtype=np.dtypes.StringDType()), [row.encode() for row in X], as_sequences(X),
        [row.lower() for row in X],
    ):  # fmt: skip
        twin = fitted(estimator, column, targets(estimator, y))
        assert twin.n_features_in_ == 1
        same(model, twin, X, f"fitted on {type(column).__name__}", 1e-9)
        same(twin, model, X, "fitted on a list", 1e-9)
        for name, values in results(model, X).items():
            assert np.array_equal(np.asarray(getattr(model, name)(column)), values), f"{name} depends on the container"


@_promise
def _score_and_pipeline(estimator: Any) -> None:
    X, y = windows()
    y = targets(estimator, y)
    pipe = make_pipeline(FunctionTransformer(), clone(estimator)).fit(X, y)
    same(fitted(estimator, X, y), pipe, X, "in a pipeline", 1e-12)
    if hasattr(estimator, "score"):
        assert np.isscalar(pipe.score(X, y)), "score is not a number"
        assert pipe.score(X, y) > 0.5, "the model does not fit data that are easy to fit"


@_promise
def _classifiers_know_their_classes(estimator: Any) -> None:
    if not is_classifier(estimator):
        return
    X, y = windows(45)
    for labels in (y, y.astype(float), y == 1, y * 2 - 1, np.array(["no", "yes"])[y], np.array(["b", "a"], object)[y]):
        model = fitted(estimator, X, labels)
        assert np.array_equal(model.classes_, np.unique(labels)), "classes_ are not the labels in order"
        assert model.predict(X).dtype == np.asarray(model.classes_).dtype, "predicted labels have another type"
        assert (model.predict(X) == labels).mean() > 0.8, "the model does not fit data that are easy to fit"
        if hasattr(model, "decision_function"):
            f = model.decision_function(X)
            assert f.shape == (45,), "decision_function of two classes is not one column"
            assert np.array_equal(model.classes_[(f > 0).astype(int)], model.predict(X)), "predict is not the sign"
        if hasattr(model, "predict_proba"):
            p = model.predict_proba(X)
            assert np.allclose(p.sum(axis=1), 1.0), "probabilities do not sum to 1"
            assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X)), "predict is not the likeliest"
    three = np.where(np.arange(45) % 3 == 2, 2, y)
    model = fitted(estimator, X, three)
    assert set(model.predict(X)) <= {0, 1, 2}
    if hasattr(model, "decision_function"):
        assert model.decision_function(X).shape == (45, 3), "decision_function of three classes has not three columns"


@_promise
def _one_class_is_an_error(estimator: Any) -> None:
    X, y = windows()
    if is_classifier(estimator):
        refuses(lambda: fitted(estimator, X, np.zeros(len(X))), "one class", "class")
        refuses(lambda: fitted(estimator, X, y + 0.3 * np.arange(len(y))), "continuous labels", "continuous")


@_promise
def _outliers_are_minus_one(estimator: Any) -> None:
    if is_outlier_detector(estimator):
        model, (X, _) = fitted(estimator), windows()
        assert set(model.predict(X)) <= {-1, 1}
        f = model.decision_function(X)
        assert np.array_equal(f >= 0, model.predict(X) == 1), "decision_function and predict disagree"
        assert np.allclose(model.score_samples(X) - model.offset_, f), "decision is not score minus offset"
        assert np.array_equal(clone(estimator).fit_predict(X), model.predict(X)), "fit_predict is not fit and predict"


# -- weights ---------------------------------------------------------------------------------------------------------


def _takes_weights(estimator: Any) -> bool:
    return "sample_weight" in inspect.signature(estimator.fit).parameters


@_promise
def _weights_of_any_type(estimator: Any) -> None:
    if not _takes_weights(estimator):
        return
    X, y = windows()
    y = targets(estimator, y)
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    model = fitted(estimator, X, y, sample_weight=weight)
    for other in (weight.tolist(), weight.astype(np.float32), weight.astype(float)):
        same(model, fitted(estimator, X, y, sample_weight=other), X, "weights of another type")
    same(fitted(estimator, X, y), fitted(estimator, X, y, sample_weight=np.ones(len(X))), X, "weights of 1", 1e-9)
    for bad in (weight[:-1], weight[:, None] * np.ones(2), -weight, weight * np.nan, 0 * weight):
        refuses(lambda bad=bad: fitted(estimator, X, y, sample_weight=bad), "bad weights")  # type: ignore[misc]


@_promise
def _weights_are_repetition(estimator: Any) -> None:
    if not _takes_weights(estimator):
        return
    X, y = windows()
    y = targets(estimator, y)
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    exact = clone(estimator)
    if hasattr(exact, "tol"):
        exact.set_params(tol=min(exact.tol, 1e-8))
    model = fitted(exact, X, y, sample_weight=weight)
    twin = fitted(exact, [X[i] for i in repeated], y[repeated])
    same(model, twin, X, "weights against repetition", 1e-3)


@_promise
def _class_weights_pull(estimator: Any) -> None:
    if is_classifier(estimator) and "class_weight" in estimator.get_params():
        X, y = windows(60)
        noisy = np.where(np.random.default_rng(0).random(60) < 0.3, 1 - y, y)
        model = clone(estimator).set_params(class_weight={0: 1000.0, 1: 0.0001}).fit(X, noisy)
        assert np.mean(model.predict(X) == 0) > 0.8, "a heavy class is not preferred"
        plain = clone(estimator)
        if "scaling" in plain.get_params():  # sample weights change the scale of the terms, class weights do not
            plain.set_params(scaling=None)
        balanced = clone(plain).set_params(class_weight="balanced").fit(X, noisy)
        counts = len(y) / (2 * np.bincount(noisy))
        same(balanced, fitted(plain, X, noisy, sample_weight=counts[noisy]), X, "class_weight='balanced'", 1e-3)


# -- what is wrong is named ------------------------------------------------------------------------------------------


@_promise
def _bad_sequences_are_errors(estimator: Any) -> None:
    X, y = windows()
    y = targets(estimator, y)
    model = fitted(estimator, X, y)
    for bad in (None, float("nan"), 3.5, ["A"]):
        spoiled = [*X[:-1], bad]
        refuses(lambda s=spoiled: fitted(estimator, s, y), f"{bad!r} among the sequences")  # type: ignore[misc]
        refuses(lambda s=spoiled: model.predict(s), f"{bad!r} among new sequences")  # type: ignore[misc]
    refuses(lambda: fitted(estimator, [], y[:0]), "no sequences", "0 sample")
    refuses(lambda: fitted(estimator, X[:1], y[:1]), "a single sequence")
    refuses(lambda: fitted(estimator, [*X[:-1], ""], y), "an empty sequence", "empty")
    refuses(lambda: fitted(estimator, "ACGT", y[:4]), "one string instead of a list")
    refuses(lambda: fitted(estimator, np.zeros((len(X), 3)), y), "numbers instead of sequences", "numbers")
    refuses(lambda: fitted(estimator, sparse.eye_array(len(X)).tocsr(), y), "a sparse matrix", "numbers")
    refuses(lambda: fitted(estimator, np.array([X, X]).T, y), "two columns", "column")


@_promise
def _bad_targets_are_errors(estimator: Any) -> None:
    X, y = windows()
    y = targets(estimator, y)
    if is_outlier_detector(estimator):
        return
    refuses(lambda: fitted(estimator, X[:-1], y), "inconsistent lengths")
    refuses(lambda: fitted(estimator, X, None), "no y", "y")
    refuses(lambda: fitted(estimator, X, np.where(np.arange(len(y)) == 3, np.nan, y)), "NaN in y")
    if not get_tags(estimator).target_tags.multi_output:
        refuses(lambda: fitted(estimator, X, np.column_stack([y, y])), "two columns of y")
    refuses(lambda: fitted(estimator, X, np.repeat(y, 4).reshape(-1, 2, 2)), "a table of y for each sample")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fitted(estimator, X, y[:, None])
    assert any("1d array" in str(one.message) for one in caught), "y as a column does not warn"
    same(fitted(estimator, X, y), model, X, "y as a column", 1e-9)
