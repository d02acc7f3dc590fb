"""Estimators on sequences: every container, scikit-learn's tools, and real splice sites."""

import csv
import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from kernelweave import (
    RBF,
    InputError,
    Linear,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    Oligo,
    PositionalMarkovChain,
    WeightedDegree,
)
from kernelweave.errors import InputTypeError
from kernelweave.sequences import as_sequences
from kernelweave.testing import check_sequence_estimator, sequence_checks
from kernelweave.testing.windows import windows

X, Y = windows(60)
NEW, _ = windows(20, seed=9)
KERNEL = WeightedDegree(degree=4).normalized() + Oligo(k=3)
CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "bytes": lambda rows: [row.encode() for row in rows],
    "numpy U": np.array,
    "numpy S": lambda rows: np.array(rows, dtype="S"),
    "numpy object": lambda rows: np.array(rows, dtype=object),
    "numpy column": lambda rows: np.array(rows)[:, None],
    "numpy strings": lambda rows: np.array(rows, dtype=np.dtypes.StringDType()),
    "pandas column": pd.Series,
    "pandas strings": lambda rows: pd.Series(rows, dtype="string"),
    "pandas table": lambda rows: pd.DataFrame({"seq": rows}),
    "polars column": lambda rows: pl.Series("seq", rows),
    "polars table": lambda rows: pl.DataFrame({"seq": rows}),
    "arrow column": lambda rows: pa.chunked_array([rows]),
    "arrow array": pa.array,
    "arrow table": lambda rows: pa.table({"seq": rows}),
    "SequenceSet": as_sequences,
    "packed": lambda rows: as_sequences(rows, packed=True),
}
ESTIMATORS = [
    MKLClassifier(WeightedDegree(degree=3)),
    MKLClassifier(WeightedDegree(degree=3).normalized().split("degree"), norm=2),
    MKLClassifier(WeightedDegree(degree=2, shift=1) + Oligo(k=2), loss="logistic"),
    MKLRegressor(WeightedDegree(degree=3).split("position")),
    MKLOneClass(WeightedDegree(degree=3)),
]


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(estimator, name) for estimator in ESTIMATORS for name, _ in sequence_checks(estimator)],
    ids=lambda value: value if isinstance(value, str) else repr(value)[:40],
)
def test_scikit_learn_checks(estimator, name):
    dict(sequence_checks(estimator))[name]()


def test_a_broken_estimator_is_found():
    class Forgetful(PositionalMarkovChain):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)

    with pytest.raises(AssertionError, match="fit does not return self"):
        check_sequence_estimator(Forgetful(order=1))


@pytest.mark.parametrize("kind", CONTAINERS)
def test_row_75_every_container_gives_the_same_model(kind):
    make = CONTAINERS[kind]
    model = MKLClassifier(KERNEL).fit(make(X), Y)
    expected = MKLClassifier(KERNEL).fit(X, Y)
    assert model.n_features_in_ == 1
    assert np.array_equal(model.decision_function(make(NEW)), expected.decision_function(NEW))
    assert np.array_equal(model.weights_, expected.weights_)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(make(NEW)), expected.decision_function(NEW))


@pytest.mark.parametrize("kind", CONTAINERS)
def test_tools_of_scikit_learn(kind):
    data = CONTAINERS[kind](X)
    model = MKLClassifier(WeightedDegree(degree=3))
    expected = cross_val_score(model, X, Y, cv=3)
    assert np.array_equal(cross_val_score(model, data, Y, cv=3), expected)
    pipe = make_pipeline(FunctionTransformer(), clone(model))
    assert cross_val_predict(pipe, data, Y, cv=3).shape == Y.shape
    grid = {"C": [0.1, 10.0], "kernel": [WeightedDegree(degree=2), WeightedDegree(degree=3).split("degree")]}
    search = GridSearchCV(model, grid, cv=3).fit(data, Y)
    assert search.best_score_ > 0.8
    assert search.predict(data).shape == Y.shape


@pytest.mark.parametrize("kind", ["list", "numpy U", "pandas table", "polars column", "arrow table", "packed"])
def test_row_18_two_processes(kind):
    model = MKLClassifier(WeightedDegree(degree=3))
    scores = cross_val_score(model, CONTAINERS[kind](X), Y, cv=2, n_jobs=2)
    assert np.array_equal(scores, cross_val_score(model, X, Y, cv=2))


def test_views_of_different_kinds(rng):
    numbers = rng.normal(size=60)
    kernel = WeightedDegree(degree=3).on("seq").split("degree") + RBF().on("gc") + Linear().on("gc")
    tables = [{"seq": X, "gc": numbers[:, None]}, pd.DataFrame({"seq": X, "gc": numbers})]
    tables += [pl.DataFrame({"seq": X, "gc": numbers}), pa.table({"seq": X, "gc": numbers})]
    models = [MKLClassifier(kernel).fit(table, Y) for table in tables]
    for model, table in zip(models, tables, strict=True):
        assert model.n_features_in_ == 2
        assert np.array_equal(model.decision_function(table), models[0].decision_function(tables[0]))
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.decision_function(table), model.decision_function(table))
    assert models[1].feature_names_in_.tolist() == ["seq", "gc"]
    with pytest.raises(ValueError, match="feature names"):
        models[1].predict(tables[1].rename(columns={"gc": "other"}))


def test_letters_are_read_once(monkeypatch):
    import kernelweave.sequences as sequences

    read, real = [], sequences.as_sequences
    monkeypatch.setattr(sequences, "as_sequences", lambda *args, **kw: read.append(args) or real(*args, **kw))
    kernel = WeightedDegree(degree=3).on("seq").split("degree") + Oligo(k=2).on("seq")
    model = MKLClassifier(kernel).fit(pd.DataFrame({"seq": X}), Y)
    assert len(read) == 1
    model.predict(pd.DataFrame({"seq": NEW}))
    assert len(read) == 2


def test_new_sequences_are_read_as_those_of_the_fit():
    proteins = ["MKNLAAPT", "NNACDEFG", "MKNLAAPW", "NWACDEYG"]
    model = MKLClassifier(WeightedDegree(degree=2).normalized(), C=10).fit(proteins, [0, 1, 0, 1])
    new = ["NNACNNAC", "AAAAAAAA"]  # alone they would pass for DNA, where N matches nothing
    expected = MKLClassifier(WeightedDegree(degree=2, alphabet="protein").normalized(), C=10).fit(
        proteins, [0, 1, 0, 1]
    )
    np.testing.assert_allclose(model.decision_function(new), expected.decision_function(new))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.decision_function(new), expected.decision_function(new))
    with pytest.raises(InputError, match="'1' is not a letter of the protein alphabet"):
        model.predict(["NNAC1NAC"])


@pytest.mark.parametrize(
    ("kernel", "data", "error", "message"),
    [
        (RBF(), X, InputTypeError, r"X holds strings, but RBF\(\) needs numbers.*WeightedDegree"),
        (Linear(), np.array(X), InputTypeError, "X holds strings"),
        (Linear(), as_sequences(X), InputTypeError, "X holds strings"),
        (Linear(), pd.DataFrame({"s": X}), InputTypeError, "Column 's' holds"),
        (WeightedDegree(), np.ones((60, 3)), InputTypeError, "holds float64 numbers. Pass strings"),
        (WeightedDegree(), np.arange(60), InputTypeError, "holds int64 numbers"),
        (WeightedDegree(), pd.DataFrame({"s": X, "t": X}), InputError, r"One column is needed.*\.on"),
        (WeightedDegree(), [*X[:59], None], InputError, "Row 59 has no sequence"),
        (WeightedDegree(), [*X[:59], float("nan")], InputError, "Row 59 has no sequence"),
        (WeightedDegree(), pd.Series([*X[:59], None]), InputError, "Row 59 has no sequence"),
        (WeightedDegree(), pl.Series([*X[:59], None]), InputError, "Row 59 has no sequence"),
        (WeightedDegree(), pa.array([*X[:59], None]), InputError, "Row 59 has no sequence"),
        (WeightedDegree(), [*X[:59], "ACGTACGTACG-"], InputError, "Sequence 59, position 12: '-'"),
        (WeightedDegree(), [*X[:59], "ACG"], InputError, r"equally long here; got 2 lengths: 12 \(59x\), 3 \(1x\)"),
        (WeightedDegree().on("seq"), X, InputError, "nothing to choose"),
        (WeightedDegree(alphabet="rna"), as_sequences(X), InputError, "alphabet='rna' was asked for|alphabet=RNA"),
    ],
)
def test_row_59_what_is_wrong_is_named(kernel, data, error, message):
    with pytest.raises(error, match=message):
        MKLClassifier(kernel).fit(data, Y)


def test_the_learned_kernel_types_back_and_predicts():
    from kernelweave import parse

    model = MKLClassifier(WeightedDegree(degree=4).normalized().split("position"), norm=1).fit(X, Y)
    kernel = parse(repr(model.kernel_))
    support = [X[i] for i in model.support_]
    expected = kernel(NEW, support) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-9)
    heaviest = np.argsort(model.weights_)[-3:]
    assert all(3 <= int(model.term_names_[m].split("position=")[1].rstrip(")")) <= 6 for m in heaviest), "the motif"


def acceptor_windows(name, limit):
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("KERNELWEAVE_DATA", root.parent / "shared" / "data"))
    path = folder / "celegans_acceptor" / name
    if not path.exists():
        pytest.skip(f"no splice sites at {path}; set KERNELWEAVE_DATA to the data folder")
    with gzip.open(path, "rt", newline="") as file:
        rows = [row for _, row in zip(range(limit), csv.DictReader(file), strict=False)]
    return [row["sequence"] for row in rows], np.array([int(row["label"]) for row in rows])


def test_real_splice_sites():
    train, labels = acceptor_windows("train141.csv.gz", 2000)
    kernel = WeightedDegree(degree=20).normalized()
    model = MKLClassifier(kernel, C=1.0, norm="fixed", scaling=None, tol=1e-5).fit(train, labels)
    assert model.lower_bound_ == pytest.approx(93.6335, abs=0.005)
    assert len(model.support_) == pytest.approx(868, abs=10)
