"""Jobs: cross-validation, refits and scans on an engine are what they are without one."""

import json
import os
import signal
import time
from dataclasses import dataclass

import numpy as np
import pytest
from click.testing import CliRunner

import kernelweave
from kernelweave import RBF, EngineError, InputError, Linear, MKLClassifier, Spectrum, WeightedDegree, per_feature
from kernelweave.cli.app import cli
from kernelweave.cluster import Job, Serial, Threads, current_engine, run_jobs
from kernelweave.cluster.dask_engine import DaskEngine
from kernelweave.cluster.dask_round import TINY
from kernelweave.datasets import make_splice_sites
from kernelweave.explain import stability
from kernelweave.scan import scan_file


@dataclass(frozen=True)
class Doubled:
    content: bytes = b""

    def __call__(self, given):
        assert current_engine() is None
        return 2 * given


def zero(given):
    return 1 // given


def jobs_of(n):
    return [Job(f"job {i}", i) for i in range(n)]


def check_jobs(engine):
    told = {}
    with kernelweave.engine(engine):
        assert run_jobs(Doubled(), jobs_of(7), told.__setitem__) == [0, 2, 4, 6, 8, 10, 12]
        assert current_engine() is engine
    assert told == {i: 2 * i for i in range(7)}
    assert run_jobs(Doubled(), [], engine=engine) == []
    with pytest.raises(EngineError, match=r"(?s)with job 0: .*ZeroDivisionError"):
        run_jobs(zero, jobs_of(3), engine=engine)


@pytest.mark.parametrize("engine", [Serial(), Threads(3)])
def test_jobs_here(engine):
    check_jobs(engine)


def test_jobs_without_an_engine_are_plain_calls():
    told = []
    assert run_jobs(Doubled(), jobs_of(3), lambda *one: told.append(one)) == [0, 2, 4]
    assert told == [(0, 0), (1, 2), (2, 4)]
    with pytest.raises(ZeroDivisionError):
        run_jobs(zero, jobs_of(3))


def test_an_interrupt_leaves_what_was_told():
    told = []

    def hear(number, answer):
        told.append(number)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs(Doubled(), jobs_of(8), hear, Threads(2))
    assert len(told) == 3


@dataclass(frozen=True)
class Deadly:
    """Ends the worker that does the first job, once."""

    folder: str

    def __call__(self, given):
        mark = os.path.join(self.folder, "killed")
        if given == 0 and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return given


def test_jobs_on_workers_one_of_which_is_killed(client, workers, tmp_path):
    engine = DaskEngine(client, patience=1.0)
    check_jobs(engine)
    assert run_jobs(Deadly(str(tmp_path)), jobs_of(5), engine=engine) == [0, 1, 2, 3, 4]
    assert os.path.exists(tmp_path / "killed")


@dataclass(frozen=True)
class Slow:
    seconds: float

    def __call__(self, given):
        time.sleep(self.seconds)
        return os.getpid()


def test_a_job_may_take_as_long_as_it_likes(client, workers):
    engine = DaskEngine(client, patience=0.2)
    run_jobs(Slow(1.5), jobs_of(2), engine=engine)
    assert engine.history[-1]["sent"] == 2, "a job was sent twice"


def test_a_large_task_goes_to_every_worker_once(client, workers):
    engine, work = DaskEngine(client), Doubled(bytes(10 * TINY))
    for _ in range(2):
        assert run_jobs(work, jobs_of(9), engine=engine) == [2 * i for i in range(9)]
    first, second = engine.history
    assert 1 <= first["whole"] <= first["sent"] - 5
    assert second["whole"] <= first["whole"]
    workers.forget()
    assert run_jobs(work, jobs_of(9), engine=engine) == [2 * i for i in range(9)]


def test_what_cannot_travel_is_said(client, workers, tmp_path):
    with open(tmp_path / "x", "w") as file, pytest.raises(InputError, match="cannot be sent to workers"):
        run_jobs(lambda given: file, jobs_of(2), engine=DaskEngine(client))


# -- what is made of jobs ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def numbers():
    X = np.random.default_rng(0).standard_normal((60, 4))
    return X, np.where(X[:, 2] + 0.3 * X[:, 0] > 0, "yes", "no")


def engines(client):
    return [Serial(), Threads(2), DaskEngine(client)]


def test_stability_is_the_same_on_every_engine(client, workers, numbers):
    model, told = MKLClassifier(per_feature(Linear())), []
    given = {"n_bootstrap": 4, "n_permutations": 0, "random_state": 0, "callback": told.append}
    wanted = stability(model, *numbers, **given)
    for engine in engines(client):
        told.clear()
        with kernelweave.engine(engine):
            found = stability(model, *numbers, **given)
        assert np.array_equal(found.bootstrap, wanted.bootstrap)
        assert np.array_equal(found.gains, wanted.gains)
        assert [entry["done"] for entry in told] == [1, 2, 3, 4, 5]


def test_the_choice_of_C_is_the_same_on_every_engine(client, workers, numbers):
    model = MKLClassifier(RBF(0.5) + Linear(), C=[0.1, 1, 10], cv=3)
    wanted = model.fit(*numbers).cv_results_["split_test_scores"]
    for engine in engines(client):
        assert np.array_equal(model.fit(*numbers, engine=engine).cv_results_["split_test_scores"], wanted)


def test_cv_in_the_terminal_is_the_same_on_every_engine(client, workers, tmp_path):
    X, y = make_splice_sites(120, window=60, positives=0.5, random_state=0)
    with open(tmp_path / "x.fa", "w") as file:
        file.writelines(f">s{i} label={label}\n{text}\n" for i, (text, label) in enumerate(zip(X, y, strict=True)))
    call = ["cv", str(tmp_path / "x.fa"), "--kernel", "Spectrum(k=3)", "--C", "0.1,1", "--folds", "3", "--json"]
    address = client.scheduler.address.removeprefix("tcp:")
    found = []
    for more in ([], ["--engine", "threads:2"], ["--engine", f"dask:{address}"]):
        result = CliRunner().invoke(cli, [*call, *more], catch_exceptions=False)
        told = json.loads(result.stdout)
        for row in told["results"]:
            assert row.pop("seconds") > 0
        found.append(told)
    assert found[0] == found[1] == found[2]


def test_a_scan_is_the_same_on_every_engine(client, workers, tmp_path):
    X, y = make_splice_sites(200, window=60, positives=0.5, random_state=0)
    model = MKLClassifier(WeightedDegree(degree=3) + Spectrum(k=2), C=1).fit(X, y)
    letters = np.random.default_rng(1).choice(list("ACGT"), 3000)
    with open(tmp_path / "g.fa", "w") as file:
        file.writelines(f">chr{i}\n{''.join(part)}\n" for i, part in enumerate(np.split(letters, [700, 1900])))

    def scanned():
        told = []
        given = {"threshold": 0.0, "block": 256, "callback": lambda progress: told.append(progress.n_windows)}
        hits = list(scan_file(model, tmp_path / "g.fa", **given))
        return [(one.name, one.starts.tolist(), one.strands.tolist(), one.scores.tolist()) for one in hits], told[-1]

    wanted = scanned()
    assert wanted[1] == 2 * (3000 - 3 * 59)
    for engine in engines(client):
        with kernelweave.engine(engine):
            assert scanned() == wanted
