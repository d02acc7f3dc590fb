"""The packed file: a header, the letters, and where sequences start; written once, then mapped.

How its bytes lie is said in `header`, how they are checked in `mapped`.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from typing import Any

import numpy as np

from .alphabet import Alphabet
from .header import BLOCK, HEADER_SIZE, SECTIONS, Header, aligned, counts_of, read_header, table_digest
from .layout import Notes
from .mapped import MappedFile, map_file
from .sets import SequenceSet

_COPY = 1 << 22


class BlockSums:
    """CRC-32 of every block of what passes by, in pieces of any size."""

    def __init__(self) -> None:
        self._done: list[int] = []
        self._sum, self._size = 0, 0

    def update(self, data: memoryview | bytes) -> None:
        """Take more bytes."""
        for at in _cuts(len(data), BLOCK - self._size):
            piece = data[at]
            self._sum = zlib.crc32(piece, self._sum)
            self._size += len(piece)
            if self._size == BLOCK:
                self._done.append(self._sum)
                self._sum, self._size = 0, 0

    def table(self) -> bytes:
        """Return the table as it stands in a file: four bytes a block."""
        return np.array(self._done + [self._sum] * (self._size > 0), "<u4").tobytes()


def _cuts(size: int, first: int) -> list[slice]:
    """Cut `size` bytes where blocks end, the first of which has room for `first`."""
    ends = [*range(min(first, size), size, BLOCK), size] if size else []
    return [slice(low, high) for low, high in zip([0, *ends], ends, strict=False)]


class FileSink:
    """Where a stream of encoded rows goes: a temporary file that takes its name when it is whole."""

    def __init__(self, path: str | os.PathLike) -> None:
        from ..io.atomic import AtomicFile  # here, because readers in io need this module

        self._whole = AtomicFile(path)
        self.path, self._file = self._whole.path, self._whole.file
        folder = os.path.dirname(self.path) or "."
        self._side = [tempfile.SpooledTemporaryFile(max_size=_COPY, dir=folder) for _ in range(2)]  # noqa: SIM115
        self._sums, self._sizes, self._at = BlockSums(), dict.fromkeys(SECTIONS, 0), 0
        self.n, self.n_letters = 0, 0
        self._length: int | None = None
        self._file.write(bytes(HEADER_SIZE))
        self._side[0].write(bytes(8))

    def append(self, data: np.ndarray, offsets: np.ndarray, unknown: np.ndarray) -> None:
        """Add encoded rows: their bytes, their letter offsets (from 0), the flat positions of unknown letters."""
        lengths = np.diff(offsets)
        if lengths.size:
            if self.n == 0:
                self._length = int(lengths[0])
            if self._length is not None and not (lengths == self._length).all():
                self._length = None
        self._write(data)
        self._side[0].write((offsets[1:] + self.n_letters).astype("<i8").tobytes())
        self._side[1].write((unknown + self.n_letters).astype("<i8").tobytes())
        self.n += lengths.size
        self.n_letters += int(offsets[-1])

    def _write(self, data: Any) -> None:
        view = memoryview(data).cast("B") if len(data) else b""
        self._file.write(view)
        self._sums.update(view)
        self._at += len(view)

    def _close_section(self, name: str) -> None:
        self._sizes[name] = self._at
        self._write(bytes(aligned(self._at) - self._at))
        self._at = 0

    def finish(self, alphabet: Alphabet, packed: bool, notes: Notes) -> SequenceSet:
        """Write what follows the letters, give the file its name, and map it."""
        self._close_section("data")
        for name, side, wanted in zip(
            ("offsets", "unknown"), self._side, (self.n > 0 and not self._length, True), strict=True
        ):
            side.seek(0)
            while wanted and (piece := side.read(_COPY)):
                self._write(piece)
            self._close_section(name)
        self._write(np.asarray(notes.skipped, "<i8").tobytes())
        self._close_section("skipped")
        table, length = self._sums.table(), self._length if self.n else 0
        header = Header(alphabet, self.n, length, packed, self._sizes, counts_of(notes), table_digest(table))
        self._file.write(table)
        self._file.seek(0)
        self._file.write(header.to_bytes())
        self._whole.commit()
        for side in self._side:
            side.close()
        return open_set(self.path)

    def abort(self) -> None:
        """Leave nothing behind; does nothing after `finish`."""
        for side in self._side:
            side.close()
        self._whole.abort()


def open_set(path: str | os.PathLike) -> SequenceSet:
    """Map a packed file; reads its header and its table of digests only."""
    path = os.path.expanduser(os.fspath(path))
    source = map_file(path)
    header, (low, high) = source.header, source.header.section("data")
    return SequenceSet(
        header.alphabet,
        source.bytes[low:high],
        header.n,
        header.length,
        None,
        header.packed,
        None,
        source.notes(),
        path,
        source,
        low,
    )


def verify_file(path: str) -> None:
    """Read a packed file whole and compare it with its digests, whatever was read of it before."""
    with open(path, "rb") as file:
        raw, size = file.read(HEADER_SIZE), os.fstat(file.fileno()).st_size
        source = MappedFile(path, file, read_header(raw, size, path))
    source.check(HEADER_SIZE, source.header.body_end)
    header = source.header
    n_letters = header.n * header.length if header.length is not None else int(source.offsets()[-1])
    source.unknown(n_letters)


def save_set(sequences: SequenceSet, path: str | os.PathLike) -> None:
    """Write a set to a packed file."""
    if sequences.packed and sequences.alphabet.size < 4 and sequences.unknown.size:
        sequences = sequences.unpack().pack()  # an unknown letter may stand there as a number that no letter has
    sink = FileSink(path)
    try:
        sink.append(sequences.buffer, sequences.offsets, sequences.kept_unknown)
        sink.finish(sequences.alphabet, sequences.packed, sequences.notes)
    finally:
        sink.abort()
