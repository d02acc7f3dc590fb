"""A cluster of two processes on this machine, and what can be done to it."""

import os
import signal
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import dask
import distributed
import numpy as np

#: Seconds after which a test gives up waiting for workers.
LONG = 90.0
#: On a machine that is busy, a worker takes a while to come back; the cluster is not to take it for lost.
CONFIG = {"distributed.deploy.lost-worker-timeout": "1h"}
#: A worker that stands still is given up after so many seconds here, instead of a minute.
SOON = {"patience": 2.0, "round_timeout": 60.0}


@contextmanager
def two_workers(n_workers=2, **options):
    """Yield a client of a cluster of processes, each with one thread, on the loopback interface."""
    given = {"processes": True, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50, **options}
    with (
        dask.config.set(CONFIG),
        distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, **given) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


class Workers:
    """The processes of a cluster: `kernelweave.testing.engines.Faults`."""

    def __init__(self, client, n=2):
        self.client, self.n, self.stopped = client, n, []

    def pids(self):
        """Return the processes of workers that the scheduler knows."""
        known, nannies = self.client.nthreads(), self.client.cluster.workers.values()
        return {nanny.worker_address: nanny.pid for nanny in nannies if nanny.worker_address in known}

    def one(self):
        """Return the process of one worker, the first by its address: no round prefers it."""
        return min(self.pids().items())[1]

    def kill(self):
        os.kill(self.one(), signal.SIGKILL)

    def stop(self):
        self.stopped.append(self.one())
        os.kill(self.stopped[-1], signal.SIGSTOP)

    def go_on(self):
        for pid in self.stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.stopped.clear()

    def forget(self):
        from kernelweave.cluster.work import forget

        self.client.run(forget)

    def wait(self):
        """Wait until as many workers answer as there were."""
        self.go_on()
        until = time.monotonic() + LONG
        while len(self.pids()) != self.n:
            assert time.monotonic() < until, "workers do not come back"
            time.sleep(0.05)


@dataclass(frozen=True)
class Greedy:
    """Runs out of memory on one shard."""

    def __call__(self, shard):
        if shard.start == 1:
            raise MemoryError("no more of it")
        return shard.start


@dataclass(frozen=True)
class Hungry:
    """Takes memory on one shard, a little at a time, until somebody ends its process."""

    def __call__(self, shard):
        if shard.start != 1:
            return shard.start
        until, taken = time.monotonic() + LONG, []
        while time.monotonic() < until:
            taken.append(np.ones(1 << 21))  # 16 MB
            time.sleep(0.01)
        return len(taken)


def is_same(found, wanted):
    """The same bits: whatever happened, every shard gave its one answer."""
    assert np.array_equal(found.dual_coef_, wanted.dual_coef_)
    assert found.objective_ == wanted.objective_
    assert found.gap_ == wanted.gap_
    return True


@dataclass
class Once:
    """A callback of a fit that does something once, when some rounds are over and others are still to come."""

    engine: object
    action: object
    rounds: int = 0

    def __call__(self, entry):
        if not self.rounds:
            self.action()
            self.rounds = len(self.engine.history)

    @property
    def was_in_the_middle(self):
        return 0 < self.rounds < len(self.engine.history)
