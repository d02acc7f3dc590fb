"""Probabilities: MKLClassifier(probability=True) beside CalibratedClassifierCV(SVC()), in one run.

python benchmarks/calibration.py             prints the table, and writes it into docs/howto/tables.md
python benchmarks/calibration.py liver pima  these sets only; the others stay as they are

Five folds, drawn ten times (once for more than 500 samples); probabilities of the samples left out. The expected
calibration error is the mean distance of the probability of the class that was said from how often that was right, over
ten bins, by the samples in each. The standard error of a difference is that over samples drawn anew, the same for both.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelweave import MKLClassifier

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))
PAGE = ROOT / "docs" / "howto" / "tables.md"
MARKS = "<!-- calibration -->", "<!-- end of calibration -->"
N_FOLDS, N_BINS, N_DRAWS = 5, 10, 200
#: Times that the folds are drawn; once for more samples than this.
N_REPEATS, MANY = 10, 500
FILES = {"ionosphere": "uci_ionosphere", "liver": "uci_liver", "pima": "uci_pima", "sonar": "uci_sonar"}
SETS = (*FILES, "breast cancer")
WAYS: dict[str, Callable[[], Any]] = {
    "MKLClassifier(probability=True)": lambda: MKLClassifier(probability=True),
    "CalibratedClassifierCV(SVC())": lambda: CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC())),
}


def read(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a set; None where it is not there."""
    import pandas as pd

    if name not in FILES:
        return datasets.load_breast_cancer(return_X_y=True)
    path = DATA / FILES[name] / "data.csv"
    if not path.exists():
        return None
    table = pd.read_csv(path)
    return table.drop(columns="y").to_numpy(dtype=np.float64), table["y"].to_numpy()


def calibration_error(p: np.ndarray, right: np.ndarray) -> float:
    """Return Σ_b n_b / n |mean p − mean right| over bins of equal width."""
    bins = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
    n = np.bincount(bins, minlength=N_BINS)
    off = np.bincount(bins, p, N_BINS) - np.bincount(bins, right, N_BINS)
    return float(np.abs(off).sum() / n.sum())


def measure(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[np.ndarray, float]]:
    """Return probabilities of samples left out, (repeats, samples, classes), and CPU seconds of a fit for every way."""
    repeats = N_REPEATS if len(y) <= MANY else 1
    out = {}
    for label, make in WAYS.items():
        p, seconds = np.empty((repeats, len(y), len(np.unique(y)))), 0.0
        for repeat in range(repeats):
            for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=repeat).split(X, y):
                started = time.process_time()
                model = make().fit(X[train], y[train])
                seconds += time.process_time() - started
                p[repeat, test] = model.predict_proba(X[test])
        out[label] = p, seconds / (N_FOLDS * repeats)
    return out


def figures(p: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return calibration error and log loss, each the mean over repeats."""
    errors = [calibration_error(one.max(axis=1), one.argmax(axis=1) == codes) for one in p]
    return np.array([np.mean(errors), -np.log(p[:, np.arange(len(codes)), codes]).mean()])


def differences(ours: np.ndarray, peer: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much our figures are above the peer's, and standard errors: samples drawn anew, both ways alike."""
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, len(codes), len(codes)) for _ in range(N_DRAWS)]
    found = [figures(ours[:, rows], codes[rows]) - figures(peer[:, rows], codes[rows]) for rows in drawn]
    return figures(ours, codes) - figures(peer, codes), np.std(found, axis=0)


def write(name: str, line: str) -> None:
    """Put the line of a set into the page, in place of what it had for it."""
    title = "| data | samples | " + " | ".join(f"`{way}`" for way in WAYS) + " | difference |"
    head, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    body, tail = rest.split(MARKS[1])
    old = [row for row in body.splitlines() if row.startswith("| ") and not row.startswith("| data |")]
    rows = [line if row.startswith(f"| {name} |") else row for row in old]
    rows += [] if line in rows else [line]
    text = "\n".join([title, "|---|---|" + "---|" * (len(WAYS) + 1), *rows])
    PAGE.write_text(f"{head}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{tail}", encoding="utf-8")


def main(names: list[str]) -> None:
    """Measure, print, and write the page, a set at a time."""
    for name in names or SETS:
        data = read(name)
        if data is None:
            print(f"{name}: not there")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = measure(*data)
        codes = np.unique(data[1], return_inverse=True)[1]
        cells = ["{:.3f}, {:.3f} ({:.2g} s)".format(*figures(p, codes), seconds) for p, seconds in found.values()]
        off, error = differences(*(p for p, _ in found.values()), codes)
        cells.append(", ".join(f"{d:+.3f} ± {e:.3f}".replace("-", "−") for d, e in zip(off, error, strict=True)))
        line = f"| {name} | {len(data[1]):,} | " + " | ".join(cells) + " |"
        print(line, flush=True)
        write(name, line)


if __name__ == "__main__":
    main(sys.argv[1:])
