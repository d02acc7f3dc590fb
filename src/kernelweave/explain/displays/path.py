"""`PathDisplay`: the scores of samples that were left out, over C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InputError
from ...estimators.fitted import steps_of
from .base import COLOURS, QUIET, Display, bare


class PathDisplay(Display):
    """Mean score and its spread over the folds for every C that was tried, with the one that was taken.

    Parameters
    ----------
    results : dict of arrays
        "C", "mean_test_score" and "std_test_score", as in `cv_results_`.
    C : float, optional
        The one that was taken.
    score : str
        What the score is called.

    Attributes
    ----------
    ax_, figure_ : what was drawn on
    line_ : the line of means
    """

    def __init__(self, results: Mapping[str, Any], *, C: float | None = None, score: str = "score") -> None:
        self.results = {name: np.asarray(values, dtype=np.float64) for name, values in results.items()}
        self.C = C
        self.score = score

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **options: Any) -> PathDisplay:
        """Draw the path of a model that was fitted with C="cv" or a list; `options` are those of `plot`."""
        machine = steps_of(model)[-1]
        if not hasattr(machine, "cv_results_"):
            raise InputError('This model has tried one C only. Fit it with C="cv", or with a list such as C=[0.1, 1].')
        name = machine.scoring if isinstance(machine.scoring, str) else "score"
        return cls(machine.cv_results_, C=machine.C_, score=name).plot(ax, **options)

    def plot(self, ax: Any = None, *, color: str | None = None) -> PathDisplay:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib axes, optional
        color : colour of the curve
        """
        ax = self._start(ax, (6.5, 4.0))
        C, mean, spread = (self.results[name] for name in ("C", "mean_test_score", "std_test_score"))
        color = color or COLOURS[0]
        ax.fill_between(C, mean - spread, mean + spread, color=color, alpha=0.15, linewidth=0)
        (self.line_,) = ax.plot(C, mean, color=color, marker=".", label="mean of the folds, and their deviation")
        if self.C is not None:
            ax.axvline(self.C, color=QUIET, linestyle=":", label=f"C = {self.C:.3g}")
        ax.set_xscale("log")
        ax.set_xlabel("C: the cost of errors (no unit)")
        ax.set_ylabel(f"{self.score} of samples that were left out")
        ax.legend(frameon=False)
        bare(ax)
        return self
