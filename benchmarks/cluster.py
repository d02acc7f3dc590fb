"""Several machines, on one: python benchmarks/cluster.py [part ...] [--rows N].

The same shards on two threads of this process and on two Dask workers of one thread each, by the loopback interface.
Weighted degree kernel of degree 20 on windows of 141 letters, normalised, C = 1, certified to a relative gap of 1e-3.

    windows     a million windows of the C. elegans genome (or --rows), threads and workers; needs KERNELWEAVE_DATA
    acceptor    100,000 C. elegans acceptor sites, likewise
    synthetic   as many windows from `make_splice_sites`; no files needed
    once        one fit on workers alone, for sizes that take minutes: once --rows 10000000
    numbers     a million generated rows of 20 numbers (or --rows), LowRank and Linear, squared hinge, likewise
    terms       20,000 widths of sets of columns on 700 rows (--rows / 50 terms), looked at by threads and by workers
    lost        the fit on workers once more, one of them killed in the middle
    limit       two million rows of 100 numbers (twice --rows), Linear, on workers that may have 3/4 of their size each

What every fit prints last is its cost model: bytes and seconds of its rounds.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from large_scale import CACHE, peak, prepare

#: Cores of two machines are cores of one here, and both fits have two.
WORKERS = 2
#: Fits of each kind; the quickest counts.
TURNS = 2


@contextmanager
def workers(memory_limit: Any = 0) -> Any:
    """Yield a client of two workers, processes of one thread each."""
    import dask
    from distributed import Client, LocalCluster

    options = {"processes": True, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    options |= {"threads_per_worker": 1, "memory_limit": memory_limit}
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(n_workers=WORKERS, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def samples(name: str, rows: int) -> tuple[Any, np.ndarray] | None:
    """Return the windows as eight shards, and their labels; None where the source is absent."""
    from kernelweave import Shards
    from kernelweave.sequences import SequenceSet

    whole = prepare(f"{name}-{rows}")
    if whole is None:
        return None
    y = np.load(whole.with_suffix(".labels.npy"))
    if not list(CACHE.glob(f"{whole.stem}.[0-9][0-9].kwseq")):
        Shards.write(SequenceSet.open(whole), whole, 8)
    return Shards.open(str(whole.with_suffix(".[0-9][0-9].kwseq"))), y


def words() -> Any:
    """Return the model of windows."""
    from kernelweave import MKLClassifier, WeightedDegree

    return MKLClassifier(WeightedDegree(degree=20).normalized(), C=1, norm="fixed", scaling=None, n_jobs=WORKERS)


def on_numbers() -> Any:
    """Return the model of numbers."""
    from kernelweave import RBF, Linear, LowRank, MKLClassifier

    kernel = LowRank(RBF(0.02), rank=100) + Linear()
    return MKLClassifier(kernel, C=1, loss="squared_hinge", norm="fixed", n_jobs=WORKERS)


def fit(X: Any, y: np.ndarray, engine: Any, callback: Any = None, make: Any = words) -> tuple[Any, float, float]:
    """Return a model, the seconds that it took once everything was compiled, and those of all processors together."""
    model = make()
    started, used = time.perf_counter(), processors(engine)
    model.fit(X, y, engine=engine, callback=callback)
    return model, time.perf_counter() - started, processors(engine) - used


def processors(engine: Any) -> float:
    """Return the seconds of processor time that the master and its workers have used."""
    own = time.process_time()
    return own + (sum(engine.client.run(time.process_time).values()) if hasattr(engine, "client") else 0.0)


def say(name: str, model: Any, seconds: float, used: float, memory: str = "") -> None:
    """Print one line about a fit."""
    print(
        f"    {name:<20} {seconds:7.1f} s ({used:.1f} CPU)  objective {model.objective_:.4f}  dual "
        f"{model.lower_bound_:.4f}  gap {model.gap_:.1e}  {len(model.support_):,} support  {memory}",
        flush=True,
    )


def memory_of(client: Any) -> str:
    """Return the peak memory of the workers."""
    found = client.run(peak)
    return f"workers at most {max(found.values()):.2f} GB"


def say_rounds(engine: Any) -> None:
    """Print what rounds cost: bytes of a task, how often it was sent, seconds."""
    for told in engine.history:
        print(
            f"      {told['task']:<10} {told['shards']:3} shards {told['bytes'] / 1e6:8.2f} MB  sent {told['sent']:3} "
            f"times  {told['seconds']:7.2f} s"
        )


def warm(X: Any, y: np.ndarray, engine: Any, make: Any) -> None:
    """Have every worker compile, or read, what the fit needs, and every shard in the memory of the system."""
    from kernelweave import NumberShards, Shards

    if isinstance(X, np.ndarray):
        fit(X, y, engine, make=make)
        return
    if isinstance(X, NumberShards):
        some = NumberShards(X.paths[:1], rows=X.shape[0] // 64)
        fit(some, y[: len(some)], engine, make=on_numbers)
        return
    few = Shards(X.files[:1], rows=len(X.files[0]) // 8)
    fit(few, y[: len(few)], engine)


def compared(found: tuple[Any, np.ndarray] | None, make: Any = words) -> None:
    """Fit on threads and on workers, and print both."""
    from kernelweave.cluster.dask_engine import DaskEngine

    if found is None:
        return
    X, y = found
    with workers() as client:
        engine = DaskEngine(client)
        for one in ("threads:2", engine):
            warm(X, y, one, make)
        times, used = {}, {}
        for turn in range(TURNS):
            for one in ("threads:2", engine):
                engine.history.clear()
                model, times[turn, one], used[turn, one] = fit(X, y, one, make=make)
                said = f"master at most {peak():.2f} GB" + ("" if one == "threads:2" else f", {memory_of(client)}")
                name = "two threads" if one == "threads:2" else "two workers"
                say(name, model, times[turn, one], used[turn, one], said)
        say_rounds(engine)
        for what, each in (("seconds", times), ("CPU seconds", used)):
            threads, others = (min(each[turn, one] for turn in range(TURNS)) for one in ("threads:2", engine))
            print(f"    workers take {others / threads:.2f} times the {what} of threads (<= 1.25)")


def part_windows(rows: int) -> None:
    compared(samples("genome", rows))


def part_acceptor(rows: int) -> None:
    compared(samples("acceptor", min(rows, 100_000)))


def part_synthetic(rows: int) -> None:
    compared(samples("synthetic", rows))


@contextmanager
def warmed(X: Any, y: np.ndarray) -> Any:
    """Yield a client of two workers, and its engine, that have compiled what a fit needs."""
    from kernelweave.cluster.dask_engine import DaskEngine

    with workers() as client:
        engine = DaskEngine(client)
        warm(X, y, engine, words)
        engine.history.clear()
        yield client, engine


def part_once(rows: int) -> None:
    X, y = samples("synthetic", rows)  # generated, so always there
    with warmed(X, y) as (client, engine):
        model, seconds, used = fit(X, y, engine)
        say("two workers", model, seconds, used, f"master at most {peak():.2f} GB, {memory_of(client)}")
        say_rounds(engine)


def number_shards(rows: int, columns: int = 20) -> tuple[Any, np.ndarray]:
    """Return generated rows of numbers as eight shards, and their labels."""
    from kernelweave import NumberShards

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(rows) > 0
    CACHE.mkdir(parents=True, exist_ok=True)
    for k, part in enumerate(np.array_split(X, 8)):
        np.save(CACHE / f"numbers-{rows}.{k}.npy", part)
    return NumberShards.open(str(CACHE / f"numbers-{rows}.*.npy")), y


def part_numbers(rows: int) -> None:
    compared(number_shards(rows), on_numbers)


def part_terms(rows: int) -> None:
    from kernelweave import RBF, MKLClassifier
    from kernelweave.kernels.base import add_all

    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 50))
    y = np.sign(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(700))
    sets = [rng.choice(50, rng.integers(1, 6), replace=False).tolist() for _ in range(rows // 1_000)]
    kernel = add_all([RBF(float(gamma)).on(columns) for columns in sets for gamma in np.logspace(-3, 2, 20)])
    compared((X, y), lambda: MKLClassifier(kernel, C=1, tol=1e-2, n_jobs=WORKERS))


def part_lost(rows: int) -> None:
    X, y = samples("genome", rows) or samples("synthetic", rows)
    with warmed(X, y) as (client, engine):
        plain, usual, used = fit(X, y, engine)
        say("undisturbed", plain, usual, used)
        pid, killed = next(iter(client.run(os.getpid).values())), []

        def kill(entry: dict[str, Any]) -> None:
            if not killed and entry["seconds"] > usual / 2:
                killed.append(os.kill(pid, signal.SIGKILL))

        engine.history.clear()
        model, longer, used = fit(X, y, engine, kill)
        say("one worker killed", model, longer, used)
        assert killed, "the fit was over before the worker was killed"
        same = np.array_equal(model.dual_coef_, plain.dual_coef_)
        print(f"    the loss cost {longer - usual:.1f} s; the same bits: {same}")


def part_limit(rows: int) -> None:
    from kernelweave import Linear, MKLClassifier, NumberShards
    from kernelweave.cluster.dask_engine import DaskEngine

    X, y = number_shards(2 * rows, 100)
    X = NumberShards(X.paths, rows=50_000)  # 20 MB each: a worker holds a shard, twice as large in double precision
    size = sum(os.path.getsize(path) for path in X.paths)
    limit = int(0.75 * size)
    with workers(limit) as client:
        engine, pids = DaskEngine(client), set(client.run(os.getpid).values())
        model, seconds, used = fit(X, y, engine, make=lambda: MKLClassifier(Linear(), C=1, loss="squared_hinge"))
        own, mapped = (max(client.run(_resident, kind).values()) / 1e6 for kind in ("RssAnon", "RssFile"))
        say(f"limit {limit / 1e6:.0f} MB", model, seconds, used, f"files {size / 1e6:.0f} MB")
        print(f"    a worker has {own:.0f} MB of its own, and {mapped:.0f} MB of mapped files")
        print(f"    workers that were ended: {len(pids - set(client.run(os.getpid).values()))} (0)")


def _resident(kind: str) -> int:
    """Return the bytes of a process that are in memory: its own, or those of mapped files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")) * 1024


PARTS = {
    "windows": part_windows,
    "acceptor": part_acceptor,
    "synthetic": part_synthetic,
    "once": part_once,
    "numbers": part_numbers,
    "terms": part_terms,
    "lost": part_lost,
    "limit": part_limit,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["windows", "lost"], choices=[*PARTS, []])
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    for part in given.parts:
        print(part, flush=True)
        PARTS[part](given.rows)
