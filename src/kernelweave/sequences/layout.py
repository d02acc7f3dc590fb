"""How rows of letters lie in a buffer, and what was noted while they were read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .alphabet import UNKNOWN

#: The table that leaves codes as they are.
IDENTITY = np.arange(256, dtype=np.uint8)
IDENTITY.flags.writeable = False
#: The table that packs codes: an unknown letter is kept as the first one, so that every pair of bits is a letter.
PACKING = IDENTITY.copy()
PACKING[UNKNOWN] = 0
PACKING.flags.writeable = False


@dataclass(frozen=True)
class Notes:
    """What was met while the sequences were read; it describes the reading, and subsets keep it.

    Attributes
    ----------
    n_letters, n_lower, n_ambiguous, n_u : int
        Letters in all; in lower case; N or another ambiguous code; U read as T (T as U for RNA).
    n_short : int
        Sequences shorter than was asked for.
    skipped : tuple of int
        Rows left out (``on_short="skip"``): labels at these rows must be left out too.
    """

    n_letters: int = 0
    n_lower: int = 0
    n_ambiguous: int = 0
    n_u: int = 0
    n_short: int = 0
    skipped: tuple[int, ...] = ()


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """(n + 1,) int64 running sum of lengths, starting at 0."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def common_length(offsets: np.ndarray) -> int | None:
    """The length all rows have (0 for no rows), or None if lengths vary."""
    lengths = np.diff(offsets)
    if not lengths.size:
        return 0
    return int(lengths[0]) if (lengths == lengths[0]).all() else None


def row_starts(offsets: np.ndarray) -> np.ndarray:
    """Byte offsets of packed rows whose letters lie at `offsets`."""
    return offsets_of((np.diff(offsets) + 3) // 4)


def pack_codes(text: np.ndarray, table: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the packed rows of text, read through a table of codes (unknown letters as any letter)."""
    from .._fast.packing import pack

    starts = row_starts(offsets)
    out = np.empty(int(starts[-1]), np.uint8)
    pack(text, table, offsets, out, starts)
    return out


def row_indices(key: Any, n: int) -> np.ndarray:
    """Turn integers (negative ones count from the end) or a mask into int64 rows below n."""
    rows = np.asarray(key)
    if rows.dtype == bool:
        if rows.shape != (n,):
            raise IndexError(f"A mask needs one entry for each of the {n} sequences; got shape {rows.shape}.")
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise IndexError(f"Rows are chosen by a slice, integers or a mask; got {rows.dtype} of shape {rows.shape}.")
    rows = rows.astype(np.int64)
    outside = rows[(rows < -n) | (rows >= n)]
    if outside.size:
        raise IndexError(f"Row {outside[0]} is outside a set of {n} sequences.")
    return np.where(rows < 0, rows + n, rows)


def counted(place: int, lengths: np.ndarray) -> np.ndarray:
    """Return where a place lies in sequences of these lengths, as slices of text count."""
    return np.minimum(place, lengths) if place >= 0 else np.maximum(lengths + place, 0)
