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


def seconds(arguments: list[str], cache: Path, rounds: int = 1) -> float:
    """Return the shortest time of a Python process with these arguments."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure the ways to start, and print each with its limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        demo = ["-m", "kernelweave.demo", "--output", str(folder / "pictures")]
        found = [
            ("python -c 'pass', for comparison", seconds(["-c", "pass"], folder / "demo", 5), None),
            ("import kernelweave", seconds(["-c", "import kernelweave"], folder / "demo", 5), 0.5),
            ("demo, nothing compiled yet", seconds(demo, folder / "demo"), 20.0),
            ("demo, once more", seconds(demo, folder / "demo", 3), None),
            ("first fit, nothing compiled yet", seconds(["-c", FIT], folder / "fit"), None),
            ("first fit of a later process", seconds(["-c", FIT], folder / "fit", 3), 2.0),
        ]
    table = Table(title="Time to start (whole processes)", box=box.SIMPLE)
    table.add_column("what")
    for heading in ("seconds", "limit", ""):
        table.add_column(heading, justify="right")
    for what, taken, limit in found:
        verdict = "" if limit is None else "ok" if taken < limit else "MISSED"
        table.add_row(what, f"{taken:.2f}", "" if limit is None else f"{limit:g}", verdict)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
