"""Several views of the same samples: learned weights beside single views and the plain sum, with views missing or not.

python benchmarks/views.py                prints accuracies, and writes the tables into docs/howto/views.md
python benchmarks/views.py tara football  these sets only; the others stay as they are

Five folds; accuracy of the samples left out. Sets that are not there are left out.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from kernelweave import RBF, Kernel, MKLClassifier, MultiView, Precomputed, Spectrum

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))
PAGE = ROOT / "docs" / "howto" / "views.md"
MARKS = "<!-- measured -->", "<!-- end -->"
N_FOLDS, MAX_SAMPLES, LOST = 5, 1000, 0.3
#: How often views are removed at random, and samples are cut into folds; large sets once.
REPEATS, LARGE = 4, 500

Views = dict[str, Any]
Set = tuple[Views, dict[str, Kernel], np.ndarray]


def digits() -> Set:
    """Return handwritten digits, six sets of features."""
    found = np.load(DATA / "mview_mfeat_digits" / "mfeat.npz")
    rows = np.random.default_rng(0).permutation(len(found["y"]))[:MAX_SAMPLES]
    return *_numbers({name: found[name][rows] for name in ("fac", "fou", "kar", "mor", "pix", "zer")}), found["y"][rows]


def tara(target: str) -> Set:
    """Return samples of sea water: physics and chemistry, species, functions of genes."""
    found = np.load(DATA / "mview_tara_oceans" / "tara.npz")
    return *_numbers({name: found[name] for name in ("phychem", "pro_phylo", "pro_nogs")}), found[target]


def _numbers(views: Views) -> tuple[Views, dict[str, Kernel]]:
    views = {name: np.asarray(values, dtype=np.float64) for name, values in views.items()}
    return views, {name: RBF(1.0 / values.shape[1]).standardized() for name, values in views.items()}


def given(name: str) -> Set:
    """Return samples that are known by several given matrices; the ids of samples are the views."""
    found = np.load(DATA / "kernels_precomputed" / f"{name}.npz")
    views = {f"K{m}": np.arange(float(len(found["y"])))[:, None] for m in range(len(found["K"]))}
    matrices = [K.astype(np.float64) for K in found["K"]]
    kernels = {f"K{m}": Precomputed(0.5 * (K + K.T), name=f"K{m}", psd="clip") for m, K in enumerate(matrices)}
    return views, kernels, found["y"]


def proteins() -> Set:
    """Return proteins of which the first and the last 60 letters, and all of them, are views."""
    import pandas as pd

    table = pd.read_csv(DATA / "protein_localisation_multiloc" / "data.csv.gz", keep_default_na=False)
    table = table.sample(MAX_SAMPLES, random_state=0)
    table = table[table["location"].map(table["location"].value_counts()) >= N_FOLDS]
    letters = table["sequence"].to_numpy(dtype=object)
    views = {"head": [s[:60] for s in letters], "tail": [s[-60:] for s in letters], "all": list(letters)}
    column = {name: np.array(values, dtype=object) for name, values in views.items()}
    kernels: dict[str, Kernel] = {name: Spectrum(k=2, alphabet="protein").normalized() for name in views}
    return column, kernels, table["location"].to_numpy(dtype=str)


SETS: dict[str, Callable[[], Set]] = {
    "mfeat digits": digits,
    "TARA oceans, ocean": lambda: tara("ocean"),
    "TARA oceans, depth": lambda: tara("depth"),
    "football (matrices)": lambda: given("football_9view"),
    "texas (matrices)": lambda: given("texas"),
    "washington (matrices)": lambda: given("washington"),
    "MultiLoc proteins": proteins,
}


def removed(views: Views, seed: int) -> Views:
    """Return the same with views missing at random, but every sample has one of them at least."""
    rng, names = np.random.default_rng(seed), list(views)
    n = len(views[names[0]])
    lost = rng.random((n, len(names))) < LOST
    lost[np.arange(n), rng.integers(0, len(names), n)] &= ~lost.all(axis=1)
    out = {}
    for gone, (name, values) in zip(lost.T, views.items(), strict=True):
        where = gone[:, None] if values.ndim == 2 else gone
        out[name] = np.where(where, None if values.dtype == object else np.nan, values)
    return out


def imputed(train: Views, new: Views, seed: int, ids: bool) -> tuple[Views, Views]:
    """Return both with gaps filled: by the means of the columns, or by what any training sample has."""
    rng, out = np.random.default_rng(seed), ({}, {})
    for name, values in train.items():
        known = values[~_gone(values)]
        for filled, some in zip(out, (train[name], new[name]), strict=True):
            gone, some = _gone(some), some.copy()
            drawn = ids or values.dtype == object
            some[gone] = known[rng.integers(0, len(known), gone.sum())] if drawn else known.mean(axis=0)
            filled[name] = some
    return out


def _gone(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return np.array([value is None for value in values])
    return np.isnan(values).all(axis=1)


def rows(views: Views, index: np.ndarray) -> Views:
    """Return some samples of all views."""
    return {name: values[index] for name, values in views.items()}


def score(kernel: Kernel, train: Views, y: np.ndarray, new: Views, truth: np.ndarray, norm: Any = "auto") -> float:
    """Return the accuracy of a machine whose C, and whose weights unless they are fixed, are chosen by itself."""
    model = MKLClassifier(kernel, C="auto", norm=norm, loss="squared").fit(MultiView(train), y)
    return float(model.score(MultiView(new), truth))


def measure(views: Views, kernels: dict[str, Kernel], y: np.ndarray) -> dict[str, float]:
    """Return mean accuracies by the names of the ways."""
    found: dict[str, list[float]] = {}
    kernel = sum(one.on(name) for name, one in kernels.items())
    ids = any(one.reads == "ids" for one in kernels.values())
    for seed in range(REPEATS if len(y) <= LARGE else 1):
        with_gaps = removed(views, seed)
        for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(y, y):

            def add(way: str, *what: Any, **more: Any) -> None:
                found.setdefault(way, []).append(score(*what, **more))

            ends = (rows(views, train), y[train], rows(views, test), y[test])
            for name, one in kernels.items():
                add(f"view {name}", one.on(name), *ends)
            add("plain sum", kernel, *ends, norm="fixed")
            add("learned", kernel, *ends)
            gaps, new = rows(with_gaps, train), rows(with_gaps, test)
            for rule in ("expected", "zero"):
                add(rule, kernel.if_missing(rule), gaps, y[train], new, y[test])
            filled, new = imputed(gaps, new, seed, ids)
            add("imputed", kernel, filled, y[train], new, y[test])
            whole = ~np.logical_or.reduce([_gone(values) for values in gaps.values()])
            if len(set(y[train][whole])) > 1:
                add("dropped", kernel, rows(gaps, whole), y[train][whole], new, y[test])
    return {way: float(np.mean(scores)) for way, scores in found.items()}


WAYS = {"expected": '`if_missing("expected")`', "zero": '`if_missing("zero")`'}
WAYS |= {"imputed": "imputed", "dropped": "rows dropped"}
HEADS = (
    "| data | samples, views | best single view | plain sum | learned weights |",
    "| data | all views | " + " | ".join(WAYS.values()) + " |",
)


def lines_of(name: str, size: str, found: dict[str, float]) -> tuple[str, str]:
    """Return the line of a set in either table: with all views, and what is lost where some are missing."""
    single = {way: value for way, value in found.items() if way.startswith("view ")}
    best = max(single, key=single.__getitem__)
    cells = [f"{single[best]:.3f} ({best[5:]})", f"{found['plain sum']:.3f}", f"{found['learned']:.3f}"]
    losses = [f"−{found['learned'] - found[way]:.3f}" if way in found else "no row is whole" for way in WAYS]
    lost = " | ".join(losses).replace("−-", "+")
    return f"| {name} | {size} | {' | '.join(cells)} |", f"| {name} | {found['learned']:.3f} | {lost} |"


def write(found: dict[str, tuple[str, str]]) -> None:
    """Put the lines of some sets into the page, in place of what it had for them."""
    head, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    body, tail = rest.split(MARKS[1])
    tables = []
    for number, title in enumerate(HEADS):
        rows = {}
        for name in SETS:
            old = [line for line in body.splitlines() if line.startswith(f"| {name} |")]
            if name in found or len(old) == len(HEADS):
                rows[name] = found[name][number] if name in found else old[number]
        tables.append("\n".join([title, "|" + "---|" * (title.count("|") - 1), *rows.values()]))
    PAGE.write_text(head + MARKS[0] + "\n\n" + "\n\n".join(tables) + "\n\n" + MARKS[1] + tail, encoding="utf-8")


def main(names: list[str]) -> None:
    """Measure, print, and write the page, a set at a time."""
    for name, read in SETS.items():
        if names and not any(asked.lower() in name.lower() for asked in names):
            continue
        try:
            views, kernels, y = read()
        except FileNotFoundError:
            print(f"{name}: not there")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes of few members, machines that stop at max_iter
            found = measure(views, kernels, y)
        print(name, {way: round(value, 4) for way, value in found.items()}, flush=True)
        write({name: lines_of(name, f"{len(y):,}, {len(views)}", found)})


if __name__ == "__main__":
    main(sys.argv[1:])
