"""Markup that data cannot break, numbers for people, axes with round numbers."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernelweave.report.markup import Html, decimals, number, percent, source_hash, table, tag, text
from kernelweave.report.svg import Axis, Plot, legend, round_step, thinned

NASTY = "</b><script>alert(1)</script>\"'&amp;\x00\ud800"


class Reader(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self):
        super().__init__()
        self.tags, self.data = [], []

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data):
        self.data.append(data)


def read(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


@given(st.text())
@example(NASTY)
def test_row_79_any_text_stays_text(given_):
    markup = tag("b", given_, title=given_, data_values=[given_])
    reader = read(markup)
    ((name, attributes),) = reader.tags
    assert name == "b"
    seen = "".join(reader.data)
    assert attributes["title"] == seen
    assert len(seen) == len(given_)
    assert all(a in (b, "\ufffd") for a, b in zip(seen, given_, strict=True))
    assert len(json.loads(attributes["data-values"])) == 1
    markup.encode()  # whatever was given, the page can be written


def test_markup_is_not_escaped_twice():
    assert tag("p", tag("b", "<"), " & ", None) == "<p><b>&lt;</b> &amp; </p>"
    assert text(Html("<br>")) == "<br>"
    assert tag("input", hidden=True, disabled=False, value=None, class_="a") == '<input hidden class="a">'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (12345, "12\u202f345"),
        (0.12345, "0.123"),
        (-1.5, "−1.5"),
        (12345.6, "12\u202f346"),
        (1e-5, "10⁻⁵"),
        (-1e-5, "−10⁻⁵"),
        (2.34e-7, "2.34·10⁻⁷"),
        (1.5e17, "1.5·10¹⁷"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
    ],
)
def test_numbers_are_for_people(value, shown):
    assert number(value) == shown


def test_shares_and_scores():
    assert percent(0.1234) == "12.3\u202f%"
    assert percent(float("nan")) == decimals(float("nan")) == "–"
    assert decimals(-0.5) == "−0.500"


def test_policy_names_a_source_by_its_hash():
    # the example of the Content Security Policy specification, level 2
    assert source_hash("alert('Hello, world.');") == "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.booleans())
def test_ticks_are_round_and_inside(low, width, whole):
    axis = Axis(low, low + width, "x", whole=whole)
    marks = axis.ticks()
    values = [value for value, _ in marks]
    assert all(axis.low - 1e-6 * width <= value <= axis.high + 1e-6 * width for value in values)
    assert len(values) <= 9
    if not whole:
        assert len(values) >= 2
        assert len({label for _, label in marks}) == len(marks) or abs(low) > 1e3 * width
    else:
        assert all(value == round(value) for value in values)


@given(st.floats(1e-12, 1e12))
def test_steps_are_one_two_or_five(step):
    found = round_step(step)
    assert float(f"{found:.0e}"[0]) in (1, 2, 5)
    assert 0.79 * step <= found <= 2.51 * step


def test_axes_stand_around_their_values():
    assert Axis.around([1.0, 3.0, np.nan, np.inf], "x").low < 1.0
    same = Axis.around([2.0, 2.0], "x")
    assert same.low < 2.0 < same.high
    log = Axis.around([1e-3, 0.0, -1.0, 10.0], "x", log=True)
    assert 0 < log.low < 1e-3
    assert log.place(0.1, 0.0, 1.0) == pytest.approx(0.5)
    assert Axis.around([0.5], "x", log=True).low == pytest.approx(0.25)
    assert Axis.around([], "x").low < Axis.around([], "x").high


def test_points_lie_where_their_values_are():
    plot = Plot(Axis(0.0, 10.0, "x"), Axis(0.0, 1.0, "y"), "title")
    left, top, right, bottom = plot.area
    x, y = plot.at([0.0, 10.0, 5.0], [0.0, 1.0, 0.5])
    assert x.tolist() == [left, right, (left + right) / 2]
    assert y.tolist() == [bottom, top, (top + bottom) / 2]
    plot.line([0.0, 10.0], [0.0, 1.0], "c0", tip="{0}", values=[[1], [2]], name="a")
    path = next(a for n, a in read(plot.html()).tags if n == "path")
    assert path["d"] == f"M{left} {bottom}L{right} {top}"
    assert legend([("alone", "c0")]) is None


def test_cells_of_a_map_are_drawn_by_strength_and_sign():
    plot = Plot(Axis(-0.5, 1.5, "x"), Axis(0.5, 1.5, "y"), "map")
    plot.cells(np.array([[2.0, -1.0]]), tip="{2}", shown=[["2", "−1"]], columns=[0, 1], rows=[1])
    paths = [a for n, a in read(plot.html()).tags if n == "path"]
    assert [(p["class"], float(p["fill-opacity"])) for p in paths] == [("bar pos", 1.0), ("bar neg", 0.5)]


@given(st.integers(1, 5000), st.integers(2, 300))
def test_thinning_keeps_both_ends(n, most):
    kept = thinned(n, most)
    assert len(kept) == min(n, most)
    assert kept[0] == 0
    assert kept[-1] == n - 1


def test_long_tables_fold():
    rows = [[Html("<td>1</td>")] for _ in range(5)]
    assert 'data-fold="3"' in table([("a", True)], rows, fold=3)
    assert "data-fold" not in table([("a", True)], rows, fold=5)
