"""What all displays share: axes, colours that survive greyscale and colour blindness, and short names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..terms import Places

#: Okabe and Ito's colours, which people with any kind of colour vision can tell apart; black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: What stands back: bars and dots of no importance, and lines that only guide the eye.
QUIET = "#9AA5AB"
#: A ramp of even lightness, the same to everybody, and readable in grey.
COLOUR_MAP = "cividis"
#: Lines differ in style as well as in colour.
STYLES = ("-", "--", "-.", ":")
#: Up to so many terms have a line of their own with their name; more are drawn along an axis.
FEW = 30
#: Parts of one split kernel are drawn along their axis from this number on.
FEW_PARTS = 12
#: How many of many terms are named.
NAMED = 6

POSITION = "position of the first letter (from 0)"
DEGREE = "word length (letters)"


class Display:
    """A figure that can be drawn again: data in the constructor, `plot(ax=None)` draws them.

    After `plot`, `ax_` and `figure_` are what was drawn on.
    """

    ax_: Any
    figure_: Any

    def _start(self, ax: Any, size: tuple[float, float]) -> Any:
        """Return the axes to draw on, new ones where none are given."""
        if ax is None:
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def plot(self, ax: Any = None) -> Any:
        """Draw, and return the display."""
        raise NotImplementedError


def pyplot() -> Any:
    """Return matplotlib's pyplot, or say how to get it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise ImportError("Displays need matplotlib: pip install kernelweave[plot]") from None
    return plt


def bare(ax: Any) -> None:
    """Take away the lines that carry nothing."""
    ax.spines[["top", "right"]].set_visible(False)


def whole_numbers(*axes: Any) -> None:
    """Let ticks stand at whole numbers only, as positions, letters and steps are counted."""
    for axis in axes:
        axis.get_major_locator().set_params(integer=True)


def shorten(text: str, width: int = 44) -> str:
    """Return the text with its middle left out where it is longer than `width`."""
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def labels_of(names: Sequence[str], places: Places | None) -> list[str]:
    """Return short labels for the terms, all of them distinct: places where there are any, names otherwise."""
    if places is not None and places.whole is not None:
        parts = zip(places.degrees, places.positions, strict=True)
        labels = [_place(degree, position) for degree, position in parts]
    else:
        labels = [shorten(name) for name in names]
    if len(set(labels)) < len(set(names)):  # what told them apart was left out: their numbers do
        labels = [f"{m}: {label}" for m, label in enumerate(labels)]
    return labels


def _place(degree: int, position: int) -> str:
    named = (("degree", degree), ("position", position))
    return ", ".join(f"{name} {value}" for name, value in named if value >= 0)


def kind_of(n: int, places: Places | None, kind: str = "auto") -> str:
    """Return how n terms are drawn: "bars" with names, "line" along an axis, or "map" of degrees and positions."""
    from ...errors import InputError

    kinds = ("auto", "bars", "line", "map")
    if kind not in kinds:
        raise InputError(f"kind must be one of {kinds}; got {kind!r}.")
    grid = places is not None and places.whole is not None and places.is_grid
    if kind == "map" and not grid:
        raise InputError('kind="map" needs terms by degree and position: split("degree", "position"). Use "line".')
    if kind != "auto":
        return kind
    if grid and n > FEW_PARTS:
        return "map"
    parts = places is not None and places.whole is not None
    return "bars" if n <= (FEW_PARTS if parts else FEW) else "line"


def axis_of(n: int, places: Places | None) -> tuple[np.ndarray, str]:
    """Return where n terms stand along an axis, and what the axis is called."""
    if places is not None and places.whole is not None and not places.is_grid:
        for values, name in ((places.positions, POSITION), (places.degrees, DEGREE)):
            if values.min() >= 0 and len(np.unique(values)) == n:
                return values, name
    return np.arange(n), "number of the term (from 0)"


def grid_of(values: np.ndarray, places: Places) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """Return values as a matrix of degrees and positions, NaN where there are none, and the extent of its picture."""
    grid, degrees, positions = places.grid(values)
    return grid, (positions[0] - 0.5, positions[-1] + 0.5, degrees[0] - 0.5, degrees[-1] + 0.5)


def draw_map(
    ax: Any, values: np.ndarray, extent: Any, label: str, *, signed: bool = False, colorbar: bool = True
) -> Any:
    """Draw a matrix as a picture with a colour bar; signed values get limits alike on both sides of zero."""
    known = values[np.isfinite(values)]
    limit = float(np.abs(known).max(initial=0.0)) or 1.0
    image = ax.imshow(
        np.ma.masked_invalid(values),
        extent=extent,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        cmap=COLOUR_MAP,
        vmin=-limit if signed else 0.0,
        vmax=limit,
    )
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label=label, pad=0.02)
    whole_numbers(ax.xaxis, ax.yaxis)
    return image


def name_largest(ax: Any, x: np.ndarray, values: np.ndarray, labels: Sequence[str], top: int = NAMED) -> list[Any]:
    """Write the labels of the largest values beside them, and leave out those that would lie on others."""
    span, highest = max(float(np.ptp(x)), 1.0), max(float(values.max()), 1e-300)
    taken: list[tuple[float, float, float]] = []
    texts = []
    for m in np.argsort(-values, kind="stable")[:top]:
        label = shorten(labels[m], 36)
        at, height = float(x[m] - x.min()) / span, float(values[m]) / highest
        left = at > 0.5
        width = 0.02 + 0.012 * len(label)  # in parts of the axis, for small letters on a figure of usual width
        low, high = (at - width, at) if left else (at, at + width)
        if height <= 0 or any(low < b and a < high and abs(height - v) < 0.07 for a, b, v in taken):
            continue
        taken.append((low, high, height))
        texts.append(
            ax.annotate(
                label,
                (x[m], values[m]),
                xytext=(-5 if left else 5, 2),
                textcoords="offset points",
                ha="right" if left else "left",
                fontsize="small",
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
            )
        )
    return texts
