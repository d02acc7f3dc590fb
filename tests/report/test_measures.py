"""Curves, counts and errors against their definitions and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from kernelweave.explain.curves import curves_of
from kernelweave.report import measures
from kernelweave.report.threshold import rates


@st.composite
def decisions(draw, both=True):
    """Decision values with ties, and which of them belong to positives."""
    n = draw(st.integers(2, 40))
    values = draw(st.lists(st.integers(-6, 6), min_size=n, max_size=n))
    positive = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    if both:
        positive[0], positive[1] = True, False
    return np.array(positive), np.array(values) / 4.0


@settings(max_examples=25)
@given(decisions())
def test_areas_are_those_of_scikit_learn(given_):
    positive, decision = given_
    found = curves_of(positive, decision)
    assert found.roc_area == pytest.approx(metrics.roc_auc_score(positive, decision), abs=1e-12)
    assert found.average_precision == pytest.approx(metrics.average_precision_score(positive, decision), abs=1e-12)


@given(decisions(both=False))
def test_counts_and_curves_are_what_they_say(given_):
    positive, decision = given_
    found = curves_of(positive, decision)
    table = measures.counts(positive, decision, found.thresholds)
    for i, threshold in enumerate(found.thresholds):
        called = decision > threshold
        naive = [np.sum(called & positive), np.sum(called & ~positive), np.sum(~called & positive)]
        assert table[i].tolist() == [*naive, np.sum(~called & ~positive)]
        assert [found.tp[i], found.fp[i]] == naive[:2]


def test_areas_without_one_of_the_classes_are_not_numbers():
    found = curves_of(np.zeros(3, bool), np.arange(3.0))
    assert np.isnan(found.roc_area)
    assert np.isnan(found.average_precision)


@given(decisions())
def test_few_points_draw_the_same_curve(given_):
    positive, decision = given_
    found = curves_of(positive, decision)
    keep = measures.few_points(found.fall_out, found.recall)
    assert keep[0] == 0
    assert keep[-1] == len(found.thresholds) - 1
    again = np.trapezoid(found.recall[keep], found.fall_out[keep])
    assert again == pytest.approx(found.roc_area, abs=1e-12)


def test_a_long_curve_is_thinned(rng):
    positive = rng.random(5000) < 0.5
    found = curves_of(positive, rng.normal(size=5000) + positive)
    keep = measures.few_points(found.fall_out, found.recall, most=100)
    assert 50 < len(keep) <= 100
    again = np.trapezoid(found.recall[keep], found.fall_out[keep])
    assert again == pytest.approx(found.roc_area, abs=0.01)


@given(decisions())
def test_thresholds_hold_zero_and_both_ends(given_):
    positive, decision = given_
    thresholds, zero = measures.cuts([decision, decision[:1]])
    assert thresholds[zero] == 0.0
    assert (np.diff(thresholds) > 0).all()
    table = measures.counts(positive, decision, thresholds)
    if (decision > 0).any() and (decision < 0).any():
        assert table[0, :2].sum() == len(decision)
        assert table[-1, :2].sum() == 0
    best = measures.best_f1(table)
    every = [2 * tp / (2 * tp + fp + fn) if tp else 0.0 for tp, fp, fn, _ in table]
    assert every[best] == pytest.approx(max(every))


def test_rates_are_those_of_scikit_learn(rng):
    y, called = rng.random(50) < 0.4, rng.random(50) < 0.5
    tp, fp, fn, tn = measures.counts(y, called.astype(float), np.array([0.5]))[0]
    found = rates(tp, fp, fn, tn)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, called))
    assert found["precision"] == pytest.approx(metrics.precision_score(y, called))
    assert found["recall"] == pytest.approx(metrics.recall_score(y, called))
    assert found["specificity"] == pytest.approx(metrics.recall_score(~y, ~called))
    assert found["F1"] == pytest.approx(metrics.f1_score(y, called))
    assert np.isnan(rates(0, 0, 0, 0)["precision"])


def test_confusion_and_errors_are_those_of_scikit_learn(rng):
    y, called = rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    assert (measures.confusion(y, called, 4) == metrics.confusion_matrix(y, called, labels=range(4))).all()
    true, predicted = rng.normal(size=(2, 30))
    found = measures.errors(true, predicted)
    assert found["R²"] == pytest.approx(metrics.r2_score(true, predicted))
    assert found["RMSE"] == pytest.approx(metrics.root_mean_squared_error(true, predicted))
    assert found["MAE"] == pytest.approx(metrics.mean_absolute_error(true, predicted))
    assert found["largest error"] == pytest.approx(metrics.max_error(true, predicted))
    assert np.isnan(measures.errors(np.ones(3), np.ones(3))["R²"])


def test_a_wanted_share_is_reached_with_the_most_of_the_other():
    rng = np.random.default_rng(0)
    positive = rng.random(200) < 0.4
    curves = curves_of(positive, positive + rng.normal(size=200))
    for share in (0.5, 0.8, 0.95):
        best = measures.reaching(share, np.where(curves.tp > 0, curves.precision, 0.0), curves.recall)
        every = [r for p, r, tp in zip(curves.precision, curves.recall, curves.tp, strict=True) if p >= share and tp]
        assert (curves.recall[best] == max(every)) if every else best is None
    assert measures.reaching(1.1, curves.recall, curves.precision) is None
