"""C by cross-validation: the same as a grid search, in fewer steps; groups, scorers, files and notes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold

from kernelweave import RBF, InputError, Linear, MKLClassifier, MKLRegressor, PathDisplay, load, report, save
from kernelweave.estimators import base, path

X, Y = make_moons(90, noise=0.3, random_state=0)
KERNEL = RBF(0.5) + RBF(3.0) + Linear()
COSTS = [0.03, 1.0, 30.0]


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_it_is_what_a_grid_search_finds(scoring):
    model = MKLClassifier(KERNEL, C=COSTS, scoring=scoring, tol=1e-6).fit(X, Y)
    cv = StratifiedKFold(5)
    grid = GridSearchCV(MKLClassifier(KERNEL, tol=1e-6), {"C": COSTS}, cv=cv, scoring=scoring).fit(X, Y)
    assert model.cv_results_["mean_test_score"] == pytest.approx(grid.cv_results_["mean_test_score"], abs=0.012)
    assert model.C_ in COSTS
    assert grid.cv_results_["mean_test_score"][COSTS.index(model.C_)] >= grid.best_score_ - 0.012
    assert model.cv_results_["split_test_scores"].shape == (3, 5)
    alone = MKLClassifier(KERNEL, C=model.C_, tol=1e-6).fit(X, Y)
    assert np.array_equal(model.decision_function(X), alone.decision_function(X))
    assert any(f"C = {model.C_:.3g} has the best score" in note for note in model.notes_)


def test_numbers_and_several_targets_have_a_path_too():
    targets = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] ** 2])
    for y in (targets[:, 0], targets):
        model = MKLRegressor(KERNEL, C="cv", loss="squared", scoring="neg_mean_squared_error", cv=KFold(3)).fit(X, y)
        assert model.C_ > 1.0
        assert np.array_equal(model.cv_results_["C"], path.COSTS)
        assert (model.cv_results_["mean_test_score"] < 0).all()


def test_terms_are_bound_once_for_every_fold(monkeypatch):
    bound = []
    monkeypatch.setattr(base, "bind", lambda *a, _bind=base.bind, **k: bound.append(1) or _bind(*a, **k))
    MKLClassifier(KERNEL, C=COSTS, cv=4).fit(X, Y)
    assert len(bound) == 4 + 1


def test_groups_are_left_out_together():
    seen = []

    def watched(model, left_out, y):
        seen.append(len(y))
        return 1.0

    groups = np.repeat([0, 1, 2], [50, 20, 20])
    model = MKLClassifier(KERNEL, C=[1.0], cv=3, scoring=watched).fit(X, Y, groups=groups)
    assert sorted(seen) == [20, 20, 50]
    other = MKLRegressor(RBF(1.0), C=[1.0], cv=GroupKFold(3), scoring=watched).fit(X, Y, groups=groups)
    assert sorted(seen[3:]) == [20, 20, 50]
    assert model.C_ == other.C_ == 1.0


def test_files_keep_the_curve(tmp_path):
    model = MKLClassifier(KERNEL, C=COSTS, cv=3).fit(X, Y)
    save(model, tmp_path / "model.kw")
    other = load(tmp_path / "model.kw")
    assert other.C_ == model.C_
    assert np.array_equal(other.cv_results_["split_test_scores"], model.cv_results_["split_test_scores"])
    assert other.get_params()["C"] == COSTS
    assert repr(clone(model)) == repr(model)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": []}, "C is an empty list"),
        ({"C": [1.0, -1.0]}, "every C must be a finite number > 0"),
        ({"C": "cw"}, '"auto", "cv", or a list'),
        ({"C": "cv", "learn_C": True, "loss": "squared"}, "contradict each other"),
    ],
)
def test_what_cannot_be_is_said(parameters, message):
    with pytest.raises(InputError, match=message):
        MKLClassifier(KERNEL, **parameters).fit(X, Y)


def test_the_end_of_what_was_tried_is_noted():
    model = MKLRegressor(RBF(1.0), C=[1e-6, 1e-5], loss="squared", cv=3).fit(X, np.sin(4 * X[:, 0]))
    assert model.C_ == 1e-5
    assert any("at the end of what was tried" in note for note in model.notes_)


def test_the_curve_is_drawn_in_a_display_and_in_the_report():
    plt = pytest.importorskip("matplotlib.pyplot")
    model = MKLClassifier(KERNEL, C=COSTS, cv=3, scoring="roc_auc").fit(X, Y)
    display = PathDisplay.from_estimator(model)
    assert np.array_equal(display.line_.get_ydata(), model.cv_results_["mean_test_score"])
    assert "roc_auc" in display.ax_.get_ylabel()
    plt.close(display.figure_)
    page = report.build(model, X, Y)
    assert "Scores over C, by folds" in page
    assert f"taken: C = {model.C_:g}" in page
    with pytest.raises(InputError, match="one C only"):
        PathDisplay.from_estimator(MKLClassifier(KERNEL).fit(X, Y))


def test_the_report_has_thresholds_for_what_is_wanted():
    page = report.build(MKLClassifier(KERNEL).fit(X, Y), X, Y)
    assert "Thresholds for what is wanted" in page
    assert "precision of 95" in page
