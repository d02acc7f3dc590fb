"""`KernelWeightsDisplay`: the weights that were learned, readable for three terms and for three hundred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...estimators.fitted import fitted_model
from ..terms import Places, places_of
from .base import (
    COLOURS,
    DEGREE,
    FEW,
    POSITION,
    QUIET,
    Display,
    axis_of,
    bare,
    draw_map,
    grid_of,
    kind_of,
    labels_of,
    name_largest,
    shorten,
    whole_numbers,
)

WEIGHT = "weight (no unit)"


class KernelWeightsDisplay(Display):
    """Bars with names for few terms, stems along an axis for many, a map for splits by degree and position.

    Parameters
    ----------
    weights : array of shape (n_terms,) or (n_classes, n_terms)
        Weights of every class are drawn as a map of classes and terms.
    names : sequence of str
    places : Places, optional
        Degree and position of terms that are parts of one kernel.
    classes : sequence, optional
        Names of the rows of `weights`.

    Attributes
    ----------
    ax_, figure_ : what was drawn on
    kind_ : {"bars", "line", "map", "classes"}

    Examples
    --------
    >>> from kernelweave import KernelWeightsDisplay
    >>> KernelWeightsDisplay([0.7, 0.3], ["RBF(gamma=1.0)", "Linear()"]).plot().kind_  # doctest: +SKIP
    'bars'
    """

    def __init__(
        self,
        weights: Any,
        names: Sequence[str],
        *,
        places: Places | None = None,
        classes: Any = None,
    ) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.names = list(names)
        self.places = places
        self.classes = classes
        if self.weights.ndim not in (1, 2) or self.weights.shape[-1] != len(self.names) or not self.names:
            raise InputError(
                f"One weight per name is needed; got weights of shape {self.weights.shape} and {len(self.names)} names."
            )

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **options: Any) -> KernelWeightsDisplay:
        """Draw the weights of a fitted model; `options` are those of `plot`."""
        fitted = fitted_model(model)
        weights, classes = (fitted.weights[0], None) if len(fitted.weights) == 1 else (fitted.weights, fitted.classes)
        places = places_of(fitted.terms, fitted.support)
        return cls(weights, fitted.term_names, places=places, classes=classes).plot(ax, **options)

    @classmethod
    def from_weights(
        cls, weights: Any, names: Sequence[str], *, ax: Any = None, **options: Any
    ) -> KernelWeightsDisplay:
        """Draw weights from wherever they come; `options` are those of `plot`."""
        return cls(weights, names).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, kind: str = "auto", color: str | None = None, colorbar: bool = True
    ) -> KernelWeightsDisplay:
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib axes, optional
        kind : {"auto", "bars", "line", "map"}
        color : colour of bars and stems
        colorbar : bool
            Whether a map gets a bar that explains its colours.
        """
        color = color or COLOURS[0]
        if self.weights.ndim == 2:
            self.kind_ = "classes"
            self._classes(ax, colorbar)
            return self
        self.kind_ = kind_of(len(self.names), self.places, kind)
        if self.kind_ == "bars":
            self._bars(ax, color)
        elif self.kind_ == "line":
            self._line(ax, color)
        else:
            self._map(ax, colorbar)
        self.ax_.set_title(self._title(), fontsize="medium")
        return self

    def _title(self) -> str:
        whole = "" if self.places is None or self.places.whole is None else shorten(self.places.whole, 60)
        used = f"{np.count_nonzero(self.weights)} of {len(self.names)} terms in use" if self.kind_ != "bars" else ""
        return ": ".join(part for part in (whole, used) if part)

    def _bars(self, ax: Any, color: str) -> None:
        n = len(self.names)
        ax = self._start(ax, (7.0, 1.1 + 0.28 * max(n, 3)))
        bars = ax.barh(np.arange(n), self.weights, height=0.7, color=[color if w > 0 else QUIET for w in self.weights])
        shown = [f"{w:.2g}" if w > 0 else "0" for w in self.weights]
        ax.bar_label(bars, shown, padding=3, fontsize="small")
        ax.set_yticks(np.arange(n), labels_of(self.names, self.places))
        ax.set_ylim(n - 0.4, -0.6)  # the first term on top
        ax.set_xlim(0.0, 1.12 * (self.weights.max() or 1.0))
        ax.set_xlabel(WEIGHT)
        bare(ax)

    def _line(self, ax: Any, color: str) -> None:
        ax = self._start(ax, (8.0, 3.8))
        x, name = axis_of(len(self.names), self.places)
        used = self.weights > 0
        ax.vlines(x[used], 0.0, self.weights[used], color=color, linewidth=1.2)
        ax.plot(x[used], self.weights[used], "o", color=color, markersize=3.5)
        ax.axhline(0.0, color=QUIET, linewidth=0.8, zorder=0)
        name_largest(ax, x, self.weights, labels_of(self.names, self.places))
        ax.set_xlabel(name)
        ax.set_ylabel(WEIGHT)
        ax.set_ylim(0.0, 1.12 * (self.weights.max() or 1.0))
        room = 0.02 * float(np.ptp(x)) + 0.5
        ax.set_xlim(x.min() - room, x.max() + room)  # also where the first and last weights are zero
        whole_numbers(ax.xaxis)
        bare(ax)

    def _map(self, ax: Any, colorbar: bool) -> None:
        assert self.places is not None
        ax = self._start(ax, (8.0, 3.6))
        draw_map(ax, *grid_of(self.weights, self.places), label=WEIGHT, colorbar=colorbar)
        ax.set_xlabel(POSITION)
        ax.set_ylabel(DEGREE)

    def _classes(self, ax: Any, colorbar: bool) -> None:
        """Draw a map: few terms in rows, so that their names can be read, and many in columns."""
        n_classes, n = self.weights.shape
        classes = [str(c) for c in (range(n_classes) if self.classes is None else self.classes)]
        few = n <= FEW
        values, rows = (self.weights.T, n) if few else (self.weights, n_classes)
        ax = self._start(ax, (7.5 if few else 8.0, 1.4 + 0.28 * max(rows, 4)))
        draw_map(ax, values, (-0.5, values.shape[1] - 0.5, -0.5, rows - 0.5), label=WEIGHT, colorbar=colorbar)
        ax.set_yticks(np.arange(rows), labels_of(self.names, self.places) if few else classes)
        ax.set_ylim(rows - 0.5, -0.5)
        if few:
            ax.set_xticks(np.arange(n_classes), classes, rotation=0 if n_classes <= 10 else 90)
        ax.set_xlabel("class" if few else "number of the term (from 0)")
        ax.set_ylabel("" if few else "class")
