"""Sets of sequences: one flat buffer, one byte a letter or four letters a byte, in memory or mapped from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..matrices import object_column
from .alphabet import UNKNOWN, Alphabet
from .layout import PACKING, Notes, common_length, counted, offsets_of, pack_codes, row_indices, row_starts
from .rules import lengths_error

if TYPE_CHECKING:
    from .mapped import MappedFile

_NO_POSITIONS, _NO_NOTES = np.empty(0, np.int64), Notes()
_BLOCK_ROWS, _BLOCK_BYTES = 1 << 14, 1 << 24


class SequenceSet:
    """An immutable list of sequences over one alphabet; build it with `as_sequences`, `read_fasta` or `open`.

    ``set[3]`` is text; ``set[2:9]``, ``set[mask]`` and ``set[indices]`` are again sets. A slice shares memory.

    Codes are numbers below ``alphabet.size``; a letter that is not known (N, say) has the code 255. The packed form
    keeps two bits a letter, the first letter in the highest bits and every sequence starting at a byte, beside the
    sorted positions of the unknown letters.

    Parameters
    ----------
    alphabet : Alphabet
    buffer : ndarray of uint8
        The codes of all sequences, or the packed bytes.
    n : int
    length : int or None
        The common length, or None when lengths vary.
    offsets : ndarray of int64, shape (n + 1,), or None
        Where each sequence starts, in letters; needed when lengths vary, unless the source has them.
    packed : bool
    unknown : ndarray of int64, or None
        Sorted flat positions of unknown letters (packed form only); None: the source has them.
    notes : Notes
        What was met on reading.
    path : str or None
        The file the buffer is mapped from.
    source : MappedFile or None
        The same as it is mapped, also for a slice of it: it checks the bytes that are read for the first time.
    at : int
        Where the buffer starts in the file.
    """

    def __init__(
        self,
        alphabet: Alphabet,
        buffer: np.ndarray,
        n: int,
        length: int | None,
        offsets: np.ndarray | None = None,
        packed: bool = False,
        unknown: np.ndarray | None = _NO_POSITIONS,
        notes: Notes = _NO_NOTES,
        path: str | None = None,
        source: MappedFile | None = None,
        at: int = 0,
    ) -> None:
        self.alphabet, self.n, self.length, self.packed = alphabet, n, length, packed
        self.notes, self.path = notes, path
        self.source, self._at = source, at
        self._raw, self._given_offsets, self._given_unknown = buffer, offsets, unknown
        self._derived: dict[str, Any] = {}
        for array in (buffer, offsets, unknown):
            if array is not None:
                array.flags.writeable = False

    # -- what is kept ----------------------------------------------------------------------------------------------

    @property
    def buffer(self) -> np.ndarray:
        """The letters as they are kept; those that are mapped are what was written, or this is an error."""
        if self.source is not None:
            self.source.check(self._at, self._at + self._raw.size)
        return self._raw

    @cached_property
    def _offsets(self) -> np.ndarray | None:
        if self._given_offsets is None and self.length is None and self.source is not None:
            return self.source.offsets()
        return self._given_offsets

    @cached_property
    def kept_unknown(self) -> np.ndarray:
        """The positions of unknown letters that are kept beside the letters: of packed ones, which have no code."""
        if self._given_unknown is None:
            return _NO_POSITIONS if self.source is None else self.source.unknown(self.n_letters)
        return self._given_unknown

    # -- shape -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.n

    @property
    def shape(self) -> tuple[int]:
        """(n,): the set is one column to scikit-learn."""
        return (self.n,)

    @cached_property
    def offsets(self) -> np.ndarray:
        """(n + 1,) int64: where each sequence starts, in letters."""
        if self._offsets is not None:
            return self._offsets
        offsets = np.arange(self.n + 1, dtype=np.int64) * (self.length or 0)
        offsets.flags.writeable = False
        return offsets

    @property
    def lengths(self) -> np.ndarray:
        """(n,) int64: letters of each sequence."""
        return np.full(self.n, self.length, np.int64) if self.length is not None else np.diff(self.offsets)

    @property
    def n_letters(self) -> int:
        """Letters of all sequences together."""
        return self.n * self.length if self.length is not None else int(self.offsets[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of the letters as they are kept."""
        return self._raw.nbytes + self.kept_unknown.nbytes

    @cached_property
    def _starts(self) -> np.ndarray:
        """(n + 1,) int64: where each sequence starts in the buffer."""
        return row_starts(self.offsets) if self.packed else self.offsets

    def _starts_of(self, part: slice) -> np.ndarray:
        """Buffer starts of the rows `part` (and the end), without the whole table when lengths are equal."""
        if self.length is None:
            return self._starts[part.start : part.stop + 1]
        width = -(-self.length // 4) if self.packed else self.length
        return np.arange(part.start, part.stop + 1, dtype=np.int64) * width

    @cached_property
    def unknown(self) -> np.ndarray:
        """Sorted flat positions of the letters that have no code."""
        if self.packed:
            return self.kept_unknown
        if self.alphabet.size == 256:
            return _NO_POSITIONS
        buffer = self.buffer
        starts = range(0, buffer.size, _BLOCK_BYTES)  # a mask of a whole mapped file may not fit into memory
        parts = [at + np.flatnonzero(buffer[at : at + _BLOCK_BYTES] == UNKNOWN) for at in starts]
        return np.concatenate([_NO_POSITIONS, *parts])

    # -- letters ---------------------------------------------------------------------------------------------------

    def codes(self, i: int) -> np.ndarray:
        """Return the codes of sequence i, uint8, 255 where the letter is unknown."""
        if not -self.n <= i < self.n:
            raise IndexError(f"Row {i} is outside a set of {self.n} sequences.")
        return self._slice(slice(i % self.n, i % self.n + 1)).flat_codes()

    def flat_codes(self) -> np.ndarray:
        """Return the codes of all sequences one after another (cut at `offsets`), uint8."""
        if not self.packed:
            return self.buffer
        from .._fast.packing import unpack

        out = np.empty(self.n_letters, np.uint8)
        unpack(self.buffer, self._starts_of(slice(0, self.n)), self.offsets, out)
        out[self.kept_unknown] = UNKNOWN
        return out

    def as_matrix(self) -> np.ndarray:
        """Return the codes as a matrix (n, length); the sequences must be equally long."""
        return self.flat_codes().reshape(self.n, self.require_length())

    def packed_rows(self) -> np.ndarray | None:
        """Return equally long sequences as they are packed, (n, bytes), or None in any other form; shares memory."""
        return self.buffer.reshape(self.n, -1) if self.packed and self.n and self.length else None

    def require_length(self) -> int:
        """Return the common length, or raise an error that shows the lengths there are."""
        if self.length is not None:
            return self.length
        raise lengths_error(self.lengths)

    def derived(self, name: str, make: Callable[[SequenceSet], Any]) -> Any:
        """Return what was made of these letters under this name before, or make it now; it is never pickled."""
        if name not in self._derived:
            self._derived[name] = make(self)
        return self._derived[name]

    # -- rows ------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:  # scikit-learn asks for X[rows, ...]
            key = key[0]
        if isinstance(key, (int, np.integer)):
            return self.alphabet.decode(self.codes(int(key)))
        return self.rows(key)

    def rows(self, indices: Any) -> SequenceSet:
        """Return the set of the given rows: a slice (shares memory), indices or a mask (copies)."""
        if isinstance(indices, slice):
            start, stop, step = indices.indices(self.n)
            if step == 1:
                return self._slice(slice(start, max(start, stop)))
            indices = np.arange(start, stop, step)
        chosen = row_indices(indices, self.n)
        return self._rows_of(chosen) if chosen.size else self._slice(slice(0, 0))

    def _slice(self, part: slice) -> SequenceSet:
        starts = self._starts_of(part)
        low = int(starts[0])
        buffer = self._raw[low : starts[-1]]
        offsets = None
        if self.length is None:
            offsets = self.offsets[part.start : part.stop + 1] - self.offsets[part.start]
        unknown = self.kept_unknown
        if unknown.size:
            first, end = (i * self.length if offsets is None else self.offsets[i] for i in (part.start, part.stop))
            unknown = unknown[np.searchsorted(unknown, first) : np.searchsorted(unknown, end)] - first
        return self._like(buffer, part.stop - part.start, offsets, unknown, self.source, self._at + low)

    def _rows_of(self, rows: np.ndarray) -> SequenceSet:
        if self.length is not None:
            width = self._raw.size // self.n
            buffer = self._checked(rows * width, rows * width + width).reshape(self.n, width)[rows].reshape(-1)
            offsets, first = None, rows * self.length
            ends = first + self.length
            new_first = np.arange(rows.size) * self.length
        else:
            from .._fast.packing import gather

            first, ends = self.offsets[rows], self.offsets[rows + 1]
            offsets = offsets_of(ends - first)
            starts = row_starts(offsets) if self.packed else offsets
            buffer = np.empty(int(starts[-1]), np.uint8)
            source = self._checked(self._starts[rows], self._starts[rows + 1])
            gather(source, self._starts[rows], buffer, starts)
            new_first = offsets[:-1]
        unknown = self.kept_unknown
        if unknown.size:
            low, high = np.searchsorted(unknown, first), np.searchsorted(unknown, ends)
            spread = offsets_of(high - low)
            picked = np.repeat(low - spread[:-1], high - low) + np.arange(spread[-1])
            unknown = unknown[picked] + np.repeat(new_first - first, high - low)
        return self._like(buffer, rows.size, offsets, unknown)

    def _checked(self, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
        """The buffer, of which only the bytes lows[i] .. highs[i] - 1 will be read."""
        if self.source is not None:
            self.source.check_rows(lows + self._at, highs + self._at)
        return self._raw

    def _like(
        self,
        buffer: np.ndarray,
        n: int,
        offsets: np.ndarray | None,
        unknown: np.ndarray,
        source: MappedFile | None = None,
        at: int = 0,
    ) -> SequenceSet:
        """A set of the same kind with other rows; varying lengths become a common one where they happen to agree."""
        length = self.length if offsets is None else common_length(offsets)
        offsets = offsets if length is None else None
        return SequenceSet(
            self.alphabet, buffer, n, length, offsets, self.packed, unknown, self.notes, None, source, at
        )

    def part(self, start: int = 0, stop: int | None = None) -> SequenceSet:
        """Return ``sequence[start:stop]`` of every sequence, as Python cuts text: numbers below 0 count from the end.

        Examples
        --------
        >>> from kernelweave.sequences import as_sequences
        >>> list(as_sequences(["ACGTACGT", "GGATC"], "dna").part(-3))
        ['CGT', 'ATC']
        """
        lengths = self.lengths
        low = counted(start, lengths)
        high = np.maximum(low, lengths if stop is None else counted(stop, lengths))
        offsets = offsets_of(high - low)
        return self._cut_out(self.offsets[:-1] + low, offsets)

    def shortened(self, lengths: np.ndarray) -> SequenceSet:
        """Return the first letters of every sequence, as many as are asked for."""
        return self._cut_out(self.offsets[:-1], offsets_of(lengths))

    def _cut_out(self, first: np.ndarray, offsets: np.ndarray) -> SequenceSet:
        """The letters from first[i] on of every sequence, as many as the new offsets say; unpacked block by block."""
        from .._fast.packing import gather

        buffers = [np.empty(0, np.uint8)]
        unknown = [_NO_POSITIONS]
        for at in range(0, self.n, _BLOCK_ROWS):
            rows = slice(at, min(at + _BLOCK_ROWS, self.n))
            cuts = offsets[rows.start : rows.stop + 1] - offsets[rows.start]
            codes = np.empty(int(cuts[-1]), np.uint8)
            gather(self._slice(rows).flat_codes(), first[rows] - self.offsets[rows.start], codes, cuts)
            if self.packed:
                unknown.append(offsets[rows.start] + np.flatnonzero(codes == UNKNOWN))
            buffers.append(pack_codes(codes, PACKING, cuts) if self.packed else codes)
        kept = np.concatenate(unknown) if self.packed else _NO_POSITIONS
        return self._like(np.concatenate(buffers), self.n, offsets, kept)

    # -- other forms -----------------------------------------------------------------------------------------------

    def pack(self) -> SequenceSet:
        """Return the same sequences at two bits a letter."""
        if self.packed:
            return self
        if not self.alphabet.packable:
            raise InputError(f"Two bits hold four letters; the {self.alphabet.name} alphabet has {self.alphabet.size}.")
        kept = (pack_codes(self.buffer, PACKING, self.offsets), self.n, self.length, self._offsets)
        return SequenceSet(self.alphabet, *kept, True, self.unknown, self.notes)

    def unpack(self) -> SequenceSet:
        """Return the same sequences at one byte a letter, in memory."""
        if not self.packed:
            return self
        return SequenceSet(self.alphabet, self.flat_codes(), self.n, self.length, self._offsets, notes=self.notes)

    def reverse_complement(self) -> SequenceSet:
        """Return every sequence read backwards from the other strand."""
        from .._fast.packing import reverse_rows

        table = self.alphabet.complement_table
        out = np.empty(self.n_letters, np.uint8)
        reverse_rows(self.flat_codes(), table, self.offsets, out)
        flipped = SequenceSet(self.alphabet, out, self.n, self.length, self._offsets, notes=self.notes)
        return flipped.pack() if self.packed else flipped

    def __iter__(self) -> Iterator[str]:
        for start in range(0, self.n, _BLOCK_ROWS):
            part = self._slice(slice(start, min(start + _BLOCK_ROWS, self.n)))
            data, cuts = self.alphabet.byte_of[part.flat_codes()].tobytes(), part.offsets.tolist()
            for low, high in pairwise(cuts):
                yield data[low:high].decode(self.alphabet.encoding, "surrogateescape")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        out = object_column(list(self))
        return out if dtype is None else out.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequenceSet):
            return NotImplemented
        return (
            self.alphabet == other.alphabet
            and self.n == other.n
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.unknown, other.unknown)
            and np.array_equal(self.flat_codes(), other.flat_codes())
        )

    __hash__ = None  # type: ignore[assignment]  # equality reads every letter; a hash would promise to be cheap

    def __reduce__(self) -> tuple:
        # Copies and workers must not depend on a file that may be gone: the letters travel, the path does not.
        args = (self.buffer, self.n, self.length, self._offsets, self.packed, self.kept_unknown, self.notes)
        return SequenceSet, (self.alphabet, *args)

    def __repr__(self) -> str:
        length = "varying" if self.length is None else self.length
        form = "packed" if self.packed else "bytes"
        source = f", path={self.path!r}" if self.path else ""
        return f"<SequenceSet n={self.n} length={length} alphabet={self.alphabet!r} {form}{source}>"

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the set to a file that `open` maps back; packed where the alphabet allows."""
        from .store import save_set

        save_set(self.pack() if self.alphabet.packable else self, path)

    @classmethod
    def open(cls, path: str | os.PathLike) -> SequenceSet:
        """Map a file written by `save` or `SequenceWriter`; the letters are read, and checked, when they are needed."""
        from .store import open_set

        return open_set(path)

    def verify(self) -> None:
        """Read the mapped file whole and raise `InputError` if its letters are not those that were written."""
        from .store import verify_file

        if self.path is None:
            raise InputError("This set is in memory; only a set from SequenceSet.open(path) has a file to verify.")
        verify_file(self.path)
