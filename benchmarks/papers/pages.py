"""The pages, written from the files of results: no number in them comes from anywhere else."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from . import data
from .frame import HOME, Cells, Row, load, path_of, shown
from .registry import ROWS
from .style import SETTINGS

#: In cells: ours first, then the paper's.
BETWEEN = " · "


@cache
def papers() -> dict[str, dict[str, Any]]:
    """Return what is said about each paper, by the name of its page."""
    return tomllib.loads((Path(__file__).parent / "papers.toml").read_text(encoding="utf-8"))


def write() -> Path:
    """Write all pages, and the pictures of the rows that have been measured; return the folder."""
    HOME.folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (HOME.folder / name).write_text(text, encoding="utf-8")
    draw()
    return HOME.folder


def texts() -> dict[str, str]:
    """Return the text of every page by its name."""
    found = {f"{name}.md": page(name) for name in papers()}
    return found | {"index.md": index()}


def draw() -> None:
    """Draw the rows that have something to see, all in one style."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    HOME.figures.mkdir(parents=True, exist_ok=True)
    for row in ROWS:
        if row.draw is not None and path_of(row.id).exists() and load(row.id)["cells"]:
            with plt.rc_context(SETTINGS):
                fig = plt.figure(figsize=row.figsize, layout="constrained")
                row.draw(fig, load(row.id))
                fig.savefig(HOME.figures / f"{row.id}.png", dpi=100, metadata={"Software": None})
                plt.close(fig)


def page(paper: str) -> str:
    """Return the page of one paper."""
    about = papers()[paper]
    parts = [f"# {about['title']}", about["cited"], about["about"]]
    parts.append(
        f"Where a cell has two values, ours comes first, then the paper's: ours{BETWEEN}paper's. – is not measured."
    )
    parts += [section(row) for row in ROWS if row.paper == paper]
    if about.get("errata"):
        parts.append("## Errata and corrected claims")
        parts.append("\n".join(f"- {one.strip()}" for one in about["errata"]))
    parts.append("[All rows of all papers](index.md)")
    return "\n\n".join(parts) + "\n"


def section(row: Row) -> str:
    """Return one table or figure."""
    text = row.text
    parts = [f"## {row.name}", f"**{text['title']}.** {text['shows']}"]
    if not path_of(row.id).exists():
        return "\n\n".join([*parts, f'Not measured yet: `make papers ARGS="{row.id}"`.'])
    result = load(row.id)
    parts += [f"Cells: {text['unit']}.", table(result["cells"], row.theirs)]
    if row.draw is not None and result["cells"]:
        parts.append(f"![{text['title']}](figures/{row.id}.png)")
    parts.append("\n".join(f"- *{head}*: {words}" for head, words in facts(row, result).items()))
    return "\n\n".join(parts)


def facts(row: Row, result: dict[str, Any]) -> dict[str, str]:
    """Return what is to be known about a result, by headings."""
    mode = " --quick" if result["mode"] == "quick" else ""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    sizes = ", ".join(f"{name} = {_size(value)}" for name, value in result["sizes"].items() if name != "most")
    found = {"Why they differ": row.text["differs"], "Data": f"{row.text['data']}. Here: {sources(result)}."}
    how = f"{result['mode']} sizes ({sizes})" if sizes else "from the tables that it shows"
    where = f"{result['date']}; {result['machine']}; Python {result['python']}, {versions}"
    found["Measured"] = f"{how}, {shown(result['seconds'])} s in all, on {where}"
    if result["left_out"]:
        found["Out of time for"] = "; ".join(result["left_out"])
    found["Again"] = f'`make papers ARGS="{row.id}{mode}"`'
    return found


def _size(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(one)}" for name, one in value.items())
    return ", ".join(map(shown, value)) if isinstance(value, list) else shown(value)


def sources(result: dict[str, Any]) -> str:
    """Return where the data of a result come from."""
    return ", ".join(result["data"]) or "nothing is read"


def stand_in(result: dict[str, Any]) -> bool:
    """Say whether something generated stood in for real data."""
    return any(one.startswith("stand-in") for one in result["data"])


def table(ours: Cells, theirs: Cells) -> str:
    """Return a table of our values beside the paper's."""
    columns = list(dict.fromkeys(name for cells in (ours, theirs) for line in cells.values() for name in line))
    columns = _in_order(columns, theirs)
    labels = _lines(ours, theirs)
    both = {name for line in theirs.values() for name in line}
    head = ["", *columns]
    rows = [[label, *(_cell(ours, theirs, label, name, name in both) for name in columns)] for label in labels]
    return "\n".join(_line(cells) for cells in (head, ["---"] * len(head), *rows))


def _in_order(columns: list[str], theirs: Cells) -> list[str]:
    """Return columns of ours where they stand, those of the paper alone at the end."""
    return columns


def _lines(ours: Cells, theirs: Cells) -> list[str]:
    """Return the labels of both, numbers of samples in their order."""
    labels = list(dict.fromkeys([*ours, *theirs]))
    numbers = {label: int(label.replace(",", "")) for label in labels if re.fullmatch(r"[\d,]+", label)}
    return sorted(labels, key=lambda label: numbers.get(label, 0)) if len(numbers) == len(labels) else labels


def _cell(ours: Cells, theirs: Cells, label: str, name: str, both: bool) -> str:
    mine, other = (shown(cells.get(label, {}).get(name)) for cells in (ours, theirs))
    return f"{mine}{BETWEEN}{other}" if both and other != "–" else mine


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def anchor(name: str) -> str:
    """Return what a heading is linked by."""
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


def headline(row: Row, result: dict[str, Any]) -> tuple[str, str, str]:
    """Return the label of the line that speaks for a row, the paper's value there, and ours."""
    (column, _, wanted), ours = row.headline.partition(" @ "), result["cells"]
    with_ours = [label for label in _lines(ours, {}) if ours[label].get(column) is not None]
    numbered = [label for label in with_ours if label[0].isdigit()]
    with_ours = [label for label in with_ours if label == wanted] or numbered or with_ours
    with_both = [label for label in with_ours if row.theirs.get(label, {}).get(column) is not None]
    if not with_ours:
        return "", "–", "–"
    label = (with_both or with_ours)[-1]
    return f"{column}, {label}", shown(row.theirs.get(label, {}).get(column)), shown(ours[label][column])


def index() -> str:
    """Return the overview of all rows."""
    parts = ["# The papers, redone", papers_text()]
    parts.append("```{toctree}\n:hidden:\n\n" + "\n".join(papers()) + "\n```")
    lines = [["", "shows", "one cell of it", "paper", "ours", "sizes", "data"], ["---"] * 7]
    for row in ROWS:
        link = f"[{papers()[row.paper]['short']}: {row.name}]({row.paper}.md#{anchor(row.name)})"
        if not path_of(row.id).exists():
            lines.append([link, row.text["title"], "–", "–", "–", "not measured", "–"])
            continue
        result = load(row.id)
        kinds = " and ".join(dict.fromkeys(one.partition(":")[0] for one in result["data"])) or "none"
        lines.append([link, row.text["title"], *headline(row, result), result["mode"], kinds])
    parts.append("\n".join(map(_line, lines)))
    parts.append("## Where data come from\n\n" + datasets())
    return "\n\n".join(parts) + "\n"


def papers_text() -> str:
    """Return how to read the overview."""
    return (Path(__file__).parent / "index.txt").read_text(encoding="utf-8").strip()


def datasets() -> str:
    """Return the table of data sets: what each is, how a stranger gets it, and what stands in for it."""
    lines = [["folder", "is", "from", "stands in for it"], ["---"] * 4, *data.SETS]
    return "\n".join(map(_line, lines))
