"""Many terms on few samples: looks at all of them on the workers of a cluster."""

import warnings

import numpy as np
import pytest

pytest.importorskip("distributed")

from kernelweave import RBF, MKLClassifier
from kernelweave.cluster.dask_engine import DaskEngine
from kernelweave.gram import looks
from kernelweave.kernels.base import add_all
from local_cluster import SOON, Once, is_same

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 40))
Y = np.sign(X[:, 3] * X[:, 4] + X[:, 5] + 0.3 * RNG.normal(size=300))
KERNEL = add_all([RBF(float(g)).on(c) for c in range(40) for g in np.logspace(-2, 1, 20)])


@pytest.fixture(scope="module")
def wanted():
    return MKLClassifier(KERNEL, C=1, tol=1e-4).fit(X, Y)


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch):
    monkeypatch.setattr(looks, "WORTH", 1)


def test_a_fit_is_the_same_bits_and_samples_travel_once(client, workers, wanted):
    engine = DaskEngine(client)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the cluster is of use
        found = MKLClassifier(KERNEL, C=1, tol=1e-4).fit(X, Y, engine=engine)
    assert is_same(found, wanted)
    rounds = [entry for entry in engine.history if entry["task"] == "FamilyQuads"]
    assert len(rounds) > 2
    assert rounds[0]["bytes"] > X.nbytes
    assert sum(entry["whole"] for entry in rounds) <= 2 * len({entry["bytes"] for entry in rounds})  # workers are two
    assert len({entry["bytes"] for entry in rounds}) <= 2  # all terms, and those that take part


@pytest.mark.parametrize("fault", ["kill", "stop", "forget"])
def test_a_worker_that_is_lost_costs_time_only(client, workers, wanted, fault):
    engine = DaskEngine(client, **SOON)
    once = Once(engine, getattr(workers, fault))
    try:
        found = MKLClassifier(KERNEL, C=1, tol=1e-4).fit(X, Y, engine=engine, callback=once)
    finally:
        workers.go_on()
    assert once.was_in_the_middle
    assert is_same(found, wanted)
