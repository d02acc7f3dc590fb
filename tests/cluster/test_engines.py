"""Engines of this process pass the suite; engines that break a promise do not."""

import sys

import numpy as np
import pytest

import kernelweave
from kernelweave.cluster import ENGINES, Engine, Serial, Threads, as_engine, current_engine
from kernelweave.errors import EngineError, InputError, TimeLimitError
from kernelweave.testing import check_engine
from kernelweave.testing.engines import Echo, described_shards


@pytest.mark.parametrize("kind", ENGINES)
def test_every_engine_keeps_its_promises(kind):
    check_engine(kind())


class Shuffled(Serial):
    """Gives answers as they come: row 6 would be lost on it."""

    def map(self, task, shards, version):
        return super().map(task, shards[::-1], version)


class Twice(Serial):
    def map(self, task, shards, version):
        return super().map(task, [*shards, *shards], version)


class Stale(Serial):
    """Gives the answers of the round before."""

    before = None

    def map(self, task, shards, version):
        found, self.before = self.before, super().map(task, shards, version)
        return self.before if found is None else found


class Silent(Serial):
    def map(self, task, shards, version):
        try:
            return super().map(task, shards, version)
        except (EngineError, InputError):
            return [None for _ in shards]


@pytest.mark.parametrize("kind", [Shuffled, Twice, Stale, Silent])
def test_the_suite_finds_what_is_broken(kind):
    with pytest.raises(AssertionError, match=kind.__name__):
        check_engine(kind())


def test_the_engine_is_that_of_what_runs_inside():
    assert current_engine() is None
    with kernelweave.engine("threads:2") as outer:
        assert current_engine() is outer
        with kernelweave.engine("serial") as inner:
            assert current_engine() is inner
        assert current_engine() is outer
    assert current_engine() is None


@pytest.mark.parametrize("spec", ["", "dask", "threads:many", "serial:2", "mpi", 3, None])
def test_what_is_no_engine(spec):
    with pytest.raises(InputError, match="engine must be a Dask client"):
        as_engine(spec)


def test_threads_are_as_many_as_were_asked_for():
    assert as_engine("threads:3").n_threads == Threads(3).n_threads == 3
    assert as_engine("serial").n_threads == 1


def test_without_dask_the_error_has_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'kernelweave\[dask\]'"):
        as_engine("dask://localhost:8786")


def test_a_scheduler_file_that_is_not_there():
    with pytest.raises(InputError, match="no scheduler file"):
        as_engine("dask:nowhere.json")


@pytest.mark.parametrize("engine", [Serial(), Threads(2)])
def test_a_time_limit_is_heard_between_tasks(engine):
    from kernelweave import clock

    with pytest.raises(TimeLimitError), clock.limited(0.05):
        engine.map(Echo(1, 0.1), described_shards(6), 1)


def test_an_engine_of_ones_own():
    class Own(Engine):
        name = "own"

        def map(self, task, shards, version):
            return Serial().map(task, shards, version)

    check_engine(Own())
    assert np.isclose(Own().n_threads, 1)
