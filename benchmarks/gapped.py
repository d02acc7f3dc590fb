"""Gapped k-mers: python benchmarks/gapped.py [--quick].

NF-E2 peaks of the data folder (1,288 to train, 138 to test, 59 to 247 letters) where they are at hand, sequences with a
planted motif otherwise. Processor seconds, the best of several: the matrix, a table of all words against the products
with that matrix, training, what the support sequences take to be added up, and prediction.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from kernelweave import GappedKmer, Mismatch, MKLClassifier, Spectrum
from kernelweave.gram import WordTableGram
from kernelweave.views import as_views

FOLDER = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
GKM = GappedKmer(11, 7, True, "dna", filter="truncated", max_mismatches=3)
KERNELS = {
    "gapped, as -t 0 -d 4 of LS-GKM": GappedKmer(11, 7, True, "dna").normalized(),
    "truncated, as -t 2": GKM.normalized(),
    "centred, as -t 4, its default": GappedKmer(
        11, 7, True, "dna", filter="truncated", max_mismatches=3, center_weight=50
    ).normalized(),
}

Samples = tuple[list[str], np.ndarray, list[str], np.ndarray]


def best(work: Callable[[], Any], repeats: int = 2) -> tuple[Any, float]:
    """What some work gives, and the shortest of several times."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return result, min(times)


def planted(n: int, seed: int = 0, length: int = 200) -> tuple[list[str], np.ndarray]:
    """Sequences, half of them with TGACTCAGCA on either strand, each letter wrong with a probability of 0.12."""
    rng, y = np.random.default_rng(seed), np.where(np.arange(n) % 2, 1, -1)
    codes, motif = rng.integers(0, 4, (n, length)), np.array([3, 2, 0, 1, 3, 1, 0, 2, 1, 0])
    for i in np.flatnonzero((y > 0) | (rng.random(n) < 0.1)):
        place, wrong = rng.integers(0, length - 10), rng.random(10) < 0.12
        word = np.where(wrong, rng.integers(0, 4, 10), motif)
        codes[i, place : place + 10] = word if rng.random() < 0.5 else 3 - word[::-1]
    return ["".join("ACGT"[code] for code in row) for row in codes], y


def peaks() -> Samples:
    path = FOLDER / "tfbs_nfe2_gkm" / "data.csv.gz"
    if not path.exists():
        print(f"no peaks at {path}: planted motifs instead")
        return *planted(1288), *planted(138, 1)
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    found: list[Any] = []
    for part in (True, False):
        some = [row for row in rows if (row["split"] == "train") == part]
        found += [[row["sequence"] for row in some], np.array([int(row["y"]) for row in some])]
    return found[0], found[1], found[2], found[3]


def machines(samples: Samples, repeats: int) -> None:
    X, y, asked, truth = samples
    print(f"{len(X):,} sequences to train, {len(asked)} to predict: processor seconds")
    for name, kernel in KERNELS.items():
        K, matrix = best(lambda kernel=kernel: kernel(X), repeats)
        gram, coef, one = WordTableGram([kernel], as_views(X)), y * 1.0, np.ones(1)
        gram.apply(coef, one)  # reads the words
        f, table = best(lambda gram=gram, coef=coef, one=one: gram.apply(coef, one), repeats)
        error = np.abs(f - K @ coef).max() / np.abs(f).max()
        model, fit = best(lambda kernel=kernel: MKLClassifier(kernel, norm="fixed").fit(X, y), repeats)
        _, adding = best(lambda model=model: model.compile(), 1)
        values, predict = best(lambda model=model: model.decision_function(asked), 3)
        print(
            f"    {name}: matrix {matrix:.2f}, product by table {table:.2f} (off by {error:.0e}), fit {fit:.2f}, "
            f"compile {adding:.2f}, predict {predict:.3f}, AUC {roc_auc_score(truth, values):.4f}",
            flush=True,
        )


def several(samples: Samples) -> None:
    X, y, asked, truth = samples
    kernel = GappedKmer(6, 4, True, "dna") + GappedKmer(8, 6, True, "dna") + Spectrum(6, alphabet="dna")
    terms = sum(term.normalized() for term in kernel.kernels)  # type: ignore[attr-defined]
    model, fit = best(lambda: MKLClassifier(terms).fit(X, y), 1)
    weights = ", ".join(f"{weight:.2f}" for weight in model.weights_)
    auc = roc_auc_score(truth, model.decision_function(asked))
    print(f"    MKL over {terms!r}: fit {fit:.2f}, weights {weights}, AUC {auc:.4f}", flush=True)


def peak() -> float:
    """The largest memory of this process in MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def larger(n: int) -> None:
    """Training without a matrix, and predictions of 10,000."""
    X, y = planted(n)
    asked, truth = planted(10_000, 1)
    model, fit = best(lambda: MKLClassifier(GKM.normalized(), norm="fixed", dual="chunking").fit(X, y), 1)
    model.compile()
    values, predict = best(lambda: model.decision_function(asked), 1)
    print(
        f"{n:,} planted sequences by chunking: fit {fit:.1f} ({len(model.support_):,} support, gap {model.gap_:.1e}), "
        f"predict 10,000 {predict:.2f}, AUC {roc_auc_score(truth, values):.4f}, at most {peak():.0f} MB so far",
        flush=True,
    )


def proteins(n: int) -> None:
    """A mismatch kernel on random proteins of 400 letters."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 400)) for _ in range(n)]
    kernel = Mismatch(5, 1, "protein")
    kernel(X[:10])
    _, matrix = best(lambda: kernel(X), 2)
    print(f"{kernel!r} on {n:,} proteins of 400 letters: matrix {matrix:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repeat, and no large sets")
    parser.add_argument("--larger", type=int, nargs="*", default=[4000], help="sizes of sets trained without a matrix")
    parser.add_argument("--only-larger", action="store_true", help="nothing but these")
    given = parser.parse_args()
    if given.only_larger:
        for n in given.larger:
            larger(n)
        return
    samples = peaks()
    few = samples[0][::20], samples[1][::20]
    for kernel in KERNELS.values():  # compile
        MKLClassifier(kernel, norm="fixed").fit(*few).compile().decision_function(samples[2][:2])
    machines(samples, 1 if given.quick else 2)
    several(samples)
    proteins(500 if given.quick else 2000)
    for n in () if given.quick else given.larger:
        larger(n)


if __name__ == "__main__":
    main()
