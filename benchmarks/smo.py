"""SMO beside `SVC(kernel="precomputed")`: time and memory on one dense RBF matrix, at equal accuracy.

SVC runs at its default tolerance. One routine scores the coefficients of every contender: primal
objective with the best intercept, dual objective, relative gap. Ours is asked for the gap that SVC
reached, so it never stops earlier. Runs take turns, and the best of each counts.

Run as ``python benchmarks/smo.py [samples ...]``; by default 2,000 to 10,000.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from kernelweave import RBF, MKLClassifier, Precomputed

SIZES = (2000, 4000, 7000, 10_000)
COSTS = (1.0, 100.0)
ROUNDS = 3
#: A width that suits the data, and one so narrow that nearly every sample ends between its bounds.
GAMMAS = (0.1, 0.5)
STATUS = Path("/proc/self/status")


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n points of ten numbers, and labels from a curved border with some noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10))
    signal = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2])
    return X, np.where(signal + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)


def best_intercept(y: np.ndarray, f: np.ndarray, C: float) -> float:
    """Return the b that minimises C Σ max(0, 1 − y (f + b)): a kink of that piecewise linear function."""
    order = np.argsort(y - f)
    slopes = -C * np.count_nonzero(y > 0) + C * np.arange(1, len(y) + 1)
    return float((y - f)[order][min(int(np.searchsorted(slopes, 0.0)), len(y) - 1)])


def gap_of(K: np.ndarray, y: np.ndarray, C: float, coef: np.ndarray) -> float:
    """Return the relative duality gap of coefficients, whoever found them."""
    support = np.flatnonzero(coef)
    f = np.zeros(len(y))
    for start in range(0, len(support), 512):  # in blocks: the score must not cost a copy of K
        part = support[start : start + 512]
        f += coef[part] @ K[part]
    square = float(coef @ f)
    primal = C * np.maximum(0.0, 1.0 - y * (f + best_intercept(y, f, C))).sum() + 0.5 * square
    dual = float(y @ coef) - 0.5 * square
    return float(primal - dual) / abs(float(primal))


def fit_svc(K: np.ndarray, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    """Fit scikit-learn's SVC at its own default tolerance, and return its signed coefficients."""
    from sklearn.svm import SVC

    model = SVC(kernel="precomputed", C=C).fit(K, y)
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[0]
    return coef


def fit_public(K: np.ndarray, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    """Fit through the front door."""
    kernel = Precomputed(K, name="K", psd="ignore")
    model = MKLClassifier(kernel, norm="fixed", scaling=None, C=C, tol=tol).fit(np.arange(len(y)), y)
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[0]
    return coef


def fit_layers(K: np.ndarray, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    """Fit with the layers below the estimator alone: no look at the matrix, no scaling, no support views."""
    from kernelweave.dual import Machine
    from kernelweave.gram import DenseGram
    from kernelweave.losses import Hinge
    from kernelweave.mkl import Plain, Problem, run
    from kernelweave.norms import Fixed
    from kernelweave.views import as_views

    gram = DenseGram([RBF()], as_views(np.empty((len(y), 1))), [K])
    problem = Problem(gram, [Machine(Hinge(), y, np.full(len(y), C))], Fixed(), tol=tol)
    return run(Plain(), problem).step.coef[:, 0]


FITS: dict[str, Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]] = {
    "SVC": fit_svc,
    "estimator": fit_public,
    "layers": fit_layers,
}


@dataclass
class Outcome:
    """What one contender needed."""

    seconds: float
    gap: float


def race(K: np.ndarray, y: np.ndarray, C: float) -> dict[str, Outcome]:
    """Time all contenders in turns; the best round of each counts."""
    target = gap_of(K, y, C, fit_svc(K, y, C, 0.0))
    best: dict[str, Outcome] = {}
    for _ in range(ROUNDS):
        for name, fit in FITS.items():
            start = time.perf_counter()
            coef = fit(K, y, C, target)
            seconds = time.perf_counter() - start
            if name not in best or seconds < best[name].seconds:
                best[name] = Outcome(seconds, gap_of(K, y, C, coef))
    return best


def resident(field: str) -> float:
    """Return VmRSS or VmHWM of this process in MB.

    `ru_maxrss` would do, but a child starts with its parent's figure there.
    """
    found = re.search(rf"{field}:\s+(\d+)", STATUS.read_text())
    return int(found[1]) / 1024 if found else float("nan")


def measure_memory(name: str, n: int, gamma: float, C: float, tol: float) -> None:
    """Print what one fit adds to the memory of a process that already holds K; run in a child."""
    small, labels = sample(200)
    FITS[name](RBF(gamma)(small), labels, C, 1e-3)  # imports and compiled code are not the fit's
    X, y = sample(n)
    K = RBF(gamma)(X)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = resident("VmRSS")
    FITS[name](K, y, C, tol)
    print(resident("VmHWM") - before)


def memory_of(name: str, n: int, gamma: float, C: float, tol: float) -> float:
    """Return the peak memory of one fit in MB, measured in a process of its own; NaN where /proc is missing."""
    if not STATUS.exists():
        return float("nan")
    command = [sys.executable, __file__, "--memory", name, *map(str, (n, gamma, C, tol))]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def time_row(found: dict[str, Outcome]) -> list[str]:
    svc, *ours = (found[name] for name in FITS)
    seconds = [f"{one.seconds:.2f}" for one in (svc, *ours)]
    return [*seconds, *(f"{svc.seconds / one.seconds:.2f}" for one in ours)]


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Race at every size, width and cost, and print the table."""
    names, ours = list(FITS), list(FITS)[1:]
    groups = [f"{name}\n{unit}" for unit in ("s", "gap", "MB") for name in names]
    table = Table(title=f"SMO on one RBF matrix, one thread, best of {ROUNDS} in turns", box=box.SIMPLE)
    for heading in ("\nN", "\ngamma", "\nC", *groups[:3], *(f"SVC /\n{name}" for name in ours), *groups[3:]):
        table.add_column(heading, justify="right", no_wrap=True)
    fit_public(np.eye(40), np.tile([1.0, -1.0], 20), 1.0, 1e-3)  # compile before the clock runs
    for n, gamma in product(sizes, GAMMAS):
        X, y = sample(n)
        K = RBF(gamma)(X)
        races = {C: race(K, y, C) for C in COSTS}
        del K  # the children need the room
        for C, found in races.items():
            gaps = [f"{found[name].gap:.1e}" for name in names]
            memory = [f"{memory_of(name, n, gamma, C, found['SVC'].gap):.0f}" for name in names]
            row = [f"{n:,}", f"{gamma:g}", f"{C:g}", *time_row(found), *gaps, *memory]
            table.add_row(*row)
            print(*row, file=sys.stderr, flush=True)  # the first sizes are known long before the last
    Console(width=140).print(table)
    print("s: seconds. gap: relative duality gap, scored by one routine for all. MB: peak of one fit above a process")
    print("that already holds K (8 N² bytes). estimator: MKLClassifier on Precomputed(K); layers: the solver alone.")


if __name__ == "__main__":
    with threadpool_limits(1):  # libsvm has one thread, so has everyone
        if sys.argv[1:2] == ["--memory"]:
            measure_memory(sys.argv[2], int(sys.argv[3]), *(float(number) for number in sys.argv[4:]))
        else:
            main(tuple(int(arg) for arg in sys.argv[1:]) or SIZES)
