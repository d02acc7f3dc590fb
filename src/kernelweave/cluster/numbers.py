"""Numbers in several files: rows of a matrix, described by where they lie and by what they are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..sequences.shards import files_named
from ..views import ArrayViews

#: Rows that the spreads of columns are taken from.
SPREAD_ROWS = 10_000


@dataclass(frozen=True)
class NumberRows:
    """Some rows of one .npy file, by its name and the digest of these rows."""

    path: str
    digest: str
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def open(self) -> np.ndarray:
        """Read the rows.

        Raises
        ------
        InputError
            Where they are others than were described.
        """
        rows = np.array(mapped_numbers(self.path)[self.start : self.stop])
        digest = _digest(rows)
        if digest != self.digest:
            raise InputError(
                f"Rows {self.start} to {self.stop - 1} of {self.path!r} are not those that were described (their "
                f"digest is {digest}, not {self.digest}): the file was written anew, or another machine has another "
                "file of that name. Open the shards again."
            )
        return rows

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read some of the rows, counted from the first of these."""
        return mapped_numbers(self.path)[self.start + rows]

    def described(self) -> NumberRows:
        """Return the same with the digest of the rows as they are."""
        return replace(self, digest=_digest(mapped_numbers(self.path)[self.start : self.stop]))


class NumberShards:
    """A matrix of numbers in several .npy files, one after another: a few columns, many rows, of any precision.

    It is samples to `fit` and `predict`. Kernels that make a vector of a few numbers of every sample (`Linear`,
    `LowRank`) are held where the rows are; others read the whole.

    Parameters
    ----------
    paths : list of str
    rows : int or None
        Rows of a shard; None leaves it to the engine, about four shards for every thread.
    """

    def __init__(self, paths: Sequence[str], rows: int | None = None) -> None:
        if not paths:
            raise InputError("There are no shards: give the names of .npy files of numbers.")
        self.paths, self.rows_each = [os.path.abspath(path) for path in paths], rows
        self._files = self._open()
        widths = {file.shape[1] for file in self._files}
        if len(widths) > 1:
            raise InputError(f"Shards of numbers have the same columns; these have {sorted(widths)} of them.")
        self.ends = np.cumsum([len(file) for file in self._files])
        self.shape, self.ndim, self.dtype = (int(self.ends[-1]), widths.pop()), 2, self._files[0].dtype
        self._pieces: dict[tuple[int, int], NumberRows] = {}
        self._columns: np.ndarray | None = None

    def _open(self) -> list[np.ndarray]:
        return [mapped_numbers(path) for path in self.paths]

    @classmethod
    def open(
        cls, paths: str | os.PathLike | Sequence[str], rows: int | None = None, engine: Any = None
    ) -> NumberShards:
        """Map .npy files: a pattern such as "features.*.npy", or a list of names in the order of their rows.

        Parameters
        ----------
        paths : str or list of str
        rows : int or None
            Rows of a shard.
        engine : Dask client, Engine, str or None
            Whoever sees the files, where they are not to be seen here.

        Examples
        --------
        >>> import tempfile, numpy as np
        >>> from kernelweave.cluster import NumberShards
        >>> folder = tempfile.TemporaryDirectory()
        >>> for k in range(2):
        ...     np.save(f"{folder.name}/x.{k}.npy", np.full((3, 2), k, np.float32))
        >>> NumberShards.open(f"{folder.name}/x.*.npy").shape
        (6, 2)
        """
        if engine is not None:
            from . import as_engine
            from .far import FarNumbers

            return FarNumbers.find(paths, as_engine(engine), rows)
        return cls(files_named(paths), rows)

    def as_views(self) -> ArrayViews:
        """Return the rows as samples."""
        return ArrayViews(self)

    def pieces(self, ranges: Sequence[tuple[int, int]]) -> list[NumberRows]:
        """Return the descriptions of ranges of rows, each of one file; their digests are taken once."""
        new = [one for one in ranges if one not in self._pieces]
        self._pieces.update(zip(new, self._described([self._named(*one) for one in new]), strict=True))
        return [self._pieces[one] for one in ranges]

    def _named(self, start: int, stop: int) -> NumberRows:
        number = int(np.searchsorted(self.ends, start, side="right"))
        first = int(self.ends[number]) - len(self._files[number])
        return NumberRows(self.paths[number], "", start - first, stop - first)

    def _described(self, named: Sequence[NumberRows]) -> list[NumberRows]:
        return [one.described() for one in named]

    # -- as arrays are asked -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(rows, slice) and rows == slice(None):
            return self._with_columns(columns)
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        rows = np.asarray(rows)
        found = self._take(np.flatnonzero(rows) if rows.dtype == bool else rows)
        return (found if self._columns is None else found[:, self._columns])[:, columns]

    def _with_columns(self, columns: Any) -> Any:
        """Return some of the columns of all rows, of which nothing is read yet."""
        twin = object.__new__(type(self))  # copy() would open the files again
        twin.__dict__.update(self.__dict__)
        twin._columns = (np.arange(self.shape[1]) if self._columns is None else self._columns)[columns]
        twin.shape = (self.shape[0], len(twin._columns))
        return twin

    def _take(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), self._files[0].shape[1]), self.dtype)
        number = np.searchsorted(self.ends, rows, side="right")
        for k, file in enumerate(self._files):
            own = np.flatnonzero(number == k)
            out[own] = file[rows[own] - (int(self.ends[k]) - len(file))]
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[np.arange(len(self))].astype(self.dtype if dtype is None else dtype, copy=False)

    def std(self, axis: int = 0) -> np.ndarray:
        """Return the spread of every column, by some rows."""
        some = np.unique(np.linspace(0, len(self) - 1, min(len(self), SPREAD_ROWS)).astype(np.int64))
        return self[some].astype(np.float64).std(axis=axis)

    def __reduce__(self) -> tuple:
        return _reopened, (self.paths, self.rows_each, self._columns)

    def __repr__(self) -> str:
        return f"<NumberShards {self.shape[0]} × {self.shape[1]} {self.dtype} files={len(self.paths)}>"


def _reopened(paths: list[str], rows: int | None, columns: np.ndarray | None) -> NumberShards:
    found = NumberShards(paths, rows)
    return found if columns is None else found[:, columns]


def mapped_numbers(path: str) -> np.ndarray:
    """Map a .npy file, which has to be a matrix of floats."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path!r} is no .npy file of numbers: {error}") from None
    if found.ndim != 2 or found.dtype.kind != "f":
        raise InputError(f"{path!r} holds {found.dtype} of shape {found.shape}; a matrix of floats is needed.")
    return found


def _digest(rows: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=16).hexdigest()
