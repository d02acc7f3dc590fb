"""How good decision values are on samples that were left out, and how sure of that one may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Repetitions of a bootstrap, and the share of them inside of an interval.
REPEATS, LEVEL = 1000, 0.95
#: With fewer groups than this in a fold, drawing whole groups says little.
FEWEST_GROUPS = 5
#: Numbers that are held at a time.
BLOCK_NUMBERS = 1 << 22

#: Which samples are positive, their decision values, and how often each of them counts, (repeats, n): one number each.
Measure = Callable[..., Any]


def auroc(positive: np.ndarray, decision: np.ndarray, times: np.ndarray | None = None) -> Any:
    """Return the chance that a positive scores higher than a negative; half of it where they tie.

    With `times`, (repeats, n), samples count as often as each row says, and there is a number for each row.
    """
    if times is None:
        return float(auroc(positive, decision, np.ones((1, len(positive))))[0])
    hits, misses = _by_value(positive, decision, times)
    below = np.cumsum(misses, axis=1) - 0.5 * misses
    return _ratio((hits * below).sum(axis=1), hits.sum(axis=1) * misses.sum(axis=1))


def auprc(positive: np.ndarray, decision: np.ndarray, times: np.ndarray | None = None) -> Any:
    """Return the average precision: Σ over thresholds of precision · growth of recall; `times` as for `auroc`."""
    if times is None:
        return float(auprc(positive, decision, np.ones((1, len(positive))))[0])
    hits, misses = (part[:, ::-1] for part in _by_value(positive, decision, times))
    found = np.cumsum(hits, axis=1)
    precision = found / np.maximum(found + np.cumsum(misses, axis=1), 1e-300)
    return _ratio((precision * hits).sum(axis=1), hits.sum(axis=1))


def mcc(positive: np.ndarray, decision: np.ndarray, times: np.ndarray | None = None) -> Any:
    """Return Matthews' correlation of being positive with a decision value above 0; 0 where one of them is constant."""
    if times is None:
        return float(mcc(positive, decision, np.ones((1, len(positive))))[0])
    called = decision > 0
    parts = (called & positive, called & ~positive, ~called & positive, ~called & ~positive)
    tp, fp, fn, tn = (times[:, part].sum(axis=1) for part in parts)
    spread = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return np.nan_to_num(_ratio(tp * tn - fp * fn, spread))


def _by_value(positive: np.ndarray, decision: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many positives and negatives there are at every decision value, by rising value: (repeats, values) each."""
    order = np.argsort(decision, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(decision[order]) != 0))
    ordered, mark = times[:, order], positive[order]
    return np.add.reduceat(ordered * mark, first, axis=1), np.add.reduceat(ordered * ~mark, first, axis=1)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)


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
    measures : dict of name to function of (positive, decision, times)
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
    values = np.full((len(folds), len(measures), repeats), np.nan)
    for of_fold, fold in zip(values, folds, strict=True):
        step = max(1, BLOCK_NUMBERS // max(1, len(fold.positive)))
        for at in range(0, repeats, step):
            times = _drawn(fold, whole, min(step, repeats - at), rng)
            for row, measure in zip(of_fold, measures.values(), strict=True):
                row[at : at + step] = measure(fold.positive, fold.decision, times)
    edges, over = (0.5 - LEVEL / 2, 0.5 + LEVEL / 2), "groups" if whole else "samples"
    found = {}
    for name, columns in zip(measures, values.transpose(1, 0, 2), strict=True):
        known = ~np.isnan(columns)  # a fold may have lost a class by chance
        means = _ratio(np.where(known, columns, 0.0).sum(axis=0), known.sum(axis=0).astype(float))
        means = means[~np.isnan(means)]
        low, high = np.quantile(means, edges) if len(means) else (np.nan, np.nan)
        found[name] = Interval(float(low), float(high), over)
    return found


def _drawn(fold: Fold, whole: bool, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """How often every sample is drawn: by whole groups, or one by one within each class; (repeats, n)."""
    out = np.zeros((repeats, len(fold.positive)))
    if whole:
        _, numbers = np.unique(np.asarray(fold.groups), return_inverse=True)
        return _counts(numbers.max() + 1, repeats, rng)[:, numbers]
    for part in _classes(fold):
        out[:, part] = _counts(len(part), repeats, rng)
    return out


def _classes(fold: Fold) -> Iterator[np.ndarray]:
    return (part for part in (np.flatnonzero(fold.positive), np.flatnonzero(~fold.positive)) if len(part))


def _counts(n: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of n things is drawn in n draws, (repeats, n)."""
    drawn = rng.integers(0, n, (repeats, n)) + n * np.arange(repeats)[:, None]
    return np.bincount(drawn.ravel(), minlength=n * repeats).reshape(repeats, n)
