"""Plots as SVG: axes with round numbers, lines, dots and bars that tell their values when they are pointed at.

The colours are classes of the page's style sheet, so that a plot is right in light, in dark and in print.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .markup import Html, number, short, tag

#: Space around the plotting area: above, to the right and below; to the left, beside the labels; and a letter's width.
ABOVE, RIGHT, BELOW, LEFT, LETTER = 10, 14, 40, 30, 6.6
#: Plots wider than this keep their size on a small screen, and are moved sideways there; letters of their labels.
FULL, WIDEST = 600, 6
#: Strengths of colour that a map tells apart.
LEVELS = 12


@dataclass(frozen=True)
class Axis:
    """One direction of a plot; a logarithmic one runs over the exponents of ten.

    Parameters
    ----------
    low, high : the ends, in units of the data
    label : what it shows, with its unit
    log : whether equal steps are equal factors
    whole : whether only whole numbers make sense
    """

    low: float
    high: float
    label: str
    log: bool = False
    whole: bool = False

    @classmethod
    def around(cls, values: Any, label: str, *, log: bool = False, whole: bool = False, margin: float = 0.04) -> Axis:
        """Return the axis that shows all finite values, with a margin."""
        found = np.asarray(values, dtype=np.float64).ravel()
        found = found[np.isfinite(found) & ((found > 0) if log else True)]
        low, high = (float(found.min()), float(found.max())) if found.size else (0.1, 1.0)
        if log:
            factor = (high / low) ** margin if high > low else 2.0
            return cls(low / factor, high * factor, label, log=True)
        space = margin * (high - low) or max(abs(high), 1.0) * 0.5
        return cls(low - space, high + space, label, whole=whole)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends on the scale that is drawn: exponents where the axis is logarithmic."""
        return (float(np.log10(self.low)), float(np.log10(self.high))) if self.log else (self.low, self.high)

    def place(self, values: Any, start: float, stop: float) -> np.ndarray:
        """Return where values lie when the axis runs from `start` to `stop`."""
        found = np.asarray(values, dtype=np.float64)
        low, high = self.ends
        return start + (stop - start) * ((np.log10(found) if self.log else found) - low) / (high - low)

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Return (value, label) of the marks, at round numbers."""
        low, high = self.ends
        step = round_step((high - low) / about)
        if self.whole or self.log:
            step = max(1.0, round(step))
        marks = [k * step for k in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]
        if self.log:
            return [(10.0**mark, number(10.0**mark)) for mark in marks]
        decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        return [(mark, _tick(mark, decimals)) for mark in marks]


def round_step(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, not far below `step`."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= 0.8 * step))


def _tick(mark: float, decimals: int) -> str:
    if decimals > 4 or abs(mark) >= 1e6:
        return number(mark)
    return f"{mark + 0.0:.{decimals}f}".replace("-", "−") if round(mark, decimals) else "0"


@dataclass
class Plot:
    """A plotting area with two axes, filled by its methods.

    Parameters
    ----------
    x, y : the axes
    title : said above the plot
    width, height : size in the plot's own units, which are pixels where there is room
    zoom : whether a part can be chosen with the mouse
    """

    x: Axis
    y: Axis
    title: str
    width: int = 440
    height: int = 290
    zoom: bool = True
    _marks: list[Html] = field(default_factory=list)
    _legend: list[tuple[str, str]] = field(default_factory=list)

    @property
    def area(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the plotting area."""
        longest = max((len(label) for _, label in self.y.ticks()), default=0)
        longest = max(longest, WIDEST) if self.width > FULL else longest  # full plots below each other line up
        return round(LEFT + LETTER * longest), ABOVE, self.width - RIGHT, self.height - BELOW

    def at(self, xs: Any, ys: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return where points lie."""
        left, top, right, bottom = self.area
        return self.x.place(xs, left, right), self.y.place(ys, bottom, top)

    def line(
        self, xs: Any, ys: Any, series: str, *, tip: str, values: list, name: str = "", lead: str | None = None
    ) -> None:
        """Draw a line; `tip` tells a point's values, in the places {0}, {1} and so on, below `lead` as it is."""
        px, py = self.at(xs, ys)
        path = "M" + "L".join(f"{short(a)} {short(b)}" for a, b in zip(px, py, strict=True))
        told = {"data_lead": lead, "data_tip": tip, "data_values": values}
        self._add("path", name, series, d=path, class_=f"line {series}", **told)

    def dots(
        self, xs: Any, ys: Any, series: str, *, tip: str, values: list, name: str = "", lead: str | None = None
    ) -> None:
        """Draw points; they stay round whatever part of the plot is chosen."""
        px, py = self.at(xs, ys)
        path = "".join(f"M{short(a)} {short(b)}h0" for a, b in zip(px, py, strict=True))
        told = {"data_lead": lead, "data_tip": tip, "data_values": values}
        self._add("path", name, series, d=path, class_=f"dots {series}", **told)

    def rule(self, xs: tuple[float, float], ys: tuple[float, float], *, name: str = "", **attributes: Any) -> None:
        """Draw a thin line for comparison."""
        (x0, x1), (y0, y1) = self.at(xs, ys)
        attributes = {"class_": "rule", **attributes}
        self._add("line", name, "rule", x1=float(x0), y1=float(y0), x2=float(x1), y2=float(y1), **attributes)

    def bars(self, edges: Any, heights: Any, series: str, *, tips: Sequence[str], name: str = "") -> None:
        """Draw bars that stand on zero, between neighbouring edges."""
        px, base = self.at(edges, np.zeros(len(edges)))
        _, top = self.at(np.zeros(len(heights)), heights)
        gap = min(1.0, 0.1 * float(px[1] - px[0])) if len(px) > 1 else 0.0
        for left, right, at, foot, tip in zip(px[:-1], px[1:], top, base, tips, strict=False):
            if at != foot:
                box = {"x": float(left), "y": float(min(at, foot)), "width": float(right - left - gap)}
                self._add("rect", "", series, **box, height=float(abs(foot - at)), class_=f"bar {series}", data_tip=tip)
        if name:
            self._legend.append((name, series))

    def cells(self, values: np.ndarray, *, tip: str, shown: list[list[Any]], columns: list, rows: list) -> None:
        """Draw a map: values[i, j] as a square of row i and column j, the stronger its colour the larger.

        Positive and negative values have a colour each. `tip` tells {0} the row, {1} the column, {2} what is `shown`.
        """
        left, top, right, bottom = self.area
        n_rows, n_columns = values.shape
        width, height = (right - left) / n_columns, (bottom - top) / n_rows
        level = np.ceil(LEVELS * np.abs(values) / (np.abs(values).max(initial=0.0) or 1.0) - 1e-9).astype(int)
        for series, sign in (("pos", values > 0), ("neg", values < 0)):
            for strength in range(1, LEVELS + 1):
                picked = np.argwhere(sign & (level == strength))
                box = f"h{short(width)}v{short(-height)}h{short(-width)}z"
                path = "".join(f"M{short(left + j * width)} {short(bottom - i * height)}{box}" for i, j in picked)
                if path:
                    self._add("path", "", "", d=path, class_=f"bar {series}", fill_opacity=strength / LEVELS)
        self.told(shown, tip=tip, columns=columns, rows=rows)

    def told(self, shown: list[list[Any]], *, tip: str, columns: list, rows: list) -> None:
        """Let every field of an even grid tell something when it is pointed at."""
        data = {"shown": shown, "columns": columns, "rows": rows, "tip": tip}
        self._add("g", "", "", class_="told", data_fields=data)

    def letter(self, letter: str, x: float, low: float, high: float, series: str) -> None:
        """Draw a letter one unit wide around x, from `low` to `high`."""
        (left, right), (foot, top) = self.at((x - 0.48, x + 0.48), (low, high))
        # letters of 14 units are about ten wide and ten high; browsers stretch them to ten wide exactly
        size = f"scale({(right - left) / 10:.3g} {(foot - top) / 10.1:.3g})"
        place = f"translate({short((left + right) / 2)} {short(foot)}) {size}"
        attributes = {"transform": place, "textLength": 10, "lengthAdjust": "spacingAndGlyphs", "class_": series}
        self._marks.append(tag("text", letter, **attributes))

    def _add(self, element: str, name: str, series: str, **attributes: Any) -> None:
        self._marks.append(tag(element, **attributes))
        if name:
            self._legend.append((name, series))

    def html(self, note: Any = None, **attributes: Any) -> Html:
        """Return the figure."""
        left, top, right, bottom = self.area
        place = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        area = " ".join(map(str, place.values()))
        # the marks have a drawing of their own, so that a part of it can be chosen; its floor catches the pointer
        floor = tag("rect", **place, class_="floor")
        inner = tag("svg", floor, *self._marks, **place, class_="clip", viewBox=area, preserveAspectRatio="none")
        drawn = tag(
            "svg",
            tag("rect", **place, class_="area"),
            self._ticks(),
            inner,
            tag("text", self.x.label, x=(left + right) / 2, y=self.height - 4, class_="axis"),
            tag(
                "text", self.y.label, transform=f"translate(12 {short((top + bottom) / 2)}) rotate(-90)", class_="axis"
            ),
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            aria_label=f"{self.title}: {self.y.label} against {self.x.label}",
            class_="plot zoom" if self.zoom else "plot",
            data_area=area,
            data_x=[*self.x.ends, int(self.x.log), int(self.x.whole)],
            data_y=[*self.y.ends, int(self.y.log), int(self.y.whole)],
        )
        drawn = tag("div", drawn, class_="wide") if self.width > FULL else drawn
        return figure(self.title, drawn, note, legend(self._legend), **attributes)

    def _ticks(self) -> Html:
        left, top, right, bottom = self.area
        marks = []
        for value, label in self.x.ticks():
            at = float(self.x.place(value, left, right))
            marks.append(tag("line", x1=at, x2=at, y1=top, y2=bottom))
            marks.append(tag("text", label, x=at, y=bottom + 15, class_="tx"))
        for value, label in self.y.ticks():
            at = float(self.y.place(value, bottom, top))
            marks.append(tag("line", x1=left, x2=right, y1=at, y2=at))
            marks.append(tag("text", label, x=left - 6, y=at + 4, class_="ty"))
        return tag("g", *marks, class_="ticks")


def histogram(
    edges: np.ndarray, groups: Sequence[tuple[str, str, np.ndarray]], labels: tuple[str, str], what: str, title: str
) -> Plot:
    """Return how the numbers of groups are spread, each group adding up to 100 %.

    Parameters
    ----------
    groups : (name, series, numbers) of each
    labels : what both axes show
    what : what the numbers are, for the bars
    """
    counted = [np.histogram(values, edges)[0] for _, _, values in groups]
    heights = [100.0 * count / max(count.sum(), 1) for count in counted]
    y = Axis(0.0, 1.08 * max(float(height.max()) for height in heights), labels[1])
    plot = Plot(Axis(float(edges[0]), float(edges[-1]), labels[0]), y, title, zoom=False)
    for (name, series, _), count, height in zip(groups, counted, heights, strict=True):
        tips = [
            f"{name}: {number(c)} samples\n{what} {number(a)} to {number(b)}"
            for c, a, b in zip(count, edges[:-1], edges[1:], strict=True)
        ]
        plot.bars(edges, height, f"{series} half", tips=tips, name=name)
    return plot


def figure(title: str, drawn: Html, note: Any = None, key: Html | None = None, **attributes: Any) -> Html:
    """Return a drawing with its title above it, and what else there is to say below."""
    caption = tag("figcaption", tag("b", title), key)
    return tag("figure", caption, drawn, None if note is None else tag("p", note, class_="note"), **attributes)


def legend(names: Sequence[tuple[str, str]]) -> Html | None:
    """Return the names of the series with their colours; nothing where there is only one."""
    if len(names) < 2:
        return None
    return tag("span", *(tag("span", name, class_=f"key {series}") for name, series in names), class_="legend")


def thinned(n: int, most: int) -> np.ndarray:
    """Return at most about `most` of n positions, evenly spread, the first and the last among them."""
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(int))


def bar(share: float) -> Html:
    """Return a bar that fills a share of its cell."""
    inner = tag("rect", width=f"{100 * min(max(share, 0.0), 1.0):.1f}%", height="100%", class_="bar c0")
    return tag("svg", inner, class_="meter", aria_hidden="true")


def push(share: float) -> Html:
    """Return a bar from the middle of its cell, to the right where the share is positive and to the left otherwise."""
    size = 50 * min(abs(share), 1.0)
    start = 50.0 if share >= 0 else 50.0 - size
    side = "pos" if share >= 0 else "neg"
    drawn = tag("rect", x=f"{start:.1f}%", width=f"{size:.1f}%", height="100%", class_=f"bar {side}")
    middle = tag("line", x1="50%", x2="50%", y1="0", y2="100%")
    return tag("svg", drawn, middle, class_="push", aria_hidden="true")
