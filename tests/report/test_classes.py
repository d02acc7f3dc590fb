"""Curves of many classes."""

import re

import numpy as np

import kernelweave as kw
from kernelweave.report import build


def circle(n_classes, n=400):
    rng = np.random.default_rng(0)
    c = np.arange(n) % n_classes
    angle = 2 * np.pi * c / n_classes
    X = 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.7, (n, 2))
    return X, np.array([f"kind-{i:02d}" for i in c])


def test_every_class_has_a_curve_with_its_name():
    X, y = circle(12)
    model = kw.MKLClassifier(kw.RBF(1.0), tol=0.1).fit(X[:200], y[:200])
    test = (np.arange(400) >= 200) & (y != "kind-07")
    page = build(model, X_test=X[test], y_test=y[test])
    figure = next(part for part in page.split("<figure") if "ROC curve of every class" in part)
    lines = re.findall(r'class="line ([^"]+)"', figure)
    assert len(lines) == len(set(lines)) == 11  # every class has a look of its own
    for label in model.classes_:
        if label == "kind-07":
            assert "no samples: kind-07." in figure
        else:
            assert re.search(rf"{label}: [01]\.\d", figure)


def test_display_leaves_out_classes_without_samples():
    from kernelweave.explain import CurvesDisplay

    X, y = circle(3, 60)
    model = kw.MKLClassifier(kw.RBF(1.0), tol=0.1).fit(X, y)
    rows = y != "kind-01"
    shown = CurvesDisplay.from_estimator(model, X[rows], y[rows])
    assert list(shown.areas_) == ["kind-00 against the rest", "kind-02 against the rest"]
