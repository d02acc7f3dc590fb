"""`CurvesDisplay`: ROC and precision-recall curves of several models, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InputError
from ..curves import curves_of
from .base import COLOURS, QUIET, STYLES, Display, bare, pyplot, shorten


class CurvesDisplay(Display):
    """Two pictures of the same scores: true against false positives, and precision against recall.

    Parameters
    ----------
    truths : dict of label to array of bool
        Which samples are positive.
    scores : dict of label to array
        Decision values of the same samples, higher for positives.

    Attributes
    ----------
    ax_ : the two axes
    figure_ : the figure
    areas_ : dict of label to (area under the ROC curve, average precision)
    """

    def __init__(self, truths: Mapping[str, Any], scores: Mapping[str, Any]) -> None:
        self.truths = {str(label): np.asarray(truth, dtype=bool) for label, truth in truths.items()}
        self.scores = {str(label): np.asarray(score, dtype=np.float64) for label, score in scores.items()}
        if not self.scores or set(self.truths) != set(self.scores):
            raise InputError("truths and scores must have the same labels, at least one.")
        for label, truth in self.truths.items():
            if truth.shape != self.scores[label].shape:
                shapes = f"{truth.shape} and {self.scores[label].shape}"
                raise InputError(f"{label}: truth and score must be alike in shape; got {shapes}.")
            if truth.all() or not truth.any():
                raise InputError(f"{label}: a curve needs samples of both classes; here all are alike.")

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> CurvesDisplay:
        """Draw the curves of a fitted classifier: one for two classes, one against the rest for each of more."""
        y, f = np.asarray(y), _decide(model, X)
        if y.ndim == 2 and y.shape == f.shape:  # labels, of which a sample may have several
            both = [c for c in range(f.shape[1]) if 0 < y[:, c].sum() < len(y)]
            return cls({f"label {c}": y[:, c] for c in both}, {f"label {c}": f[:, c] for c in both}).plot(ax, **options)
        if f.ndim == 1:
            return cls({"model": y == _positive(model, y)}, {"model": f}).plot(ax, **options)
        there = [c for c, label in enumerate(model.classes_) if (y == label).any()]  # others have no curve
        names = {c: f"{model.classes_[c]} against the rest" for c in there}
        truths = {name: y == model.classes_[c] for c, name in names.items()}
        return cls(truths, {name: f[:, c] for c, name in names.items()}).plot(ax, **options)

    @classmethod
    def from_estimators(
        cls, models: Mapping[str, Any], X: Any, y: Any, *, ax: Any = None, **options: Any
    ) -> CurvesDisplay:
        """Draw the curves of several classifiers of two classes on the same samples; `models` by label."""
        scores = {label: _decide(model, X) for label, model in models.items()}
        if any(f.ndim > 1 for f in scores.values()):
            raise InputError(
                "Several models of more than two classes are too many curves; use from_estimator for each."
            )
        y = np.asarray(y)
        return cls({label: y == _positive(model, y) for label, model in models.items()}, scores).plot(ax, **options)

    @classmethod
    def from_predictions(cls, y: Any, scores: Any, *, ax: Any = None, **options: Any) -> CurvesDisplay:
        """Draw the curves of decision values: one array, or a dict of arrays by label. y is 0 or −1, and 1."""
        scores = dict(scores) if isinstance(scores, Mapping) else {"model": scores}
        truth = np.asarray(y) == _positive(None, np.asarray(y))
        return cls(dict.fromkeys(scores, truth), scores).plot(ax, **options)

    def plot(self, ax: Any = None) -> CurvesDisplay:
        """Draw both pictures.

        Parameters
        ----------
        ax : two matplotlib axes, optional
            The first for ROC, the second for precision and recall.
        """
        if ax is None:
            _, ax = pyplot().subplots(1, 2, figsize=(10.0, 4.6), layout="constrained")
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != 2:
            raise InputError(f"Two axes are needed, for ROC and for precision and recall; got {len(axes)}.")
        self.ax_, self.figure_ = axes, axes[0].figure
        self.areas_: dict[str, tuple[float, float]] = {}
        for number, label in enumerate(self.scores):
            self._curves(label, COLOURS[number % len(COLOURS)], STYLES[number % len(STYLES)])
        self._frame()
        return self

    def _curves(self, label: str, color: str, style: str) -> None:
        found = curves_of(self.truths[label], self.scores[label])
        area, mean = self.areas_[label] = (found.roc_area, found.average_precision)
        name = "" if len(self.scores) == 1 else f"{shorten(label, 28)}: "
        line = {"color": color, "linestyle": style, "linewidth": 1.8}
        self.ax_[0].plot(found.fall_out, found.recall, label=f"{name}area {area:.3f}", **line)
        self.ax_[1].plot(found.recall, found.precision, drawstyle="steps-pre", label=f"{name}mean {mean:.3f}", **line)

    def _frame(self) -> None:
        roc, pr = self.ax_
        roc.plot([0, 1], [0, 1], color=QUIET, linestyle=":", linewidth=1.0)
        for share in sorted({float(truth.mean()) for truth in self.truths.values()}):
            pr.axhline(share, color=QUIET, linestyle=":", linewidth=1.0)
        roc.set_xlabel("false positives (share of the negatives)")
        roc.set_ylabel("true positives (share of the positives)")
        roc.set_title("ROC", fontsize="medium")
        pr.set_xlabel("recall (share of the positives found)")
        pr.set_ylabel("precision (share of findings that are right)")
        pr.set_title("precision and recall", fontsize="medium")
        for ax, place in ((roc, "lower right"), (pr, "lower left")):
            ax.set_xlim(-0.01, 1.01)
            ax.set_ylim(-0.01, 1.03)
            ax.set_aspect("equal", adjustable="box")
            ax.legend(frameon=False, loc=place, fontsize="small", title="dotted: by chance", title_fontsize="small")
            bare(ax)


def _decide(model: Any, X: Any) -> np.ndarray:
    """Return decision values, or the probability of the second class where a model has no others."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    p = np.asarray(model.predict_proba(X))
    return p[:, 1] if p.shape[1] == 2 else p


def _positive(model: Any, y: np.ndarray) -> Any:
    """Return the label of the positive class: the larger one."""
    labels = np.unique(y) if model is None or not hasattr(model, "classes_") else model.classes_
    if len(labels) != 2:
        raise InputError(f"These curves are for two classes; got {len(labels)}.")
    return labels[1]
