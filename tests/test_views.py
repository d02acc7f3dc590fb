"""Every container becomes the same samples."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from kernelweave import RBF, InputError, Linear, per_feature, views
from kernelweave.errors import InputTypeError
from kernelweave.views import as_views

A = np.random.default_rng(0).normal(size=(7, 3))
NAMES = ["age", "gc", "length"]
DATA = {name: A[:, j] for j, name in enumerate(NAMES)}
TABLES = {
    "pandas": pd.DataFrame(DATA),
    "polars": pl.DataFrame(DATA),
    "pyarrow": pa.table(DATA),
}
MATRICES = {
    "array": A,
    "list": A.tolist(),
    "fortran": np.asfortranarray(A),
    "csr": sparse.csr_array(A),
    "csc": sparse.csc_matrix(A),
    "views": as_views(A),
    **TABLES,
}


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("kind", MATRICES)
def test_the_same_matrix_from_every_container(kind):
    views = as_views(MATRICES[kind])
    assert len(views) == 7
    assert len(views.labels) == 3
    np.testing.assert_array_equal(dense(views.matrix()), A)
    np.testing.assert_array_equal(dense(views.rows(np.array([5, 0])).matrix()), A[[5, 0]])
    np.testing.assert_array_equal(dense(views.rows(A[:, 0] > 0).matrix()), A[A[:, 0] > 0])
    np.testing.assert_array_equal(dense(views.select([2, 0]).matrix()), A[:, [2, 0]])
    np.testing.assert_array_equal(dense(views.select(slice(1, None)).matrix()), A[:, 1:])
    np.testing.assert_array_equal(dense(views.select(-1).matrix()), A[:, [2]])
    again = pickle.loads(pickle.dumps(views))
    np.testing.assert_array_equal(dense(again.matrix()), A)


@pytest.mark.parametrize("kind", TABLES)
def test_tables_choose_by_name(kind):
    views = as_views(TABLES[kind])
    assert views.labels == ("age", "gc", "length")
    np.testing.assert_array_equal(views.select(["length", "age"]).matrix(), A[:, [2, 0]])
    np.testing.assert_array_equal(views.select("gc").matrix(), A[:, [1]])
    np.testing.assert_allclose(per_feature(RBF())(TABLES[kind]), per_feature(RBF())(A))
    with pytest.raises(InputError, match="no column 'missing'; it has 'age', 'gc', 'length'"):
        views.select("missing")
    with pytest.raises(InputError, match="One column is needed"):
        views.column()


def test_names_win_over_positions():
    table = pd.DataFrame(A, columns=[2, 1, 0])
    np.testing.assert_array_equal(as_views(table).select(2).matrix(), A[:, [0]])


def test_chosen_columns_keep_their_numbers():
    chosen = as_views(A).select([2, 1])
    assert chosen.labels == (2, 1)
    np.testing.assert_array_equal(chosen.select(1).matrix(), A[:, [1]])
    np.testing.assert_array_equal(chosen.rows(np.arange(3)).select(2).matrix(), A[:3, [2]])
    np.testing.assert_allclose(Linear().on(1).on([2, 1])(A), np.outer(A[:, 1], A[:, 1]))


@pytest.mark.parametrize("make", [dict, lambda parts: list(parts.values())])
def test_several_views(make):
    parts = {"left": A, "right": sparse.csr_array(A[:, :2]), "table": TABLES["polars"]}
    X = make(parts)
    labels = list(parts) if isinstance(X, dict) else [0, 1, 2]
    views = as_views(X)
    assert views.labels == tuple(labels)
    np.testing.assert_allclose(Linear().on(labels[1])(X), A[:, :2] @ A[:, :2].T)
    np.testing.assert_allclose(Linear().on([labels[0], labels[2]])(X), 2 * A @ A.T)
    np.testing.assert_allclose(Linear()(X), 2 * A @ A.T + A[:, :2] @ A[:, :2].T)
    np.testing.assert_allclose(RBF().on("gc").on(labels[2])(X), RBF()(A[:, [1]]))
    np.testing.assert_allclose(per_feature(Linear())(X), Linear()(X))
    np.testing.assert_array_equal(dense(views.rows(np.array([3])).select(labels[0]).matrix()), A[[3]])
    with pytest.raises(InputError, match="no view 'missing'"):
        views.select("missing")
    np.testing.assert_allclose(Linear()(pickle.loads(pickle.dumps(views))), Linear()(X))


def test_columns_of_other_things():
    for column in (["ACGT", "GG"], np.array(["ACGT", "GG"]), pd.Series(["ACGT", "GG"]), pl.Series(["ACGT", "GG"])):
        assert list(as_views(column).column()) == ["ACGT", "GG"]
    assert list(as_views([b"AC", b"G"]).column()) == [b"AC", b"G"]
    for ids in ([3, 1], (3, 1), np.array([3.0, 1.0]), np.array([[3], [1]]), pd.Series([3, 1]), pl.Series("i", [3, 1])):
        assert as_views(ids).ids().tolist() == [3, 1]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ({}, InputError, "empty dict"),
        (np.zeros((2, 2, 2)), InputError, "3 dimensions"),
        ({"a": A, "b": A[:3]}, InputError, "lengths differ"),
        ([A, A[:3]], InputError, "lengths differ"),
        (np.array(["a", "b"]), InputError, "Expected 2D array"),
        (np.array([["a"], ["b"]]), InputTypeError, "needs numbers"),
        (A + 1j, InputError, "Complex data not supported"),
        (np.where(A > 1, np.nan, A), InputError, "NaN or infinity.*first at row"),
        (np.where(A > 1, np.inf, A), InputError, "NaN or infinity"),
        (sparse.csr_array(np.where(A > 1, np.nan, A)), InputError, "NaN or infinity"),
        (np.where(A > 1, 1e200, A), InputError, "too large to be squared"),
        (np.where(A > 1, -1e200, A), InputError, "too large to be squared"),
        (pd.DataFrame({"a": ["x", "y"]}), InputTypeError, "Column 'a' holds"),
        (pl.DataFrame({"a": [1.0, None]}), InputError, "Column 'a' contains NaN, null or infinity .first at row 1"),
        (pd.DataFrame({"a": [1.0, np.nan]}), InputError, "Column 'a' contains NaN"),
        (pa.table({"a": [1, None]}), InputError, "Column 'a' contains NaN"),
        (pd.DataFrame({"a": [1.0, 1e200]}), InputError, "Column 'a' reaches"),
    ],
)
def test_what_is_wrong_is_named(X, error, message):
    with pytest.raises(error, match=message):
        as_views(X).matrix()


@pytest.mark.parametrize("columns", [3, -4, "age", [0, 7], 1.5])
def test_a_matrix_has_numbered_columns(columns):
    with pytest.raises(InputError, match="does not name one"):
        Linear().on(columns)(A)


def test_a_single_column_has_nothing_to_choose():
    with pytest.raises(InputError, match="nothing to choose"):
        as_views(["AC", "GT"]).select(0)


def test_several_columns_chosen_again_are_at_hand(monkeypatch):
    X = as_views(np.arange(12.0).reshape(3, 4))
    first = X.select([1, 3])
    assert X.select([1, 3]) is first
    assert X.select([3, 1]) is not first
    np.testing.assert_array_equal(X.select([3, 1]).matrix(), [[3, 1], [7, 5], [11, 9]])
    np.testing.assert_array_equal(X.select([1, 3]).rows(np.array([2])).matrix(), [[9, 11]])
    assert "_latest" not in vars(pickle.loads(pickle.dumps(X)))
    monkeypatch.setattr(views, "MAX_LATEST", 5)
    large = as_views(np.arange(12.0).reshape(3, 4))
    assert large.select([1, 3]) is not large.select([1, 3])
