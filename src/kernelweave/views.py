"""Samples seen through one or several views: tables, dicts, lists of views, matrices.

Every container a user may hand over becomes a `Views` once, at the door
(`as_views`); kernels ask it for what they need: numbers, ids or one raw column.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .errors import InputError, InputTypeError

Columns = Hashable | Sequence[Hashable] | slice


#: Largest number that kernels take: the square of a difference must not overflow.
MAX_SIZE = 1e150


class Views:
    """n samples, each seen through one or several named views."""

    #: Names or positions of the columns, as `select` takes them.
    labels: tuple[Hashable, ...]

    def __len__(self) -> int:
        raise NotImplementedError

    def select(self, columns: Columns) -> Views:
        """Keep only the named columns."""
        raise NotImplementedError

    def rows(self, index: np.ndarray) -> Views:
        """Keep only the samples at `index`."""
        raise NotImplementedError

    def matrix(self) -> np.ndarray | sparse.csr_array:
        """Return all columns as one matrix of finite float64 numbers."""
        raise NotImplementedError

    def column(self) -> Any:
        """Return the single raw column, for kernels on things that are not numbers."""
        raise NotImplementedError

    def native(self) -> Any:
        """Return the data as the user would know them, for callables."""
        raise NotImplementedError

    def ids(self) -> np.ndarray:
        """Return the single column as integers."""
        values = np.asarray(self.column())
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.dtype.kind == "f" and np.all(values == np.floor(values)):
            values = values.astype(np.int64)
        if values.dtype.kind not in "iu":
            raise InputTypeError(
                f"A precomputed kernel works on integer ids, one per sample; got {values.dtype} values. "
                "Pass np.arange(len(K)) as X, or a column of row numbers of the matrix."
            )
        return values


class ArrayViews(Views):
    """One dense or sparse matrix, or one column of anything."""

    def __init__(self, data: Any, labels: tuple[Hashable, ...] | None = None) -> None:
        self.data = data
        self._chosen = labels is not None
        if labels is None:
            labels = tuple(range(data.shape[1])) if data.ndim == 2 else (0,)
        self.labels = labels
        self._matrix: Any = None

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def select(self, columns: Columns) -> Views:
        if self.data.ndim == 1:
            raise InputError(f"X is a single column, so .on({columns!r}) has nothing to choose from; leave it out.")
        if isinstance(columns, slice):
            picked = list(range(self.data.shape[1]))[columns]
        else:
            picked = [self._position(c) for c in (columns if isinstance(columns, (list, tuple)) else [columns])]
        return ArrayViews(self.data[:, picked], tuple(self.labels[p] for p in picked))

    def _position(self, column: Hashable) -> int:
        width = self.data.shape[1]
        if isinstance(column, (int, np.integer)):
            if self._chosen and column in self.labels:  # after a choice, columns keep the numbers they had
                return self.labels.index(column)
            if -width <= column < width:
                return int(column) % width
        raise InputError(
            f"X is a matrix of {width} columns without names; .on({column!r}) does not name one of them. "
            f"Use a number from 0 to {width - 1}, or pass a DataFrame."
        )

    def rows(self, index: np.ndarray) -> Views:
        return ArrayViews(self.data[index], self.labels if self._chosen else None)

    def matrix(self) -> np.ndarray | sparse.csr_array:
        if self._matrix is None:
            self._matrix = finite_matrix(self.data)
        return self._matrix

    def column(self) -> Any:
        if self.data.ndim == 2:
            if self.data.shape[1] != 1:
                raise InputError(
                    f"One column is needed here, but X has {self.data.shape[1]}; choose one with .on(...)."
                )
            return self.data[:, 0]
        return self.data

    def native(self) -> Any:
        return self.data


class TableViews(Views):
    """A DataFrame (pandas, polars, Arrow), held through narwhals."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.labels = tuple(frame.columns)

    def __getstate__(self) -> Any:
        return self.frame.to_native()

    def __setstate__(self, native: Any) -> None:
        import narwhals as nw

        self.__init__(nw.from_native(native, eager_only=True))  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.frame)

    def select(self, columns: Columns) -> Views:
        if isinstance(columns, slice):
            picked = list(range(len(self.labels)))[columns]
        else:
            picked = [self._position(name) for name in (columns if isinstance(columns, (list, tuple)) else [columns])]
        return TableViews(self.frame[:, picked])

    def _position(self, name: Hashable) -> int:
        if name in self.labels:
            return self.labels.index(name)
        if isinstance(name, (int, np.integer)) and -len(self.labels) <= name < len(self.labels):
            return int(name) % len(self.labels)
        raise InputError(f"The table has no column {name!r}; it has {_some(self.labels)}.")

    def rows(self, index: np.ndarray) -> Views:
        index = np.asarray(index)
        return TableViews(self.frame[np.flatnonzero(index) if index.dtype == bool else index])

    def matrix(self) -> np.ndarray | sparse.csr_array:
        return np.column_stack(
            [_numbers(column, name) for column, name in zip(self._columns(), self.labels, strict=True)]
        )

    def _columns(self) -> list[Any]:
        return list(self.frame.iter_columns())

    def column(self) -> Any:
        if len(self.labels) != 1:
            raise InputError(
                f"One column is needed here, but the table has {_some(self.labels)}; choose one with .on(...)."
            )
        return self._columns()[0].to_native()

    def native(self) -> Any:
        return self.frame.to_native()


def _numbers(column: Any, name: Hashable) -> np.ndarray:
    try:
        values = np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(
            f"Column {name!r} holds {column.dtype}, but this kernel needs numbers. "
            "Choose the numeric columns with .on([...]), or use a kernel for text."
        ) from None
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"Column {name!r} contains NaN, null or infinity (first at row {row}); fill or drop it first.")
    _check_size(values, f"Column {name!r}")
    return values


class DictViews(Views):
    """Named views side by side, each of any kind."""

    def __init__(self, parts: dict[Hashable, Views]) -> None:
        self.parts = parts
        self.labels = tuple(parts)

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    def select(self, columns: Columns) -> Views:
        if isinstance(columns, slice):
            names: list[Hashable] = list(self.labels)[columns]
        else:
            names = list(columns) if isinstance(columns, (list, tuple)) else [columns]
        for name in names:
            if name not in self.parts:
                raise InputError(f"There is no view {name!r}; the views are {_some(self.labels)}.")
        return self.parts[names[0]] if len(names) == 1 else DictViews({name: self.parts[name] for name in names})

    def rows(self, index: np.ndarray) -> Views:
        return DictViews({name: part.rows(index) for name, part in self.parts.items()})

    def matrix(self) -> np.ndarray | sparse.csr_array:
        matrices = [part.matrix() for part in self.parts.values()]
        if any(sparse.issparse(m) for m in matrices):
            return sparse.csr_array(sparse.hstack(matrices))
        return np.hstack(matrices)

    def column(self) -> Any:
        if len(self.parts) != 1:
            raise InputError(f"One view is needed here, but there are {_some(self.labels)}; choose one with .on(...).")
        return next(iter(self.parts.values())).column()

    def native(self) -> Any:
        return {name: part.native() for name, part in self.parts.items()}


def as_views(X: Any) -> Views:
    """Wrap whatever container the user handed over.

    A DataFrame, a dict of views, a list of 2-d views, a matrix (dense or sparse), or one
    column (ids, strings, bytes).
    """
    if isinstance(X, Views):
        return X
    if sparse.issparse(X):
        return ArrayViews(sparse.csr_array(X))
    if isinstance(X, dict):
        return _dict_views(X)
    if isinstance(X, (list, tuple)):
        if X and all(isinstance(part, (str, bytes)) for part in X):
            return ArrayViews(_object_column(X))
        if X and all(len(getattr(part, "shape", ())) == 2 for part in X):
            return _dict_views(dict(enumerate(X)))
    if isinstance(X, np.ndarray):
        return _array_views(X)
    frame = _through_narwhals(X)
    if frame is not None:
        return frame
    return _array_views(np.asarray(X))


def _array_views(X: np.ndarray) -> Views:
    if X.ndim not in (1, 2):
        raise InputError(f"X must be a matrix, a column or a table; got an array of {X.ndim} dimensions.")
    return ArrayViews(X)


def _dict_views(parts: dict[Any, Any]) -> Views:
    if not parts:
        raise InputError("X is an empty dict or list; give at least one view.")
    views = {name: as_views(part) for name, part in parts.items()}
    lengths = {name: len(view) for name, view in views.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"All views must describe the same samples, but their lengths differ: {lengths}.")
    return DictViews(views)


def _through_narwhals(X: Any) -> Views | None:
    import narwhals as nw

    wrapped = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(wrapped, nw.DataFrame):
        return TableViews(wrapped)
    if isinstance(wrapped, nw.Series):
        return TableViews(wrapped.alias(wrapped.name or "column").to_frame())
    return None


def _object_column(items: Any) -> np.ndarray:
    column = np.empty(len(items), dtype=object)
    column[:] = list(items)
    return column


def finite_matrix(X: Any) -> np.ndarray | sparse.csr_array:
    """Return X as float64 (dense or CSR), or say what in it is not a finite number."""
    if not sparse.issparse(X):
        X = np.asarray(X)
        if X.ndim == 1:
            raise InputError(
                "Expected 2D array, got 1D array instead. Reshape your data using X.reshape(-1, 1) if it has a single "
                "feature, or use a kernel for sequences or ids."
            )
    if X.dtype.kind == "c":
        raise InputError("Complex data not supported: kernels on numbers need real values.")
    try:
        X = X.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"This kernel needs numbers, but X holds {X.dtype} values ({error}).") from None
    values = X.data if sparse.issparse(X) else X
    if not np.isfinite(values).all():
        where = "" if sparse.issparse(X) else " (first at row {}, column {})".format(*np.argwhere(~np.isfinite(X))[0])
        raise InputError(f"Input X contains NaN or infinity{where}; fill or drop those samples first.")
    _check_size(values, "Input X")
    return X


def _check_size(values: np.ndarray, name: str) -> None:
    if values.size and max(values.max(), -values.min()) > MAX_SIZE:
        raise InputError(
            f"{name} reaches {np.abs(values).max():.2g}, too large to be squared; scale the features first."
        )


def _some(labels: tuple[Hashable, ...], limit: int = 8) -> str:
    text = ", ".join(repr(name) for name in labels[:limit])
    return text + (f", ... ({len(labels)} in all)" if len(labels) > limit else "")
