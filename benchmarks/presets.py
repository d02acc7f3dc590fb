"""Presets beside a simple model, by cross-validation: python benchmarks/presets.py [--sets ...] [--kernel ...].

The simple model: counts of all words of 1 to 6 letters (1 to 3 of proteins), on both strands of binding sites, each
sample of length 1, and scikit-learn's LinearSVC with the best C of four. A kernel has the best C of three, so that
neither side is favoured. The same folds for all. Scores: the area under the ROC curve of two classes, accuracy of
several; processor seconds of all folds together, with all C.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from kernelweave import Kernel, MKLClassifier, parse
from kernelweave.cli.presets import PRESETS

FOLDER = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
COMPLEMENT = str.maketrans("ACGT", "TGCA")

#: Sets: column of the labels, preset, letters of the longest word of the simple model, both strands, most samples.
SETS = {
    "tfbs_nfe2_gkm": ("y", "tf", 6, True, 3000),
    "tfbs_kernel_challenge:0": ("y", "tf", 6, True, 2000),
    "tfbs_kernel_challenge:1": ("y", "tf", 6, True, 2000),
    "tfbs_kernel_challenge:2": ("y", "tf", 6, True, 2000),
    "promoter_ecoli106": ("y", "promoter", 6, False, 3000),
    "promoter_ecoli_sigma70": ("y", "promoter", 6, False, 2000),
    "promoter_arabidopsis": ("y", "promoter", 6, False, 2000),
    "protein_localisation_multiloc": ("location", "protein", 3, False, 1500),
}


def read(name: str, label: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sequences and labels, at random where there are more than `most`; behind a colon, one of several parts."""
    folder, _, part = name.partition(":")
    path = next(FOLDER.joinpath(folder).glob("data.csv*"))
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        rows = [row for row in csv.DictReader(file) if not part or row["dataset"] == part]
    order = np.random.default_rng(0).permutation(len(rows))[:most]
    column = next(key for key in rows[0] if key.lower() == "sequence")
    return (np.array([rows[i][key] for i in order], dtype=object) for key in (column, label))  # type: ignore[return-value]


def score(y: np.ndarray, classes: np.ndarray, values: np.ndarray) -> float:
    if values.ndim == 1:
        return float(roc_auc_score(y == classes[1], values))
    return float(accuracy_score(y, classes[values.argmax(axis=1)]))


def cross_validated(
    fit: Callable[[np.ndarray, np.ndarray, float], object],
    X: np.ndarray,
    y: np.ndarray,
    costs: tuple[float, ...],
    folds: int,
) -> tuple[float, float]:
    """Return the score with the best C, the mean over folds, and processor seconds."""
    start, found = time.process_time(), []
    for C in costs:
        values = []
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
            model = fit(X[train], y[train], C)
            values.append(score(y[test], model.classes_, model.decision_function(X[test])))  # type: ignore[attr-defined]
        found.append(float(np.mean(values)))
    return max(found), time.process_time() - start


def counts(X: np.ndarray, longest: int, both: bool) -> Any:
    texts = [f"{x} {x.translate(COMPLEMENT)[::-1]}" for x in X] if both else list(X)
    words = CountVectorizer(analyzer="char", ngram_range=(1, longest), lowercase=False, dtype=np.float64)
    return normalize(words.fit_transform(texts))


def linear(X: object, y: np.ndarray, C: float) -> LinearSVC:
    return LinearSVC(C=C, dual="auto", max_iter=5000).fit(X, y)


def learned(kernel: Kernel, X: np.ndarray, y: np.ndarray, C: float) -> MKLClassifier:
    return MKLClassifier(kernel, C=C).fit(list(X), y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS), metavar="NAME")
    parser.add_argument("--kernel", nargs="*", default=[], help="kernels to try instead of the preset")
    parser.add_argument("--folds", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in given.sets:
        label, preset, longest, both, most = SETS[name]
        X, y = read(name, label, most)
        print(f"{name}: {len(X):,} sequences, preset {preset}", flush=True)
        table = counts(X, longest, both)

        found = cross_validated(linear, table, y, (0.01, 0.1, 1.0, 10.0), given.folds)
        print(f"    {found[0]:.4f} {found[1]:8.1f} s  words of up to {longest} letters + LinearSVC", flush=True)
        for text in given.kernel or [PRESETS[preset].kernel or ""]:
            found = cross_validated(partial(learned, parse(text)), X, y, (0.3, 1.0, 3.0), given.folds)
            print(f"    {found[0]:.4f} {found[1]:8.1f} s  {text}", flush=True)


if __name__ == "__main__":
    main()
