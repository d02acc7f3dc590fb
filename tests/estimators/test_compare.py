"""Comparing solvers: the same hold-outs for all, and figures that add up."""

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import RBF, InputError, Linear, MKLRegressor, compare_solvers
from kernelweave.estimators.compare import p_value
from kernelweave.mkl import TwoStage

KERNEL = RBF(0.3) + RBF(3.0) + Linear()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (90, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=90)


def test_regression(data):
    X, y = data
    table = compare_solvers(X, y, KERNEL, ["hessian", "two_stage"], loss="squared", C=10.0, n_splits=4)
    assert table.errors.shape == (4, 2)
    first = table.rows[0]
    assert first["error"] == pytest.approx(table.errors[:, 0].mean())
    assert first["std"] == pytest.approx(table.errors[:, 0].std(ddof=1))
    train, test = next(ShuffleSplit(4, test_size=0.3, random_state=0).split(X))
    model = MKLRegressor(KERNEL, loss="squared", C=10.0, solver="hessian").fit(X[train], y[train])
    error = np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))
    assert table.errors[0, 0] == pytest.approx(error)
    assert 1 <= first["terms"] <= 3
    assert 0 <= first["gap"] <= 1e-3
    best, other = np.argsort(table.errors.mean(axis=0))
    assert table.rows[best]["p_value"] == 1.0
    assert table.rows[best]["rank"] == 1
    assert table.rows[other]["p_value"] == pytest.approx(ttest_rel(*table.errors.T).pvalue)
    assert sum(row["mean_rank"] for row in table.rows) == pytest.approx(3.0)
    text = str(table)
    assert "RMSE" in text
    assert "two_stage" in text
    assert "4 hold-outs" in text
    frame = table.to_frame()
    assert list(frame.index) == ["hessian", "two_stage"]
    assert frame.loc["hessian", "error"] == first["error"]
    again = compare_solvers(X, y, KERNEL, ["hessian", "two_stage"], loss="squared", C=10.0, n_splits=4)
    np.testing.assert_array_equal(table.errors, again.errors)


def test_classification_and_labels(data):
    X, y = data
    table = compare_solvers(X, np.where(y > 0, "up", "down"), KERNEL, n_splits=3)
    assert table.measure == "error rate"
    assert (table.errors <= 0.5).all()


def test_any_estimator_can_take_part(data):
    X, y = data
    search = GridSearchCV(MKLRegressor(KERNEL, loss="squared"), {"C": [1.0, 100.0]}, cv=2)
    table = compare_solvers(
        X,
        y,
        KERNEL,
        {
            "paper": TwoStage(target="product", diagonal=True),
            "search": search,
            "pipe": make_pipeline(StandardScaler(), MKLRegressor(KERNEL)),
            "line": Ridge(),
        },
        loss="squared",
        C=100.0,
        n_splits=6,
    )
    rows = {row["solver"]: row for row in table.rows}
    assert rows["search"]["terms"] >= 1
    assert rows["pipe"]["gap"] <= 1e-3
    assert np.isnan(rows["line"]["gap"])
    assert rows["line"]["rank"] == 4, "a straight line is worse than all others, by far"
    assert " - " in table.to_text()


def test_p_values():
    a = np.array([1.0, 2.0, 3.0])
    assert p_value(a, a) == 1.0
    assert p_value(a, a + 1) == 0.0
    assert p_value(a[:1], a[1:2]) == 1.0


def test_wrong_input_is_explained(data):
    X, y = data
    with pytest.raises(InputError, match="solvers is empty"):
        compare_solvers(X, y, KERNEL, [])
    with pytest.raises(InputError, match="Several solvers are called 'two_stage'"):
        compare_solvers(X, y, KERNEL, [TwoStage(), TwoStage("alignment")])
    with pytest.raises(InputError, match="one target for each of the 90 samples"):
        compare_solvers(X, y[:5], KERNEL)
