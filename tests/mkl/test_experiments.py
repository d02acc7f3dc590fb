"""MKL finds the structure that was put into the data: the toy experiments of the SILP paper, in small."""

from itertools import pairwise

import numpy as np
import pytest

from kernelweave import RBF, InputError, MKLClassifier, MKLRegressor
from kernelweave.datasets import make_relevant, make_sines, make_star


def widths_kernel(widths):
    return sum(RBF(1.0 / width) for width in widths)


def mean_log_width(weights, widths):
    return float(weights @ np.log10(widths))


@pytest.mark.parametrize("seed", [0, 1])
def test_stars_that_move_apart_want_wider_kernels(seed):
    widths = [0.01, 0.1, 1.0, 10.0, 100.0]
    found = []
    for distance in (0.0, 1.0, 2.0, 3.0, 4.5, 6.0):
        model = MKLClassifier(widths_kernel(widths)).fit(*make_star(200, distance, random_state=seed))
        assert model.converged_
        found.append(model.weights_)
    means = [mean_log_width(weights, widths) for weights in found]
    assert all(b > a for a, b in pairwise(means)), means
    assert np.argmax(found[0]) == 0, "stars that touch are told apart by the narrowest kernel"
    assert found[-1][:2].sum() < 1e-3, "and narrow ones have no place when they are far apart"
    assert max(weights[-1] for weights in found) < 0.5, "the widest is never the one to use"


@pytest.mark.parametrize("seed", [0, 1])
def test_faster_waves_want_narrower_kernels(seed):
    widths = [0.005, 0.05, 0.5, 5.0]
    chosen, means = [], []
    for frequency in (0.7, 2.0, 4.0, 16.0):
        X, y = make_sines(250, [frequency], random_state=seed)
        model = MKLRegressor(widths_kernel(widths), C=10, epsilon=0.25).fit(X, y)
        chosen.append(int(np.argmax(model.weights_)))
        means.append(mean_log_width(model.weights_, widths))
        assert model.weights_[chosen[-1]] > 0.7
        assert model.score(*make_sines(250, [frequency], noise=0.0)) > 0.9
    assert chosen == [3, 2, 1, 0]
    assert all(b < a for a, b in pairwise(means)), means


def test_every_scale_of_a_sum_gets_its_width():
    widths = np.geomspace(1e-3, 1e3, 10)
    narrow = []
    for frequency in (4.0, 8.0, 16.0):
        X, y = make_sines(300, [frequency, 1.0], slope=0.5, random_state=0)
        weights = MKLRegressor(widths_kernel(widths), C=10, epsilon=0.25).fit(X, y).weights_
        narrow.append(int(np.argmax(weights)))
        assert weights[-1] > 0.05, "the widest of all carries the straight line"
        assert weights[5:7].sum() > 0.05, "one in the middle carries the slow wave"
        assert weights[narrow[-1]] > 0.5, "a narrow one carries the fast wave"
        assert np.sum(weights > 0.02) <= 4, "the rest is not needed"
    assert narrow == sorted(narrow, reverse=True)
    assert narrow[0] < 5, "well apart from the width of the slow wave"
    assert narrow[-1] < narrow[0]


def test_the_generators_make_what_they_say():
    X, y = make_star(101, 3.0, noise=0.0, depth=0.2, random_state=0)
    length = np.linalg.norm(X, axis=1)
    assert (np.sum(y < 0), np.sum(y > 0)) == (51, 50)
    assert (np.abs(length[y < 0] - 4.0) <= 0.8 + 1e-12).all()
    assert (np.abs(length[y > 0] - 7.0) <= 1.4 + 1e-12).all()
    X, y = make_sines(50, [2.0, 5.0], slope=0.3, length=4.0, noise=0.0)
    assert (X[0, 0], X[-1, 0]) == (0.0, 4.0)
    np.testing.assert_allclose(y, np.sin(2 * X[:, 0]) + np.sin(5 * X[:, 0]) + 0.3 * X[:, 0])
    X, y = make_relevant(40, 2, 3, noise=0.0, random_state=0)
    np.testing.assert_allclose(y, np.sin(np.pi * X[:, 0]) + np.sin(np.pi * X[:, 1]) / 2)


@pytest.mark.parametrize("make", [make_star, make_sines, make_relevant])
def test_the_generators_repeat_themselves(make):
    for one, other in zip(make(20, random_state=3), make(20, random_state=3), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(make(20, random_state=3)[1], make(20, random_state=4)[1]) or make is make_star
    assert np.isfinite(make(20, random_state=np.random.default_rng(0))[0]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_star(1), "n must be a whole number ≥ 2; got 1"),
        (lambda: make_star(10, depth=1.0), "depth must be at least 0 and below 1"),
        (lambda: make_star(10, distance=-1.0), "distance must be a finite number ≥ 0"),
        (lambda: make_sines(10.5), "n must be a whole number"),
        (lambda: make_sines(10, noise=np.nan), "noise must be a finite number ≥ 0"),
        (lambda: make_relevant(10, n_relevant=0), "n_relevant must be a whole number ≥ 1"),
    ],
)
def test_bad_use_of_the_generators_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
