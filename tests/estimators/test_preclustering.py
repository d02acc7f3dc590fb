"""Pre-clustering: near samples with like targets, and only those, become one."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from kernelweave import RBF, InputError, Linear, MKLRegressor, PreClustering, Spectrum


def wave(n, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * np.cos(3 * X[:, 1]) + noise * rng.standard_normal(n)


def naive(X, y, epsilon, delta, order):
    """One sample after another, as the definition says."""
    leaders = np.full(len(y), -1)
    for i in order:
        if leaders[i] < 0:
            near = np.linalg.norm(X - X[i], axis=1) <= delta
            like = (np.abs(y - y[i]) < epsilon) | (y == y[i])
            leaders[near & like & (leaders < 0)] = i
            leaders[i] = i
    return leaders


@settings(max_examples=30)
@given(st.integers(0, 2**20), st.integers(1, 300), st.floats(0, 1), st.floats(0, 2), st.booleans())
def test_groups_are_those_of_the_definition(seed, n, epsilon, delta, by_kernel):
    X, y = wave(n, seed)
    y = np.round(y, 1)
    kernel = Linear() if by_kernel else None  # the distance of Linear() is the Euclidean one
    found = PreClustering(epsilon, delta, kernel=kernel, random_state=seed).fit(X, y)
    rng = np.random.default_rng(seed)
    if by_kernel:
        rng.permutation(n)  # its landmarks are drawn first
    expected = naive(X, y, epsilon, delta, rng.permutation(n))
    np.testing.assert_array_equal(found.representatives_[found.labels_], expected)
    np.testing.assert_array_equal(found.counts_, np.bincount(found.labels_))
    assert found.compression_rate_ == pytest.approx(1 - len(np.unique(expected)) / n)


def test_delta_is_the_largest_that_keeps_the_targets_alike():
    X, y = wave(400)
    found = PreClustering(0.2, quantile=0.9).fit(X, y)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(400, 1)]
    apart = np.abs(y[:, None] - y[None])[np.triu_indices(400, 1)] >= 0.2
    assert apart[distances <= found.delta_].mean() <= 0.1
    assert apart[distances <= 1.1 * found.delta_].mean() > 0.1
    smaller = [PreClustering(epsilon).fit(X, y).delta_ for epsilon in (0.4, 0.2, 0.1)]
    assert smaller == sorted(smaller, reverse=True)
    assert PreClustering(100.0).fit(X, y).compression_rate_ > 0.99


def test_epsilon_zero_keeps_all_distinct_targets():
    X, y = wave(500)
    assert PreClustering(0.0).fit(X, y).compression_rate_ == 0.0
    assert PreClustering(0.0, delta=1.0).fit(X, y).compression_rate_ == 0.0
    twice = np.concatenate([np.arange(500), np.arange(100)])
    assert len(PreClustering(0.0).fit(X[twice], y[twice]).representatives_) == 500


def test_labels_are_alike_only_where_equal():
    X, y = wave(600)
    labels = np.where(y > 0, "high", "low")
    found = PreClustering(5.0, delta=0.5).fit(X, labels)
    assert (labels[found.representatives_][found.labels_] == labels).all()
    assert found.compression_rate_ > 0.8
    assert PreClustering(0.0).fit(X, y > 0).delta_ > 0
    _, y_small, weight = PreClustering(0.0).fit_resample(X, labels)
    assert set(y_small) == {"high", "low"}
    assert weight.sum() == 600


def test_same_seed_same_groups():
    X, y = wave(300)
    first, again = (PreClustering(0.2, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, again.labels_)
    other = PreClustering(0.2, random_state=4).fit(X, y)
    assert not np.array_equal(first.representatives_, other.representatives_)
    assert clone(first).get_params() == first.get_params()


def test_resampled_samples_fit_as_well():
    X, y = wave(2000, noise=0.02)
    X_test, y_test = wave(500, seed=1)
    X_small, y_small, weight = PreClustering(0.15).fit_resample(X, y)
    assert len(X_small) == len(y_small) == len(weight) < 1000
    model = MKLRegressor(RBF(0.5) + RBF(2.0) + Linear(), loss="squared", C=100.0)
    whole = model.fit(X, y).score(X_test, y_test)
    part = clone(model).fit(X_small, y_small, sample_weight=weight).score(X_test, y_test)
    assert part > whole - 0.02


@pytest.mark.parametrize("as_type", [np.asarray, sparse.csr_array, "pandas", "polars"])
def test_containers(as_type):
    X, y = wave(100)
    if isinstance(as_type, str):
        as_type = pytest.importorskip(as_type).DataFrame
    given_X = as_type(X)
    small, y_small, _ = PreClustering(0.5).fit_resample(given_X, y)
    assert type(small) is type(given_X)
    assert small.shape == (len(y_small), 2)
    np.testing.assert_allclose(PreClustering(0.5).fit(X, y).transform(y[:, None])[:, 0].shape, len(y_small))


def test_sequences_by_a_kernel():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(50)] * 2
    found = PreClustering(0.1, delta=1e-6, kernel=Spectrum(k=3)).fit(X, np.tile(np.arange(50.0), 2))
    assert len(found.representatives_) == 50
    assert len(found.transform(X)) == 50


def test_a_hundred_thousand_samples():
    X, y = wave(100_000, noise=0.05)
    X_test, y_test = wave(5000, seed=1, noise=0.05)
    started = time.process_time()
    X_small, y_small, weight = PreClustering(0.15).fit_resample(X, y)
    assert time.process_time() - started < 60
    assert len(X_small) < 10_000
    features = Nystroem(gamma=1.0, n_components=200, random_state=0).fit(X[:2000])

    def error(X, y, weight):  # of one machine that can take all samples, too
        model = Ridge(1e-6).fit(features.transform(X), y, sample_weight=weight)
        return np.sqrt(np.mean((model.predict(features.transform(X_test)) - y_test) ** 2))

    assert error(X_small, y_small, weight) < 1.02 * error(X, y, None)


def test_bad_parameters_are_explained():
    X, y = wave(50)
    for options, message in [
        ({"epsilon": -0.1}, "epsilon of PreClustering must be a finite number ≥ 0, in units of y; got -0.1"),
        ({"epsilon": None}, "epsilon of PreClustering"),
        ({"epsilon": np.nan}, "epsilon of PreClustering"),
        ({"epsilon": True}, "epsilon of PreClustering"),
        ({"delta": np.inf}, "delta of PreClustering must be a finite number ≥ 0, or None"),
        ({"delta": "near"}, "delta of PreClustering"),
        ({"quantile": 0.0}, "quantile of PreClustering"),
        ({"quantile": 1.5}, "quantile of PreClustering"),
    ]:
        with pytest.raises(InputError, match=message):
            PreClustering(**options).fit(X, y)
    with pytest.raises(InputError, match="supervised"):
        PreClustering().fit(X, None)
    with pytest.raises(InputError, match="one target for each of the 50 samples"):
        PreClustering().fit(X, np.array(["a"] * 49))
    with pytest.raises(ValueError, match="inconsistent"):
        PreClustering().fit(X, y[:49])
    with pytest.raises(InputError, match="cannot choose among 10 others"):
        PreClustering().fit(X, y).transform(X[:10])
    with pytest.raises(InputError, match="use a kernel for sequences"):
        PreClustering().fit(["ACGT"] * 50, y)
