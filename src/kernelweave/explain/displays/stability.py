"""`StabilityDisplay`: weights with their intervals, and which of them are more than chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import (
    COLOURS,
    DEGREE,
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


class StabilityDisplay(Display):
    """Mean weights and intervals over refits: a line per term for few, along an axis for many, a map for splits.

    Parameters
    ----------
    stability : Stability
        What `explain.stability` returned.

    Attributes
    ----------
    ax_, figure_ : what was drawn on
    kind_ : {"bars", "line", "map"}
    """

    def __init__(self, stability: Any) -> None:
        self.stability = stability

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        ax: Any = None,
        kind: str = "auto",
        colorbar: bool = True,
        **options: Any,
    ) -> StabilityDisplay:
        """Draw `explain.stability(model, X, y, **options)`, which refits the model many times."""
        from ..stability import stability

        return cls(stability(model, X, y, **options)).plot(ax, kind=kind, colorbar=colorbar)

    @classmethod
    def from_stability(cls, stability: Any, *, ax: Any = None, **options: Any) -> StabilityDisplay:
        """Draw what `explain.stability` returned; `options` are those of `plot`."""
        return cls(stability).plot(ax, **options)

    def plot(self, ax: Any = None, *, kind: str = "auto", colorbar: bool = True) -> StabilityDisplay:
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib axes, optional
        kind : {"auto", "bars", "line", "map"}
        colorbar : bool
            Whether a map gets a bar that explains its colours.
        """
        found = self.stability
        self.kind_ = kind_of(len(found.names), found.places, kind)
        # without bootstrap samples there is still the fit on all samples
        self._mean = np.where(np.isnan(found.mean), found.weights, found.mean)
        self._interval = np.where(np.isnan(found.interval), self._mean, found.interval)
        if self.kind_ == "bars":
            self._bars(ax)
        elif self.kind_ == "line":
            self._line(ax)
        else:
            self._map(ax, colorbar)
        whole = found.places.whole
        if whole is not None:
            # bars have their legend above them
            self.ax_.set_title(shorten(whole, 70), fontsize="medium", pad=22.0 if self.kind_ == "bars" else None)
        return self

    def _label(self) -> str:
        if not len(self.stability.bootstrap):
            return "weight (no unit)"
        return f"weight (no unit): mean and {1 - self.stability.alpha:.0%} of the refits"

    def _legend(self, ax: Any, handles: list[Any], **options: Any) -> None:
        if len(self.stability.permuted):
            names = [f"significant (corrected p ≤ {self.stability.alpha:g})", "not significant"]
            ax.legend(handles, names, frameon=False, fontsize="small", **options)

    def _bars(self, ax: Any) -> None:
        found, n = self.stability, len(self.stability.names)
        ax = self._start(ax, (7.5, 1.5 + 0.28 * max(n, 4)))
        handles = []
        for sure, color, face in ((True, COLOURS[1], COLOURS[1]), (False, COLOURS[0], "white")):
            rows = np.flatnonzero(found.significant == sure)
            ax.hlines(rows, *self._interval[:, rows], color=color, linewidth=2.0)
            handles += ax.plot(self._mean[rows], rows, "o", color=color, markerfacecolor=face, markersize=6)
        ax.set_yticks(np.arange(n), labels_of(found.names, found.places))
        ax.set_ylim(n - 0.4, -0.6)
        ax.set_xlim(left=min(0.0, -0.02 * float(self._interval.max())))
        ax.set_xlabel(self._label())
        if len(found.bootstrap):
            self._frequencies(ax, n)
        ax.grid(axis="y", color="0.92", linewidth=0.8)
        ax.set_axisbelow(True)
        self._legend(ax, handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.0, ncols=2)
        bare(ax)

    def _frequencies(self, ax: Any, n: int) -> None:
        """Write at the right how often every term was selected."""
        right = ax.secondary_yaxis("right")
        right.set_yticks(np.arange(n), [f"{share:.0%}" for share in self.stability.frequency])
        right.set_ylabel("selected\n(of the refits)")
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)

    def _line(self, ax: Any) -> None:
        found = self.stability
        ax = self._start(ax, (8.0, 4.2))
        x, name = axis_of(len(found.names), found.places)
        handles = []
        for sure, color, face, size in ((True, COLOURS[1], COLOURS[1], 5.0), (False, COLOURS[0], "white", 3.0)):
            rows = found.significant == sure
            ax.vlines(x[rows], *self._interval[:, rows], color=color, linewidth=1.2, alpha=1.0 if sure else 0.45)
            handles += ax.plot(x[rows], self._mean[rows], "o", color=color, markerfacecolor=face, markersize=size)
        ax.axhline(0.0, color=QUIET, linewidth=0.8, zorder=0)
        name_largest(ax, x, np.where(found.significant, self._mean, 0.0), labels_of(found.names, found.places))
        ax.set_xlabel(name)
        ax.set_ylabel(self._label().replace(": ", "\n"))
        ax.set_ylim(bottom=0.0)
        ax.margins(x=0.02)
        whole_numbers(ax.xaxis)
        self._legend(ax, handles, loc="best")
        bare(ax)

    def _map(self, ax: Any, colorbar: bool) -> None:
        found = self.stability
        ax = self._start(ax, (8.0, 3.8))
        draw_map(ax, *grid_of(self._mean, found.places), label="mean weight (no unit)", colorbar=colorbar)
        sure = found.significant
        if sure.any():
            ax.scatter(
                found.places.positions[sure],
                found.places.degrees[sure],
                s=26,
                facecolors="none",
                edgecolors=COLOURS[1],
                linewidths=1.4,
                label=f"significant (corrected p ≤ {found.alpha:g})",
            )
            ax.legend(loc="upper right", fontsize="small", framealpha=0.9)
        ax.set_xlabel(POSITION)
        ax.set_ylabel(DEGREE)
