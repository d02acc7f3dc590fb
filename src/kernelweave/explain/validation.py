"""How good decision values are on samples that were left out, and how sure of that one may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Repetitions of a bootstrap, and the share of them inside of an interval.
REPEATS, LEVEL = 1000, 0.95
#: With fewer groups than this in a fold, drawing whole groups says little.
FEWEST_GROUPS = 5

Measure = Callable[[np.ndarray, np.ndarray], float]


def auroc(positive: np.ndarray, decision: np.ndarray) -> float:
    """Return the chance that a positive scores higher than a negative; half of it where they tie."""
    from scipy.stats import rankdata

    n = int(positive.sum())
    if not 0 < n < len(positive):
        return float("nan")
    ranks = rankdata(decision)
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n)))


def auprc(positive: np.ndarray, decision: np.ndarray) -> float:
    """Return the average precision: Σ over thresholds of precision · what the recall grows by."""
    n = int(positive.sum())
    if not n:
        return float("nan")
    order = np.argsort(-decision, kind="stable")
    last = np.flatnonzero(np.append(np.diff(decision[order]) != 0, True))  # ties are passed together
    hits = np.cumsum(positive[order])[last]
    return float(np.sum(hits / (last + 1) * np.diff(hits, prepend=0)) / n)


def mcc(positive: np.ndarray, decision: np.ndarray) -> float:
    """Return Matthews' correlation of being positive with a decision value above 0; 0 where one of them is constant."""
    called = decision > 0
    tp, fp = float(np.sum(called & positive)), float(np.sum(called & ~positive))
    fn, tn = float(np.sum(~called & positive)), float(np.sum(~called & ~positive))
    spread = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return float((tp * tn - fp * fn) / spread) if spread > 0 else 0.0


#: Measures for two classes, by name; the first is the one to choose by.
MEASURES: dict[str, Measure] = {"auROC": auroc, "auPRC": auprc, "MCC": mcc}


@dataclass(frozen=True)
class Fold:
    """Samples that were left out together: which of them are positive, their decision values, and their groups."""

    positive: np.ndarray
    decision: np.ndarray
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class Interval:
    """Where a measure lies in 95 of 100 drawings of the samples; `over` says what was drawn."""

    low: float
    high: float
    over: str


def intervals(
    folds: Sequence[Fold], measures: dict[str, Measure] = MEASURES, *, repeats: int = REPEATS, random_state: Any = 0
) -> dict[str, Interval]:
    """Return a confidence interval for the mean of every measure over the folds, by the bootstrap.

    In every fold samples are drawn with replacement, as many as there are: by whole groups where every fold has at
    least five of them, else one by one within each class. The interval holds the middle 95 % of the means.

    Parameters
    ----------
    folds : sequence of Fold
    measures : dict of name to function of (positive, decision)
    repeats : int
    random_state : int or Generator

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positive = np.arange(200) % 2 == 0
    >>> fold = Fold(positive, positive + rng.normal(size=200))
    >>> found = intervals([fold])["auROC"]
    >>> found.low < auroc(fold.positive, fold.decision) < found.high, found.over
    (True, 'samples')
    """
    rng = np.random.default_rng(random_state)
    whole = all(fold.groups is not None and len(np.unique(fold.groups)) >= FEWEST_GROUPS for fold in folds)
    draws = [_by_group(fold) if whole else _by_class(fold) for fold in folds]
    values = np.empty((repeats, len(measures)))
    for row in values:
        chosen = [draw(rng) for draw in draws]
        parts = [(fold.positive[i], fold.decision[i]) for fold, i in zip(folds, chosen, strict=True)]
        row[:] = [_mean([measure(*part) for part in parts]) for measure in measures.values()]
    edges = (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)
    over = "groups" if whole else "samples"
    found = {}
    for name, column in zip(measures, values.T, strict=True):
        known = column[np.isfinite(column)]
        low, high = np.quantile(known, edges) if len(known) else (np.nan, np.nan)
        found[name] = Interval(float(low), float(high), over)
    return found


def _mean(values: list[float]) -> float:
    """The mean of those that are known: a fold may have lost a class by chance."""
    known = [value for value in values if value == value]
    return sum(known) / len(known) if known else float("nan")


def _by_class(fold: Fold) -> Callable[[np.random.Generator], np.ndarray]:
    parts = [np.flatnonzero(fold.positive), np.flatnonzero(~fold.positive)]
    return lambda rng: np.concatenate([part[rng.integers(0, len(part), len(part))] for part in parts if len(part)])


def _by_group(fold: Fold) -> Callable[[np.random.Generator], np.ndarray]:
    _, numbers = np.unique(np.asarray(fold.groups), return_inverse=True)
    members = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    return lambda rng: np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
