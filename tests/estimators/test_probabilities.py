"""Probabilities from decision values of samples left out: calibrated, kept, and no worse than scikit-learn's."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import brier_score_loss
from sklearn.svm import SVC

from kernelweave import RBF, InputError, Linear, MKLClassifier, load, save
from kernelweave.estimators.probabilities import logistic_curve


def noisy(n=400, seed=0):
    X, y = make_classification(n, 6, flip_y=0.2, class_sep=0.8, random_state=seed)
    return X, y


def test_the_curve_is_the_one_of_least_log_loss():
    rng = np.random.default_rng(0)
    f = 3e4 * rng.normal(size=300)
    positive = rng.random(300) < expit(f / 2e4 + 0.5)
    weight = rng.integers(1, 4, 300).astype(float)
    slope, offset = logistic_curve(f, positive, weight)
    total = [weight[positive].sum(), weight[~positive].sum()]
    target = np.where(positive, (total[0] + 1) / (total[0] + 2), 1 / (total[1] + 2))

    def loss(at):
        p = expit(at[0] * f / 1e4 + at[1])
        return -weight @ (target * np.log(p) + (1 - target) * np.log(1 - p))

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).x
    assert (slope * 1e4, offset) == pytest.approx(tuple(best), rel=1e-3, abs=1e-3)
    count = weight.astype(int)  # a weight of 2 is the same as being there twice
    repeated = logistic_curve(np.repeat(f, count), np.repeat(positive, count), np.ones(count.sum()))
    assert (slope, offset) == pytest.approx(repeated, rel=1e-3)


def test_as_good_as_calibrated_support_vectors():
    (X, y), (X_new, y_new) = (noisy()[i][:200] for i in (0, 1)), (noisy()[i][200:] for i in (0, 1))
    kernel = RBF(0.1)
    ours = MKLClassifier(kernel, probability=True, scaling=None).fit(X, y).predict_proba(X_new)[:, 1]
    peer = CalibratedClassifierCV(SVC(gamma=0.1), cv=5, ensemble=False).fit(X, y).predict_proba(X_new)[:, 1]
    assert brier_score_loss(y_new, ours) <= brier_score_loss(y_new, peer) + 0.01
    assert abs(ours.mean() - y_new.mean()) < 0.1


def test_several_classes_in_a_model_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = MKLClassifier((RBF(0.3) + Linear()).standardized(), probability=True).fit(X[::2], y[::2])
    p = model.predict_proba(X[1::2])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p.argmax(axis=1) == y[1::2]).mean() > 0.9
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").predict_proba(X[1::2]), p)


def test_only_where_it_is_asked_for():
    X, y = noisy(60)
    assert not hasattr(MKLClassifier(RBF(0.1)).fit(X, y), "predict_proba")
    with pytest.raises(InputError, match="at least two of every class"):
        MKLClassifier(RBF(0.1), probability=True).fit(X, np.arange(60) == 0)
