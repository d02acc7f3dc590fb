"""The one door for sequences: every container becomes blocks of bytes, every block is judged by one builder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import InputError, InputTypeError
from .alphabet import TEXT, Alphabet, find_alphabet
from .build import MemorySink, SequenceBuilder
from .layout import offsets_of
from .rules import Rules, short_error
from .sets import SequenceSet

#: Rows that are joined and encoded at a time; the alphabet is guessed from the first of these blocks.
BLOCK_ROWS = 1 << 14

Block = tuple[np.ndarray, np.ndarray, int]  # bytes, offsets, number of the first row


def as_sequences(
    data: Any,
    alphabet: Alphabet | str = "auto",
    *,
    ambiguous: str = "skip",
    lower: str = "upper",
    on_short: str = "error",
    min_length: int = 1,
    packed: bool = False,
    ids: Sequence[str] | None = None,
) -> SequenceSet:
    """Turn any column of strings into a `SequenceSet`.

    Parameters
    ----------
    data : sequence of str or bytes, NumPy array, pandas, polars or Arrow column, or SequenceSet
        One sequence each. The result does not depend on the container.
    alphabet : "auto", "dna", "rna", "protein", "bytes", "text" or Alphabet
        "auto" guesses from the first 16384 rows.
    ambiguous : {"skip", "error"}
        N and IUPAC letters: skip the k-mers that hold them, or refuse them.
    lower : {"upper", "mask"}
        Lower case: as upper case, or as unknown.
    on_short : {"error", "skip", "zero"}
        Sequences of fewer than `min_length` letters: refuse, leave out (see ``notes.skipped``), or keep as they are.
    min_length : int
        Letters a sequence needs.
    packed : bool
        Keep two bits a letter.
    ids : sequence of str or None
        Names for error messages.

    Returns
    -------
    sequences : SequenceSet
        Its `notes` count what was met.

    Raises
    ------
    InputError
        With the row, the position and a remedy.

    Warns
    -----
    DataWarning
        When more than 5 % of the letters are ambiguous.

    Examples
    --------
    >>> as_sequences(["acgu", "ACGT"]).notes
    Notes(n_letters=8, n_lower=4, n_ambiguous=0, n_u=1, n_short=0, skipped=())
    """
    rules = Rules(ambiguous, lower, on_short, min_length)
    name = namer(ids)
    if isinstance(data, SequenceSet):
        return _check_set(data, alphabet, rules, packed, name)
    column = as_column(data)
    if len(column) == 0:
        raise InputError("There are no sequences: found 0 sample(s) while a minimum of 1 is required.")
    found = _resolve(column, alphabet)
    builder = SequenceBuilder(found, rules, packed, MemorySink())
    for text, offsets, start in text_blocks(column, found):
        builder.add(text, offsets, partial(_shifted, name, start))
    return builder.finish()


def namer(ids: Sequence[str] | None) -> Callable[[int], str]:
    """Return the function that names row i in messages."""
    return lambda i: f"Sequence {i}" if ids is None else f"Sequence {i} ({ids[i]!r})"


def _shifted(name: Callable[[int], str], start: int, i: int) -> str:
    return name(start + i)


def _resolve(column: Any, alphabet: Alphabet | str) -> Alphabet:
    if not (isinstance(alphabet, str) and alphabet == "auto"):
        return find_alphabet(alphabet)
    from .._fast.packing import histogram

    text, _, _ = next(text_blocks(column[:BLOCK_ROWS], TEXT))
    return find_alphabet("auto", histogram(text))


def _check_set(data: SequenceSet, alphabet: Any, rules: Rules, packed: bool, name: Callable[[int], str]) -> SequenceSet:
    if not (isinstance(alphabet, str) and alphabet == "auto") and find_alphabet(alphabet) != data.alphabet:
        raise InputError(
            f"The set holds {data.alphabet!r}, but alphabet={alphabet!r} was asked for. "
            "Pass list(sequences) to read the letters again."
        )
    if rules.ambiguous == "error" and data.unknown.size:
        at = int(data.unknown[0])
        row = int(np.searchsorted(data.offsets, at, side="right")) - 1
        raise InputError(
            f"{name(row)}, position {at - int(data.offsets[row]) + 1}: unknown letter. Use ambiguous='skip'."
        )
    equal = data.length is not None and data.length >= rules.min_length
    short = np.empty(0, np.int64) if equal else np.flatnonzero(data.lengths < rules.min_length)
    if len(short) and rules.on_short == "error":
        raise short_error(name(int(short[0])), int(data.lengths[short[0]]), rules.min_length)
    if len(short) and rules.on_short == "skip":
        data = data.rows(np.delete(np.arange(len(data)), short))
        data.notes = replace(data.notes, n_short=len(short), skipped=tuple(short.tolist()))
    return data.pack() if packed else data


# -- containers to columns: a list of str or bytes, or a NumPy S or U array ------------------------------------------


def as_column(data: Any) -> Any:
    """Return a list of strings or a one-dimensional NumPy array of kind S or U; nulls are errors."""
    if isinstance(data, (str, bytes, bytearray)):
        raise InputTypeError(f"Sequences come as a list; got a single {type(data).__name__}. Write [sequence].")
    if isinstance(data, (dict, set, frozenset)):
        raise InputTypeError(f"Sequences need an order; got a {type(data).__name__}. Pass a list or one column.")
    if isinstance(data, (list, tuple)):
        return list(data) if isinstance(data, tuple) else data
    if isinstance(data, np.ndarray):
        return _from_numpy(data)
    if type(data).__module__.split(".")[0] == "pyarrow" and hasattr(data, "to_pylist") and not hasattr(data, "columns"):
        return data.to_pylist()
    found = _from_frame(data)
    if found is not None:
        return found
    if hasattr(data, "__array__"):
        return _from_numpy(np.asarray(data))
    if isinstance(data, Iterable):
        return list(data)
    raise InputTypeError(f"Sequences come as a list or a column of strings; got {type(data).__name__}.")


def _from_numpy(array: np.ndarray) -> Any:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"Sequences come as one column, one string each; got an array of shape {array.shape}.")
    if array.dtype.kind in "SU":
        return np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if array.dtype.kind in "OT":
        return array.tolist()
    raise InputTypeError(f"Sequences are strings; got an array of {array.dtype}.")


def _from_frame(data: Any) -> list | None:
    """The strings of a pandas, polars or Arrow column or one-column table; None for anything else."""
    import narwhals as nw

    native = nw.from_native(data, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, nw.DataFrame):
        if native.shape[1] != 1:
            names = ", ".join(map(repr, native.columns[:5]))
            raise InputError(
                f"One column of sequences is needed; got a table with {native.shape[1]} ({names}). Choose one."
            )
        native = native[native.columns[0]]
    if not isinstance(native, nw.Series):
        return None
    missing = native.is_null().to_numpy()
    if missing.any():
        raise _missing_error(int(np.argmax(missing)))
    return native.to_list()


def _missing_error(row: int) -> InputError:
    return InputError(f"Row {row} has no sequence (the value is missing). Drop the row or fill it in.")


# -- columns to blocks of bytes --------------------------------------------------------------------------------------


def text_blocks(data: Any, alphabet: Alphabet) -> Iterator[Block]:
    """Cut a column of strings into blocks: the bytes, the offsets of the rows in them, and the first row's number."""
    column = as_column(data)
    for start in range(0, len(column), BLOCK_ROWS):
        part = column[start : start + BLOCK_ROWS]
        found = _array_block(part) if isinstance(part, np.ndarray) else None
        if found is None:
            rows = part.tolist() if isinstance(part, np.ndarray) else part
            found = _list_block(rows, alphabet.encoding, start)
        yield (*found, start)


def _array_block(part: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Bytes of a fixed-width array without a Python object in sight; None if a letter needs more than a byte."""
    if part.dtype.itemsize == 0:
        return np.empty(0, np.uint8), np.zeros(len(part) + 1, np.int64)
    if part.dtype.kind == "U":
        wide = part.view(np.uint32).reshape(len(part), -1)
        if wide.max() > 127:
            return None
        letters = wide.astype(np.uint8)
    else:
        letters = part.view(np.uint8).reshape(len(part), -1)
    lengths = np.strings.str_len(part).astype(np.int64)
    offsets = offsets_of(lengths)
    if offsets[-1] == letters.size:
        return letters.reshape(-1), offsets
    return letters[np.arange(letters.shape[1]) < lengths[:, None]], offsets


def _list_block(rows: list, encoding: str, start: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        text = "".join(rows)
        joined = text.encode("ascii")  # one byte a letter: the lengths of the strings are those of the bytes
    except (TypeError, UnicodeEncodeError):
        rows = [_row_bytes(row, encoding, start + i) for i, row in enumerate(rows)]
        joined = b"".join(rows)
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return np.frombuffer(joined, np.uint8), offsets_of(lengths)


def _row_bytes(row: Any, encoding: str, number: int) -> bytes:
    if isinstance(row, str):
        try:
            return row.encode(encoding, "surrogateescape")
        except UnicodeEncodeError as error:
            letter = row[error.start]
            raise InputError(
                f"Sequence {number}, position {error.start + 1}: {letter!r} is not a letter here. Use alphabet='text'."
            ) from None
    if isinstance(row, (bytes, bytearray)):
        return bytes(row)
    if row is None or type(row).__name__ in ("NAType", "NaTType") or (isinstance(row, float) and row != row):
        raise _missing_error(number)
    raise InputTypeError(f"Sequences are strings; row {number} is {row!r} ({type(row).__name__}).")
