"""Grams of samples in shards give the products of all grams, and fits the same model."""

import warnings

import numpy as np
import pytest

import kernelweave
from kernelweave import GappedKmer, Mismatch, MKLClassifier, MKLOneClass, Shards, Spectrum, WeightedDegree, load, save
from kernelweave.cluster import Serial, Threads, cut
from kernelweave.datasets import make_splice_sites
from kernelweave.gram import Room, ShardedGram
from kernelweave.gram.sharded import Products
from kernelweave.sequences import SequenceSet, as_sequences
from kernelweave.testing import check_gram
from kernelweave.views import as_views

KERNELS = [
    WeightedDegree(degree=4),
    WeightedDegree(degree=3).split("degree"),
    WeightedDegree(degree=2).normalized().split("position"),
    Spectrum(k=2) + WeightedDegree(degree=2, shift=1),
    Mismatch(k=3, mismatches=1).normalized() + Spectrum(k=3).part(0, 6),
    GappedKmer(length=4, k=3),
]


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = as_sequences(["".join(rng.choice(list("ACGT"), 9)) for _ in range(31)], "dna")
    path = tmp_path_factory.mktemp("shards") / "x.kwseq"
    return X, Shards(Shards.write(X, path, 3).files, rows=5)


@pytest.mark.parametrize("engine", [Serial(), Threads(2)], ids=["serial", "threads"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_products_are_those_of_the_matrices(kernel, engine, sets):
    views = as_views(sets[1])
    shards = cut({None: sets[1]}, 1)
    assert len(shards) == 7
    check_gram(ShardedGram(kernel.terms(views), views, shards, engine, Room(10**9)))


def test_columns_by_name(sets):
    shards = sets[1]
    views = as_views({"a": shards, "b": Shards(shards.files)})
    terms = (WeightedDegree(degree=3).on("a") + Spectrum(k=2).on("b")).terms(views)
    check_gram(ShardedGram.bound(terms, views, Room(10**9)))


def test_a_worker_makes_tables_once_a_round(sets, monkeypatch):
    made = []
    gram = ShardedGram.bound(WeightedDegree(degree=4).terms(as_views(sets[1])), as_views(sets[1]), Room(10**9))
    found = Products._prepared
    monkeypatch.setattr(Products, "_prepared", lambda self, n: made.append("prepared" in self.made) or found(self, n))
    gram.apply(np.ones(31), np.ones(1))
    assert made == [False] + [True] * (len(gram.shards) - 1)


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    X, y = make_splice_sites(450, window=60, positives=0.3, random_state=0)
    path = tmp_path_factory.mktemp("windows") / "w.kwseq"
    X.save(path)
    return X, Shards(Shards.write(X, path, 3).files, rows=80), y, path


FITS = {
    "hinge": {"kernel": WeightedDegree(degree=5)},
    "squared hinge": {"kernel": WeightedDegree(degree=5), "loss": "squared_hinge"},
    "degrees": {"kernel": WeightedDegree(degree=3).split("degree"), "norm": 2},
    "sparse": {"kernel": WeightedDegree(degree=4) + Spectrum(k=3), "norm": 1, "solver": "silp"},
    "classes": {"kernel": Spectrum(k=3).normalized()},
    "chunking": {"kernel": WeightedDegree(degree=4), "dual": "chunking"},
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_the_same_as_in_memory(name, windows):
    X, shards, y, _ = windows
    y = np.arange(len(y)) % 3 if name == "classes" else y
    given = {"dual": "active_set", **FITS[name]}
    model = MKLClassifier(C=1, tol=1e-4, **given)
    plain = model.fit(X, y)
    objective, gap, values = plain.objective_, plain.gap_, plain.decision_function(X[:100])
    for engine in ("serial", "threads:2"):
        found = MKLClassifier(C=1, tol=1e-4, **given).fit(shards, y, engine=engine)
        assert "shards" in str(found.plan(shards))
        assert found.converged_
        assert abs(found.objective_ - objective) <= (gap + found.gap_) * objective
        np.testing.assert_allclose(found.decision_function(shards)[:100], values, atol=0.02)
        np.testing.assert_allclose(found.decision_function(shards), found.decision_function(X), atol=1e-9)


def test_the_engine_does_not_change_a_bit(windows):
    _, shards, y, _ = windows
    given = {"kernel": WeightedDegree(degree=4) + Spectrum(k=3), "C": 1, "dual": "active_set"}
    one, two = (MKLClassifier(**given).fit(shards, y, engine=name) for name in ("serial", "threads:2"))
    assert np.array_equal(one.dual_coef_, two.dual_coef_)
    assert np.array_equal(one.decision_function(shards), two.decision_function(shards))


def test_one_class_and_a_mapped_file(windows, tmp_path):
    X, shards, _, path = windows
    plain = MKLOneClass(Spectrum(k=3).normalized(), nu=0.2, tol=1e-4).fit(X)
    with kernelweave.engine("threads:2"):
        mapped = SequenceSet.open(path)
        found = MKLOneClass(Spectrum(k=3).normalized(), nu=0.2, tol=1e-4, dual="active_set").fit(mapped)
        assert "shards" in str(found.plan(mapped))
    assert "shards" not in str(found.plan(mapped)), "a file is a shard only where an engine was asked for"
    np.testing.assert_allclose(found.score_samples(shards), plain.score_samples(X), atol=1e-2)
    save(found, tmp_path / "m.kw")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(load(tmp_path / "m.kw").score_samples(X), found.score_samples(X))


def test_cross_validation_takes_rows_out_of_shards(windows):
    from sklearn.model_selection import cross_val_score

    X, shards, y, _ = windows
    model = MKLClassifier(WeightedDegree(degree=3), C=1)
    np.testing.assert_array_equal(cross_val_score(model, shards, y, cv=2), cross_val_score(model, X, y, cv=2))
