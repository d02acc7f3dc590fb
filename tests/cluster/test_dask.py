"""Training on processes that are killed, stopped, restarted, of another version, or that cannot read a file."""

import logging
import os
import threading
import time
import warnings

import numpy as np
import pytest

import kernelweave
from kernelweave import EngineError, InputError, Linear, MKLClassifier, NumberShards, Shards, Spectrum, WeightedDegree
from kernelweave.cluster import dask_engine, dask_round
from kernelweave.cluster.dask_engine import DaskEngine
from kernelweave.datasets import make_splice_sites
from kernelweave.errors import EngineWarning
from kernelweave.sequences import as_sequences
from kernelweave.sequences.shards import shard_names
from kernelweave.testing import check_engine
from kernelweave.testing.engines import Echo, Fails, described_shards

pytest.importorskip("distributed")

import dask

from local_cluster import LONG, SOON, Greedy, Hungry, Once, is_same, two_workers

KERNEL = WeightedDegree(degree=5) + Spectrum(k=3)
FIT = {"kernel": KERNEL, "C": 1, "dual": "active_set", "tol": 1e-3}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    X, y = make_splice_sites(1200, window=60, positives=0.3, random_state=0)
    path = tmp_path_factory.mktemp("windows") / "w.kwseq"
    shards = Shards(Shards.write(X, path, 2).files, rows=200)
    model = MKLClassifier(**FIT).fit(shards, y, engine="serial")
    return shards, y, model


def test_rows_1_2_4_7_the_suite_for_engines(client, workers):
    check_engine(DaskEngine(client, **SOON), workers)


def test_a_fit_is_the_same_bits_on_any_engine(client, workers, data):
    shards, y, wanted = data
    with kernelweave.engine(client):
        found = MKLClassifier(**FIT).fit(shards, y)
        assert "dask" in str(found.plan(shards))
        assert np.array_equal(found.decision_function(shards), wanted.decision_function(shards))
    assert is_same(found, wanted)


def test_numbers_are_the_same_bits_on_any_engine(client, workers, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)).astype(np.float32)
    for k, part in enumerate(np.split(X, 2)):
        np.save(tmp_path / f"x.{k}.npy", part)
    shards, y = NumberShards.open(str(tmp_path / "x.*.npy"), rows=600), X[:, 0] + rng.normal(size=4000) > 0
    one, two = (
        MKLClassifier(Linear(), C=1, loss="logistic").fit(shards, y, engine=engine) for engine in ("serial", client)
    )
    assert is_same(two, one)


def fit(engine, data, action, **options):
    """Fit while something happens in the middle."""
    once = Once(engine, action)
    found = MKLClassifier(**FIT).fit(data[0], data[1], engine=engine, callback=once, **options)
    assert once.was_in_the_middle
    return found


def test_rows_1_5_a_worker_is_killed_between_rounds(client, workers, data, caplog):
    with caplog.at_level(logging.WARNING, "kernelweave.cluster"):
        assert is_same(fit(DaskEngine(client, **SOON), data, workers.kill), data[2])
    assert sum("gone" in record.message for record in caplog.records) == 1


def test_row_4_a_worker_stands_still_and_answers_late(client, workers, data, caplog):
    try:
        with caplog.at_level(logging.WARNING, "kernelweave.cluster"):
            assert is_same(fit(DaskEngine(client, **SOON), data, workers.stop), data[2])
        assert any("late, and sent again" in record.message for record in caplog.records)
    finally:
        workers.go_on()


def test_rows_3_9_15_workers_come_and_go_until_none_are_left(data, tmp_path):
    path, wanted = tmp_path / "fit.checkpoint", data[2]
    with two_workers(1) as client:
        cluster, engine = client.cluster, DaskEngine(client, round_timeout=2.0)

        def scale(n):
            cluster.scale(n)
            until = time.monotonic() + LONG
            while len(client.nthreads()) != n:
                assert time.monotonic() < until, "workers do not come, or go"
                time.sleep(0.05)

        assert is_same(fit(engine, data, lambda: scale(2)), wanted)
        assert is_same(fit(engine, data, lambda: scale(1)), wanted)
        started = time.monotonic()
        with pytest.raises(EngineError, match=r"no workers for 2 s.*rows 0 to .*fit\.checkpoint.*goes on"):
            fit(engine, data, lambda: scale(0), checkpoint=path)
        assert time.monotonic() - started < 60.0
        client.close()
        with pytest.raises(EngineError, match=r"scheduler of the Dask cluster is gone"):
            MKLClassifier(**FIT).fit(data[0], data[1], engine=engine)
    found = MKLClassifier(**FIT).fit(data[0], data[1], checkpoint=path, engine="threads:2")
    assert abs(found.objective_ - wanted.objective_) <= (found.gap_ + wanted.gap_) * wanted.objective_


def test_row_8_a_shard_that_ends_its_workers(client, workers):
    engine = DaskEngine(client, retries=0, **SOON)
    with pytest.raises(EngineError, match=r"shard of rows 1 to 1 .*out of memory.*smaller shards"):
        engine.map(Greedy(), described_shards(3), engine.next_version())
    assert engine.map(Echo(2), described_shards(3), engine.next_version()) == [0, 2, 4]


def test_row_8_a_nanny_ends_a_worker_that_takes_too_much():
    once = {"distributed.scheduler.allowed-failures": 0, "distributed.worker.memory.pause": False}
    with dask.config.set(once), two_workers(1, memory_limit="1 GB") as client:
        engine = DaskEngine(client, retries=0, **SOON)
        # alone: a scheduler that allows no failure blames every task that waited for the worker
        with pytest.raises(EngineError, match=r"shard of rows 1 to 1 .*ended its worker 1 times.*more memory"):
            engine.map(Hungry(), described_shards(2)[1:], engine.next_version())


class Paused(DaskEngine):
    """Whose workers are all at 80 % of their memory."""

    def paused(self):
        return set(self.usable())


def test_workers_that_are_paused_are_named_and_do_not_hang_a_round(client, workers):
    engine = Paused(client, round_timeout=1.0)
    with pytest.raises(EngineError, match=r"no workers but 2 paused ones, at 80 % of their memory limit, for 1 s"):
        engine.map(Echo(1, 20.0), described_shards(2), engine.next_version())
    assert DaskEngine(client).paused() == set()


def test_row_8_workers_that_die_of_one_shard(client, workers):
    from distributed import KilledWorker

    class Killed:  # what the scheduler says of a task whose workers died one after the other
        status = "error"

        def exception(self, timeout):
            return KilledWorker("key", None, 3)

    engine = DaskEngine(client, retries=1, **SOON)
    one = dask_round.DaskRound(engine, Echo(2), described_shards(3), engine.next_version())
    one._send_all(range(3))
    ask = next(ask for ask in one.sent if ask.number == 1)
    one._lost(ask, Killed())
    with pytest.raises(EngineError, match=r"shard of rows 1 to 1 .*ended its worker 2 times.*more memory"):
        one._lost(ask, Killed())
    one._drop()


def test_row_11_an_exception_inside_a_task(client, workers, data):
    shards, y, wanted = data
    engine = DaskEngine(client, **SOON)
    with pytest.raises(EngineError, match=r"(?s)worker .*process \d+.*rows 2 to 2.*Traceback.*ZeroDivisionError"):
        engine.map(Fails(2), described_shards(4), engine.next_version())
    assert is_same(MKLClassifier(**FIT).fit(shards, y, engine=engine), wanted)


def test_row_12_a_worker_of_another_version(client, workers, data, monkeypatch):
    shards, y, _ = data
    monkeypatch.setattr(dask_engine, "library_version", lambda: "0.0.7")
    with pytest.raises(EngineError, match=r"Refused: worker .*process \d+ has kernelweave .*master has 0\.0\.7"):
        MKLClassifier(**FIT).fit(shards, y, engine=client)


def test_row_13_a_shard_that_was_changed(client, workers, tmp_path):
    X, y = make_splice_sites(600, window=60, positives=0.3, random_state=1)
    shards = Shards.write(X, tmp_path / "w.kwseq", 2)
    first = shard_names(tmp_path / "w.kwseq", 2)[0]

    def overwrite():
        with open(first, "r+b") as file:
            file.seek(8192 + 40)
            file.write(b"\x1b\x1b\x1b\x1b")

    with pytest.raises(InputError, match=r"w\.00\.kwseq"):
        fit(DaskEngine(client), (shards, y), overwrite)


def test_row_13_a_shard_that_is_another_or_not_there(client, workers, tmp_path):
    X, y = make_splice_sites(600, window=60, positives=0.3, random_state=1)
    shards = Shards.write(X, tmp_path / "w.kwseq", 2)
    last = shard_names(tmp_path / "w.kwseq", 2)[1]
    as_sequences(["ACGT" * 7 + "AC"] * 300).save(last)
    match = r"w\.01\.kwseq' is not the file that was described.*Worker .*process \d+"
    with pytest.raises(InputError, match=match):
        MKLClassifier(**FIT).fit(shards, y, engine=client)
    os.unlink(last)
    with pytest.raises(InputError, match=r"w\.01\.kwseq' is not there \(Worker .*every shard under the same name"):
        MKLClassifier(**FIT).fit(shards, y, engine=client)


class Address:
    status = "running"

    def __init__(self, address):
        self.scheduler = type("Scheduler", (), {"address": address})()


@pytest.mark.parametrize("address", ["tcp://10.0.0.5:8786", "tcp://0.0.0.0:8786", "tcp://scheduler.example:8786"])
def test_row_14_a_scheduler_that_the_network_reaches(address):
    with pytest.warns(EngineWarning, match="without TLS"):
        DaskEngine(Address(address))


@pytest.mark.parametrize("address", ["tls://10.0.0.5:8786", "tcp://127.0.0.1:1", "tcp://localhost:1", "inproc://x/1"])
def test_row_14_a_scheduler_that_it_does_not(address):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DaskEngine(Address(address))


def test_a_large_task_goes_through_the_shared_folder_and_leaves_nothing(client, workers, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_engine, "SMALL", 10)
    engine = DaskEngine(client, directory=tmp_path, **SOON)
    seen = []
    found = dask_round.DaskRound._send

    def send(self, numbers, worker):
        seen.extend([self.parcel.path is not None and os.path.exists(self.parcel.path)] * len(numbers))
        found(self, numbers, worker)

    monkeypatch.setattr(dask_round.DaskRound, "_send", send)
    assert engine.map(Echo(3), described_shards(3), engine.next_version()) == [0, 3, 6]
    assert len(seen) >= 3  # a worker that is slow to begin is asked again
    assert all(seen)
    assert list(tmp_path.iterdir()) == []


def test_a_large_task_travels_by_itself_where_the_folder_is_not_seen(client, workers, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_engine, "SMALL", 10)
    engine, parcel = DaskEngine(client, directory=tmp_path, **SOON), DaskEngine.parcel

    def hidden(self, task, version):
        made = parcel(self, task, version)
        os.rename(made.path, made.path + ".elsewhere")
        return made

    monkeypatch.setattr(DaskEngine, "parcel", hidden)
    assert engine.map(Echo(3), described_shards(3), engine.next_version()) == [0, 3, 6]


def test_samples_in_memory_are_fitted_here_with_a_warning(client, workers, data):
    X, y = make_splice_sites(300, window=60, positives=0.3, random_state=1)
    with pytest.warns(EngineWarning, match=r"cluster is not used.*Shards\.open"):
        MKLClassifier(Spectrum(k=3), C=1).fit(X, y, engine=client)


def test_a_time_limit_and_an_interrupt_are_heard_while_workers_work(client, workers):
    from kernelweave import clock
    from kernelweave.errors import TimeLimitError

    engine = DaskEngine(client, **SOON)
    started = time.monotonic()
    with pytest.raises(TimeLimitError), clock.limited(0.5):
        engine.map(Echo(1, 5.0), described_shards(2), engine.next_version())
    timer = threading.Timer(0.5, __import__("_thread").interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.map(Echo(1, 5.0), described_shards(2), engine.next_version())
    assert time.monotonic() - started < 8.0
