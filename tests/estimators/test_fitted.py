"""`FittedModel`: one record says all that a model decides by, wherever the model is, and nothing else reads inside."""

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave
from kernelweave import (
    RBF,
    FittedModel,
    InputError,
    Linear,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    fitted_model,
    load,
    save,
)
from kernelweave.explain import term_table

SOURCE = Path(kernelweave.__file__).parent


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, X[:, :3].argmax(axis=1), rng.normal(size=(20, 3))


def naive(fitted, new):
    """The decision by its formula, one machine, term and support sample at a time."""
    X = fitted.support.matrix()
    out = np.tile(fitted.intercepts, (len(new), 1))
    for c in range(fitted.n_machines):
        row = fitted.weights[0 if len(fitted.weights) == 1 else c]
        for weight, scale, term in zip(row, fitted.scales, fitted.terms, strict=True):
            for q in range(len(X)):
                out[:, c] += weight / scale * fitted.coef[c, q] * term(new, X[q : q + 1])[:, 0]
    return out


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(RBF(0.5) + Linear(), norm=2),
        MKLClassifier(RBF(0.5) + Linear(), weights="per_class"),
        MKLRegressor(RBF(0.5) + Linear()),
        MKLOneClass(RBF(0.5) + Linear(), norm=2),
    ],
    ids=repr,
)
def test_the_record_is_the_decision(model, data, tmp_path):
    X, y, new = data
    fitted = model.fit(X, y).fitted_
    assert isinstance(fitted, FittedModel)
    expected = naive(fitted, new)
    np.testing.assert_allclose(fitted.decide(new), expected, rtol=1e-9, atol=1e-9)
    parts = fitted.parts(new)
    assert parts.shape == (2, 20, fitted.n_machines)
    np.testing.assert_allclose(parts.sum(axis=0) + fitted.intercepts, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(X[fitted.rows], fitted.support.matrix())
    assert fitted.term_names == [repr(term) for term in fitted.terms]
    assert fitted.shares(new).sum() == pytest.approx(1.0)
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw").fitted_
    assert again.decide(new).tobytes() == fitted.decide(new).tobytes()
    assert again.terms == fitted.terms


def test_it_cannot_be_changed_and_follows_the_model(data):
    X, y, new = data
    model = MKLClassifier(RBF(0.5)).fit(X, y > 0)
    with pytest.raises(AttributeError):
        model.fitted_.intercepts = np.zeros(1)
    before = model.decision_function(new)
    model.intercept_ = model.intercept_ + 1.0
    np.testing.assert_allclose(model.decision_function(new), before + 1.0)


def test_pipelines_and_searches_of_any_depth_are_opened(data):
    X, y, _ = data
    inner = make_pipeline(StandardScaler(), MKLClassifier(RBF(0.5) + Linear()))
    search = GridSearchCV(make_pipeline(StandardScaler(), inner), {"pipeline__mklclassifier__C": [1.0]}, cv=2)
    for model in (inner.fit(X, y), search.fit(X, y)):
        assert fitted_model(model).term_names == ["RBF(gamma=0.5)", "Linear()"]
        assert term_table(model)["name"].tolist() == ["RBF(gamma=0.5)", "Linear()"]
    record = fitted_model(inner)
    assert fitted_model(record) is record
    assert term_table(record)["weight"].tolist() == record.weights[0].tolist()


def test_what_is_no_fitted_model_is_refused(data):
    with pytest.raises(NotFittedError):
        _ = MKLClassifier().fitted_
    with pytest.raises(InputError, match="got StandardScaler"):
        fitted_model(make_pipeline(StandardScaler(), StandardScaler()).fit(data[0]))
    with pytest.raises(InputError, match="machine must be a number from 0 to 0"):
        MKLClassifier().fit(data[0], data[1] > 0).fitted_.machine(1)


def test_nothing_else_reads_inside_an_estimator():
    own = SOURCE / "estimators" / "base.py"
    hidden = {
        node.attr
        for node in ast.walk(ast.parse(own.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    hidden = {name for name in hidden if name.startswith("_") and not name.startswith("__")}
    assert {"_terms", "_support_views", "_kernel"} <= hidden
    read = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in hidden:
                of_itself = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                if not of_itself and not isinstance(node.value, ast.Call):
                    read.append(f"{path.relative_to(SOURCE)}, line {node.lineno}: {ast.unparse(node)}")
    assert read == []


def test_the_learned_kernel_works_elsewhere():
    """`kernel_` is a function of samples: machines of scikit-learn take it as it is."""
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 100.0, 0.01]
    y = X[:, 0] + X[:, 1] / 100 > 0
    model = MKLClassifier((RBF(0.3) + Linear()).standardized(), tol=1e-6).fit(X, y)
    machine = SVC(kernel=model.kernel_, C=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), model.decision_function(X), atol=1e-2)
