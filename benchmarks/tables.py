"""Real tables without any argument: MKLClassifier() and MKLRegressor() beside the usual models, in one run.

python benchmarks/tables.py            prints the tables, and writes them into docs/howto/tables.md
python benchmarks/tables.py iris wine  these sets only, and writes nothing

Five folds; accuracy or R² of the samples left out, and CPU seconds of a fit. Sets that are not there are left out.
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
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from kernelweave import MKLClassifier, MKLRegressor

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))
PAGE = ROOT / "docs" / "howto" / "tables.md"
MARKS = "<!-- measured -->", "<!-- end -->"
N_FOLDS, MAX_SAMPLES = 5, 2000

#: Sets of scikit-learn, and files: name, path, target.
OWN = {"iris": "iris", "wine": "wine", "breast cancer": "breast_cancer", "digits": "digits", "diabetes": "diabetes"}
FILES = {
    "ionosphere": ("uci_ionosphere/data.csv", "y"),
    "liver": ("uci_liver/data.csv", "y"),
    "pima": ("uci_pima/data.csv", "y"),
    "sonar": ("uci_sonar/data.csv", "y"),
    "wpbc (with gaps)": ("uci_wpbc/data.csv", "y"),
    "airfoil": ("uci_airfoil/data.csv", "y"),
    "energy, heating": ("uci_energy/data.csv", "y_heat"),
    "energy, cooling": ("uci_energy/data.csv", "y_cool"),
    "slump, strength": ("uci_slump/data.csv", "y_strength"),
    "communities": ("uci_communities/data.csv.gz", "y"),
}
NUMBERS = ("diabetes", "airfoil", "energy, heating", "energy, cooling", "slump, strength", "communities")


def read(name: str) -> tuple[Any, np.ndarray] | None:
    """Return a set as a table and targets; None where it is not there."""
    import pandas as pd

    if name in OWN:
        found = getattr(datasets, f"load_{OWN[name]}")(as_frame=True)
        return found.data, found.target.to_numpy(float if name in NUMBERS else None)
    path, target = FILES[name]
    if not (DATA / path).exists():
        return None
    table = pd.read_csv(DATA / path)
    targets = [column for column in table if column == "y" or column.startswith("y_")]
    rows = table.sample(min(len(table), MAX_SAMPLES), random_state=0).sort_index()
    return rows.drop(columns=targets), rows[target].to_numpy()


def models(numbers: bool) -> dict[str, Callable[[], Any]]:
    """Return the models side by side; the support vector machine needs gaps filled before it."""
    from sklearn.impute import SimpleImputer

    if numbers:
        return {
            "MKLRegressor()": MKLRegressor,
            "scaled SVR": lambda: make_pipeline(SimpleImputer(), StandardScaler(), SVR()),
            "random forest": lambda: RandomForestRegressor(random_state=0),
            "gradient boosting": lambda: HistGradientBoostingRegressor(random_state=0),
        }
    return {
        "MKLClassifier()": MKLClassifier,
        "scaled SVC": lambda: make_pipeline(SimpleImputer(), StandardScaler(), SVC()),
        "random forest": lambda: RandomForestClassifier(random_state=0),
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    }


def measure(name: str, X: Any, y: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the mean score and the CPU seconds of a fit for every model."""
    numbers = name in NUMBERS
    splitter = (KFold if numbers else StratifiedKFold)(N_FOLDS, shuffle=True, random_state=0)
    folds, out = list(splitter.split(X, y)), {}
    for label, make in models(numbers).items():
        scores, seconds = [], 0.0
        for train, test in folds:
            started = time.process_time()
            model = make().fit(X.iloc[train], y[train])
            seconds += time.process_time() - started
            scores.append(model.score(X.iloc[test], y[test]))
        out[label] = float(np.mean(scores)), seconds / len(folds)
    return out


def table(rows: dict[str, dict[str, tuple[float, float]]], shapes: dict[str, tuple[int, int]]) -> str:
    """Return results as Markdown: scores with the best in bold, seconds, and mean scores and ranks below."""
    labels = list(next(iter(rows.values())))
    lines = ["| data | samples × columns | " + " | ".join(labels) + " |", "|---|---|" + "---|" * len(labels)]
    ranks = []
    for name, row in rows.items():
        best = max(round(score, 3) for score, _ in row.values())
        cells = [
            f"{'**' * (round(s, 3) == best)}{s:.3f}{'**' * (round(s, 3) == best)} ({t:.2g} s)" for s, t in row.values()
        ]
        lines.append(f"| {name} | {shapes[name][0]:,} × {shapes[name][1]} | " + " | ".join(cells) + " |")
        scores = np.array([round(score, 3) for score, _ in row.values()])
        ranks.append([1 + (scores > score).sum() + 0.5 * ((scores == score).sum() - 1) for score in scores])
    means = np.mean([[score for score, _ in row.values()] for row in rows.values()], axis=0)
    lines.append("| mean | | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    lines.append("| median rank | | " + " | ".join(f"{rank:.3g}" for rank in np.median(ranks, axis=0)) + " |")
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    """Measure, print, and write the page where all sets were asked for."""
    found: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    shapes: dict[str, tuple[int, int]] = {}
    for name in names or [*OWN, *FILES]:
        data = read(name)
        if data is None:
            print(f"{name}: not there")
            continue
        shapes[name] = data[0].shape
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # nobody could act on a warning here
            found[name in NUMBERS][name] = measure(name, *data)
        print(
            name,
            {label: f"{score:.4f} {seconds:.2f} s" for label, (score, seconds) in found[name in NUMBERS][name].items()},
            flush=True,
        )
    titles = {False: "### Classes: accuracy", True: "### Numbers: R²"}
    text = "\n".join(f"{titles[kind]}\n\n{table(rows, shapes)}" for kind, rows in found.items() if rows)
    print(text)
    if not names:
        head, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
        PAGE.write_text(f"{head}{MARKS[0]}\n\n{text}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
