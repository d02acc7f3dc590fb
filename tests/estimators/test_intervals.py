"""Intervals around predictions: they hold what they say on samples that are new, and say where they cannot."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave import RBF, InputError, MKLRegressor, load, save
from kernelweave.estimators.intervals import half_width, left_out_errors
from kernelweave.views import as_views


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, 100 * np.sin(2 * X[:, 0]) + 50 * X[:, 1] + 20 * rng.standard_t(4, n)


MODEL = MKLRegressor(RBF(1.0), C=5.0, loss="squared", intervals=True)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_new_samples_are_covered_as_often_as_asked(coverage):
    held = []
    for seed in range(4):
        model = MODEL.fit(*sample(150, seed))
        X, y = sample(1000, 100 + seed)
        low, high = model.predict_interval(X, coverage).T
        assert 0.5 * (low + high) == pytest.approx(model.predict(X))
        held.append(np.mean((low <= y) & (y <= high)))
    # of 4 · 150 errors the share has a deviation of √(p (1 − p) / 600), 0.02 at the most; machines on 9 of 10 are worse
    assert coverage - 0.06 < np.mean(held) < coverage + 0.07


def test_errors_are_those_of_machines_that_do_not_know_the_sample():
    X, y = sample(40, 0)
    model = MODEL.fit(X, y)
    alone = [abs(y[i] - MKLRegressor(RBF(1.0), C=5.0, loss="squared").fit(X[np.arange(40) != i], y[np.arange(40) != i])
                 .predict(X[[i]])[0]) for i in range(40)]  # fmt: skip
    assert np.mean(model.left_out_errors_) == pytest.approx(np.mean(alone), rel=0.2)
    assert (np.diff(model.left_out_errors_) >= 0).all()
    assert np.mean(np.abs(y - model.predict(X))) < 0.8 * np.mean(model.left_out_errors_)


def test_groups_are_left_out_whole():
    X, y = sample(60, 1)
    groups = np.repeat(np.arange(6), 10)
    y = y + 300 * np.random.default_rng(2).standard_normal(6)[groups]
    X = np.column_stack([X, groups])  # by which a machine knows the group again
    apart = left_out_errors(MODEL.fit(X, y), as_views(X), y, np.ones(60), groups)
    mixed = left_out_errors(MODEL, as_views(X), y, np.ones(60), None)
    assert apart.mean() > 1.5 * mixed.mean()
    with pytest.raises(InputError, match="at least three groups"):
        MKLRegressor(intervals=True).fit(X, y, groups=np.arange(60) % 2)


def test_several_targets_and_files(tmp_path):
    X, y = sample(50, 3)
    model = MODEL.fit(X, np.column_stack([y, 1e-3 * y]))
    found = model.predict_interval(X, 0.8)
    assert found.shape == (50, 2, 2)
    assert found[:, 1] == pytest.approx(1e-3 * found[:, 0], rel=1e-6)
    save(model, tmp_path / "model.kw")
    assert np.array_equal(load(tmp_path / "model.kw").predict_interval(X, 0.8), found)


def test_what_cannot_be_is_said():
    X, y = sample(30, 4)
    assert not hasattr(MKLRegressor(), "predict_interval")
    model = MODEL.fit(X, y)
    for coverage in (0.0, 1.0, 90, "most"):
        with pytest.raises(InputError, match="a share between 0 and 1"):
            model.predict_interval(X, coverage)
    assert np.isinf(model.predict_interval(X, 0.99)).all()  # 30 errors cannot say that


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.floats(0.05, 0.95), st.integers(0, 2**32 - 1))
def test_the_width_is_the_least_that_covers_one_of_n_and_one(n, coverage, seed):
    errors = np.sort(np.random.default_rng(seed).random(n))
    half = float(half_width(errors, coverage))
    assert (np.sum(errors <= half) >= coverage * (n + 1) - 1e-6) or np.isinf(half)
    lower = errors[errors < half]
    assert len(lower) < coverage * (n + 1)
