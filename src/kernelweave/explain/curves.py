"""Curves of a decision: true against false positives, and precision against recall, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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


def curves_of(positive: np.ndarray, decision: np.ndarray) -> Curves:
    """Return both curves, from the threshold above all decision values down to the one below all of them."""
    order = np.argsort(-decision, kind="stable")
    sorted_decision, hits = decision[order], positive[order]
    last = np.append(np.flatnonzero(np.diff(sorted_decision)), len(decision) - 1)
    tp, fp = np.cumsum(hits)[last], np.cumsum(~hits)[last]
    below = np.append(0.5 * (sorted_decision[last[:-1]] + sorted_decision[last[:-1] + 1]), sorted_decision[-1] - 1.0)
    thresholds = np.append(sorted_decision[0], below)
    n_positive = int(positive.sum())
    return Curves(thresholds, np.append(0, tp), np.append(0, fp), n_positive, len(decision) - n_positive)
