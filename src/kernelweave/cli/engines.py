"""--engine: where products with all samples are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..errors import InputError
from .options import grouped

ENGINE = grouped(
    click.option("--engine", metavar="NAME", help="Where the work is done: threads, threads:4, dask://host:port, "
                 "or dask with --scheduler-file. fit: of packed files, or of many terms; predict: of packed files."),
    click.option("--scheduler-file", type=click.Path(), metavar="FILE",
                 help="For --engine dask: the file that `dask scheduler --scheduler-file` writes."),
)  # fmt: skip


@contextmanager
def on_engine(options: dict[str, Any]) -> Iterator[None]:
    """Take the options of an engine out of all options, and have what runs inside use it."""
    spec, file = options.pop("engine"), options.pop("scheduler_file")
    if file is not None and spec != "dask":
        raise click.UsageError("--scheduler-file goes with --engine dask.")
    if spec == "dask" and file is None:
        raise click.UsageError("--engine dask needs --scheduler-file FILE; or say --engine dask://host:port.")
    if spec is None:
        yield
        return
    from ..cluster import as_engine, engine

    try:
        found = as_engine(f"dask:{file}" if spec == "dask" else spec)
    except InputError as error:
        raise click.UsageError(str(error)) from None
    try:
        with engine(found):
            yield
    finally:
        found.close()
