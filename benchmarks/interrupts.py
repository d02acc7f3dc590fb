"""How long Ctrl-C takes to be heard, in every long phase: below a second, on a machine with nothing else to do.

Each row is a piece of work that takes some seconds. It is done once as it is, and then again and again, with the signal
at moments that are spread evenly over it. What counts is the longest stretch of CPU time between the signal and the
KeyboardInterrupt, or the usable model, that comes of it. Run as ``python benchmarks/interrupts.py [row ...]``.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.explain import poim, stability
from kernelweave.io.fasta import pack_fasta
from kernelweave.kernels import RBF, Linear, Mismatch, Precomputed, Spectrum, WeightedDegree
from kernelweave.parallel import blas_threads
from kernelweave.report import build
from kernelweave.scan import scan_file

#: Seconds.
LIMIT = 1.0
#: Moments at which the signal comes.
MOMENTS = 12

Work = Callable[[], Any]


def numbers(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples, labels and numbers that are hard to tell from noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.sign(X[:, 0] + rng.standard_normal(n)), X[:, 0] + rng.standard_normal(n)


def words(n: int, length: int) -> tuple[list[str], np.ndarray]:
    """Return sequences with a motif in half of them, and their labels."""
    rng = np.random.default_rng(0)
    letters, y = rng.choice(list("ACGT"), (n, length)), np.repeat([1, -1], [n // 2, n - n // 2])
    letters[y > 0, 5:9] = list("GATT")
    return ["".join(row) for row in letters], y


def matrices() -> dict[str, Work]:
    """Return fits that hold matrices."""
    X, y, t = numbers(8000)
    some = slice(0, 3000)
    K = X @ X.T
    lists = [RBF(g) for g in np.logspace(-2, 1, 60)]
    return {
        "matrix and SMO, 8,000": lambda: MKLClassifier(RBF(0.1), C=100.0).fit(X, y),
        "squared loss, 8,000": lambda: MKLRegressor(RBF(0.1), loss="squared").fit(X, t),
        "logistic loss, 4,000": lambda: MKLClassifier(RBF(0.1), loss="logistic").fit(X[:4000], y[:4000]),
        "logistic loss, C = 1e8, 3,000": lambda: MKLClassifier(RBF(0.1), loss="logistic", C=1e8).fit(X[some], y[some]),
        "hinge, C = 1e8, 3,000": lambda: MKLClassifier(RBF(0.01), C=1e8).fit(X[some], y[some]),
        "60 terms, hessian, 2,000": lambda: MKLClassifier(sum(lists[1:], lists[0])).fit(X[:2000], y[:2000]),
        "60 terms, silp, 1,000": lambda: MKLClassifier(sum(lists[1:], lists[0]), solver="silp").fit(X[:1000], y[:1000]),
        "two stages, 3,000": lambda: MKLRegressor(
            RBF(0.1) + RBF(1.0) + Linear(), loss="squared", solver="two_stage"
        ).fit(X[some], t[some]),
        "Precomputed, 8,000": lambda: MKLClassifier(Precomputed(K)).fit(np.arange(8000), y),
        "Precomputed, clipped, 2,000": lambda: MKLClassifier(
            Precomputed(K[:2000, :2000] - 5.0 * np.eye(2000), psd="clip")
        ).fit(np.arange(2000), y[:2000]),
        "learned widths, 2,000": lambda: MKLClassifier(RBF("learn")).fit(X[:2000], y[:2000]),
    }


def sequences(folder: Path) -> dict[str, Work]:
    """Return work on sequences."""
    text, y = words(20_000, 100)
    long = words(3000, 400)[0]
    plain = folder / "plain.fa"
    plain.write_text("".join(f">{i}\n{row}\n" for i, row in enumerate(20 * text)))
    model = MKLClassifier(WeightedDegree(degree=12)).fit(text[::5], y[::5])
    genome = folder / "genome.fa"
    genome.write_text(">one\n" + "".join(np.random.default_rng(1).choice(list("ACGT"), 5_000_000)) + "\n")
    return {
        "coordinate descent, 20,000": lambda: MKLClassifier(WeightedDegree(degree=12), dual="coordinate").fit(text, y),
        "active set, 20,000": lambda: MKLClassifier(Spectrum(k=6), dual="active_set").fit(text, y),
        "chunking, 20,000": lambda: MKLClassifier(WeightedDegree(degree=12), dual="chunking", tol=1e-6).fit(text, y),
        "matrix with shifts, 3,000": lambda: WeightedDegree(degree=12, shift=8)(long),
        "vocabulary of mismatches": lambda: Mismatch(k=6, mismatches=2)(long[:500]),
        "split by position, 4,000": lambda: MKLClassifier(WeightedDegree(degree=4).split("position")).fit(
            text[::5], y[::5]
        ),
        "packing": lambda: pack_fasta([plain], folder / "packed.kwseq"),
        "scan": lambda: list(scan_file(model, genome)),
        "tables of a model": lambda: model.compile(),
        "POIM": lambda: poim(model, 8),
        "report": lambda: build(model, text, y),
        "stability": lambda: stability(model, text[::50], y[::50], n_bootstrap=50, n_permutations=50),
    }


@dataclass
class Row:
    """What came of one piece of work."""

    name: str
    seconds: float
    delays: list[float]
    heard: int


def measure(name: str, work: Work) -> Row:
    """Interrupt a piece of work at moments that are spread over it."""
    work()  # compiles what it needs
    started = time.process_time()
    work()
    seconds = time.process_time() - started
    delays, heard = [], 0
    # a timer of the system's own, on CPU time: a thread would have to wait for the same calls as Ctrl-C
    signal.signal(signal.SIGPROF, lambda *event: signal.raise_signal(signal.SIGINT))
    for moment in seconds * (np.arange(MOMENTS) + 0.5) / MOMENTS:
        started = time.process_time()
        try:
            signal.setitimer(signal.ITIMER_PROF, moment)
            work()
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        except KeyboardInterrupt:
            heard += 1
            delays.append(max(0.0, time.process_time() - started - moment))
    return Row(name, seconds, delays, heard)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    table = Table(title="Ctrl-C, at moments spread over the work", box=box.SIMPLE)
    table.add_column("work")
    for heading in ("CPU s", "heard", "median delay, CPU s", "longest", f"under {LIMIT:g} s"):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory() as folder, blas_threads(1):
        everything = matrices() | sequences(Path(folder))
        for name, work in everything.items():
            if len(sys.argv) > 1 and not any(part in name for part in sys.argv[1:]):
                continue
            row = measure(name, work)
            longest = max(row.delays, default=0.0)
            cells = [name, f"{row.seconds:.1f}", f"{row.heard} of {MOMENTS}", f"{np.median(row.delays or [0.0]):.2f}"]
            cells += [f"{longest:.2f}", "ok" if longest < LIMIT else "MISSED"]
            print(*cells, sep="  ", file=sys.stderr, flush=True)
            table.add_row(*cells)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
