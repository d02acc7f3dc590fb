"""`SequenceLogoDisplay`: letters as high as they are important, drawn as outlines without further packages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ...errors import InputError
from ..importance import logo, reach, stacked
from .base import COLOURS, Display, bare, pyplot, whole_numbers

#: Nucleotides, and amino acids by what they are like: without charge and polar, acid, basic, and averse to water.
LETTER_COLOURS = {
    "ACGT": dict(zip("ACGTU", ("#009E73", "#0072B2", "#E69F00", "#D55E00", "#D55E00"), strict=True)),
    "protein": {
        **dict.fromkeys("GSTYCNQ", "#009E73"),
        **dict.fromkeys("DE", "#D55E00"),
        **dict.fromkeys("KRH", "#0072B2"),
        **dict.fromkeys("AVLIPWFM", "#000000"),
    },
}
#: How many positions stand in one row of a figure of its own.
ROW = 75
#: Share of a position that a letter fills.
WIDTH = 0.92
BITS = "information (bits)"


class SequenceLogoDisplay(Display):
    """A stack of letters at every position: above zero what speaks for the class, below what speaks against it.

    Parameters
    ----------
    values : array of shape (length, n_letters)
        Height of every letter at every position, above or below zero.
    letters : sequence of str
    start : int
        Number of the first position.
    label : str
        What the heights are, with their unit.

    Attributes
    ----------
    ax_, figure_ : what was drawn on; with several rows, `ax_` is the first
    axes_ : list of axes, one per row
    """

    def __init__(
        self,
        values: Any,
        letters: Sequence[str],
        *,
        start: int = 0,
        label: str = "score (units of the decision value)",
    ) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.letters = list(letters)
        self.start = start
        self.label = label
        if self.values.ndim != 2 or self.values.shape[1] != len(self.letters) or not self.values.size:
            shapes = f"values of shape {self.values.shape} and {len(self.letters)} letters"
            raise InputError(f"One column per letter is needed; got {shapes}.")

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Any = None, row: int = ROW, colors: dict[str, str] | None = None, **options: Any
    ) -> SequenceLogoDisplay:
        """Draw `explain.logo(model, **options)`: `min_share`, `term`, `machine`."""
        return cls.from_logo(logo(model, **options), ax=ax, row=row, colors=colors)

    @classmethod
    def from_logo(cls, logo: Any, *, ax: Any = None, **options: Any) -> SequenceLogoDisplay:
        """Draw what `explain.logo` returned; `options` are those of `plot`."""
        return cls(logo.values, logo.letters).plot(ax, **options)

    @classmethod
    def from_motif(cls, motif: Any, *, ax: Any = None, **options: Any) -> SequenceLogoDisplay:
        """Draw what `explain.motif` returned, in bits; `options` are those of `plot`."""
        return cls(_information(np.asarray(motif.matrix)), motif.letters, label=BITS).plot(ax, **options)

    @classmethod
    def from_sequences(
        cls, sequences: Any, *, alphabet: Any = "auto", ax: Any = None, **options: Any
    ) -> SequenceLogoDisplay:
        """Draw how informative every position of equally long sequences is, in bits; `options` are those of `plot`.

        height[i, a] = share[i, a] · Σ_b share[i, b] · log₂(share[i, b] · n_letters)
        """
        from ...sequences import as_sequences

        found = as_sequences(sequences, alphabet)
        codes, size = found.as_matrix(), found.alphabet.size
        share = np.stack([(codes == a).mean(axis=0) for a in range(size)], axis=1)
        return cls(_information(share), found.alphabet.letters, label=BITS).plot(ax, **options)

    def plot(self, ax: Any = None, *, row: int = ROW, colors: dict[str, str] | None = None) -> SequenceLogoDisplay:
        """Draw the logo.

        Parameters
        ----------
        ax : matplotlib axes, optional
            All positions are then in one row.
        row : int
            How many positions stand in one row of a new figure.
        colors : dict of letter to colour, optional
        """
        length = len(self.values)
        width = length if ax is not None else min(row, length)
        starts = range(0, length, width)
        if ax is None:
            size = (float(np.clip(0.16 * width + 1.2, 4.0, 13.0)), 0.8 + 1.7 * len(starts))
            _, grid = pyplot().subplots(len(starts), 1, figsize=size, layout="constrained", squeeze=False, sharey=True)
            self.axes_ = list(grid[:, 0])
        else:
            self.axes_ = [ax]
        self._start(self.axes_[0], (0.0, 0.0))
        colors = self._colours() if colors is None else colors
        for axes, first in zip(self.axes_, starts, strict=True):
            self._row(axes, first, min(first + width, length), width, colors)
        middle = self.axes_[len(self.axes_) // 2]
        middle.set_ylabel(self.label if len(self.axes_) > 1 else self.label.replace(" (", "\n("))
        self.axes_[-1].set_xlabel("position (from 0)" if self.start == 0 else "position")
        return self

    def _row(self, ax: Any, first: int, last: int, width: int, colors: dict[str, str]) -> None:
        """Draw the positions first to last; one collection per letter, however many positions there are."""
        from matplotlib.collections import PathCollection

        outlines: dict[int, list[Any]] = {}
        for i in range(first, last):
            for a, low, height in stacked(self.values[i]):
                outlines.setdefault(a, []).append(_fitted(self.letters[a], self.start + i, low, height))
        for a, paths in sorted(outlines.items()):
            colour = colors.get(self.letters[a].upper(), COLOURS[-1])
            ax.add_collection(PathCollection(paths, facecolors=colour, edgecolors="none", label=self.letters[a]))
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set_xlim(self.start + first - 0.6, self.start + first + width - 0.4)
        lowest, highest = reach(self.values)
        room = 0.05 * ((highest - lowest) or 1.0)
        ax.set_ylim(lowest - room * (lowest < 0), (highest or 1.0 * (lowest == 0)) + room)
        whole_numbers(ax.xaxis)
        bare(ax)

    def _colours(self) -> dict[str, str]:
        known = {letter.upper() for letter in self.letters}
        for colours in LETTER_COLOURS.values():
            if known <= set(colours):
                return colours
        return {letter: COLOURS[a % len(COLOURS)] for a, letter in enumerate(sorted(known))}


def _information(share: np.ndarray) -> np.ndarray:
    """Return the heights of letters in bits, from the share of every letter at every position."""
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    bits = np.sum(share * np.log2(np.maximum(share * share.shape[1], 1e-300)), axis=1, keepdims=True)
    return share * np.maximum(bits, 0.0)


def _fitted(letter: str, x: float, low: float, height: float) -> Any:
    """Return the outline of a letter, stretched to one position and to its height."""
    from matplotlib.path import Path

    vertices, codes = _outline(letter)
    return Path(vertices * [WIDTH, height] + [x, low], codes)


@cache
def _outline(letter: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the outline of a letter, from −½ to ½ and from 0 to 1; slim letters stay slim."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    path = TextPath((0, 0), letter, size=1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    scale = np.array([max(box.width, 0.4 * box.height), box.height])
    return (path.vertices - [box.x0 + box.width / 2, box.y0]) / scale, path.codes
