"""How long until something happens: the import, the very first use, and the first fit of a later process.

Every time is that of a whole process, interpreter included, in a fresh environment with what
`pip install 'kernelweave[plot]'` brings and no more: scikit-learn imports pandas wherever it is
installed, which would be counted as ours. Compiled code goes to a fresh folder, so that the very
first use compiles everything, as it does after an installation. What compiling takes is the
processor's time of the first process less that of the same once more.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import venv
from dataclasses import dataclass
from functools import partial
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
#: The first thing that people do, by path; what they print or write is made beforehand.
PATHS = {
    "table": ["-m", "kernelweave", "fit", "demo/table_train.csv", "--target", "outcome", "--output", "table.kw"],
    "splice": ["-m", "kernelweave", "fit", "demo/sites_train.fa", "--preset", "splice", "--output", "sites.kw"],
    "gapped": ["-m", "kernelweave", "fit", "demo/sites_train.fa", "--preset", "tf", "--output", "peaks.kw"],
    "scan": ["-m", "kernelweave", "scan", "demo/sites.kw", "demo/sites_test.fa", "--output", "hits.bed"],
}
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


def install(folder: Path) -> Path:
    """Make an environment in a folder, install the project there as a user does, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    project = f"{Path(__file__).parents[1]}[plot]"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", project], check=True)
    return python


def measure(python: Path, arguments: list[str], cache: Path, rounds: int = 1, at: Path | None = None) -> Taken:
    """Run Python with these arguments, and return the quickest round."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["NUMBA_CACHE_DIR"] = str(cache)
    found = []
    for _ in range(rounds):
        before, start = os.times(), time.perf_counter()
        quiet = subprocess.DEVNULL
        subprocess.run([python, *arguments], env=environment, check=True, stdout=quiet, stderr=quiet, cwd=at)
        seconds, after = time.perf_counter() - start, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        found.append(Taken(seconds, cpu))
    return min(found, key=lambda taken: taken.seconds)


def main() -> None:
    """Measure the ways to start, and print each with its limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        take = partial(measure, install(folder / "environment"))
        demo = ["-m", "kernelweave.demo", "--output", str(folder / "pictures")]
        found = [
            ("python -c 'pass', for comparison", take(["-c", "pass"], folder / "demo", 5), None),
            ("import kernelweave", take(["-c", "import kernelweave"], folder / "demo", 5), 0.5),
            ("demo, nothing compiled yet", take(demo, folder / "demo"), 20.0),
            ("demo, once more", take(demo, folder / "demo", 3), None),
            ("first fit, nothing compiled yet", take(["-c", FIT], folder / "fit"), None),
            ("first fit of a later process", take(["-c", FIT], folder / "fit", 5), 2.0),
            ("import sklearn.base, for comparison", take(["-c", "import sklearn.base"], folder / "fit", 5), None),
            ("first fit of SVC, for comparison", take(["-c", SVC], folder / "fit", 5), None),
        ]
        take(["-m", "kernelweave", "demo", "--output", "demo"], folder / "demo", at=folder)
        for name, arguments in PATHS.items():
            first, again = (take(arguments, folder / name, at=folder) for _ in range(2))
            found.append((f"{name}, nothing compiled yet", first, None))
            found.append((f"{name}, once more", again, None))
            compiling = Taken(first.seconds - again.seconds, first.cpu - again.cpu)
            found.append((f"{name}, compiling", compiling, 10.0))
    table = Table(title="Time to start (whole processes)", box=box.SIMPLE)
    table.add_column("what")
    for heading in ("seconds", "CPU s", "limit", ""):
        table.add_column(heading, justify="right")
    for what, taken, limit in found:
        verdict = "" if limit is None else "ok" if taken.cpu < limit else "MISSED"
        shown = "" if limit is None else f"{limit:g}"
        table.add_row(what, f"{taken.seconds:.2f}", f"{taken.cpu:.2f}", shown, verdict)
    Console(width=100).print(table)
    print("Limits are for CPU s. Where seconds are far above them, the machine was busy: measure again.")


if __name__ == "__main__":
    main()
