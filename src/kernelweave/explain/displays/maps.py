"""`PositionImportanceDisplay`, `KmerMapDisplay` and `MutationMapDisplay`: what matters where in a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from .base import COLOUR_MAP, COLOURS, DEGREE, POSITION, Display, bare, draw_map, whole_numbers

#: Places that are looked up for every k-mer of a map.
PLACES = 50


class PositionImportanceDisplay(Display):
    """A map of how important words of every length are at every position.

    Parameters
    ----------
    importance : Importance
        `orders`, `positions` and `values` (n_orders, n_positions), as `explain.importance` returns them.

    Attributes
    ----------
    ax_, figure_ : what was drawn on
    image_ : the picture, where there are positions
    """

    def __init__(self, importance: Any) -> None:
        self.importance = importance

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Any = None, colorbar: bool = True, **options: Any
    ) -> PositionImportanceDisplay:
        """Draw `explain.importance(model, **options)`: `orders`, `how`, `term`, `machine`."""
        from ..importance import importance

        return cls(importance(model, **options)).plot(ax, colorbar=colorbar)

    @classmethod
    def from_importance(cls, importance: Any, *, ax: Any = None, **options: Any) -> PositionImportanceDisplay:
        """Draw what `explain.importance` returned; `options` are those of `plot`."""
        return cls(importance).plot(ax, **options)

    def plot(self, ax: Any = None, *, colorbar: bool = True) -> PositionImportanceDisplay:
        """Draw the map, or bars by length for words that count anywhere.

        Where there are values below zero, zero has the middle colour and they are darker.
        """
        values = np.asarray(self.importance.values, dtype=np.float64)
        orders, positions = np.asarray(self.importance.orders), np.asarray(self.importance.positions)
        if values.shape != (len(orders), len(positions)):
            raise InputError(
                f"values must have one row per order and one column per position, ({len(orders)}, {len(positions)}); "
                f"got shape {values.shape}."
            )
        ax = self._start(ax, (8.0, 1.5 + 0.25 * max(len(orders), 5)))
        ax.set_ylabel(DEGREE)
        if list(positions) == [-1]:
            ax.barh(np.arange(len(orders)), values[:, 0], height=0.7, color=COLOURS[0])
            ax.set_yticks(np.arange(len(orders)), [str(order) for order in orders])
            ax.set_xlabel("importance anywhere (units of the decision value)")
            bare(ax)
            return self
        extent = (positions[0] - 0.5, positions[-1] + 0.5, -0.5, len(orders) - 0.5)
        label = "importance\n(decision value)"
        self.image_ = draw_map(ax, values, extent, label, signed=bool((values < 0).any()), colorbar=colorbar)
        step = 1 + (len(orders) - 1) // 12
        ax.set_yticks(np.arange(len(orders))[::step], [str(order) for order in orders[::step]])
        ax.set_xlabel(POSITION)
        return self


class KmerMapDisplay(Display):
    """The k-mers of the largest weights, each where it stands; bars for kernels that do not look at positions.

    Parameters
    ----------
    table : KmerTable
        `columns` with "kmer", "position" (−1 for any) and "weight", as `explain.kmer_table` returns them.

    Attributes
    ----------
    ax_, figure_ : what was drawn on
    kmers_ : list of the k-mers that are shown, from the top down
    """

    def __init__(self, table: Any) -> None:
        columns = getattr(table, "columns", table)
        self.kmers = np.asarray(columns["kmer"])
        self.positions = np.asarray(columns["position"])
        self.weights = np.asarray(columns["weight"], dtype=np.float64)
        if len(self.kmers) == 0:
            raise InputError("The table has no k-mers to draw.")

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Any = None, top: int = 20, colorbar: bool = True, **options: Any
    ) -> KmerMapDisplay:
        """Draw the `top` k-mers of `explain.kmer_table(model, **options)`, at the places where they weigh most."""
        from ..kmers import kmer_table

        return cls(kmer_table(model, top=PLACES * top, **options)).plot(ax, top=top, colorbar=colorbar)

    @classmethod
    def from_table(cls, table: Any, *, ax: Any = None, **options: Any) -> KmerMapDisplay:
        """Draw what `explain.kmer_table` returned; `options` are those of `plot`."""
        return cls(table).plot(ax, **options)

    def plot(self, ax: Any = None, *, top: int = 20, colorbar: bool = True) -> KmerMapDisplay:
        """Draw the `top` k-mers; their order is that of their largest weight anywhere, above or below zero."""
        largest: dict[str, float] = {}
        for kmer, weight in zip(self.kmers.tolist(), np.abs(self.weights).tolist(), strict=True):
            largest[kmer] = max(weight, largest.get(kmer, 0.0))
        self.kmers_ = sorted(largest, key=lambda kmer: (-largest[kmer], kmer))[:top]
        ax = self._start(ax, (8.0, 1.4 + 0.24 * max(len(self.kmers_), 5)))
        rows = {kmer: row for row, kmer in enumerate(self.kmers_)}
        shown = np.flatnonzero([kmer in rows for kmer in self.kmers.tolist()])
        y = np.array([rows[self.kmers[m]] for m in shown])
        if (self.positions < 0).all():
            self._bars(ax, y, self.weights[shown])
        else:
            self._marks(ax, y, shown, colorbar)
        ax.set_yticks(np.arange(len(self.kmers_)), self.kmers_, family="monospace")
        ax.set_ylim(len(self.kmers_) - 0.4, -0.6)
        ax.set_ylabel("k-mer")
        bare(ax)
        return self

    def _bars(self, ax: Any, y: np.ndarray, weights: np.ndarray) -> None:
        ax.barh(y, weights, height=0.7, color=[COLOURS[0] if w >= 0 else COLOURS[1] for w in weights])
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("weight (units of the decision value)")

    def _marks(self, ax: Any, y: np.ndarray, shown: np.ndarray, colorbar: bool) -> None:
        weights, limit = self.weights[shown], float(np.abs(self.weights[shown]).max()) or 1.0
        marks = ax.scatter(
            self.positions[shown],
            y,
            c=weights,
            s=6.0 + 84.0 * np.abs(weights) / limit,
            marker="s",
            cmap=COLOUR_MAP,
            vmin=-limit,
            vmax=limit,
            edgecolors="black",
            linewidths=0.3,
        )
        if colorbar:
            ax.figure.colorbar(marks, ax=ax, label="weight\n(decision value)", pad=0.02)
        ax.grid(axis="y", color="0.92", linewidth=0.8)
        ax.set_axisbelow(True)
        # all positions there are, so that two pictures of one model can be laid side by side
        low, high = int(self.positions[self.positions >= 0].min()), int(self.positions.max())
        ax.set_xlim(low - 1.0 - 0.02 * (high - low), high + 1.0 + 0.02 * (high - low))
        ax.set_xlabel(POSITION)
        whole_numbers(ax.xaxis)


class MutationMapDisplay(Display):
    """A map of what every single substitution in a sequence does to the decision value.

    Parameters
    ----------
    mutation_map : MutationMap
        `values` (length, n_letters) and `letters`, as `explain.mutation_map` returns them.
    sequence : str, optional
        The sequence itself: its own letters get a dot. Taken from the map where that knows it.

    Attributes
    ----------
    ax_, figure_ : what was drawn on
    image_ : the picture
    """

    def __init__(self, mutation_map: Any, sequence: str | None = None) -> None:
        self.values = np.asarray(mutation_map.values, dtype=np.float64)
        self.letters = list(mutation_map.letters)
        self.sequence = sequence if sequence is not None else getattr(mutation_map, "sequence", None)
        self.start = getattr(mutation_map, "start", 0)
        if self.values.ndim != 2 or self.values.shape[1] != len(self.letters):
            shapes = f"values of shape {self.values.shape} and {len(self.letters)} letters"
            raise InputError(f"One column per letter is needed; got {shapes}.")
        if self.sequence is not None and len(self.sequence) != len(self.values):
            raise InputError(f"The map is of {len(self.values)} letters, but the sequence has {len(self.sequence)}.")

    @classmethod
    def from_estimator(
        cls, model: Any, sequence: Any, *, ax: Any = None, colorbar: bool = True, **options: Any
    ) -> MutationMapDisplay:
        """Draw `explain.mutation_map(model, sequence, **options)`: `view`, `machine`."""
        from ..mutations import mutation_map

        return cls(mutation_map(model, sequence, **options)).plot(ax, colorbar=colorbar)

    @classmethod
    def from_mutation_map(cls, mutation_map: Any, *, ax: Any = None, **options: Any) -> MutationMapDisplay:
        """Draw what `explain.mutation_map` returned; `options` are those of `plot`."""
        return cls(mutation_map).plot(ax, **options)

    def plot(self, ax: Any = None, *, colorbar: bool = True) -> MutationMapDisplay:
        """Draw the map: dark where a letter would lower the decision value, bright where it would raise it."""
        length, n = self.values.shape
        ax = self._start(ax, (float(np.clip(0.14 * length, 6.0, 14.0)), 1.4 + 0.22 * max(n, 5)))
        label = "change of the\ndecision value"
        extent = (self.start - 0.5, self.start + length - 0.5, -0.5, n - 0.5)
        self.image_ = draw_map(ax, self.values.T, extent, label, signed=True, colorbar=colorbar)
        ax.set_yticks(np.arange(n), self.letters, family="monospace")
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_xlabel("position (from 0)")
        ax.set_ylabel("letter put there")
        if self.sequence is not None:
            self._mark_own(ax)
        return self

    def _mark_own(self, ax: Any) -> None:
        """Put a dot on the letters that are there already, and write the sequence above where there is room."""
        sequence = str(self.sequence)
        rows = {letter: row for row, letter in enumerate(self.letters)}
        own = [(self.start + i, rows[letter]) for i, letter in enumerate(sequence.upper()) if letter in rows]
        if own and len(sequence) <= 150:  # more of them would cover the map
            ax.scatter(*zip(*own, strict=True), s=9, color="white", edgecolors="black", linewidths=0.5)
        if len(sequence) <= 75:
            above = ax.secondary_xaxis("top")
            above.set_xticks(
                self.start + np.arange(len(sequence)), list(sequence), family="monospace", fontsize="small"
            )
            above.tick_params(length=0)
            above.spines["top"].set_visible(False)
