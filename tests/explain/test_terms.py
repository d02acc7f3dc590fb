"""Term tables: weights, shares of variance, and places of split kernels."""

import csv

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelweave import RBF, InputError, Linear, MKLClassifier, MKLOneClass, MKLRegressor, WeightedDegree, load, save
from kernelweave.explain import term_table
from kernelweave.explain.terms import places_of
from kernelweave.testing.windows import windows

KERNEL = RBF(0.5) + Linear() + RBF(0.5).on([0, 1])


def naive_shares(model, X, constant):
    """Cov(what a term adds, decision) / Var(decision), from a model that keeps one term at a time."""
    f = model.decision_function(X)
    shares = []
    for m, (weight, scale) in enumerate(zip(model.weights_, model.scales_, strict=True)):
        K = model.fitted_.terms[m](X, X[model.support_]) * weight / scale
        part = (K @ model.dual_coef_.T)[:, 0]
        shares.append(np.mean((part - part.mean()) * (f - f.mean())) / np.var(f - constant))
    return np.array(shares)


def test_weights_and_shares(blobs):
    X, y = blobs
    model = MKLClassifier(KERNEL, norm=2).fit(X, y)
    table = term_table(model, X)
    assert list(table.columns) == ["name", "weight", "share"]
    assert table["name"].tolist() == model.term_names_
    np.testing.assert_array_equal(table["weight"], model.weights_)
    np.testing.assert_allclose(table["share"], naive_shares(model, X, model.intercept_[0]), atol=1e-9)
    assert table["share"].sum() == pytest.approx(1.0)
    assert "share" not in term_table(model).columns


def test_rows_and_files(blobs, tmp_path):
    X, y = blobs
    table = term_table(MKLClassifier(KERNEL).fit(X, y), X)
    assert len(table) == 3
    assert [row["name"] for row in table] == table["name"].tolist()
    for path, write, delimiter in ((tmp_path / "a.csv", table.to_csv, ","), (tmp_path / "a.tsv", table.to_tsv, "\t")):
        write(path)
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter=delimiter))
        assert [row["name"] for row in rows] == table["name"].tolist()  # names hold commas
        assert [float(row["weight"]) for row in rows] == table["weight"].tolist()
    assert table.to_frame()["weight"].tolist() == table["weight"].tolist()
    assert "TermTable of 3 rows: name, weight, share" in repr(table)


def test_text_lists_the_largest_first(blobs):
    X, y = blobs
    table = term_table(MKLClassifier(KERNEL, norm=2).fit(X, y), X)
    lines = table.to_text(top=2).splitlines()
    assert lines[1].endswith(table["name"][np.argmax(table["weight"])])
    assert lines[-1] == "and 1 more terms"
    assert str(table).count("\n") == 3


def test_weights_of_every_class(blobs):
    X, _ = blobs
    y = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    model = MKLClassifier(KERNEL, weights="per_class").fit(X, y)
    table = term_table(model, X)
    assert list(table.columns) == ["name", "weight", "weight of a", "weight of b", "weight of c", "share"]
    np.testing.assert_array_equal(table["weight of b"], model.weights_[1])
    np.testing.assert_allclose(table["weight"], model.weights_.mean(axis=0))


@pytest.mark.parametrize(
    ("by", "columns"),
    [
        (("degree",), {"degree": [1, 2]}),
        (("position",), {"position": list(range(12))}),
        (
            ("degree", "position"),
            {"degree": [1, 2] * 11 + [1], "position": [i for i in range(12) for _ in (1, 2)][:-1]},
        ),
    ],
)
def test_places_of_parts(by, columns):
    X, y = windows()
    model = MKLClassifier(WeightedDegree(degree=2).split(*by)).fit(X, y)
    table = term_table(model)
    for name in ("degree", "position"):
        assert table.columns.get(name, np.array([])).tolist() == columns.get(name, [])
    assert places_of(model.fitted_.terms, model.fitted_.support).whole == "WeightedDegree(degree=2)"


def test_parts_of_two_kernels_are_not_one(blobs):
    X, y = windows()
    data = {"seq": X, "same": X, "numbers": np.arange(len(X), dtype=float)[:, None]}
    split = WeightedDegree(degree=2).split("degree")
    model = MKLClassifier(split.on("seq") + split.on("same") + Linear().on("numbers"), norm=2).fit(data, y)
    assert places_of(model.fitted_.terms, model.fitted_.support).whole is None
    assert term_table(model)["degree"].tolist() == [1, 2, 1, 2, -1]
    model = MKLClassifier(split.on("seq")).fit(data, y)
    assert places_of(model.fitted_.terms, model.fitted_.support).whole == "WeightedDegree(degree=2).on('seq')"


def test_any_machine(blobs, tmp_path):
    X, y = blobs
    regressor = MKLRegressor(KERNEL).fit(X, X[:, 0])
    assert term_table(regressor, X)["share"].sum() == pytest.approx(1.0)
    assert len(term_table(MKLOneClass(KERNEL).fit(X), X)) == 3
    pipeline = make_pipeline(StandardScaler(), MKLClassifier(KERNEL)).fit(X, y)
    assert term_table(pipeline)["weight"].tolist() == pipeline[-1].weights_.tolist()
    search = GridSearchCV(MKLClassifier(KERNEL), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert term_table(search)["weight"].tolist() == search.best_estimator_.weights_.tolist()
    save(regressor, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    np.testing.assert_allclose(term_table(loaded, X)["share"], term_table(regressor, X)["share"], atol=1e-9)


def test_others_are_told_what_would_work(blobs):
    X, y = blobs
    with pytest.raises(InputError, match=r"learned weights is needed: MKLClassifier.*got SVC"):
        term_table(SVC().fit(X, y))
