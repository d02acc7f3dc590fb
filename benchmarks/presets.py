"""Presets beside simple models, by cross-validation: python benchmarks/presets.py [--sets ...] [--write].

Linear: scikit-learn's LinearSVC on counts of all words of 1 to 6 letters (1 to 3 of proteins), on both strands of
binding sites, each sample of length 1; where all sequences have one length, also on words with their places, hashed;
the better of both. Trees: LightGBM (pip install lightgbm) on the letters at every place where all sequences have one
length, else on counts of words of 1 to 4 letters (2 of proteins: also of the first 60 and the last 40). Every model has
the best C of three (trees: the best number of leaves), by the same folds. Scores: the area under the precision-recall
curve of two classes, the accuracy of several; processor seconds of all folds together, with all C.

What was found is kept in docs/reference/presets.json; --write puts it into the table of
docs/reference/command_line.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from acceptor import HashedWords
from scipy.sparse import hstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import accuracy_score, average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from kernelweave import Kernel, MKLClassifier, parse
from kernelweave.cli.presets import PRESETS

ROOT = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))
RESULTS, PAGE = ROOT / "docs" / "reference" / "presets.json", ROOT / "docs" / "reference" / "command_line.md"
BEGIN, END = "<!-- presets: begin -->\n", "<!-- presets: end -->\n"
CHALLENGE, MULTILOC = "tfbs_kernel_challenge/data.csv.gz", "protein_localisation_multiloc/data.csv.gz"
COMPLEMENT = str.maketrans("ACGT", "TGCA")


class Set(NamedTuple):
    """A set of sequences: what it is, and how it is read."""

    about: str
    path: str
    label: str
    preset: str
    most: int
    longest: int = 6
    both: bool = False
    part: str = ""


SETS = {
    "acceptor": Set("acceptor sites of *C. elegans*", "celegans_acceptor/train141.csv.gz", "label", "splice", 10_000),
    "ws220": Set("acceptor sites, whole genome", "splice_celegans_ws220/train.csv.gz", "label", "splice", 10_000),
    "human": Set("human acceptor sites", "splice_human_hg19/windows.csv.gz", "label", "splice", 20_000),
    "junctions": Set("splice junctions, 3 classes", "uci_splice_junction/data.csv.gz", "class", "splice", 3_190),
    "ecoli106": Set("promoters of *E. coli*", "promoter_ecoli106/data.csv", "y", "promoter", 106),
    "sigma70": Set("σ70 promoters of *E. coli*", "promoter_ecoli_sigma70/data.csv.gz", "y", "promoter", 2_000),
    "arabidopsis": Set("promoters of *A. thaliana*", "promoter_arabidopsis/data.csv.gz", "y", "promoter", 2_000),
    "nfe2": Set("NF-E2 peaks", "tfbs_nfe2_gkm/data.csv.gz", "y", "tf", 1_426, both=True),
    "challenge-0": Set("a factor of a course challenge", CHALLENGE, "y", "tf", 2_000, both=True, part="0"),
    "challenge-1": Set("another one", CHALLENGE, "y", "tf", 2_000, both=True, part="1"),
    "challenge-2": Set("a third one", CHALLENGE, "y", "tf", 2_000, both=True, part="2"),
    "multiloc": Set("11 places of proteins (MultiLoc)", MULTILOC, "location", "protein", 1_500, 3),
    "sms": Set("messages, spam or not", "text_sms_spam/data.csv.gz", "y", "text", 2_000, 5),
}  # fmt: skip


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return sequences and labels, each sequence once, at random where there are many."""
    one = SETS[name]
    path = FOLDER / one.path
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else open(path, newline="") as file:
        rows = [row for row in csv.DictReader(file) if not one.part or row["dataset"] == one.part]
    column = next(key for key in rows[0] if key.lower() in ("sequence", "text"))
    found = {row[column]: row[one.label] for row in rows}
    order = np.random.default_rng(0).permutation(len(found))[: one.most]
    texts, labels = list(found), list(found.values())
    return tuple(np.array([values[i] for i in order], dtype=object) for values in (texts, labels))  # type: ignore[return-value]


def score(y: np.ndarray, classes: np.ndarray, values: np.ndarray) -> float:
    if values.ndim == 1:
        return float(average_precision_score(y == classes[1], values))
    return float(accuracy_score(y, classes[values.argmax(axis=1)]))


def cross_validated(
    fit: Callable[[Any, np.ndarray, float], Any], X: Any, y: np.ndarray, costs: tuple[float, ...], folds: int
) -> tuple[float, float, float]:
    """Return the score with the best cost, the mean over folds; processor seconds; and that cost."""
    start, found = time.process_time(), []
    for C in costs:
        values = []
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
            model = fit(X[train], y[train], C)
            values.append(score(y[test], model.classes_, decisions(model, X[test])))
        found.append(float(np.mean(values)))
    return max(found), time.process_time() - start, costs[int(np.argmax(found))]


def decisions(model: Any, X: Any) -> np.ndarray:
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    p = model.predict_proba(X)
    return p[:, 1] if p.shape[1] == 2 else p


# -- what simple models see --------------------------------------------------------------------------------------------


def counts(X: np.ndarray, longest: int, both: bool) -> Any:
    texts = [f"{x} {x.translate(COMPLEMENT)[::-1]}" for x in X] if both else list(X)
    words = CountVectorizer(analyzer="char", ngram_range=(1, longest), lowercase=False, dtype=np.float64)
    return normalize(words.fit_transform(texts))


def letters(X: np.ndarray) -> np.ndarray:
    """Return the letters at every place, as numbers."""
    return np.array([np.frombuffer(x.encode(), np.uint8) for x in X]).astype(np.int32)


def for_trees(name: str, X: np.ndarray) -> Any:
    one = SETS[name]
    if have_one_length(X):
        return letters(X)
    longest = min(one.longest, 2 if one.preset == "protein" else 4)
    if one.preset != "protein":
        return counts(X, longest, one.both).tocsr()
    parts = [
        counts(np.array([x[cut] for x in X]), longest, False) for cut in (slice(None), slice(60), slice(-40, None))
    ]
    return hstack(parts).tocsr()


def have_one_length(X: np.ndarray) -> bool:
    return len({len(x) for x in X}) == 1


def linear(X: Any, y: np.ndarray, C: float) -> LinearSVC:
    return LinearSVC(C=C, dual="auto", max_iter=5000).fit(X, y)


def trees(X: Any, y: np.ndarray, n_leaves: float) -> Any:
    from lightgbm import LGBMClassifier

    places = "auto" if not isinstance(X, np.ndarray) else list(range(X.shape[1]))
    model = LGBMClassifier(
        n_estimators=200, num_leaves=int(n_leaves), learning_rate=0.05, min_child_samples=10, n_jobs=1, verbose=-1,
        min_data_per_group=10, cat_smooth=1.0,
    )  # fmt: skip
    return model.fit(X, y, categorical_feature=places)


def learned(kernel: Kernel, X: np.ndarray, y: np.ndarray, C: float) -> MKLClassifier:
    return MKLClassifier(kernel, C=C).fit(list(X), y)


# -- the table ---------------------------------------------------------------------------------------------------------


def measure(name: str, kernels: list[str], folds: int) -> dict[str, Any]:
    """Print the scores of all models on one set, and return them."""
    one, (X, y) = SETS[name], read(name)
    print(f"{name}: {len(X):,} sequences, preset {one.preset}", flush=True)
    found: dict[str, Any] = {"n": len(X), "folds": folds, "several": len(set(y)) > 2}

    def say(what: str, key: str, result: tuple[float, float, float]) -> None:
        print(f"    {result[0]:.4f} {result[1]:8.1f} s  {what} ({result[2]:g})", flush=True)
        found[key] = max(result[0], found.get(key, 0.0))
        found[f"{key}_seconds"] = found.get(f"{key}_seconds", 0.0) + result[1]

    for text in kernels or [PRESETS[one.preset].kernel or ""]:
        say(text, "preset", cross_validated(partial(learned, parse(text)), X, y, (0.5, 2.0, 8.0), folds))
    if kernels:
        return found
    words = counts(X, one.longest, one.both)
    say(f"words of up to {one.longest} letters + LinearSVC", "linear",
        cross_validated(linear, words, y, (0.1, 1.0, 10.0), folds))  # fmt: skip
    if have_one_length(X):
        placed = normalize(HashedWords().columns(list(X)))
        say("words in their places + LinearSVC", "linear",
            cross_validated(linear, placed, y, (0.1, 1.0, 10.0), folds))  # fmt: skip
    try:
        say("LightGBM", "trees", cross_validated(trees, for_trees(name, X), y, (7.0, 15.0, 31.0), folds))
    except ModuleNotFoundError as error:
        print(f"    left out: {error}; pip install lightgbm")
    return found


def found_before() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def table(results: dict[str, Any]) -> str:
    """Return the table of the page."""
    lines = ["| data | samples | preset | its score | words + linear | LightGBM |", "|---|---|---|---|---|---|"]
    for name, one in SETS.items():
        if name in results:
            found = results[name]
            best = max(found.get(key, 0.0) for key in ("preset", "linear", "trees"))
            cells = [_cell(found.get(key), best) for key in ("preset", "linear", "trees")]
            lines.append(f"| {one.about} | {found['n']:,} | `{one.preset}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(value: float | None, best: float) -> str:
    if value is None:
        return ""
    text = f"{value:.3f}".removeprefix("0")
    return f"**{text}**" if value >= best - 5e-4 else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS), metavar="NAME")
    parser.add_argument("--kernel", nargs="*", default=[], help="kernels to try instead of the preset")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="only put what was found into the page")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    if given.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(before + BEGIN + "\n" + table(found_before()) + "\n" + END + rest.partition(END)[2])
        return
    for name in given.sets:
        if not (FOLDER / SETS[name].path).exists():
            print(f"Left out: there is no {FOLDER / SETS[name].path}; set KERNELWEAVE_DATA to the data folder.")
            continue
        found = measure(name, given.kernel, given.folds)
        if not given.kernel:
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps({**found_before(), name: found}, indent=1))


if __name__ == "__main__":
    main()
