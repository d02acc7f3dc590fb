"""What people see: tables and messages on a terminal, and nothing but text elsewhere."""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from ..clock import limited

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

#: Without a terminal nothing is folded: a program may read the lines.
ENDLESS = 10_000


def console(stream: TextIO | None = None) -> Console:
    """Return where to print: with colours on a terminal only, and never where NO_COLOR is set."""
    from rich.console import Console

    class Plain(Console):
        """A console that leaves it to the command to end when its reader goes away."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stdout if stream is None else stream
    terminal = stream.isatty()
    plain = not terminal or bool(os.environ.get("NO_COLOR"))
    return Plain(
        file=stream if terminal else cast(TextIO, Trimmed(stream)),
        force_terminal=terminal,
        color_system=None if plain else "auto",
        width=None if terminal else ENDLESS,
        highlight=False,
        markup=False,
        emoji=False,
    )


class Trimmed(io.TextIOBase):
    """A stream of text whose lines do not end in blanks, which tables are padded with."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream, by which tables choose their lines."""
        return self._stream.encoding

    def write(self, text: str) -> int:
        """Write text without the blanks before its line ends."""
        return self._stream.write(re.sub(" +$", "", text, flags=re.MULTILINE))

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def close(self) -> None:
        """Leave the stream as it is: it is somebody else's, and may be closed before this is let go."""


def table(*columns: str, title: str | None = None, right: tuple[str, ...] = ()) -> Table:
    """Return an empty table; the columns in `right` are aligned to the right."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        number = name in right
        made.add_column(name, justify="right" if number else "left", overflow="fold", no_wrap=number)
    return made


def facts(rows: dict[str, str], width: int | None = None) -> Table:
    """Return a table of names, at least `width` letters wide, and what there is to say about them."""
    from rich.table import Table

    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="bold", min_width=width)
    made.add_column(overflow="fold")
    for name, text in rows.items():
        made.add_row(name, text)
    return made


def bar(share: float, width: int = 12) -> str:
    """Return a bar as long as a share of 1; plain signs where the terminal knows no others."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "#" * round(width * share)
    return "█" * round(width * share)


def short(text: str, width: int = 70) -> str:
    """Cut a long text in its middle."""
    return text if len(text) <= width else f"{text[: width - width // 3 - 3]}...{text[-(width // 3) :]}"


def note(text: str) -> None:
    """Say something on standard error that is good to know, and no fault."""
    import click

    from .failures import in_options

    click.echo(f"Note: {in_options(text)}", err=True)


def count(n: int, one: str, many: str | None = None) -> str:
    """Return "1 sequence", "2,000 sequences"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def seconds(value: float) -> str:
    """Return a time as people say it."""
    if value < 100:
        return f"{value:.1f} s" if value % 1 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def write_json(value: Any) -> None:
    """Write one JSON value to standard output; numbers that JSON does not know become null."""
    from .failures import check_printable

    check_printable()
    print(json.dumps(_as_json(value), ensure_ascii=False, indent=2, allow_nan=False))


def json_line(value: dict[str, Any]) -> str:
    """Return a JSON value as one line."""
    return json.dumps(_as_json(value), ensure_ascii=False, allow_nan=False)


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if hasattr(value, "tolist"):
        return _as_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


@contextmanager
def gap_bar(tol: float) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Show how far the gap has come on its way to `tol`; on a terminal only, on standard error."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as shown:
        task = shown.add_task("Training", total=1.0)
        first: list[float] = []

        def update(entry: dict[str, Any]) -> None:
            if entry.get("phase") == "compiling":
                shown.update(task, description=f"Compiling {entry['what']}, once per machine")
            gap = entry.get("gap", math.inf)
            if not math.isfinite(gap):
                return
            first[:] = first or [max(gap, 10 * tol)]
            done = math.log(first[0] / max(gap, tol)) / math.log(first[0] / tol)
            left = entry.get("seconds_left")
            tail = "" if left is None or gap <= tol else f", about {seconds(max(1.0, round(left)))} left"
            text = f"Step {entry['iteration']}, gap {gap:.1e} of {tol:.0e}{tail}"
            shown.update(task, completed=min(max(done, 0.0), 1.0), description=text)

        with round_bar(shown):
            yield update


@contextmanager
def round_bar(shown: Progress) -> Iterator[None]:
    """Show how the rounds of the engine in use stand, as a line below others."""
    from ..cluster import current_engine

    found = current_engine()
    if found is None:
        yield
        return
    line = shown.add_task("", total=None, visible=False)

    def update(state: Any) -> None:
        text = str(state)
        shown.update(line, completed=state.done, total=state.parts, description=text.capitalize(), visible=True)

    with found.watched(update):
        yield


@contextmanager
def work_bar(what: str, unit: str) -> Iterator[Callable[[int, float | None], None]]:
    """Show how much of a file has been worked through; on a terminal only, on standard error."""
    if not sys.stderr.isatty():
        yield lambda n, share: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as shown:
        task = shown.add_task(what, total=None)

        def compiling(name: str) -> None:
            shown.update(task, description=f"Compiling {name}, once per machine")

        def update(n: int, share: float | None) -> None:
            shown.update(task, total=None if share is None else 1.0, completed=share or 0.0)
            shown.update(task, description=f"{what}: {count(n, unit)}")

        with limited(None, compiling):
            yield update


@contextmanager
def compile_bar(what: str, compiled: list[str]) -> Iterator[None]:
    """Show what is being compiled, on a terminal only, and list it."""
    if not sys.stderr.isatty():
        with limited(None, compiled.append):
            yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as shown:
        task = shown.add_task(what, total=None)

        def compiling(name: str) -> None:
            compiled.append(name)
            shown.update(task, description=f"{what}: compiling {name}, once per machine")

        with limited(None, compiling):
            yield


@contextmanager
def step_bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show how many of some steps are done; on a terminal only, on standard error."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.progress import Progress

    with Progress(console=console(sys.stderr), transient=True) as shown:
        task = shown.add_task(what, total=total)
        yield lambda: shown.advance(task)
