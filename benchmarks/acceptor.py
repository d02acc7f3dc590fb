"""Real splice sites: python benchmarks/acceptor.py [--samples N] [--jobs N].

Acceptor sites of C. elegans, windows of 141 letters: weighted degree kernels of degree 20, of degree 10 with shifts,
and of ten degrees by MKL, C = 1, against positional Markov chains and a linear machine on hashed positional words. The
data folder is KERNELWEAVE_DATA, or ../shared/data beside the project.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from kernelweave import MKLClassifier, PositionalMarkovChain, WeightedDegree

ROOT = Path(__file__).resolve().parents[1]
#: Dual objectives at these sizes, computed by other software.
REFERENCE = {2_000: 93.6335, 10_000: 370.8386, 30_000: 893.623, 100_000: 2230.824}


def read(name: str, limit: int | None = None) -> tuple[list[str], np.ndarray] | None:
    """Return sequences and labels of a file, or None where it is not at hand."""
    folder = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))
    path = folder / "celegans_acceptor" / name
    if not path.exists():
        print(f"Left out: there is no {path}; set KERNELWEAVE_DATA to the data folder.")
        return None
    with gzip.open(path, "rt", newline="") as file:
        rows = [row for _, row in zip(range(limit or 10**9), csv.DictReader(file), strict=False)]
    return [row["sequence"] for row in rows], np.array([int(row["label"]) for row in rows])


class HashedWords:
    """LinearSVC on all words of 1 to 6 letters with their places, hashed to 2^20 columns."""

    def fit(self, sequences: list[str], y: np.ndarray) -> HashedWords:
        from sklearn.svm import LinearSVC

        self.machine = LinearSVC(C=0.01).fit(self.columns(sequences), y)
        return self

    def decision_function(self, sequences: list[str]) -> np.ndarray:
        return self.machine.decision_function(self.columns(sequences))

    def columns(self, sequences: list[str]) -> Any:
        from scipy.sparse import csr_array

        codes = np.array([np.frombuffer(one.encode(), np.uint8) for one in sequences]).astype(np.int64) % 8
        n, length = codes.shape
        places, parts, word = np.arange(length), [], np.zeros_like(codes)
        for k in range(1, 7):
            word = word[:, : length - k + 1] * 8 + codes[:, k - 1 :] if k > 1 else codes
            mixed = (word * 141 + places[: length - k + 1]) * 7 + k
            parts.append((mixed * 2654435761 >> 7) % 2**20)
        columns = np.concatenate(parts, axis=1).astype(np.int32)
        starts = np.arange(n + 1, dtype=np.int32) * columns.shape[1]
        return csr_array((np.ones(columns.size), columns.ravel(), starts.astype(np.int32)), shape=(n, 2**20))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    train, test = read("train141.csv.gz", options.samples), read("test141.csv.gz")
    if train is None or test is None:
        return
    machine = MKLClassifier(
        WeightedDegree(degree=20).normalized(), C=1.0, norm="fixed", scaling=None, tol=1e-5, n_jobs=options.jobs
    )
    MKLClassifier(WeightedDegree(degree=20).normalized(), norm="fixed").fit(train[0][:500], train[1][:500])  # compiles
    options_of_all = {"C": 1.0, "scaling": None, "n_jobs": options.jobs}
    shifted = MKLClassifier(WeightedDegree(degree=10, shift=3).normalized(), norm="fixed", **options_of_all)
    degrees = MKLClassifier(WeightedDegree(degree=10).split("degree"), C=1.0, n_jobs=options.jobs)
    models = [("weighted degree", machine), ("degree 10, shift 3", shifted), ("MKL over degrees", degrees)]
    models += [("hashed words", HashedWords())]
    models += [(f"Markov chain, {order}", PositionalMarkovChain(order=order)) for order in (4, 1)]
    print(f"{len(train[1]):,} windows to learn from ({(train[1] > 0).mean():.1%} sites), {len(test[1]):,} to judge by")
    for name, model in models:
        _, fitting = timed(lambda: model.fit(*train))  # noqa: B023
        scores, scoring = timed(lambda: model.decision_function(test[0]))  # noqa: B023
        print(
            f"{name:<18} auROC {roc_auc_score(test[1] > 0, scores):.4f}  "
            f"auPRC {average_precision_score(test[1] > 0, scores):.4f}  "
            f"fit {fitting:.2f} s  predict {scoring:.2f} s"
        )
    print(f"dual objective {machine.lower_bound_:.4f}, gap {machine.gap_:.1e}, {len(machine.support_)} support windows")
    if options.samples in REFERENCE:
        away = abs(machine.lower_bound_ - REFERENCE[options.samples])
        print(f"    reference {REFERENCE[options.samples]}: {away:.4f} away ({'yes' if away <= 0.02 else 'NO'})")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
