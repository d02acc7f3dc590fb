"""C and weights by leaving samples out: against fits without them, against repeated samples, and in estimators."""

import numpy as np
import pytest

from kernelweave import RBF, InputError, Linear, MKLClassifier, MKLRegressor
from kernelweave.mkl.choosing import RIDGES, missed_on_a_path


def naive_missed(K, Y, share, ridge):
    """Fit ridge regression with an intercept without one of what every sample stands for, and see how it is missed."""
    n, out = len(K), np.empty_like(Y)
    for i in range(n):
        left = share - (np.arange(n) == i)
        there = left > 0
        A = np.block([[K[np.ix_(there, there)] + np.diag(ridge / left[there]), np.ones((there.sum(), 1))],
                      [np.ones((1, there.sum())), np.zeros((1, 1))]])  # fmt: skip
        solved = np.linalg.solve(A, np.vstack([Y[there], np.zeros((1, Y.shape[1]))]))
        out[i] = Y[i] - K[i, there] @ solved[:-1] - solved[-1]
    return out


def data(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_missed_is_what_fits_without_the_sample_miss(weighted):
    X, Y = data()
    share = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else np.ones(len(X))
    found = list(missed_on_a_path(RBF(0.5)(X), Y, share))
    for at in (3, 8, 12):
        np.testing.assert_allclose(found[at], naive_missed(RBF(0.5)(X), Y, share, RIDGES[at]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [MKLClassifier, MKLRegressor])
def test_a_weight_of_two_is_being_there_twice(kind):
    X, Y = data(40)
    y = Y[:, 0] if kind is MKLRegressor else (Y[:, 0] > 0).astype(int)
    weight = np.random.default_rng(2).integers(1, 4, len(X))
    one, other = kind().fit(X, y, weight), kind().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert one.C_ == other.C_
    np.testing.assert_allclose(one.weights_, other.weights_, atol=1e-6)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-5, atol=1e-6)


def test_the_choice_is_kept_and_said():
    X, Y = data(60)
    model = MKLRegressor(RBF(0.1) + RBF(1.0) + Linear(), C="auto", norm="auto").fit(X, Y[:, 1])
    assert model.loss_ == "squared"
    assert any(f"C = {model.C_:.3g} and the weights" in note for note in model.notes_)
    assert model.score(X, Y[:, 1]) > 0.9
    alone = MKLClassifier(RBF(0.5), C="auto", loss="hinge").fit(X, Y[:, 0] > 0)
    assert alone.loss_ == "hinge"
    assert any("was chosen by what is missed" in note for note in alone.notes_)
    given = MKLClassifier(RBF(0.5) + Linear()).fit(X, Y[:, 0] > 0)
    assert (given.C_, given.loss_) == (1.0, "hinge")
    with pytest.raises(InputError, match='C must be a finite number > 0, "auto", "cv", or a list'):
        MKLClassifier(RBF(0.5), C="best").fit(X, Y[:, 0] > 0)


def test_noise_gets_a_smaller_C_than_a_clear_pattern():
    X, Y = data(120)
    noisy = Y[:, 0] + np.random.default_rng(3).normal(size=len(X))
    assert MKLRegressor(RBF(0.5), C="auto").fit(X, noisy).C_ < 0.1 * MKLRegressor(RBF(0.5), C="auto").fit(X, Y[:, 0]).C_


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_units_of_targets_do_not_matter(loss):
    X, Y = data(60)
    y = Y[:, 0]
    one = MKLRegressor(RBF(0.5) + Linear(), loss=loss).fit(X, y)
    other = MKLRegressor(RBF(0.5) + Linear(), loss=loss).fit(X, 1e4 * y + 273.0)
    np.testing.assert_allclose(other.predict(X), 1e4 * one.predict(X) + 273.0, rtol=1e-6)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-6)
    raw = MKLRegressor(RBF(0.5) + Linear(), loss=loss, scaling_y=None).fit(X, (y - y.mean()) / y.std())
    np.testing.assert_allclose(raw.predict(X) * y.std() + y.mean(), one.predict(X), rtol=1e-6, atol=1e-9)
    assert other.y_units_ == pytest.approx((1e4 * y.mean() + 273.0, 1e4 * y.std()))
    assert MKLRegressor(RBF(0.5)).fit(X, np.full(60, 7.0)).predict(X) == pytest.approx(7.0)
    with pytest.raises(InputError, match="scaling_y"):
        MKLRegressor(RBF(0.5), scaling_y="range").fit(X, y)
