"""Markup that cannot be broken by data: everything is escaped unless it is `Html` already."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any

#: Characters that HTML forbids or browsers swallow; a visible mark is honest about them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
#: Elements without an end.
_VOID = {"br", "input", "link", "meta"}


class Html(str):
    """Text that is markup already, and is not escaped again."""


def text(value: Any) -> Html:
    """Return a value as text that stands for itself."""
    return value if isinstance(value, Html) else Html(escape(_FORBIDDEN.sub("\ufffd", str(value)), quote=True))


def tag(name: str, *children: Any, **attributes: Any) -> Html:
    """Return an element.

    Parameters
    ----------
    name : name of the element
    children : elements or texts; None is left out
    attributes : `class_`, `data_tip` and the like; None and False are left out, True has no value, lists become JSON
    """
    start = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{start}>")
    return Html(f"<{name}{start}>{join(children)}</{name}>")


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, (list, tuple, dict)):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    elif isinstance(value, float):
        value = short(value)
    return f' {name}="{text(value)}"'


def join(children: Iterable[Any]) -> Html:
    """Return elements and texts one after another; None is left out."""
    return Html("".join(text(child) for child in children if child is not None))


def short(value: float) -> str:
    """Return a coordinate with at most two decimals and no needless zeros."""
    out = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if out == "-0" else out


def number(value: float, digits: int = 3) -> str:
    """Return a number for people: a few significant digits, thousands set apart."""
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "–", "inf": "∞", "-inf": "−∞"}[str(value)]
    if value == int(value) and abs(value) < 1e15:
        out = f"{int(value):,}".replace(",", "\u202f")
    elif 1e-4 <= abs(value) < 10.0**digits:
        out = f"{value:.{digits}g}"
    elif 1e-4 <= abs(value) < 1e7:
        out = f"{value:,.0f}".replace(",", "\u202f")
    else:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        mantissa, power = mantissa.rstrip("0").rstrip("."), f"10{str(int(exponent)).translate(_RAISED)}"
        out = {"1": power, "-1": f"-{power}"}.get(mantissa, f"{mantissa}·{power}")
    return out.replace("-", "−")


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def clipped(name: str, most: int = 120) -> str:
    """Return the beginning of a name that is longer than `most`."""
    return name if len(name) <= most else name[: most - 1] + "…"


def decimals(value: float, digits: int = 3) -> str:
    """Return a score with a fixed number of decimals, so that scores can be compared at a glance."""
    return "–" if value != value else f"{value:.{digits}f}".replace("-", "−")


def percent(value: float, digits: int = 1) -> str:
    """Return a share of one in percent."""
    return "–" if value != value else f"{decimals(100 * value, digits)}\u202f%"


def name_of(value: Any) -> Html:
    """Return a name that somebody else chose; it cannot turn the direction of the text around it."""
    return tag("bdi", value)


# -- tables ------------------------------------------------------------------------------------------------------------


def cell(shown: Any, sort: float | str | None = None, *, numeric: bool = False) -> Html:
    """Return a cell of a table; `sort` is what it is sorted by, where that is not what it shows."""
    return tag("td", shown, class_="num" if numeric else None, data_sort=sort if sort is None else str(sort))


def number_cell(value: float, digits: int = 3) -> Html:
    """Return a cell with a number, sorted by all of its digits."""
    return cell(number(value, digits), repr(float(value)), numeric=True)


def table(
    head: Iterable[tuple[str, bool]],
    rows: Iterable[Iterable[Html]],
    *,
    fold: int | None = None,
    label: str = "",
    sortable: bool = True,
) -> Html:
    """Return a table that scrolls where it is too wide.

    Parameters
    ----------
    head : (title, whether the column holds numbers) for every column
    rows : cells of every row
    fold : rows to show before a button that shows the others
    label : what the table is, for those who hear it
    sortable : whether the page's script may put the rows into another order
    """
    body = [tag("tr", *cells) for cells in rows]
    heads = [tag("th", title, scope="col", class_="num" if numeric else None) for title, numeric in head]
    long = fold is not None and len(body) > fold
    inner = tag(
        "table",
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
        class_="sortable" if sortable else None,
        data_fold=fold if long else None,
        aria_label=label or None,
    )
    return tag("div", inner, class_="wide")


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Return names with what they stand for; pairs whose value is None are left out."""
    rows = [tag("div", tag("dt", key), tag("dd", value)) for key, value in pairs if value is not None]
    return tag("dl", *rows, class_="facts")


def source_hash(source: str) -> str:
    """Return what a Content-Security-Policy calls an inline style or script by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
