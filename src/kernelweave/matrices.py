"""Numbers as kernels take them: float64, finite, and small enough to be squared."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from .errors import InputError, InputTypeError

#: Largest number that kernels take: the square of a difference must not overflow.
MAX_SIZE = 1e150
#: Microseconds of a day.
MICROSECONDS = 86_400e6


def check_sound(X: Any) -> None:
    """Refuse arrays that hide some of their values, and sparse matrices whose places lie outside of them."""
    check_names(getattr(X, "columns", ()))
    if np.ma.is_masked(X):
        raise InputError("X is a masked array that hides some values; fill them (X.filled(...)) or drop the rows.")
    if sparse.issparse(X) and hasattr(X, "check_format"):  # compiled loops believe the places, whatever they are
        try:
            X.check_format(full_check=True)
        except (ValueError, IndexError) as error:
            raise InputError(f"X is no valid sparse matrix: {error}.") from None


def check_size(values: np.ndarray, name: str) -> None:
    """Refuse numbers whose squares would overflow."""
    if values.size and max(np.fmax.reduce(values, axis=None), -np.fmin.reduce(values, axis=None)) > MAX_SIZE:
        raise InputError(f"{name} reaches {np.nanmax(np.abs(values)):.2g}, too large to be squared; scale it first.")


def column_numbers(column: Any, name: Hashable, gaps: bool = False) -> np.ndarray:
    """Return a column of a table as float64, or say what in it is not a finite number; `gaps` may be NaN."""
    try:
        values = _plain_numbers(column.to_numpy())
    except (TypeError, ValueError):
        raise InputTypeError(
            f"Column {name!r} holds {column.dtype}, but this kernel needs numbers. "
            "Choose the numeric columns with .on([...]), or use a kernel for text."
        ) from None
    wrong = ~np.isfinite(values) if not gaps else np.isinf(values)
    if wrong.any():
        what = "infinity" if gaps else "NaN, null or infinity"
        raise InputError(
            f"Column {name!r} contains {what} (first at row {int(np.flatnonzero(wrong)[0])}); fill or drop it first."
            + ("" if gaps else " A kernel with .standardized(missing='expected') has a rule for what is missing.")
        )
    check_size(values, f"Column {name!r}")
    return values


def _plain_numbers(values: np.ndarray) -> np.ndarray:
    """Return numbers as float64; dates as days since 1970, and lengths of time as days."""
    values = as_times(values)
    if values.dtype.kind not in "mM":
        return np.asarray(values, dtype=np.float64)
    days = values.astype(f"{values.dtype.kind}8[us]").astype(np.int64) / MICROSECONDS
    return np.where(np.isnat(values), np.nan, days)


def as_times(values: np.ndarray) -> np.ndarray:
    """Return objects that are dates, with gaps perhaps, as dates of NumPy, in UTC; anything else as it is."""
    if not isinstance(_first(values), datetime.date):
        return values
    plain: list[Any] = [None if is_nothing(value) else value for value in values.flat]
    if not all(isinstance(value, datetime.date) or value is None for value in plain):
        return values
    plain = [v.astimezone(datetime.UTC).replace(tzinfo=None) if getattr(v, "tzinfo", None) else v for v in plain]
    return np.array(plain, dtype="datetime64[us]").reshape(values.shape)


def _first(values: np.ndarray) -> Any:
    """Return the first object that is not missing; None where there is none, or where values are no objects."""
    return next((v for v in values.flat if not is_nothing(v)), None) if values.dtype == object else None


def is_nothing(value: Any) -> bool:
    """Say whether a value is None, or what pandas calls NA and NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def finite_matrix(X: Any, gaps: bool = False) -> np.ndarray | sparse.csr_array:
    """Return X as float64 (dense or CSR), or say what in it is not a finite number; `gaps` may be NaN."""
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
        X = X.astype(np.float64, copy=False) if sparse.issparse(X) or X.dtype.kind in "biuf" else _plain_numbers(X)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"This kernel needs numbers, but X holds {X.dtype} values ({error}).") from None
    values = X.data if sparse.issparse(X) else X
    if _all_fine(values):
        return X
    wrong = np.isinf(values) if gaps and not sparse.issparse(X) else ~np.isfinite(values)
    if wrong.any():
        where = "" if sparse.issparse(X) else " (first at row {}, column {})".format(*np.argwhere(wrong)[0])
        raise InputError(f"Input X contains NaN or infinity{where}; fill or drop those samples first.")
    check_size(values, "Input X")
    return X


def _all_fine(values: np.ndarray) -> bool:
    """Say whether one look at all numbers shows that they are finite, and small enough to be squared."""
    if not values.flags.c_contiguous:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.vdot(values, values) <= MAX_SIZE**2)


def as_whole(values: np.ndarray) -> np.ndarray:
    """Return floats and objects that are whole numbers as integers; anything else as it is."""
    if values.dtype.kind == "O" and all(isinstance(value, (int, np.integer)) for value in values.ravel()):
        return values.astype(np.int64)
    return values.astype(np.int64) if values.dtype.kind == "f" and np.all(values == np.floor(values)) else values


def ids_of(values: np.ndarray) -> np.ndarray:
    """Return a column of ids as integers, or say what it holds instead."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    values = as_whole(values)
    if values.dtype.kind not in "iu":
        raise InputTypeError(
            f"A precomputed kernel works on integer ids, one per sample; got {values.dtype} values. "
            "Pass np.arange(len(K)) as X, or a column of row numbers of the matrix."
        )
    return values


def loaded(X: Any) -> Any:
    """Return an Arrow data set, of one file or many, as a table; anything else as it is."""
    return X.to_table() if hasattr(X, "to_table") and hasattr(X, "schema") else X


def are_rows(X: Any, Y: Any) -> bool:
    """Say whether these are two rows of as many numbers, and not two columns of a sample each."""
    both = isinstance(X, np.ndarray) and isinstance(Y, np.ndarray) and X.ndim == Y.ndim == 1
    return bool(both and X.shape == Y.shape and X.dtype.kind in "biuf" and Y.dtype.kind in "biuf")


def upright(part: Any) -> Any:
    """Return plain numbers and dates, one for each sample, as a matrix of one column; anything else as it is."""
    if not isinstance(part, np.ndarray) or part.ndim != 1:
        return part
    numbers = part.dtype.kind in "biufmM" or isinstance(_first(part), (Real, datetime.date))
    return part[:, None] if numbers else part


def object_column(items: Any) -> np.ndarray:
    """Return any items as a column of objects."""
    column = np.empty(len(items), dtype=object)
    column[:] = list(items)
    return column


def check_names(names: Any) -> None:
    """Refuse columns of a table of which two have the same name; Arrow has its columns there, and looks by itself."""
    names = [name for name in names if isinstance(name, (str, int, tuple))]
    if len(set(names)) < len(names):
        twice = tuple(name for name, times in Counter(names).items() if times > 1)
        raise InputError(f"Columns of the table have the same name: {listed_labels(twice)}. Rename them.")


def listed_labels(labels: tuple[Hashable, ...], limit: int = 8) -> str:
    """Return the names of columns as a text, the first of them where there are many."""
    text = ", ".join(repr(name) for name in labels[:limit])
    return text + (f", ... ({len(labels)} in all)" if len(labels) > limit else "")
