"""What a decision is worth: curves, counts at thresholds, errors; plain arrays in and out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Thresholds that the page can choose from, and points of a curve that it draws.
CUTS, POINTS = 160, 160


@dataclass(frozen=True)
class Curves:
    """The two curves of a set of decisions, with one threshold per point.

    At each threshold, a sample is called positive where its decision value is above it.
    """

    thresholds: np.ndarray
    tp: np.ndarray
    fp: np.ndarray
    n_positive: int
    n_negative: int

    @property
    def recall(self) -> np.ndarray:
        """True positives / positives: the true positive rate."""
        return self.tp / max(self.n_positive, 1)

    @property
    def fall_out(self) -> np.ndarray:
        """False positives / negatives: the false positive rate."""
        return self.fp / max(self.n_negative, 1)

    @property
    def precision(self) -> np.ndarray:
        """True positives / all that are called positive; 1 where nothing is called positive."""
        return np.where(self.tp + self.fp > 0, self.tp / np.maximum(self.tp + self.fp, 1), 1.0)

    @property
    def roc_area(self) -> float:
        """Area under recall against fall-out; NaN where one class is missing."""
        if not self.n_positive or not self.n_negative:
            return float("nan")
        return float(np.trapezoid(self.recall, self.fall_out))

    @property
    def average_precision(self) -> float:
        """Σ (recall[i] − recall[i−1]) · precision[i]; NaN where there are no positives."""
        if not self.n_positive:
            return float("nan")
        return float(np.sum(np.diff(self.recall) * self.precision[1:]))


def curves(positive: np.ndarray, decision: np.ndarray) -> Curves:
    """Return both curves, from the threshold above all decision values down to the one below all of them."""
    order = np.argsort(-decision, kind="stable")
    sorted_decision, hits = decision[order], positive[order]
    last = np.append(np.flatnonzero(np.diff(sorted_decision)), len(decision) - 1)
    tp, fp = np.cumsum(hits)[last], np.cumsum(~hits)[last]
    below = np.append(0.5 * (sorted_decision[last[:-1]] + sorted_decision[last[:-1] + 1]), sorted_decision[-1] - 1.0)
    thresholds = np.append(sorted_decision[0], below)
    n_positive = int(positive.sum())
    return Curves(thresholds, np.append(0, tp), np.append(0, fp), n_positive, len(decision) - n_positive)


def few_points(x: np.ndarray, y: np.ndarray, most: int = POINTS) -> np.ndarray:
    """Return the numbers of the points that draw the same curve: corners first, then evenly along its length."""
    dx, dy = np.diff(x), np.diff(y)
    turns = np.flatnonzero(dx[:-1] * dy[1:] != dy[:-1] * dx[1:]) + 1
    keep = np.unique(np.concatenate([[0], turns, [len(x) - 1]]))
    if len(keep) <= most:
        return keep
    length = np.append(0.0, np.cumsum(np.hypot(np.diff(x[keep]), np.diff(y[keep]))))
    wanted = np.searchsorted(length, np.linspace(0.0, length[-1], most))
    return np.unique(keep[np.clip(wanted, 0, len(keep) - 1)])


def cuts(decisions: list[np.ndarray], most: int = CUTS) -> tuple[np.ndarray, int]:
    """Return thresholds over the range of all decision values, in order, and the place of 0 among them.

    Half of them lie evenly between the ends, half between the samples, where most of them are.
    """
    found = np.sort(np.concatenate(decisions))
    low, high = float(found[0]), float(found[-1])
    space = 0.01 * (high - low) or 1.0
    even = np.linspace(low - space, high + space, most // 2)
    among = np.quantile(found, np.linspace(0.0, 1.0, most // 2))
    rounded = np.array([float(f"{value:.4g}") for value in np.concatenate([even, among])])
    all_cuts = np.unique(np.append(rounded, 0.0))
    return all_cuts, int(np.searchsorted(all_cuts, 0.0))


def counts(positive: np.ndarray, decision: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return (n_thresholds, 4): true and false positives, false and true negatives above each threshold."""
    hits, misses = np.sort(decision[positive]), np.sort(decision[~positive])
    tp = len(hits) - np.searchsorted(hits, thresholds, side="right")
    fp = len(misses) - np.searchsorted(misses, thresholds, side="right")
    return np.column_stack([tp, fp, len(hits) - tp, len(misses) - fp])


def best_f1(table: np.ndarray) -> int:
    """Return the row of counts with the best F1 = 2 tp / (2 tp + fp + fn)."""
    tp, fp, fn, _ = table.T
    return int(np.argmax(2 * tp / np.maximum(2 * tp + fp + fn, 1)))


def confusion(y: np.ndarray, predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """Return how often class i (row) was called j (column)."""
    return np.bincount(y * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)


def errors(y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Return R², the root of the mean squared error, the mean absolute error and the largest one."""
    off = predicted - y
    spread = float(((y - y.mean()) ** 2).sum())
    return {
        "R²": 1.0 - float(off @ off) / spread if spread > 0 else float("nan"),
        "RMSE": float(np.sqrt(np.mean(off * off))),
        "MAE": float(np.abs(off).mean()),
        "largest error": float(np.abs(off).max()),
    }
