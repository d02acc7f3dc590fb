"""Kill a fit with SIGKILL at random moments, go on from its checkpoint, and compare with the fit that nobody disturbed.

    python benchmarks/kill_and_resume.py                       # one kernel on 100,000 generated splice sites
    python benchmarks/kill_and_resume.py --kernel degrees      # multiple kernel learning over degrees
    python benchmarks/kill_and_resume.py --json                # for programs

Every kill begins with a new checkpoint. The process that goes on is a new one, and sees the file alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from typing import Any

import numpy as np

from kernelweave import Checkpoint, MKLClassifier, WeightedDegree
from kernelweave.datasets import make_splice_sites

KERNELS = {
    "whole": lambda degree: WeightedDegree(degree=degree).normalized(),
    "degrees": lambda degree: WeightedDegree(degree=degree).split("degree"),
}


def main() -> None:
    """Read the command line, run the fits, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--kernel", choices=KERNELS, default="whole")
    parser.add_argument("--degree", type=int, default=20)
    parser.add_argument("--cost", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of a table")
    options = parser.parse_args()
    X, y = make_splice_sites(100, positives=0.5, random_state=0)
    MKLClassifier(KERNELS[options.kernel](options.degree)).fit(X, y)  # what is loaded here, the processes need not load
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options, folder)
    print(json.dumps(found) if options.json else as_table(found))


def measure(options: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Return the undisturbed fit, and one entry for every kill."""
    rng = np.random.default_rng(options.seed)
    path = os.path.join(folder, "run.checkpoint")
    plain = Run(options, None).finish()
    kills = []
    for _ in range(options.kills):
        moment = rng.uniform(0.0, plain["seconds"])
        Run(options, path).kill(moment)
        left = {"killed_after": moment, "checkpoint": os.path.exists(path)}
        kills.append(left | Run(options, path).finish())
        Checkpoint(path).remove()
        left_over = os.listdir(folder)  # a writer that was killed leaves one at most, for the next one to remove
        assert len(left_over) <= 1, left_over
        for name in left_over:
            os.unlink(os.path.join(folder, name))
    return {"plain": plain, "kills": kills, "tol": options.tol}


class Run:
    """A fit in a process of its own."""

    def __init__(self, options: argparse.Namespace, path: str | None) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, far = context.Pipe(duplex=False)
        self._process = context.Process(target=fit, args=(options, path, far))
        self._process.start()
        far.close()
        self._pipe.recv()  # the first step is done

    def kill(self, moment: float) -> None:
        """Kill it some seconds after its first step; it may have come to its end."""
        self._process.join(timeout=moment)
        self._process.kill()
        self._process.join()

    def finish(self) -> dict[str, Any]:
        """Let it come to its end, and return what came out."""
        result = self._pipe.recv()
        self._process.join()
        return result


def fit(options: argparse.Namespace, path: str | None, pipe: Any) -> None:
    """Fit, with a checkpoint as often as it may be written, and send when it began and what came out."""
    X, y = make_splice_sites(options.samples, positives=0.033, random_state=options.seed)
    model = MKLClassifier(KERNELS[options.kernel](options.degree), C=options.cost, scaling=None, tol=options.tol)
    begun: list[float] = []

    def note(entry: dict[str, Any]) -> None:
        if not begun:
            pipe.send("begun")
        begun.append(time.monotonic())

    model.fit(X, y, checkpoint=None if path is None else Checkpoint(path, seconds=0.0), callback=note)
    said = {"seconds": time.monotonic() - begun[0], "objective": model.objective_, "lower": model.lower_bound_}
    pipe.send(said | {"gap": model.gap_, "solves": model.n_solves_})


def as_table(found: dict[str, Any]) -> str:
    """Return the figures for people."""
    plain = found["plain"]
    lines = [
        f"undisturbed: {plain['seconds']:.1f} s from the first step on, "
        f"objective {plain['objective']:.9g}, gap {plain['gap']:.1e}",
        "",
        "| killed after | checkpoint | went on for | objective | differs by | certified gap |",
        "|---|---|---|---|---|---|",
    ]
    for kill in found["kills"]:
        apart = abs(kill["objective"] / plain["objective"] - 1.0)
        there = "yes" if kill["checkpoint"] else "not yet"
        lines.append(
            f"| {kill['killed_after']:.1f} s | {there} | {kill['seconds']:.1f} s | {kill['objective']:.9g} | "
            f"{apart:.1e} | {kill['gap']:.1e} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
