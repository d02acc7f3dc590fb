"""Notes where C or epsilon look far off, and none where they do not."""

import numpy as np
import pytest

from kernelweave import RBF, MKLClassifier, MKLOneClass, MKLRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
LABELS = np.arange(80) % 2  # as many of either, so that a low C has all of them at their bound
CLEAR = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("model", "y", "part"),
    [
        (MKLClassifier(RBF(1.0), C=1e-4), LABELS, "C looks too low"),
        (MKLRegressor(RBF(1.0), epsilon=1e-9, C=1.0), rng.normal(size=80), "epsilon looks too small"),
        (MKLRegressor(RBF(1.0), epsilon=9.0), X[:, 0], "epsilon = 9 looks too large"),
    ],
    ids=["low C", "narrow", "wide"],
)
def test_what_looks_far_off_is_said(model, y, part):
    assert any(part in note for note in model.fit(X, y).notes_)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MKLClassifier(RBF(1.0), C=10.0), CLEAR),
        (MKLClassifier(RBF(1.0), C=1e-4), CLEAR[:10]),  # too few to say
        (MKLClassifier(RBF(1.0), loss="logistic"), CLEAR),  # always rests on all
        (MKLRegressor(RBF(1.0), loss="squared"), X[:, 0]),
        (MKLRegressor(RBF(1.0), C=10.0), np.sin(X[:, 0])),
        (MKLOneClass(RBF(1.0), nu=0.2), None),
    ],
)
def test_otherwise_nothing_is(model, y):
    notes = model.fit(X if y is None else X[: len(y)], y).notes_
    assert not any("support" in note for note in notes)
