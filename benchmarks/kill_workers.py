"""Workers that die and stand still: python benchmarks/kill_workers.py [--kills 100] [--stops 30] [--seconds 360].

Many short trainings, of words, of numbers and of many terms in turn, on a scheduler and workers that are processes of
their own. Meanwhile workers are killed (SIGKILL) or stopped (SIGSTOP, later SIGCONT) at random moments, spread over the
time that is given; most come back after a while, some are replaced only when few are left. Every fit has to end, with
the same bits as the undisturbed one, and no file may be left. In the end the scheduler is killed during a fit with a
checkpoint: the fit ends with an error that names it, and goes on from there with a new cluster.
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
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

#: Workers that there are to be, and at the least.
WORKERS, FEWEST = 3, 1
#: A fit that takes longer than this hangs.
HANG = 120
#: Fits that a soak has at the least.
FITS = 60


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self, folder: Path) -> None:
        self.file, self.workers, self.stopped = folder / "scheduler.json", list[subprocess.Popen](), set[int]()
        self.file.unlink(missing_ok=True)  # of a cluster before this one
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
    """Kills and stops workers until so many of both are done, in about so many seconds."""

    def __init__(self, cluster: Cluster, kills: int, stops: int, seconds: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.rate = (kills + stops) / seconds
        self.cluster, self.left, self.rng = cluster, {"kill": kills, "stop": stops}, random.Random(seed)
        self.over = threading.Event()

    def run(self) -> None:
        """Do one thing after another."""
        while any(self.left.values()) and not self.over.wait(self.rng.expovariate(self.rate)):
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


@dataclass
class Training:
    """What is trained again and again, and what comes out where nobody disturbs it."""

    name: str
    model: Any
    X: Any
    y: np.ndarray
    wanted: Any = None

    def fit(self, **options: Any) -> Any:
        """Train."""
        from sklearn.base import clone

        return clone(self.model).fit(self.X, self.y, **options)


def trainings(folder: Path) -> list[Training]:
    """Return a training of words, one of numbers, and one of many terms, each of a second or so."""
    from kernelweave import RBF, Linear, LowRank, MKLClassifier, NumberShards, Shards, Spectrum, WeightedDegree
    from kernelweave.cluster import dask_engine
    from kernelweave.datasets import make_splice_sites
    from kernelweave.gram import looks
    from kernelweave.kernels.base import add_all

    dask_engine.SMALL, looks.WORTH = 1_000, 10**6  # small fits do what large ones do: tasks in files, looks in rounds
    rng = np.random.default_rng(0)
    X, y = make_splice_sites(2_000, window=60, positives=0.3, random_state=0)
    shards = Shards(Shards.write(X, folder / "w.kwseq", 4).files, rows=250)
    model = MKLClassifier(WeightedDegree(degree=6) + Spectrum(k=3), C=1, dual="active_set")
    found = [Training("words", model, shards, y)]
    numbers = rng.standard_normal((20_000, 6), dtype=np.float32)
    for k, part in enumerate(np.split(numbers, 4)):
        np.save(folder / f"x.{k}.npy", part)
    y = numbers[:, 0] + numbers[:, 1] * numbers[:, 2] + rng.standard_normal(20_000) > 0
    model = MKLClassifier(LowRank(RBF(0.1), rank=30) + Linear(), C=1, loss="squared_hinge")
    found.append(Training("numbers", model, NumberShards.open(str(folder / "x.*.npy"), rows=2_500), y))
    X = rng.standard_normal((300, 40))
    y = np.sign(X[:, 3] * X[:, 4] + X[:, 5] + 0.3 * rng.standard_normal(300))
    model = MKLClassifier(add_all([RBF(float(g)).on(c) for c in range(40) for g in np.logspace(-2, 1, 20)]), C=1)
    found.append(Training("terms", model, X, y))
    for one in found:
        one.wanted = one.fit(engine="serial")
    return found


def soak(found: list[Training], folder: Path, given: Any) -> dict[str, Any]:
    """Train while workers die; return what was counted."""
    from distributed import Client

    from kernelweave.cluster.dask_engine import DaskEngine

    cluster = Cluster(folder)
    told: dict[str, Any] = {"fits": 0, "wrong": 0, "hangs": 0, "errors": [], "longest": 0.0}
    told |= {one.name: 0 for one in found}
    try:
        with Client(scheduler_file=str(cluster.file), set_as_default=False) as client:
            client.wait_for_workers(WORKERS, timeout=120)
            parcels = folder / "parcels"
            parcels.mkdir()
            engine = DaskEngine(client, patience=2.0, round_timeout=60.0, directory=parcels)
            for one in found:  # once each, so that workers have compiled what there is
                one.fit(engine=engine)
            chaos = Chaos(cluster, given.kills, given.stops, given.seconds, given.seed)
            chaos.start()
            for one in cycle(found):
                if not chaos.is_alive():
                    break
                _fit_disturbed(one, engine, told)
            told |= {"kills": given.kills - chaos.left["kill"], "stops": given.stops - chaos.left["stop"]}
            told["sent again"] = sum(one["sent"] - one["shards"] for one in engine.history)
            told["rounds"] = len(engine.history)
            told["files left"] = len(list(parcels.iterdir()))
    finally:
        cluster.close()
    return told


def _fit_disturbed(one: Training, engine: Any, told: dict[str, Any]) -> None:
    """Train once, and count what came of it."""
    started = time.monotonic()
    signal.alarm(HANG)
    try:
        found = one.fit(engine=engine)
        told["wrong"] += not np.array_equal(found.dual_coef_, one.wanted.dual_coef_)
    except Hangs:
        told["hangs"] += 1
    except Exception as error:
        told["errors"].append(f"{one.name}: {type(error).__name__}: {error}")
    finally:
        signal.alarm(0)
    told["fits"], told[one.name] = told["fits"] + 1, told[one.name] + 1
    told["longest"] = max(told["longest"], round(time.monotonic() - started, 1))


class Hangs(BaseException):
    """A fit took too long."""


def _hangs(*given: Any) -> None:
    raise Hangs


def scheduler_killed(one: Training, folder: Path) -> dict[str, Any]:
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
            one.fit(engine=DaskEngine(client, round_timeout=20.0), checkpoint=path, callback=kill)
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
            found = one.fit(engine=client, checkpoint=path)
    finally:
        cluster.close()
    wanted = one.wanted
    within = abs(found.objective_ - wanted.objective_) <= (found.gap_ + wanted.gap_) * wanted.objective_
    return {"error": said, "seconds": round(took, 1), "goes on, within the gap": bool(within)}


def main() -> None:
    """Train undisturbed, then disturbed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--stops", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=360.0, help="that all of them take, about")
    parser.add_argument("--fits", type=int, default=FITS, help="how many fits there have to be")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    signal.signal(signal.SIGALRM, _hangs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = trainings(folder)
        told = soak(found, folder, given)
        print(json.dumps(told, indent=1), flush=True)
        last = scheduler_killed(found[0], folder)
        print(json.dumps({"scheduler killed": last}, indent=1))
    fine = not (told["wrong"] or told["hangs"] or told["errors"] or told["files left"]) and told["fits"] >= given.fits
    sys.exit(0 if fine and last["goes on, within the gap"] and "checkpoint" in last["error"] else 1)


if __name__ == "__main__":
    main()
