"""What a decision is worth: points of curves, counts at thresholds, errors; plain arrays in and out."""

from __future__ import annotations

import numpy as np

#: Thresholds that the page can choose from, and points of a curve that it draws.
CUTS, POINTS = 160, 160


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


def reaching(share: float, reached: np.ndarray, other: np.ndarray) -> int | None:
    """Return where `reached` is at least `share`, and of these places the one where `other` is highest; or None."""
    there = np.flatnonzero(reached >= share)
    return int(there[np.argmax(other[there])]) if len(there) else None


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
