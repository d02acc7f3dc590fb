"""Kernels with many features: python benchmarks/listed.py [--old PATH] [--documents N].

Mismatch kernels on 2,000 random proteins of 400 letters and gapped k-mers on 2,000 random windows of DNA: CPU seconds
of listing their features (with one product of all) and of a whole fit, one thread, the better of two. With --old, the
source folder of another version, the same by both, turn by turn. With --documents, a spectrum kernel on so many
documents of generated text instead: seconds and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
#: Name: the kernel, letters, and how long sequences are.
KERNELS = {
    "mismatch, proteins": ("Mismatch(k=5, mismatches=1, alphabet='protein')", "ACDEFGHIKLMNPQRSTVWY", 400),
    "gapped, DNA": ("GappedKmer(length=10, k=6, alphabet='dna')", "ACGT", 300),
    "gapped, proteins": ("GappedKmer(length=6, k=4, alphabet='protein')", "ACDEFGHIKLMNPQRSTVWY", 400),
}


def planted(letters: str, length: int, n: int) -> tuple[list[str], np.ndarray]:
    """Return random sequences, and labels: half of them have one of a few words somewhere."""
    rng = np.random.default_rng(0)
    X, y = rng.choice(list(letters), (n, length)), np.where(np.arange(n) % 2, 1, -1)
    for row in X[y > 0]:
        start = rng.integers(0, length - 8)
        row[start : start + 8] = list((letters * 2)[:8])
    return ["".join(row) for row in X], y


def best_of_two(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of the better of two runs."""
    times = []
    for _ in range(2):
        used = time.process_time()
        work()
        times.append(time.process_time() - used)
    return min(times)


def measure(name: str, n: int) -> dict[str, float]:
    """Measure one kernel in this process."""
    from kernelweave import MKLClassifier, parse
    from kernelweave.gram.features import FeatureGram
    from kernelweave.views import as_views

    text, letters, length = KERNELS[name]
    kernel = parse(text)
    X, y = planted(letters, length, n)

    def listed(X: list[str]) -> None:
        FeatureGram([kernel], as_views(X)).apply(np.ones(len(X)), np.ones(1))

    def fitted(X: list[str], y: np.ndarray) -> None:
        MKLClassifier(kernel.normalized(), norm="fixed", scaling=None, C=1.0, n_jobs=1).fit(X, y)

    listed(X[:40])  # compiles
    fitted(X[:40], y[:40])
    return {"listing": best_of_two(lambda: listed(X)), "fit": best_of_two(lambda: fitted(X, y))}


def elsewhere(source: str, name: str, n: int) -> dict[str, float]:
    """Run `measure` in a process that takes kernelweave from a folder."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--measure", name, "--sequences", str(n)]
    environment = os.environ | {"PYTHONPATH": source} | threads
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def documents(n: int) -> None:
    """Fit a spectrum kernel on documents of some 100 letters, and print what it took."""
    from kernelweave import MKLClassifier, Spectrum

    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 9, 5000)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size)) for size in lengths])
    usual = rng.dirichlet(np.full(5000, 0.1))
    odd = 0.9 * usual + 0.1 * rng.dirichlet(np.full(5000, 0.05))
    y = np.where(np.arange(n) % 2, 1, -1)
    texts = [" ".join(words[rng.choice(5000, 15, p=odd if label > 0 else usual)]) for label in y]
    model = MKLClassifier(Spectrum(k=4, alphabet="bytes").normalized(), norm="fixed", scaling=None, C=1.0, n_jobs=2)
    model.fit(texts[:12_000], y[:12_000])
    started, used = time.perf_counter(), time.process_time()
    model.fit(texts, y)
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**20
    print(
        f"{n:,} documents, {sum(map(len, texts)) / 1e6:.0f} MB: {time.perf_counter() - started:.1f} s "
        f"({time.process_time() - used:.1f} CPU), gap {model.gap_:.1e}, {len(model.support_):,} support, {peak:.2f} GB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", help="source folder of another version, to be compared")
    parser.add_argument("--sequences", type=int, default=2_000)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--measure", choices=KERNELS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.sequences)))
        return
    if options.documents:
        documents(options.documents)
        return
    sources = ({"old": options.old} if options.old else {}) | {"new": str(ROOT / "src")}
    for name in KERNELS:
        found = {version: elsewhere(source, name, options.sequences) for version, source in sources.items()}
        for what in ("listing", "fit"):
            times = "  ".join(f"{version} {one[what]:.2f}" for version, one in found.items())
            ratio = f"  {found['old'][what] / found['new'][what]:.1f} times as fast (>= 5)" if options.old else ""
            print(f"{name:<20} {what:<8} CPU s: {times}{ratio}", flush=True)


if __name__ == "__main__":
    main()
