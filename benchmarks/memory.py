"""Memory that a fit says it will take, against the peak that it takes, for every way to hold a kernel.

Run: python benchmarks/memory.py [N] [PLAN ...]    (each plan in a process of its own; Linux only)
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelweave import (
    RBF,
    BagOfWords,
    Linear,
    Mismatch,
    MKLClassifier,
    MKLRegressor,
    Spectrum,
    WeightedDegree,
    per_feature,
)

WARM = 150
#: The number of that option in malloc.h.
M_MMAP_THRESHOLD = -3


def numbers(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty columns, of which two matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 1, 1, -1)


def windows(n: int) -> tuple[list[str], np.ndarray]:
    """DNA, half of it with a motif."""
    rng = np.random.default_rng(0)
    letters, y = rng.choice(list("ACGT"), (n, 100)), np.where(rng.random(n) < 0.5, 1, -1)
    letters[np.ix_((y > 0) & (rng.random(n) < 0.8), range(40, 48))] = list("GATTACAG")
    return ["".join(row) for row in letters], y


def proteins(n: int) -> tuple[list[str], np.ndarray]:
    """Proteins of 60 to 200 letters, half of them with a motif."""
    rng = np.random.default_rng(0)
    y, found = np.where(rng.random(n) < 0.5, 1, -1), []
    for label in y:
        letters = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), rng.integers(60, 200))
        if label > 0 and rng.random() < 0.8:
            letters[20:26] = list("GKSTWY")
        found.append("".join(letters))
    return found, y


def texts(n: int) -> tuple[list[str], np.ndarray]:
    """Texts of 100 words out of 20,000, frequent and rare ones; half of them with a word of their own."""
    rng = np.random.default_rng(0)
    y, found = np.where(rng.random(n) < 0.5, 1, -1), []
    for label in y:
        words = (20_000 * rng.random(100) ** 3).astype(int)
        found.append(" ".join(f"w{word}" for word in words) + (" kernel" if label > 0 else ""))
    return found, y


def grades(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Six columns of 200 values each (fewer of few samples), of which two matter."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, min(200, n // 4), size=(n, 6)) / 50.0
    return X, np.where(
        X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > X[:, 0].mean() + (X[:, 1] ** 2).mean(), 1, -1
    )


def both(n: int) -> tuple[dict[str, Any], np.ndarray]:
    """Windows of DNA and numbers beside them."""
    seq, y = windows(n)
    return {"seq": seq, "numbers": numbers(n)[0]}, y


def plans(n: int) -> dict[str, tuple[Any, Callable[[int], Any]]]:
    """Name -> model whose budget leads to that plan, and its data."""
    # products have no form that tiles know
    one, three, square = Linear() * RBF(0.05), sum(Linear() * RBF(gamma) for gamma in (0.01, 0.05, 0.2)), 8 * n * n
    tiled = RBF(0.01) + RBF(0.05) + RBF(0.2)
    ample = 20 * square + 10**8  # words take some for few samples, too
    words, shifted = WeightedDegree(degree=12), WeightedDegree(degree=8, shift=3)
    lengths = Spectrum(k=4) + Spectrum(k=6) + Spectrum(k=8)
    many = sum(Linear() * RBF(0.01 * 1.02**i) for i in range(300))
    return {
        "tiles": (MKLClassifier(RBF(0.05), memory=square), numbers),
        "tiles, three terms": (MKLClassifier(tiled, memory=4 * square), numbers),
        "tiles, all samples": (MKLRegressor(RBF(0.05), loss="squared", memory=4 * square), numbers),
        "tiles, no matrix": (MKLClassifier(tiled, memory=square / 4 + 5 * 10**6), numbers),
        "double": (MKLClassifier(one, memory=2 * square), numbers),
        "double, three terms": (MKLClassifier(three, memory=6 * square), numbers),
        "double, all samples": (MKLRegressor(one, loss="squared", memory=4 * square), numbers),
        "three, all samples": (MKLRegressor(three, loss="squared", memory=8 * square), numbers),
        "single": (MKLClassifier(one, memory=square), numbers),
        "single, three terms": (MKLClassifier(three, memory=3.5 * square), numbers),
        "single, all samples": (MKLRegressor(one, loss="squared", memory=1.55 * square), numbers),
        "distinct": (MKLClassifier(per_feature(RBF(1.0)), memory=3 * square), grades),
        "learned widths": (MKLClassifier(RBF("learn"), max_iter=20, memory=4 * square + 3 * 10**7), numbers),
        "learned C": (MKLRegressor(one, loss="squared", learn_C=True, memory=6 * square), numbers),
        "rows on demand": (MKLClassifier(one, memory=square / 4 + 10**6), numbers),
        "rows, three terms": (MKLClassifier(three, memory=0.75 * square + 4 * 10**5), numbers),
        "streamed": (MKLClassifier(many, memory=2.1 * 60 * square), numbers),
        "words in place": (MKLClassifier(words, dual="active_set", memory=ample), windows),
        "words, by degree": (MKLClassifier(words.split("degree"), dual="active_set", memory=ample), windows),
        "words with shift": (MKLClassifier(shifted, dual="chunking", memory=ample), windows),
        "listed words": (MKLClassifier(Spectrum(k=6), dual="active_set", memory=ample), windows),
        "listed, long": (MKLClassifier(Spectrum(k=40), dual="active_set", memory=ample), windows),
        "listed, three terms": (MKLClassifier(lengths, dual="active_set", memory=ample), windows),
        "bag of words": (MKLClassifier(BagOfWords(), dual="active_set", memory=ample), texts),
        "listed, mismatches": (MKLClassifier(Mismatch(k=4, mismatches=1), dual="active_set", memory=ample), proteins),
        "words and numbers": (
            MKLClassifier(words.on("seq") + RBF(0.05).on("numbers"), dual="active_set", memory=ample),
            both,
        ),
        "shift and matrix": (
            MKLClassifier(shifted.on("seq") + RBF(0.05).on("numbers"), dual="chunking", memory=ample),
            both,
        ),
    }


def peak_of(name: str, n: int) -> tuple[str, float, float, float]:
    """Return how the kernel is held, printed and measured bytes, and CPU seconds, of a fit in this process."""
    model, make = plans(n)[name]
    small = plans(WARM)[name][0]
    small.fit(*make(WARM))  # loads what is loaded once
    X, y = make(n)
    how, printed = model.memory_needed(X)
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 2**20)  # matrices that are let go are given back, whatever was let go before
    libc.malloc_trim(0)  # what the small fit left behind would hide as much of this one
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the peak starts from here
    before, started = _status("VmRSS"), time.process_time()
    model.fit(X, y)
    return how, printed, _status("VmHWM") - before, time.process_time() - started


def _status(key: str) -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(1024.0 * int(line.split()[1]) for line in file if line.startswith(key + ":"))


def main() -> None:
    """Print a table."""
    if len(sys.argv) == 4 and sys.argv[1] == "one":
        warnings.simplefilter("ignore")
        how, printed, measured, seconds = peak_of(sys.argv[3], int(sys.argv[2]))
        print(f"{sys.argv[3]:22} {sys.argv[2]:>8} {how:32} {printed / 1e6:10.1f} {measured / 1e6:10.1f} "
              f"{measured / printed:7.2f} {seconds:8.1f}")  # fmt: skip
        return
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    print(
        f"{'plan':22} {'samples':>8} {'kernel':32} {'printed MB':>10} {'peak MB':>10} {'ratio':>7} {'CPU s':>8}",
        flush=True,
    )
    for name in sys.argv[2:] or plans(n):
        # few samples where a fit takes n² times the terms or the columns
        size = n // 4 if name in ("streamed", "learned widths") else n
        subprocess.run([sys.executable, __file__, "one", str(size), name], check=True)


if __name__ == "__main__":
    main()
