"""Descriptions of samples: which rows of which files, so that any worker can open them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..io.support import requests_of
from ..kernels import Kernel
from ..sequences import Shards
from ..sequences.shards import LEAST_ROWS, MOST_ROWS
from ..views import DictViews, Views, as_views
from .base import Engine, Threads, current_engine
from .numbers import NumberShards

#: Shards for every thread: so many that a worker that is late, or gone, leaves little to do again.
SHARDS_EACH = 4


@dataclass(frozen=True)
class Shard:
    """The samples start .. stop − 1, by the pieces of files that hold their columns: a few hundred bytes.

    Attributes
    ----------
    start, stop : int
    columns : tuple of (name, piece)
        None for the name of samples that are one column. A piece has `path`, `digest` and `open()`.
    """

    start: int
    stop: int
    columns: tuple[tuple[Hashable, Any], ...]
    #: Numbers of its samples that travel with it.
    values: np.ndarray | None = field(default=None, compare=False, repr=False)

    alike = True
    hint = " Every worker has to see every shard under the same name."

    def __len__(self) -> int:
        return self.stop - self.start

    def __str__(self) -> str:
        """Print as errors name it."""
        files = ", ".join(dict.fromkeys(os.fspath(piece.path) for _, piece in self.columns))
        return f"rows {self.start} to {self.stop - 1} ({files})"

    @property
    def named(self) -> str:
        """As errors name it, inside of a sentence."""
        return f"the shard of {self}"

    @property
    def smaller(self) -> str:
        """What to do where it takes too much memory."""
        rows = max(1, len(self) // 4)
        return f"It has {len(self):,} rows. Give workers more memory, or cut smaller shards: Shards.open(..., {rows=})."

    @property
    def place(self) -> str:
        """The text by which it is placed: the same for the same samples, in every round and every process."""
        return "|".join(f"{piece.digest}:{piece.start}:{piece.stop}" for _, piece in self.columns)

    def views(self) -> Views:
        """Open the samples; a file that is another one than was described is an error."""
        found = {name: as_views(piece.open()) for name, piece in self.columns}
        return found[None] if None in found else DictViews(dict(found))


def columns_of(terms: Sequence[Kernel], X: Views, mapped: bool = False) -> dict[Hashable, Any] | None:
    """Return the columns that terms read, where all of them are shards; None where some are not.

    Parameters
    ----------
    mapped : bool
        Whether a column that is mapped from one file counts as one shard.
    """
    numbers = getattr(X, "data", None)
    if isinstance(numbers, NumberShards):
        return {None: numbers} if all(leaf.reads == "numbers" for term in terms for leaf in term.leaves()) else None
    found: dict[Hashable, Any] = {}
    for path, leaf in (request for term in terms for request in requests_of(term, X)):
        names = tuple(columns for columns in path if not hasattr(columns, "of"))
        if leaf.reads != "sequences" or len(names) > 1:
            return None
        name = names[0] if names else None
        name = name[0] if isinstance(name, (list, tuple)) and len(name) == 1 else name
        if isinstance(name, (list, tuple, slice)):
            return None
        column: Any = X.through(names)
        column = column.data if hasattr(column, "data") else None
        if mapped and getattr(column, "path", None) is not None:
            column = Shards([column])
        if not isinstance(column, Shards):
            return None
        found[name] = column
    return found or None


def cut(columns: Mapping[Hashable, Any], n_threads: int) -> list[Shard]:
    """Cut samples into shards: at the ends of files, and so that there are about four for every thread.

    No shard has more than 200,000 rows; fewer than 2,000 are not worth a task. Where `rows` was given, that counts.
    """
    sets = list(columns.values())
    n, given = len(sets[0]), min((one.rows_each for one in sets if one.rows_each is not None), default=None)
    size = given or int(np.clip(-(-n // (SHARDS_EACH * max(1, n_threads))), LEAST_ROWS, MOST_ROWS))
    ends = np.unique(np.concatenate([one.ends for one in sets]))
    ranges, start = [], 0
    for end in ends.tolist():
        parts = max(1, -(-(end - start) // size))
        cuts = [start + (end - start) * k // parts for k in range(parts + 1)]
        ranges += [(low, high) for low, high in pairwise(cuts) if low < high]
        start = end
    pieces = zip(*(one.pieces(ranges) for one in sets), strict=True)
    return [Shard(*one, tuple(zip(columns, some, strict=True))) for one, some in zip(ranges, pieces, strict=True)]


def engine_for(columns: Mapping[Hashable, Any], n_jobs: int | None) -> Engine:
    """Return the engine in use; where there is none, the one that sees the files, or threads here."""
    owned = (getattr(one, "engine", None) for one in columns.values())
    return current_engine() or next((one for one in owned if one is not None), None) or Threads(n_jobs)
