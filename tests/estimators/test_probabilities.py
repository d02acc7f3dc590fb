"""Probabilities from decision values of samples left out: calibrated, kept, and no worse than scikit-learn's."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import average_precision_score, brier_score_loss
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


def labelled(n, seed):
    """Return samples with three labels of known chance; the last one is rare."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3))
    p = expit(np.column_stack([2 * X[:, 0], X[:, 1] - 1, -3 + X[:, 2]]))
    return X, (rng.random((n, 3)) < p).astype(int), p


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_every_label_has_a_curve_of_its_own(class_weight, tmp_path):
    X, y, _ = labelled(400, 0)
    model = MKLClassifier(RBF(0.1), class_weight=class_weight, probability=True).fit(X, y)
    new, y_new, truth = labelled(1000, 1)
    p = model.predict_proba(new)
    assert p.shape == truth.shape
    assert model.calibration_.shape == (3, 2)
    assert np.abs(p - truth).mean(axis=0).max() < 0.1
    assert p.mean(axis=0) == pytest.approx(truth.mean(axis=0), abs=0.05)  # in their true shares, whatever the weights
    assert average_precision_score(y_new, p) > 0.45
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").predict_proba(new), p)


def test_a_label_of_one_or_no_sample_is_unlikely():
    X, y, _ = labelled(60, 2)
    y[:, 1], y[:, 2] = np.arange(60) == 7, 0
    p = MKLClassifier(RBF(0.1), probability=True, class_weight="balanced").fit(X, y).predict_proba(X)
    assert p[:, 1:].max() < 0.1


@pytest.mark.parametrize("several", [False, True])
def test_groups_are_left_out_whole(several):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 6)
    X = rng.normal(size=(30, 3))[groups] + 0.01 * rng.normal(size=(180, 3))
    y = (rng.random(30) < 0.5)[groups].astype(int)  # a group is known again by its place; a new one cannot be known
    y = np.column_stack([y, 1 - y]) if several else y
    model = MKLClassifier(RBF(1.0), probability=True)
    sure = model.fit(X, y).predict_proba(X).max(axis=1).mean()
    assert model.fit(X, y, groups=groups).predict_proba(X).max(axis=1).mean() < sure - 0.2
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, y, groups=np.zeros(180))


def test_what_a_path_over_C_found_is_not_looked_for_again():
    X, y = noisy(80)
    model = MKLClassifier(RBF(0.1), C=[0.1, 1.0, 10.0], probability=True).fit(X, y)
    fixed = MKLClassifier(RBF(0.1), C=model.C_, probability=True).fit(X, y)
    np.testing.assert_allclose(model.calibration_, fixed.calibration_, rtol=1e-6)


def test_only_where_it_is_asked_for():
    X, y = noisy(60)
    assert not hasattr(MKLClassifier(RBF(0.1)).fit(X, y), "predict_proba")
    with pytest.raises(InputError, match="at least two of every class"):
        MKLClassifier(RBF(0.1), probability=True).fit(X, np.arange(60) == 0)
