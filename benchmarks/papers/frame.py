"""The common frame: rows, the tasks they are made of, and the files that keep what was measured."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import signal
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import data

ROOT = Path(__file__).resolve().parents[2]
#: What is published, and what anyone measures.
PUBLISHED, OWN = ROOT / "docs" / "papers", ROOT / "benchmarks" / "results" / "papers"
PACKAGES = ("kernelweave", "numpy", "scipy", "scikit-learn", "numba")

#: By label of a line, by name of a column: numbers, texts, or None.
Cells = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Task:
    """One line of a table, or a part of it: the columns it fills, and the work that brings them.

    Keys of what `work` returns that begin with "_" are kept for pictures and do not show in the table.
    """

    line: str
    columns: tuple[str, ...]
    work: Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """One table or figure of a paper: the paper's values, and how ours are measured.

    Its words (title, what it shows, the unit of its cells, the data with what stands in for them, why values differ)
    are in rows.toml.
    """

    id: str
    paper: str
    tasks: Callable[[dict[str, Any]], Iterable[Task]]
    quick: dict[str, Any]
    full: dict[str, Any]
    #: The column that speaks for the row in the overview; "column @ line" where a line of its own does.
    headline: str
    theirs: Cells = field(default_factory=dict)
    #: Draws the result on a figure; None where there is nothing to see.
    draw: Callable[[Any, dict[str, Any]], None] | None = None
    figsize: tuple[float, float] = (7.0, 4.0)
    #: Other rows whose results it reads.
    needs: tuple[str, ...] = ()
    #: Seconds after which no further task is begun, quick and full; a task that takes longer is cut off.
    limits: tuple[float, float] = (60.0, 1200.0)

    @property
    def text(self) -> dict[str, str]:
        """The words of this row."""
        return texts()[self.id]

    @property
    def name(self) -> str:
        """What the paper calls it: "Table 4.2"."""
        return re.sub(r"^.*(?=table-|figure-)", "", self.id).replace("-", " ").capitalize()


@cache
def texts() -> dict[str, dict[str, str]]:
    """Return the words of all rows."""
    return tomllib.loads((Path(__file__).parent / "rows.toml").read_text(encoding="utf-8"))


class OutOfTimeError(Exception):
    """A row has had its time."""


class Home:
    """The folder of pages, results and pictures that is worked in."""

    folder = OWN

    @property
    def results(self) -> Path:
        """Where results are kept."""
        return self.folder / "results"

    @property
    def figures(self) -> Path:
        """Where pictures are kept."""
        return self.folder / "figures"


HOME = Home()


def path_of(row_id: str) -> Path:
    """Return where the results of a row are kept."""
    return HOME.results / f"{row_id}.json"


def load(row_id: str) -> dict[str, Any]:
    """Return what was measured for a row."""
    path = path_of(row_id)
    if not path.exists():
        raise FileNotFoundError(f"{row_id} has not been measured yet: make papers ARGS={row_id}")
    return json.loads(path.read_text(encoding="utf-8"))


def save(result: dict[str, Any]) -> None:
    """Write what was measured for a row."""
    HOME.results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_rounded(result), indent=1, ensure_ascii=False)
    path_of(result["row"]).write_text(text + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    """Return the value with numbers of five digits: more are noise, and make large files."""
    if isinstance(value, dict):
        return {str(key): _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    if hasattr(value, "tolist"):
        return _rounded(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value


def conditions() -> dict[str, Any]:
    """Return what the figures depend on."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "machine": f"{processor()}, {os.cpu_count()} cores",
    }


def processor() -> str:
    """Return what kind of processor this is, without its model number."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    kind = " ".join(names[0].replace("(R)", "").split()[:2]) if names else platform.system()
    return f"{kind} ({platform.machine()})"


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` inside the block after so many seconds, where the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    rung = []

    def ring(*_: Any) -> None:
        rung.append(True)
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    except SystemError as error:  # what compiled code makes of an exception that comes while it runs
        raise OutOfTimeError if rung else error from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def measure(row: Row, quick: bool, resume: bool = False, limit: float | None = None, say: Any = print) -> dict:
    """Measure a row task by task, keep what is there after each, and return it.

    With `resume`, cells of an earlier run in the same mode are kept, and their tasks are not run again.
    """
    mode, sizes = ("quick", row.quick) if quick else ("full", row.full)
    limit = limit or row.limits[0 if quick else 1]
    result = {"row": row.id, "mode": mode, "sizes": sizes, **conditions(), "data": [], "seconds": 0.0}
    result |= {"cells": {}, "series": {}, "left_out": []}
    if resume and path_of(row.id).exists() and (before := load(row.id))["mode"] == mode:
        result |= {key: before[key] for key in ("cells", "series", "data", "seconds")}
    data.USED.clear()
    started, earlier = time.perf_counter(), result["seconds"]
    tasks = [task for task in row.tasks(sizes) if not _is_done(task, result["cells"])]
    result["left_out"] = [_name(task) for task in tasks]
    for task in tasks:
        left = limit - (time.perf_counter() - started)
        found = _attempt(task, left) if left > 0 else None
        if found is not None:
            line, kept = result["cells"].setdefault(task.line, {}), result["series"].setdefault(task.line, {})
            for key, value in found.items():
                (kept if key.startswith("_") else line)[key.lstrip("_")] = value
            result["left_out"].remove(_name(task))
            say(f"    {_name(task)}: {_short(found)}")
        result["data"] = sorted(set(result["data"]) | data.USED)
        result["seconds"] = round(earlier + time.perf_counter() - started, 1)
        save(result)
    result["series"] = {line: kept for line, kept in result["series"].items() if kept}
    save(result)
    return load(row.id)


def _name(task: Task) -> str:
    return f"{task.line}: {', '.join(task.columns)}"


def _is_done(task: Task, cells: Cells) -> bool:
    return all(column in cells.get(task.line, {}) for column in task.columns)


def _attempt(task: Task, seconds: float) -> dict[str, Any] | None:
    """Return what a task brings, or None where it does not end in time."""
    try:
        with at_most(seconds):
            return task.work()
    except OutOfTimeError:
        return None


def _short(found: dict[str, Any]) -> str:
    return ", ".join(f"{key} {shown(value)}" for key, value in found.items() if not key.startswith("_"))


def shown(value: Any) -> str:
    """Return a cell as it is printed."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    if abs(value) >= 100:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.3g}"
