"""Engines: where the tasks of a round run. A cluster is one more way to hold a kernel, not a mode."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InputError
from .base import Engine, Serial, Task, Threads, Told, current_engine, using
from .jobs import Job, run_jobs
from .numbers import NumberShards
from .part import Part
from .rounds import Ask, Round, place
from .shards import Shard, columns_of, cut, engine_for

#: Every engine that needs no other package; the conformance tests read this.
ENGINES: tuple[type[Engine], ...] = (Serial, Threads)


@contextmanager
def engine(spec: Any, **options: Any) -> Iterator[Engine]:
    """Run the tasks of everything inside on a cluster, or on threads.

    Parameters
    ----------
    spec : distributed.Client, Engine or str
        A Dask client; an engine; "serial", "threads", "threads:4", "dask://host:port" or "dask:scheduler.json" (the
        file that `dask scheduler --scheduler-file` writes).
    options
        Of `cluster.dask_engine.DaskEngine`: `round_timeout`, `patience`, `retries`, `directory`.

    Examples
    --------
    >>> import kernelweave
    >>> with kernelweave.engine("threads:2") as found:
    ...     found.n_threads
    2
    """
    found = as_engine(spec, **options)
    try:
        with using(found):
            yield found
    finally:
        if found is not spec:
            found.close()


def as_engine(spec: Any, **options: Any) -> Engine:
    """Return an engine, whatever it is given as; see `engine`."""
    if isinstance(spec, Engine):
        return spec
    if hasattr(spec, "submit") and hasattr(spec, "scheduler"):
        from .dask_engine import DaskEngine

        return DaskEngine(spec, **options)
    kind, _, rest = spec.partition(":") if isinstance(spec, str) else ("", "", "")
    if kind == "serial" and not rest:
        return Serial()
    if kind == "threads" and (not rest or rest.removeprefix("-").isdigit()):
        return Threads(int(rest) if rest else -1)
    if kind == "dask" and rest:
        return _dask_at(rest, options)
    raise InputError(
        "engine must be a Dask client, an Engine, or one of 'serial', 'threads', 'threads:4', 'dask://host:port' and "
        f"'dask:scheduler.json'; got {spec!r}."
    )


def _dask_at(where: str, options: dict[str, Any]) -> Engine:
    try:
        from distributed import Client
    except ImportError:
        raise InputError("A Dask engine needs distributed: pip install 'kernelweave[dask]'.") from None
    from .dask_engine import DaskEngine

    if where.startswith("//"):
        given: dict[str, Any] = {"address": f"tcp:{where}"}
    else:
        path = os.path.expanduser(where)
        if not os.path.exists(path):
            raise InputError(
                f"There is no scheduler file {path!r}; `dask scheduler --scheduler-file {path}` writes it."
            )
        given = {"scheduler_file": path}
    try:
        client = Client(**given, timeout="20 s", set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise InputError(f"No scheduler answers at {where.removeprefix('//')!r}: {error}") from None
    return DaskEngine(client, **options, owned=[client])


__all__ = [
    "ENGINES",
    "Ask",
    "Engine",
    "Job",
    "NumberShards",
    "Part",
    "Round",
    "Serial",
    "Shard",
    "Task",
    "Threads",
    "Told",
    "as_engine",
    "columns_of",
    "current_engine",
    "cut",
    "engine",
    "engine_for",
    "place",
    "run_jobs",
    "using",
]
