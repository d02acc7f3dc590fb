"""The performance of every version, as ratios against a peer in the same run: a slower release is seen.

python benchmarks/history.py              measures, and prints the table with all versions so far
python benchmarks/history.py --record     the same, and adds a line for this version to benchmarks/history.csv

Seconds depend on the machine and on who else uses it; ratios of two measurements taken in turns depend on it much less.
So every figure is CPU seconds here divided by CPU seconds of a peer (scikit-learn), the median of several turns. One
that grows by more than a fifth from a version to the next deserves a look. All of it takes less than four minutes.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import kernelweave as kw
from kernelweave.datasets import make_splice_sites

RESULTS = Path(__file__).with_name("history.csv")
#: Turns of a case: as many as end within so many seconds, but at least and at most so many.
SECONDS, FEWEST, MOST = 25.0, 3, 7
#: A ratio that is so many times that of the version before is marked.
SLOWER = 1.2

Work = Callable[[], object]


def one_kernel() -> tuple[Work, Work]:
    """One RBF kernel on 4,000 rows beside SVC."""
    X, y = make_classification(4000, 20, n_informative=8, flip_y=0.05, random_state=0)
    ours = kw.MKLClassifier(kw.RBF(0.05), C=1.0, norm="fixed", scaling=None)
    return lambda: ours.fit(X, y), lambda: SVC(gamma=0.05, C=1.0, cache_size=1000).fit(X, y)


def ten_widths() -> tuple[Work, Work]:
    """Ten widths learned on 1,000 rows beside one SVC."""
    X, y = make_classification(1000, 20, n_informative=8, flip_y=0.05, random_state=0)
    ours = kw.MKLClassifier(sum(kw.RBF(gamma) for gamma in np.geomspace(0.001, 10, 10)))
    return lambda: ours.fit(X, y), lambda: SVC(gamma=0.05, cache_size=1000).fit(X, y)


def predictions() -> tuple[Work, Work]:
    """5,000 decision values of one RBF kernel beside SVC."""
    X, y = make_classification(5000, 20, n_informative=8, flip_y=0.2, random_state=0)
    ours = kw.MKLClassifier(kw.RBF(0.05), norm="fixed", scaling=None).fit(X[:2000], y[:2000])
    peer = SVC(gamma=0.05).fit(X[:2000], y[:2000])
    return lambda: ours.decision_function(X), lambda: peer.decision_function(X)


def windows() -> tuple[Work, Work]:
    """20,000 windows of DNA under a weighted degree kernel beside counted words with LinearSVC."""
    X, y = make_splice_sites(20_000, random_state=0)
    texts = [str(text) for text in X]
    ours = kw.MKLClassifier(kw.WeightedDegree(degree=10).normalized(), norm="fixed")

    def peer() -> object:
        words = CountVectorizer(analyzer="char", ngram_range=(5, 5), lowercase=False).fit_transform(texts)
        return LinearSVC(dual=False).fit(words, y)

    return lambda: ours.fit(X, y), peer


def a_table() -> tuple[Work, Work]:
    """`MKLClassifier()` on a table of 500 rows beside a search over SVC."""
    X, y = make_classification(500, 10, n_informative=5, flip_y=0.1, random_state=0)

    def peer() -> object:
        from sklearn.model_selection import GridSearchCV

        return GridSearchCV(SVC(), {"C": [0.1, 1, 10, 100], "gamma": [0.001, 0.01, 0.1, 1]}, cv=5).fit(X, y)

    return lambda: kw.MKLClassifier().fit(X, y), peer


CASES = {case.__name__: case for case in (one_kernel, ten_widths, predictions, windows, a_table)}


def seconds(work: Work) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def ratio(case: Callable[[], tuple[Work, Work]]) -> float:
    """The median ratio of ours to the peer, measured in turns after one call each, which may compile."""
    ours, peer = case()
    ours(), peer()
    found: list[float] = []
    start = time.monotonic()
    while len(found) < FEWEST or (len(found) < MOST and time.monotonic() < start + SECONDS):
        found.append(seconds(ours) / max(seconds(peer), 1e-4))
    return median(found)


def recorded() -> list[dict[str, str]]:
    """The versions so far, the oldest first."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(rows: list[dict[str, str]]) -> str:
    """All versions as Markdown; what became slower is marked."""
    lines = [
        "| version | " + " | ".join(name.replace("_", " ") for name in CASES) + " |",
        "|---" * (len(CASES) + 1) + "|",
    ]
    before: dict[str, str] = {}
    for row in rows:
        cells = []
        for name in CASES:
            now, then = row.get(name) or "", before.get(name) or ""
            cells.append(now + (" **slower**" if now and then and float(now) > SLOWER * float(then) else ""))
        lines.append(f"| {row['version']} | " + " | ".join(cells) + " |")
        before = row
    return "\n".join(lines)


def main() -> None:
    """Measure this version, and print it below the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep the line")
    options = parser.parse_args()
    with threadpool_limits(1):
        found = {"version": kw.__version__} | {name: f"{ratio(case):.3g}" for name, case in CASES.items()}
    rows = [row for row in recorded() if row["version"] != found["version"]] + [found]
    if options.record:
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["version", *CASES], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print(table(rows))


if __name__ == "__main__":
    main()
