"""Workers that die and stand still: python benchmarks/kill_workers.py [--kills 100] [--stops 30] [--seconds 900].

Many short trainings on a scheduler and workers that are processes of their own. Meanwhile workers are killed (SIGKILL)
or stopped (SIGSTOP, later SIGCONT) at random moments; most come back after a while, some are replaced only when few are
left. Every fit has to end, with the same bits as the undisturbed one. In the end the scheduler is killed during a fit
with a checkpoint: the fit ends with an error that names it, and goes on from there with a new cluster.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

#: Workers that there are to be, and at the least.
WORKERS, FEWEST = 3, 1
#: A fit that takes longer than this hangs.
HANG = 180.0


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self, folder: Path) -> None:
        self.file, self.workers, self.stopped = folder / "scheduler.json", list[subprocess.Popen](), set[int]()
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--scheduler-file", str(self.file))
        while not (self.file.exists() and self.file.read_text().strip().endswith("}")):
            time.sleep(0.1)
        for _ in range(WORKERS):
            self.add()

    def _start(self, module: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1", "--no-dashboard", *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def add(self) -> None:
        """Start one more worker: without a nanny, so that one that is killed stays dead."""
        options = ["--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
        self.workers.append(self._start("dask_worker", *options))

    def alive(self) -> list[subprocess.Popen]:
        """Return the workers that run."""
        return [one for one in self.workers if one.poll() is None and one.pid not in self.stopped]

    def close(self) -> None:
        """End all processes."""
        for one in (*self.workers, self.scheduler):
            with suppress(ProcessLookupError):
                one.kill()
            one.wait()


class Chaos(threading.Thread):
    """Kills and stops workers until so many of both are done."""

    def __init__(self, cluster: Cluster, kills: int, stops: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.cluster, self.left, self.rng = cluster, {"kill": kills, "stop": stops}, random.Random(seed)
        self.over = threading.Event()

    def run(self) -> None:
        """Do one thing after another."""
        while any(self.left.values()) and not self.over.wait(self.rng.expovariate(1.0)):
            alive = self.cluster.alive()
            if len(alive) > FEWEST:
                what = self.rng.choice([name for name, n in self.left.items() for _ in range(n)])
                self.left[what] -= 1
                getattr(self, what)(self.rng.choice(alive))
            comes_back = len(alive) <= FEWEST or self.rng.random() < 0.7
            if comes_back and len(self.cluster.alive()) < WORKERS:
                self.cluster.add()

    def kill(self, worker: subprocess.Popen) -> None:
        """End a worker without a warning."""
        worker.kill()

    def stop(self, worker: subprocess.Popen) -> None:
        """Have a worker stand still for some seconds."""
        os.kill(worker.pid, signal.SIGSTOP)
        self.cluster.stopped.add(worker.pid)

        def go_on() -> None:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGCONT)
            self.cluster.stopped.discard(worker.pid)

        threading.Timer(self.rng.uniform(1.0, 8.0), go_on).start()


def model() -> Any:
    """Return what is trained again and again."""
    from kernelweave import MKLClassifier, Spectrum, WeightedDegree

    return MKLClassifier(WeightedDegree(degree=6) + Spectrum(k=3), C=1, dual="active_set")


def soak(X: Any, y: np.ndarray, wanted: Any, folder: Path, given: Any) -> dict[str, Any]:
    """Train while workers die; return what was counted."""
    from distributed import Client

    from kernelweave.cluster.dask_engine import DaskEngine

    cluster = Cluster(folder)
    told: dict[str, Any] = {"fits": 0, "wrong": 0, "hangs": 0, "errors": [], "longest": 0.0}
    try:
        with Client(scheduler_file=str(cluster.file), set_as_default=False) as client:
            client.wait_for_workers(WORKERS, timeout=120)
            parcels = folder / "parcels"
            parcels.mkdir()
            engine = DaskEngine(client, patience=3.0, round_timeout=120.0, directory=parcels)
            chaos, until = Chaos(cluster, given.kills, given.stops, given.seed), time.monotonic() + given.seconds
            chaos.start()
            while chaos.is_alive() and time.monotonic() < until:
                started = time.monotonic()
                try:
                    found = model().fit(X, y, engine=engine)
                    told["wrong"] += not np.array_equal(found.dual_coef_, wanted.dual_coef_)
                except Exception as error:
                    told["errors"].append(f"{type(error).__name__}: {error}")
                took = time.monotonic() - started
                told["fits"], told["longest"] = told["fits"] + 1, max(told["longest"], took)
                told["hangs"] += took > HANG
            chaos.over.set()
            chaos.join()
            told |= {"kills": given.kills - chaos.left["kill"], "stops": given.stops - chaos.left["stop"]}
            told["sent again"] = sum(one["sent"] - one["shards"] for one in engine.history)
            told["files left"] = len(list(parcels.iterdir()))
    finally:
        cluster.close()
    return told


def scheduler_killed(X: Any, y: np.ndarray, wanted: Any, folder: Path) -> dict[str, Any]:
    """Kill the scheduler during a fit, and go on from the checkpoint with a new cluster."""
    from distributed import Client

    from kernelweave import EngineError
    from kernelweave.cluster.dask_engine import DaskEngine

    path, said, calls = folder / "fit.checkpoint", "", []
    cluster = Cluster(folder)

    def kill(entry: dict[str, Any]) -> None:
        calls.append(entry)
        if len(calls) == 2:
            cluster.scheduler.kill()

    try:
        client = Client(scheduler_file=str(cluster.file), set_as_default=False)
        started = time.monotonic()
        try:
            model().fit(X, y, engine=DaskEngine(client, round_timeout=20.0), checkpoint=path, callback=kill)
        except EngineError as error:
            said = str(error)
        took = time.monotonic() - started
        with suppress(Exception):
            client.close(timeout=2)
    finally:
        cluster.close()
    (folder / "again").mkdir()
    cluster = Cluster(folder / "again")
    try:
        with Client(scheduler_file=str(cluster.file), set_as_default=False) as client:
            found = model().fit(X, y, engine=client, checkpoint=path)
    finally:
        cluster.close()
    within = abs(found.objective_ - wanted.objective_) <= (found.gap_ + wanted.gap_) * wanted.objective_
    return {"error": said, "seconds": round(took, 1), "goes on, within the gap": bool(within)}


def main() -> None:
    """Make the data, train undisturbed, then disturbed."""
    from kernelweave import Shards
    from kernelweave.datasets import make_splice_sites

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--stops", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=900.0, help="end after this time, whatever was done")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X, y = make_splice_sites(4_000, window=60, positives=0.3, random_state=0)
        shards = Shards(Shards.write(X, folder / "w.kwseq", 4).files, rows=500)
        wanted = model().fit(shards, y, engine="serial")
        told = soak(shards, y, wanted, folder, given)
        print(json.dumps(told, indent=1))
        last = scheduler_killed(shards, y, wanted, folder)
        print(json.dumps({"scheduler killed": last}, indent=1))
    fine = not (told["wrong"] or told["hangs"] or told["errors"] or told["files left"])
    sys.exit(0 if fine and last["goes on, within the gap"] and "checkpoint" in last["error"] else 1)


if __name__ == "__main__":
    main()
