"""Every fit ends: C from 1e-12 to 1e12 on labels and numbers that are nothing but noise, for every loss.

200 samples of five numbers that say nothing about their labels: the worst case for a high C, because no machine
fits them well. Each row of the table is a loss and a kernel at default settings; the work of a fit is counted in
CPU seconds, and what is compiled at first use is not counted. Run as ``python benchmarks/costs.py [loss ...]``.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.kernels import RBF, Kernel, Linear, Polynomial
from kernelweave.parallel import blas_threads

LABELS = ("hinge", "squared_hinge", "logistic", "smooth_hinge", "squared")
NUMBERS = ("epsilon_insensitive", "squared")
COSTS = [10.0**power for power in range(-12, 13)]
SHARES = np.logspace(-6, 0, 25)
#: CPU seconds of a fit.
LIMIT = 10.0


def kernels() -> dict[str, Kernel]:
    """Return the kernels by the name of their row."""
    return {
        "Linear()": Linear(),
        "RBF()": RBF(),
        "Linear() + Polynomial(2)": Linear() + Polynomial(2),
        "three RBFs": RBF(0.01) + RBF(0.1) + RBF(1.0),
    }


@dataclass
class Row:
    """What the fits of a loss and a kernel came to."""

    loss: str
    kernel: str
    seconds: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    converged: int = 0
    slowest: float = 0.0
    where: float = 0.0

    def add(self, model: Any, X: np.ndarray, y: np.ndarray | None, where: float) -> None:
        """Fit, and note what it took and how far from the optimum it ended."""
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        self.seconds.append(time.process_time() - started)
        self.gaps.append(float(model.gap_))
        self.converged += bool(model.converged_)
        if self.seconds[-1] >= self.slowest:
            self.slowest, self.where = self.seconds[-1], where

    def cells(self) -> list[str]:
        """Return the row of the table."""
        verdict = "ok" if self.slowest < LIMIT else "MISSED"
        numbers = [f"{self.slowest:.2f}", f"{self.where:.0e}", f"{np.median(self.seconds):.3f}"]
        ended = [f"{self.converged} of {len(self.seconds)}", f"{max(self.gaps):.1e}", verdict]
        return [self.loss, self.kernel, *numbers, *ended]


def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples with labels and numbers that do not depend on them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    return X, np.sign(rng.standard_normal(200)), rng.standard_normal(200)


def rows(wanted: list[str]) -> list[Row]:
    """Fit everything, row by row."""
    X, labels, numbers = sample()
    jobs: list[tuple[str, Any, Any]] = [
        *((f"{loss} (labels)", MKLClassifier, (labels, loss)) for loss in LABELS),
        *((f"{loss} (numbers)", MKLRegressor, (numbers, loss)) for loss in NUMBERS),
        ("one class", MKLOneClass, None),
    ]
    found = []
    for title, kind, what in jobs:
        if wanted and not any(title.startswith(name) for name in wanted):
            continue
        for name, kernel in kernels().items():
            row = Row(title, name)
            if what is None:
                MKLOneClass(kernel).fit(X[:40])  # compiles what it needs
                for nu in SHARES:
                    row.add(MKLOneClass(kernel, nu=float(nu)), X, None, float(nu))
            else:
                y, loss = what
                kind(kernel, loss=loss).fit(X[:40], y[:40])
                for C in COSTS:
                    row.add(kind(kernel, loss=loss, C=C), X, y, C)
            print(*row.cells(), sep="  ", file=sys.stderr, flush=True)
            found.append(row)
    return found


def main() -> None:
    """Print the table."""
    with blas_threads(1):
        found = rows(sys.argv[1:])
    table = Table(title="C from 1e-12 to 1e12 (nu from 1e-6 to 1) on 200 × 5 noise", box=box.SIMPLE)
    for heading in ("loss", "kernel"):
        table.add_column(heading)
    for heading in ("worst CPU s", "at", "median", "converged", "worst gap", f"under {LIMIT:g} s"):
        table.add_column(heading, justify="right")
    for row in found:
        table.add_row(*row.cells())
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
