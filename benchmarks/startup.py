"""How long until something happens: the import, the very first use, and the first fit of a later process.

Every time is that of a whole process, interpreter included. Compiled code goes to a fresh folder, so
that the very first use compiles everything, as it does after an installation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

FIT = """
import numpy as np
from kernelweave import MKLClassifier, RBF, Linear
rng = np.random.default_rng(0)
X = rng.standard_normal((200, 5))
MKLClassifier(RBF(0.1) + RBF(1.0) + Linear()).fit(X, X[:, 0] * X[:, 1] > 0)
"""
SVC = """
import numpy as np
from sklearn.svm import SVC
X = np.random.default_rng(0).standard_normal((200, 5))
SVC().fit(X, X[:, 0] * X[:, 1] > 0)
"""


@dataclass
class Taken:
    """What a process took: by the clock, and of the processor."""

    seconds: float
    cpu: float


def measure(arguments: list[str], cache: Path, rounds: int = 1) -> Taken:
    """Run Python with these arguments, and return the quickest round."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    found = []
    for _ in range(rounds):
        before, start = os.times(), time.perf_counter()
        subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
        seconds, after = time.perf_counter() - start, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        found.append(Taken(seconds, cpu))
    return min(found, key=lambda taken: taken.seconds)


def main() -> None:
    """Measure the ways to start, and print each with its limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        demo = ["-m", "kernelweave.demo", "--output", str(folder / "pictures")]
        found = [
            ("python -c 'pass', for comparison", measure(["-c", "pass"], folder / "demo", 5), None),
            ("import kernelweave", measure(["-c", "import kernelweave"], folder / "demo", 5), 0.5),
            ("demo, nothing compiled yet", measure(demo, folder / "demo"), 20.0),
            ("demo, once more", measure(demo, folder / "demo", 3), None),
            ("first fit, nothing compiled yet", measure(["-c", FIT], folder / "fit"), None),
            ("first fit of a later process", measure(["-c", FIT], folder / "fit", 5), 2.0),
            ("import sklearn.base, for comparison", measure(["-c", "import sklearn.base"], folder / "fit", 5), None),
            ("first fit of SVC, for comparison", measure(["-c", SVC], folder / "fit", 5), None),
        ]
    table = Table(title="Time to start (whole processes)", box=box.SIMPLE)
    table.add_column("what")
    for heading in ("seconds", "CPU s", "limit", ""):
        table.add_column(heading, justify="right")
    for what, taken, limit in found:
        verdict = "" if limit is None else "ok" if taken.seconds < limit else "MISSED"
        shown = "" if limit is None else f"{limit:g}"
        table.add_row(what, f"{taken.seconds:.2f}", f"{taken.cpu:.2f}", shown, verdict)
    Console(width=100).print(table)
    print("Where seconds are far above CPU s, the machine was busy: measure again.")


if __name__ == "__main__":
    main()
