"""Numbers in several files: rows of a matrix, described by where they lie and by what they are."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
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
        rows = np.array(_mapped(self.path)[self.start : self.stop])
        digest = _digest(rows)
        if digest != self.digest:
            raise InputError(
                f"Rows {self.start} to {self.stop - 1} of {self.path!r} are not those that were described (their "
                f"digest is {digest}, not {self.digest}): the file was written anew, or another machine has another "
                "file of that name. Open the shards again."
            )
        return rows


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
        self._files = [_mapped(path) for path in self.paths]
        widths = {file.shape[1] for file in self._files}
        if len(widths) > 1:
            raise InputError(f"Shards of numbers have the same columns; these have {sorted(widths)} of them.")
        self.ends = np.cumsum([len(file) for file in self._files])
        self.shape, self.ndim, self.dtype = (int(self.ends[-1]), widths.pop()), 2, self._files[0].dtype
        self._pieces: dict[tuple[int, int], NumberRows] = {}

    @classmethod
    def open(cls, paths: str | os.PathLike | Sequence[str], rows: int | None = None) -> NumberShards:
        """Map .npy files: a pattern such as "features.*.npy", or a list of names in the order of their rows.

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
        if isinstance(paths, (str, os.PathLike)):
            pattern = os.path.expanduser(os.fspath(paths))
            found = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
            if not found:
                raise InputError(f"No file is called {pattern!r}.")
            paths = found
        return cls(list(paths), rows)

    def as_views(self) -> ArrayViews:
        """Return the rows as samples."""
        return ArrayViews(self)

    def piece(self, start: int, stop: int) -> NumberRows:
        """Return the description of some rows, all of one file; their digest is taken once."""
        if (start, stop) not in self._pieces:
            number = int(np.searchsorted(self.ends, start, side="right"))
            first = int(self.ends[number]) - len(self._files[number])
            rows = self._files[number][start - first : stop - first]
            described = NumberRows(self.paths[number], _digest(np.asarray(rows)), start - first, stop - first)
            self._pieces[start, stop] = described
        return self._pieces[start, stop]

    # -- as arrays are asked -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> np.ndarray:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        out = np.empty((len(rows), self.shape[1]), self.dtype)
        number = np.searchsorted(self.ends, rows, side="right")
        for k, file in enumerate(self._files):
            own = np.flatnonzero(number == k)
            out[own] = file[rows[own] - (int(self.ends[k]) - len(file))]
        return out[:, columns]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.concatenate(self._files).astype(self.dtype if dtype is None else dtype, copy=False)

    def std(self, axis: int = 0) -> np.ndarray:
        """Return the spread of every column, by some rows."""
        some = np.unique(np.linspace(0, len(self) - 1, min(len(self), SPREAD_ROWS)).astype(np.int64))
        return self[some].astype(np.float64).std(axis=axis)

    def __reduce__(self) -> tuple:
        return NumberShards, (self.paths, self.rows_each)

    def __repr__(self) -> str:
        return f"<NumberShards {self.shape[0]} × {self.shape[1]} {self.dtype} files={len(self.paths)}>"


def _mapped(path: str) -> np.ndarray:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path!r} is no .npy file of numbers: {error}") from None
    if found.ndim != 2 or found.dtype.kind != "f":
        raise InputError(f"{path!r} holds {found.dtype} of shape {found.shape}; a matrix of floats is needed.")
    return found


def _digest(rows: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=16).hexdigest()
