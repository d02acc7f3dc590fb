"""A master that cannot open the files of its samples: the workers describe them, and send the rows that it needs."""

import pickle

import numpy as np
import pytest

from kernelweave import RBF, InputError, Linear, LowRank, MKLClassifier, NumberShards, Shards, Spectrum, WeightedDegree
from kernelweave.cluster import Serial, far
from kernelweave.cluster.dask_engine import DaskEngine
from kernelweave.datasets import make_splice_sites
from kernelweave.dual import active_set
from kernelweave.estimators import prepared_terms
from kernelweave.gram import sharded
from kernelweave.sequences import as_sequences

FIT = {"kernel": WeightedDegree(degree=5) + Spectrum(k=3), "C": 1, "dual": "active_set", "tol": 1e-3}


def same_bits(found, wanted):
    assert np.array_equal(found.dual_coef_, wanted.dual_coef_)
    assert np.array_equal(found.support_, wanted.support_)
    assert (found.objective_, found.gap_) == (wanted.objective_, wanted.gap_)
    return True


def counted(monkeypatch):
    """Return the list of rows that are brought here from now on."""
    brought, plain = [], far._fetched

    def fetched(engine, pieces, ends, rows):
        brought.extend(rows.tolist())
        return plain(engine, pieces, ends, rows)

    monkeypatch.setattr(far, "_fetched", fetched)
    return brought


def test_a_fit_on_sequences_that_only_workers_see(client, workers, tmp_path, hide, monkeypatch):
    for module, name, n in (
        (prepared_terms, "MAX_STATISTICS", 300),
        (sharded, "PROBE", 200),
        (active_set, "ALL", 1000),
    ):
        monkeypatch.setattr(module, name, n)  # for as many samples as there are in earnest, these are few
    X, y = make_splice_sites(2500, window=60, positives=0.3, random_state=0)
    options = FIT | {"C": 10, "dual": active_set.ActiveSet(300)}
    near = Shards(Shards.write(X, tmp_path / "w.kwseq", 2).files, rows=500)
    wanted = MKLClassifier(**options).fit(near, y, engine="threads:2")
    values = wanted.decision_function(near)
    hide(tmp_path)
    with pytest.raises(FileNotFoundError):
        Shards.open(str(tmp_path / "w.00.kwseq"))
    engine = DaskEngine(client)
    shards = Shards.open(str(tmp_path / "w.*.kwseq"), rows=500, engine=engine)
    assert (len(shards), shards.length, shards.alphabet) == (2500, 60, near.alphabet)
    brought = counted(monkeypatch)
    found = MKLClassifier(**options).fit(shards, y, engine=engine, checkpoint=tmp_path.parent / "far.checkpoint")
    assert same_bits(found, wanted)
    assert len(brought) == len(set(brought)), "a row came twice"
    assert len(brought) < 2500, "more rows came than are of use"
    brought.clear()
    assert np.array_equal(found.decision_function(shards), values)
    assert brought == []
    other = MKLClassifier(**options).fit(shards, y)  # without engine=: by whoever sees the files
    assert same_bits(other, wanted)


def test_a_worker_is_killed_while_rows_come(client, workers, tmp_path, hide):
    X, y = make_splice_sites(1200, window=60, positives=0.3, random_state=0)
    wanted = MKLClassifier(**FIT).fit(Shards(Shards.write(X, tmp_path / "w.kwseq", 2).files, rows=200), y)
    hide(tmp_path)
    shards = Shards.open(str(tmp_path / "w.*.kwseq"), rows=200, engine=DaskEngine(client, patience=2.0))
    killed = []
    callback = lambda entry: killed or killed.append(workers.kill())  # noqa: E731
    assert same_bits(MKLClassifier(**FIT).fit(shards, y, callback=callback), wanted)
    assert killed


@pytest.mark.parametrize("kernel", [Linear().on([0, 1, 3]) + Linear(), LowRank(RBF(0.1), 20)])
def test_a_fit_on_numbers_that_only_workers_see(client, workers, tmp_path, hide, kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)).astype(np.float32)
    for k, part in enumerate(np.split(X, 2)):
        np.save(tmp_path / f"x.{k}.npy", part)
    y = X[:, 0] + rng.normal(size=4000) > 0
    near = NumberShards.open(str(tmp_path / "x.*.npy"), rows=1000)
    wanted = MKLClassifier(kernel, C=1).fit(near, y, engine="threads:2")
    hide(tmp_path)
    shards = NumberShards.open(str(tmp_path / "x.*.npy"), rows=1000, engine=client)
    brought = counted(monkeypatch)
    assert same_bits(MKLClassifier(kernel, C=1).fit(shards, y), wanted)
    assert len(brought) == len(set(brought)), "a row came twice"


@pytest.mark.parametrize("lengths", [(9, 9), (5, 12)])
def test_far_sequences_are_those_that_are_near(tmp_path, lengths):
    rng = np.random.default_rng(1)
    letters = list("ACGT" * 8 + "N")
    texts = ["".join(rng.choice(letters, rng.integers(lengths[0], lengths[1] + 1))) for _ in range(50)]
    near = Shards.write(as_sequences(texts, "dna"), tmp_path / "w.kwseq", 3)
    shards = Shards.open(str(tmp_path / "w.*.kwseq"), engine=Serial())
    for rows in (slice(3, 40), [49, 0, 17, 17, 3], np.arange(50) % 3 == 0, [], slice(0, 0)):
        assert list(shards.rows(rows)) == list(near.rows(rows))
    assert list(shards) == texts
    assert shards == near
    assert np.array_equal(shards.buffer, near.buffer)
    assert np.array_equal(shards.unknown, near.unknown)
    assert list(pickle.loads(pickle.dumps(shards))) == texts


def test_far_numbers_are_those_that_are_near(tmp_path):
    X = np.random.default_rng(2).normal(size=(50, 4))
    for k, part in enumerate(np.array_split(X, 3)):
        np.save(tmp_path / f"x.{k}.npy", part)
    shards = NumberShards.open(str(tmp_path / "x.*.npy"), engine="serial")
    for rows in (slice(3, 40), [49, 0, 17, 17, 3], np.arange(50) % 3 == 0):
        assert np.array_equal(shards[rows], X[rows])
    assert np.array_equal(np.asarray(shards), X)
    assert np.array_equal(shards.std(), X.std(axis=0))
    assert np.array_equal(shards[:, [3, 0]][:, 1:][[7, 2]], X[:, [0]][[7, 2]])
    for some in (shards[:, [3, 0]], pickle.loads(pickle.dumps(shards[:, [3, 0]]))):
        assert np.array_equal(some, X[:, [3, 0]])


def test_rows_are_dropped_where_there_are_too_many(tmp_path, monkeypatch):
    X = np.arange(60.0).reshape(30, 2)
    np.save(tmp_path / "x.npy", X)
    shards, brought = NumberShards.open(str(tmp_path / "x.npy"), engine="serial"), counted(monkeypatch)
    monkeypatch.setattr(far, "KEPT_BYTES", 100)
    for rows in ([1, 2, 3, 4, 5, 6, 7], [5, 6, 8], [1, 2], [9]):
        assert np.array_equal(shards[rows], X[rows])
    assert brought == [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 9]


def test_files_that_no_worker_sees(client, workers, tmp_path):
    with pytest.raises(InputError, match=r"No file is called .*w\.\*\.kwseq.*Worker .*process \d+, with the files"):
        Shards.open(str(tmp_path / "w.*.kwseq"), engine=client)
