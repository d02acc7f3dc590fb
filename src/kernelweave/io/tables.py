"""Tables and labels: CSV, TSV and Parquet to a dict of columns, without needing a data-frame library for text files."""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import InputError, MissingLabelError
from ..sequences import Alphabet, SequenceSet, as_sequences
from .streams import Source

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
_MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"))


def read_table(path: str | os.PathLike, columns: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Read a CSV, TSV or Parquet file with a header line.

    Parameters
    ----------
    path : path, "-" or binary file
        Text may be gzipped and is UTF-8; the delimiter (comma, tab or semicolon) is the one its first line uses.
        Parquet is known by its first bytes and needs pyarrow or polars.
    columns : sequence of str or None
        The columns to return; None: all.

    Returns
    -------
    columns : dict of str to ndarray
        Whole numbers as int64, numbers as float64 (missing: nan), dates as datetime64 (missing: NaT), anything else as
        an object array of strings.

    Raises
    ------
    InputError
        If a row has too few or too many fields, naming the line; if a column is not there, naming those that are.
    """
    if _is_parquet(path):
        return _read_parquet(path, columns)
    with Source(path) as source:
        names, rows = _parse(source)
    wanted = names if columns is None else list(columns)
    require_columns(wanted, names, source.name)
    return {name: _typed([row[names.index(name)] for row in rows]) for name in wanted}


def read_sequence_table(
    path: str | os.PathLike,
    sequence: str,
    label: str | None = None,
    *,
    alphabet: Alphabet | str = "auto",
    packed: bool = False,
    **rules: Any,
) -> tuple[SequenceSet, np.ndarray | None]:
    """Read sequences, and labels if asked for, from columns of a table.

    Parameters
    ----------
    path : path
        As in `read_table`.
    sequence, label : str
        Names of columns.
    alphabet, packed, **rules
        As in `as_sequences`. Rows that are skipped for being short lose their labels too.

    Returns
    -------
    sequences : SequenceSet
    labels : ndarray or None
    """
    table = read_table(path, [sequence] if label is None else [sequence, label])
    column = table[sequence]
    if column.dtype.kind != "O":
        shown = str(column[0]) if len(column) else "nothing"
        raise InputError(f"{path}: the column {sequence!r} holds {column.dtype} ({shown}, ...), not sequences.")
    try:
        sequences = as_sequences(column, alphabet, packed=packed, **rules)
    except InputError as error:
        raise type(error)(f"{path}, column {sequence!r}: {error}") from None
    labels = None if label is None else tidy_labels(np.delete(table[label], sequences.notes.skipped))
    return sequences, labels


def read_svmlight(path: str | os.PathLike, n_features: int | None = None) -> tuple[Any, np.ndarray]:
    """Read a file in svmlight / libsvm format, plain or gzip.

    Parameters
    ----------
    path : path, "-" or binary file
    n_features : int or None
        Columns of the matrix; None: the largest index in the file.

    Returns
    -------
    X : sparse matrix, shape (n, n_features)
    y : ndarray
    """
    import io

    from sklearn.datasets import load_svmlight_file

    with Source(path) as source:
        data = source.read()
        if not data.strip():
            raise InputError(f"{source.name} is empty; lines such as '+1 3:0.5 7:1' are needed.")
        try:
            return load_svmlight_file(io.BytesIO(data), n_features=n_features)
        except (ValueError, OverflowError) as error:
            raise InputError(f"{source.name} is not in svmlight format: {error}. A line is '+1 3:0.5 7:1'.") from None


# -- text ------------------------------------------------------------------------------------------------------------


def _parse(source: Source) -> tuple[list[str], list[list[str]]]:
    try:
        text = source.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{source.name} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from None
    if "\0" in text:
        raise InputError(f"{source.name} looks like a binary file: it holds NUL bytes.")
    lines = text.splitlines(keepends=True) if "\r" in text and "\n" not in text else text.split("\n")
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise InputError(f"{source.name} is empty; a header line with column names is needed.")
    delimiter = max("\t,;", key=first.count)
    names: list[str] = []
    rows = []
    with _long_fields():
        reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
        try:
            for row in reader:
                if not row or (len(row) == 1 and not row[0].strip() and len(names) != 1):
                    continue
                if not names:
                    names = _header(row, source.name)
                elif len(row) != len(names):
                    raise InputError(
                        f"{source.name}, line {reader.line_num}: {len(row)} fields where the header has {len(names)}. "
                        "Is the file truncated, or a delimiter inside an unquoted value?"
                    )
                else:
                    rows.append(row)
        except csv.Error as error:
            raise InputError(
                f"{source.name}, line {reader.line_num}: {error}. Is a quotation mark left open?"
            ) from None
    return names, rows


def _header(row: list[str], source: str) -> list[str]:
    names = [name.strip() for name in row]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{source}: column names repeat: {', '.join(map(repr, twice))}. Rename them.")
    return names


@contextmanager
def _long_fields() -> Iterator[None]:
    """The csv module refuses fields above 128 kB, which a gene is."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _typed(values: list[str]) -> np.ndarray:
    """Numbers where every value is one; '007' and '1_000' are names. Dates where all are, as 2020-01-31T12:30:00."""
    given = [value for value in (v.strip() for v in values) if value not in _MISSING]
    if given and not any("_" in v or (len(v) > 1 and v[0] == "0" and v[1].isdigit()) for v in given):
        try:
            if len(given) == len(values):
                return np.array([int(value) for value in values], np.int64)
        except (ValueError, OverflowError):
            pass
        try:
            return np.array([np.nan if v.strip() in _MISSING else float(v) for v in values])
        except ValueError:
            pass
    if given and all(map(_DATE.fullmatch, given)):
        unit = "D" if max(map(len, given)) == len("2020-01-31") else "us"
        try:
            return np.array([None if v.strip() in _MISSING else v.strip() for v in values], f"datetime64[{unit}]")
        except ValueError:  # the 31st of June
            pass
    out = np.empty(len(values), object)
    out[:] = values
    return out


def require_columns(wanted: Iterable[str], names: Sequence[str], source: str) -> None:
    """Raise an error that says which columns there are where one is missing."""
    for name in wanted:
        if name not in names:
            shown = ", ".join(map(repr, names[:10]))
            raise InputError(f"{source} has no column {name!r}; it has {shown}{', ...' if len(names) > 10 else ''}.")


# -- Parquet ---------------------------------------------------------------------------------------------------------


def _is_parquet(path: Any) -> bool:
    if path == "-" or hasattr(path, "read"):
        return False
    name = os.path.expanduser(os.fspath(path))
    if not os.path.isfile(name):  # a pipe can be read once only
        return False
    with open(name, "rb") as file:
        return file.read(4) == b"PAR1"


def _read_parquet(path: str | os.PathLike, columns: Sequence[str] | None) -> dict[str, np.ndarray]:
    name = os.path.expanduser(os.fspath(path))
    try:
        names, fetch = _parquet_reader(name)
        wanted = names if columns is None else list(columns)
        require_columns(wanted, names, name)
        table = fetch(wanted)
    except (InputError, ImportError):
        raise
    except Exception as error:  # each library has its own errors for a damaged file
        raise InputError(f"{name} is not a readable Parquet file: {error}") from None
    return {column: _column(table[column]) for column in wanted}


def _parquet_reader(name: str) -> tuple[list[str], Any]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        pass
    else:
        return pq.read_schema(name).names, lambda wanted: pq.read_table(name, columns=wanted)
    try:
        import polars as pl
    except ImportError:
        raise ImportError("Reading Parquet needs pyarrow or polars: pip install pyarrow") from None
    return list(pl.read_parquet_schema(name)), lambda wanted: pl.read_parquet(name, columns=wanted)


def _column(series: Any) -> np.ndarray:
    """A column of a frame: numbers and dates as they are (missing: nan, NaT), others as objects, None where missing."""
    import narwhals as nw

    found = nw.from_native(series, series_only=True)
    if found.dtype.is_temporal() and found.dtype != nw.Time:
        return found.to_numpy()
    if (found.dtype.is_numeric() or found.dtype == nw.Boolean) and not found.is_null().any():
        return found.to_numpy()
    if found.dtype.is_numeric() or found.dtype == nw.Boolean:
        return np.array([np.nan if value is None else value for value in found.to_list()], float)
    out = np.empty(len(found), object)
    out[:] = found.to_list()
    return out


# -- labels: from headers, from a table by id, and the check that they belong to the sequences ------------------------


def header_labels(pattern: str = "label") -> Callable[[str], str]:
    """Return the function that finds the label in a header.

    Parameters
    ----------
    pattern : str
        The name of a field, as in ``>seq1 label=+1``, or a regular expression with one group.

    Examples
    --------
    >>> header_labels()("seq1 chr3:17 label=-1")
    '-1'
    >>> header_labels(r"^(pos|neg)_")("neg_0042")
    'neg'
    """
    field = re.fullmatch(r"\w+", pattern) is not None
    try:
        found = re.compile(rf"(?:^|[\s|;,]){pattern}=([^\s|;,]+)" if field else pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}.") from None
    if found.groups != 1:
        raise InputError(f"The pattern {pattern!r} has {found.groups} groups; put the label into exactly one (...).")
    wanted = f"a field {pattern}=..." if field else f"what {pattern!r} matches"

    def label(header: str) -> str:
        match = found.search(header)
        if match is None or match[1] is None:
            raise MissingLabelError(f"The header {header!r} has no label: {wanted} is needed.")
        return match[1]

    return label


def tidy_labels(labels: Any) -> np.ndarray:
    """Return labels as integers if all are whole numbers, as floats if all are numbers, else as they are."""
    labels = np.asarray(labels)
    if labels.dtype.kind in "bmM":
        return labels.astype(str)
    if labels.dtype.kind not in "UO":
        return labels
    try:
        numbers = np.array([float(str(value).replace("_", "x")) for value in labels])
    except ValueError:
        return labels.astype(str)
    return numbers.astype(np.int64) if np.isfinite(numbers).all() and (numbers % 1 == 0).all() else numbers


def match_labels(ids: Sequence[str], label_ids: Sequence[str], labels: Sequence) -> np.ndarray:
    """Order labels, known by id, as the sequences are.

    Parameters
    ----------
    ids : sequence of str
        The sequences' ids.
    label_ids, labels : sequences of equal length
        The table of labels; ids that no sequence has are ignored.

    Raises
    ------
    InputError
        If an id has no label or two, listing the first five.
    """
    check_lengths("label ids", len(label_ids), "labels", len(labels))
    where: dict[str, int] = {}
    twice = []
    for row, name in enumerate(map(str, label_ids)):
        if where.setdefault(name, row) != row:
            twice.append(name)
    if twice:
        raise InputError(f"{len(twice)} ids have more than one label: {_first_names(twice)}.")
    missing = [name for name in map(str, ids) if name not in where]
    if missing:
        raise MissingLabelError(
            f"{len(missing)} of {len(ids)} sequences have no label: {_first_names(missing)}. Ids must agree exactly."
        )
    return np.asarray(labels)[[where[str(name)] for name in ids]]


def check_lengths(what: str, n: int, other: str, m: int) -> None:
    """Raise if two things that belong together differ in number."""
    if n != m:
        raise InputError(f"There are {n} {what} but {m} {other}; each needs the other.")


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
