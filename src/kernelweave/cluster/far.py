"""Files that only the workers see: described by them once, and read here row by row, each row once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..sequences import SequenceSet, Shards
from ..sequences.shards import MOST_ROWS, PackedRows, digest_of, files_named, joined, reopened
from .base import Engine
from .jobs import Job, run_jobs
from .numbers import NumberRows, NumberShards, mapped_numbers
from .shards import Shard

#: Bytes of rows that are kept for when they are asked for again.
KEPT_BYTES = 2**31


@dataclass(frozen=True)
class Files:
    """The job of finding files, on a worker."""

    describe: Callable[[str], Any]

    def __call__(self, paths: Any) -> list[Any]:
        given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        names = [name for path in given for name in files_named(path)]
        return [self.describe(os.path.abspath(name)) for name in names]


def found_by(engine: Engine, paths: Any, describe: Callable[[str], Any]) -> list[Any]:
    """Return what a worker says of the files that a pattern, or a list of names, stands for."""
    (found,) = run_jobs(Files(describe), [Job(f"the files {paths!r:.200}", paths)], engine=engine)
    return found


@dataclass(frozen=True)
class RowsOf:
    """The task of a round that brings rows: `Shard.values` says which, counted from the first of the shard."""

    def __call__(self, shard: Shard) -> Any:
        (_, piece), *_ = shard.columns
        return piece.take(shard.values)


@dataclass
class Kept:
    """Rows that were asked for before, by their numbers: none of them travels twice, unless there are too many."""

    fetch: Callable[[np.ndarray], Any]
    #: Puts rows one after another.
    joined: Callable[[list[Any]], Any]
    numbers: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    values: Any = None

    def __call__(self, rows: np.ndarray) -> Any:
        """Return some rows, in the order given."""
        wanted = np.unique(rows)
        new = np.setdiff1d(wanted, self.numbers, assume_unique=True)
        if len(new):
            if self.values is not None and self.values.nbytes > KEPT_BYTES:
                self.values = self.values[np.isin(self.numbers, wanted)]
                self.numbers = np.intersect1d(self.numbers, wanted, assume_unique=True)
            came, numbers = self.fetch(new), np.concatenate([self.numbers, new])
            order = np.argsort(numbers)
            self.values = (came if self.values is None else self.joined([self.values, came]))[order]
            self.numbers = numbers[order]
        return self.values[np.searchsorted(self.numbers, rows)]


def _fetched(engine: Engine, pieces: Sequence[Any], ends: np.ndarray, rows: np.ndarray) -> list[Any]:
    """Bring rows, sorted, from the files that hold them: what came from each, in the order of the rows."""
    asked = []
    for piece, end in zip(pieces, ends.tolist(), strict=True):
        first = end - len(piece)
        own = rows[np.searchsorted(rows, first) : np.searchsorted(rows, end)]
        for at in range(0, len(own), MOST_ROWS):
            some = own[at : at + MOST_ROWS]
            asked.append(Shard(int(some[0]), int(some[-1]) + 1, ((None, piece),), some - first))
    return engine.map(RowsOf(), asked, engine.next_version())


# -- sequences ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FarFile:
    """A packed file as a worker describes it; without letters."""

    piece: PackedRows
    alphabet: Any
    length: int | None
    offsets: np.ndarray | None
    packed: bool
    notes: Any

    @classmethod
    def of(cls, path: str) -> FarFile:
        """Describe a file, on a worker."""
        found = SequenceSet.open(path)
        offsets = None if found.length is not None else np.array(found.offsets)
        piece = PackedRows(path, digest_of(found), 0, len(found))
        return cls(piece, found.alphabet, found.length, offsets, found.packed, found.notes)

    def empty(self) -> SequenceSet:
        """Return a set of as many sequences, the letters of which are not here."""
        given = (np.empty(0, np.uint8), len(self.piece), self.length, self.offsets, self.packed)
        return SequenceSet(self.alphabet, *given, notes=self.notes, path=self.piece.path)


class FarShards(Shards):
    """Sequences in packed files that only workers see. Rows that are needed here come from them, each row once.

    Parameters
    ----------
    described : list of FarFile
    engine : Engine
    rows : int or None
    """

    def __init__(self, described: Sequence[FarFile], engine: Engine, rows: int | None = None) -> None:
        super().__init__([one.empty() for one in described], rows)
        self.described, self.engine = list(described), engine
        self._kept = Kept(self._fetch, joined)

    @classmethod
    def find(cls, paths: Any, engine: Engine, rows: int | None = None) -> FarShards:
        """Have a worker find files: a pattern, or names in the order of their rows."""
        return cls(found_by(engine, paths, FarFile.of), engine, rows)

    def piece(self, start: int, stop: int) -> PackedRows:
        number = int(np.searchsorted(self.ends, start, side="right"))
        whole = self.described[number].piece
        first = int(self.ends[number]) - len(whole)
        return replace(whole, start=start - first, stop=stop - first)

    @property
    def digests(self) -> list[str]:
        return [one.piece.digest for one in self.described]

    def _fetch(self, rows: np.ndarray) -> SequenceSet:
        return joined(_fetched(self.engine, [one.piece for one in self.described], self.ends, rows))

    @property
    def buffer(self) -> np.ndarray:
        """The letters of all files, in memory; they are not kept."""
        return self._fetch(np.arange(self.n)).buffer

    @property
    def kept_unknown(self) -> np.ndarray:
        """The positions of unknown letters among all."""
        return self._fetch(np.arange(self.n)).kept_unknown

    @property
    def nbytes(self) -> int:
        return int((self.lengths + 3).sum() // 4) if self.packed else self.n_letters

    def _slice(self, part: slice) -> SequenceSet:
        return self._rows_of(np.arange(part.start, part.stop)) if part.start < part.stop else self.files[0].rows([])

    def _rows_of(self, rows: np.ndarray) -> SequenceSet:
        return self._kept(rows)

    def __reduce__(self) -> tuple:
        return reopened, ([one.piece for one in self.described], self.rows_each)


# -- numbers -----------------------------------------------------------------------------------------------------------


def describe_numbers(path: str) -> tuple[str, tuple[int, ...], str]:
    """Describe a .npy file, on a worker."""
    found = mapped_numbers(path)
    return path, found.shape, found.dtype.str


class FarNumbers(NumberShards):
    """Numbers in .npy files that only workers see. Rows that are needed here come from them, each row once."""

    def __init__(self, described: Sequence[tuple], engine: Engine, rows: int | None = None) -> None:
        self.described, self.engine = list(described), engine
        super().__init__([path for path, _, _ in described], rows)
        self._kept = Kept(self._fetch, np.concatenate)

    @classmethod
    def find(cls, paths: Any, engine: Engine, rows: int | None = None) -> FarNumbers:
        """Have a worker find files: a pattern, or names in the order of their rows."""
        return cls(found_by(engine, paths, describe_numbers), engine, rows)

    def _open(self) -> list[Any]:
        return [np.broadcast_to(np.zeros((), dtype), shape) for _, shape, dtype in self.described]

    def _described(self, named: Sequence[NumberRows]) -> list[NumberRows]:
        jobs = [Job(f"rows {one.start} to {one.stop - 1} of {one.path}", one) for one in named]
        return run_jobs(NumberRows.described, jobs, engine=self.engine)

    def _fetch(self, rows: np.ndarray) -> np.ndarray:
        pieces = [NumberRows(path, "", 0, shape[0]) for path, shape, _ in self.described]
        return np.concatenate(_fetched(self.engine, pieces, self.ends, rows))

    def _take(self, rows: np.ndarray) -> np.ndarray:
        return self._kept(rows)
