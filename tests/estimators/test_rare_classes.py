"""One positive in a hundred or in a thousand: weights of classes, and probabilities that mean what they say."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss

from kernelweave import Linear, MKLClassifier, WeightedDegree
from kernelweave.datasets import make_splice_sites


@pytest.fixture(scope="module")
def one_in_a_thousand():
    rng = np.random.default_rng(0)
    both = []
    for _ in range(2):
        y = (np.arange(20_020) < 20).astype(int)
        X = rng.normal(size=(len(y), 3))
        X[y == 1, 0] += 2.5
        both.append((X, y))
    return both


@pytest.mark.filterwarnings("ignore:.*class_weight.*")
def test_weights_of_classes_find_one_in_a_thousand(one_in_a_thousand):
    (X, y), (new, truth) = one_in_a_thousand
    plain, balanced = (
        MKLClassifier(Linear(), norm="fixed", scaling=None, class_weight=weight).fit(X, y)
        for weight in (None, "balanced")
    )
    assert plain.predict(new).sum() == 0, "all are called negative, and that is right of 999 in 1000"
    assert balanced.converged_
    assert balanced_accuracy_score(truth, balanced.predict(new)) > 0.88  # the best possible is 0.89


def test_weights_of_classes_are_weights_of_samples(one_in_a_thousand):
    (X, y), _ = one_in_a_thousand
    X, y = X[:4_000], y[:4_000]
    shared = {"norm": "fixed", "scaling": None, "tol": 1e-9}
    by_class = MKLClassifier(Linear(), class_weight={0: 1.0, 1: 200.0}, **shared).fit(X, y)
    by_sample = MKLClassifier(Linear(), **shared).fit(X, y, sample_weight=np.where(y == 1, 200.0, 1.0))
    assert by_class.objective_ == pytest.approx(by_sample.objective_, rel=1e-8)
    assert np.abs(by_class.dual_coef_).max() > 1.0  # more than C: no sample of weight 1 can weigh so much


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.filterwarnings("ignore:.*class_weight.*")
def test_probabilities_of_one_in_a_hundred_mean_what_they_say(class_weight):
    X, y = make_splice_sites(16_000, positives=0.01, random_state=0)
    kernel = WeightedDegree(degree=6).normalized()
    model = MKLClassifier(kernel, norm="fixed", probability=True, class_weight=class_weight)
    p = model.fit(X.rows(slice(0, 8_000)), y[:8_000]).predict_proba(X.rows(slice(8_000, 16_000)))[:, 1]
    positive = y[8_000:] > 0
    assert p.mean() == pytest.approx(positive.mean(), rel=0.2)  # whatever the weights, the share of positives is real
    assert log_loss(positive, p) < 0.45 * log_loss(positive, np.full(len(p), positive.mean()))
    for low, high in ((0.0, 0.01), (0.01, 0.1), (0.1, 0.5), (0.5, 1.0)):
        some = (p >= low) & (p <= high)
        said, true = p[some].mean(), positive[some].mean()
        # three standard deviations of a share of so many
        assert abs(said - true) <= 3 * np.sqrt(said * (1 - said) / some.sum())
