"""One style for all pictures."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREY = "#2a6f97", "#d1603d", "#9aa5ab"
COLOURS = (BLUE, ORANGE, "#117733", "#88ccee", "#aa4499", "#ddaa33", GREY, "#332288", "#661100", "#44aa99")
MARKERS = "osD^vPX*<>"
SETTINGS = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "kernelweave",
}


def number_of(line: str) -> int:
    """Return the number of samples that a line is labelled with."""
    return int(line.split(" ")[0].replace(",", ""))


def times(ax: Any, ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]], columns: dict[str, str]) -> None:
    """Draw seconds by samples on logarithmic axes: ours in lines, the paper's dotted, in the colour of the same way."""
    for (column, paper), colour, marker in zip(columns.items(), COLOURS, MARKERS, strict=False):
        for cells, name, shape in ((ours, column, "-"), (theirs, paper, ":")):
            points = [(number_of(line), row[name]) for line, row in cells.items() if row.get(name)]
            if points:
                label = f"{column}" if cells is ours else f"{paper}, paper"
                ax.loglog(*zip(*sorted(points), strict=True), shape, marker=marker, ms=4, color=colour, label=label)
    ax.set(xlabel="samples, N", ylabel="seconds")
    ax.grid(alpha=0.25)


def heat(ax: Any, values: Any, **options: Any) -> Any:
    """Draw a map of numbers by position, words of one letter below."""
    return ax.imshow(values, aspect="auto", origin="lower", interpolation="nearest", **options)
