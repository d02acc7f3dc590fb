"""Measures equal scikit-learn's, and intervals cover what they should."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from kernelweave.explain.validation import Fold, auprc, auroc, intervals, mcc


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_measures_are_those_of_scikit_learn(seed, ties):
    rng = np.random.default_rng(seed)
    positive = np.append(rng.random(30) < 0.3, [True, False])
    decision = rng.normal(size=32) + positive
    if ties:
        decision = np.round(decision)
    assert auroc(positive, decision) == pytest.approx(metrics.roc_auc_score(positive, decision))
    assert auprc(positive, decision) == pytest.approx(metrics.average_precision_score(positive, decision))
    assert mcc(positive, decision) == pytest.approx(metrics.matthews_corrcoef(positive, decision > 0))


def test_one_class_has_no_area():
    assert np.isnan(auroc(np.ones(3, bool), np.arange(3.0)))
    assert np.isnan(auprc(np.zeros(3, bool), np.arange(3.0)))
    assert mcc(np.ones(3, bool), np.arange(3.0)) == 0.0


def test_intervals_cover_the_truth():
    """Of 95 % intervals, most of 40 hold the true area of two normal distributions: Φ(1 / √2)."""
    rng, inside = np.random.default_rng(0), 0
    for seed in range(40):
        positive = np.arange(120) % 2 == 0
        fold = Fold(positive, rng.normal(size=120) + positive)
        found = intervals([fold], {"auROC": auroc}, repeats=200, random_state=seed)["auROC"]
        inside += found.low <= 0.7602 <= found.high
    assert 33 <= inside <= 40


def test_groups_make_intervals_wider_where_members_are_alike():
    rng = np.random.default_rng(0)
    shift = np.repeat(rng.normal(size=20), 20)
    positive = np.arange(400) % 2 == 0
    decision = positive * shift + 0.1 * rng.normal(size=400)
    alone = intervals([Fold(positive, decision)], repeats=300)["auROC"]
    together = intervals([Fold(positive, decision, np.repeat(np.arange(20), 20))], repeats=300)["auROC"]
    few = intervals([Fold(positive, decision, np.repeat(np.arange(4), 100))], repeats=20)["auROC"]
    assert (alone.over, together.over, few.over) == ("samples", "groups", "samples")
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
