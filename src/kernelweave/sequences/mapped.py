"""Packed files as they are mapped: in blocks, each of which is compared with its digest when it is first read."""

from __future__ import annotations

import mmap
import os
import time
import zlib
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from .alphabet import UNKNOWN
from .header import (
    BLOCK,
    HEADER_SIZE,
    Header,
    damaged_content,
    damaged_header,
    read_header,
    table_digest,
)
from .layout import Notes

#: Numbers of a section that are looked at together.
_NUMBERS = 1 << 16
#: A file that was written to less than these nanoseconds ago may be written to again without showing another time.
_SETTLED = 2_000_000_000
#: The files that are mapped now, by what they are on the disk.
_MAPPED: WeakValueDictionary[tuple, MappedFile] = WeakValueDictionary()


def map_file(path: str) -> MappedFile:
    """Map a packed file; one that is mapped already, and was not touched since, shares what has been checked."""
    with open(path, "rb") as file:
        raw, stat = file.read(HEADER_SIZE), os.fstat(file.fileno())
        header = read_header(raw, stat.st_size, path)
        key = (os.path.abspath(path), *_stamp(stat), raw[:32])
        found = _MAPPED.get(key)
        if found is None:
            found = MappedFile(path, file, header)
            if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _SETTLED:
                _MAPPED[key] = found
    return found


def mapped_now() -> list[MappedFile]:
    """Return the files that are mapped now."""
    return list(_MAPPED.values())


class MappedFile:
    """A packed file in blocks; whoever reads bytes of it asks `check` or `check_rows` for them first.

    Several threads may do so at a time: at worst a block is checked twice.

    Parameters
    ----------
    path : str
    file : file
        The same, opened.
    header : Header
    """

    def __init__(self, path: str, file: Any, header: Header) -> None:
        self.path, self.header = path, header
        file.seek(header.body_end)
        table = file.read(4 * header.n_blocks)
        if len(table) != 4 * header.n_blocks or table_digest(table) != header.digest:
            raise damaged_header(path, "its table of digests differs")
        mapped: Any = np.memmap(file, np.uint8, "r")
        self.bytes, self._map = np.asarray(mapped), mapped._mmap
        self._stat = os.fstat(file.fileno())
        #: The CRC-32 of every block, and whether it was found to be right.
        self.sums, self.seen = np.frombuffer(table, "<u4"), np.zeros(header.n_blocks, bool)
        self._all_seen = not header.n_blocks
        self._trusted = self._stamp_now()
        self._data = header.section("data")
        self._letters = _letters_check(header)

    # -- blocks ----------------------------------------------------------------------------------------------------

    def check(self, low: int, high: int) -> None:
        """Compare the blocks that hold the bytes low .. high - 1 with their digests, unless that was done before."""
        if low >= high or self._all_seen:
            return
        first, last = (low - HEADER_SIZE) // BLOCK, (high - 1 - HEADER_SIZE) // BLOCK + 1
        self._check_blocks(first + np.flatnonzero(~self.seen[first:last]))

    def check_rows(self, lows: np.ndarray, highs: np.ndarray) -> None:
        """Do so for many pieces, bytes lows[i] .. highs[i] - 1."""
        if self._all_seen:
            return
        full = lows < highs
        first, last = (lows[full] - HEADER_SIZE) // BLOCK, (highs[full] - 1 - HEADER_SIZE) // BLOCK + 1
        n = self.seen.size + 1
        covered = np.cumsum(np.bincount(first, minlength=n) - np.bincount(last, minlength=n))[:-1] > 0
        self._check_blocks(np.flatnonzero(covered & ~self.seen))

    def _check_blocks(self, numbers: np.ndarray) -> None:
        if not numbers.size:
            return
        if self._is_cut():
            raise damaged_content(self.path, "the file was cut since it was opened")
        for number in numbers.tolist():
            low, high = self._block(number)
            if not self._holds(number):
                raise damaged_content(self.path, f"the digest of bytes {low} to {high - 1} differs")
            letters = self.bytes[max(low, self._data[0]) : min(high, self._data[1])]
            if letters.size and self._letters is not None and not self._letters(letters):
                raise damaged_content(self.path, f"bytes {low} to {high - 1} hold what is not a letter")
            self.seen[number] = True
        self._all_seen = bool(self.seen.all())

    def release(self) -> None:
        """Give the pages that were read back to the system, which may keep them; they are read again when needed."""
        if hasattr(self._map, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def _block(self, number: int) -> tuple[int, int]:
        low = HEADER_SIZE + number * BLOCK
        return low, min(low + BLOCK, self.header.body_end)

    def _holds(self, number: int) -> bool:
        low, high = self._block(number)
        return zlib.crc32(self.bytes[low:high].data) == self.sums[number]

    # -- changes ---------------------------------------------------------------------------------------------------

    def changed(self, surely: bool = False) -> bool:
        """Whether a block that was read is another one now, which its digest says.

        Parameters
        ----------
        surely : bool
            Read them all. Otherwise only where the file's times or its size have changed.
        """
        stamp = self._stamp_now()
        if self._is_cut():
            return True
        if stamp == self._trusted and not surely:
            return False
        for number in np.flatnonzero(self.seen).tolist():
            if not self._holds(number):
                self.seen[number] = self._all_seen = False
                return True
        self._trusted = stamp
        return False

    def _is_cut(self) -> bool:
        return bool(self._map.size() < self.header.size)  # to read beyond the end of a file ends the process

    def _stamp_now(self) -> tuple[int, ...] | None:
        """Return the times and the size of the file, or None where its name is gone or another file's."""
        with suppress(OSError):
            now = os.stat(self.path)
            if (now.st_dev, now.st_ino) == (self._stat.st_dev, self._stat.st_ino):
                return _stamp(now)
        return None

    # -- sections of numbers ---------------------------------------------------------------------------------------

    def _numbers(self, name: str) -> np.ndarray:
        low, high = self.header.section(name)
        self.check(low, high)
        return self.bytes[low:high].view("<i8")

    def offsets(self) -> np.ndarray:
        """Return the letters at which sequences start, in memory: compiled loops trust them."""
        offsets = self._numbers("offsets").astype(np.int64)
        size, total = self.header.sizes["data"], 0
        most = 4 * size if self.header.packed else size
        if offsets[0] != 0 or not 0 <= offsets[-1] <= most or not _rises(offsets):
            raise damaged_content(self.path, "sequences do not follow one another")
        for at in range(0, offsets.size - 1, _NUMBERS):
            lengths = np.diff(offsets[at : at + _NUMBERS + 1])
            total += int(((lengths + 3) // 4 if self.header.packed else lengths).sum())
        if total != size:
            raise damaged_content(self.path, f"sequences of {total} bytes do not fill {size}")
        offsets.flags.writeable = False
        return offsets

    def unknown(self, n_letters: int) -> np.ndarray:
        """Return the sorted positions of unknown letters among `n_letters`, mapped."""
        unknown = self._numbers("unknown")
        if unknown.size and not (unknown[0] >= 0 and unknown[-1] < n_letters and _rises(unknown, strictly=True)):
            raise damaged_content(self.path, "letters that are unknown lie outside of the sequences")
        return unknown

    def notes(self) -> Notes:
        """Return what was noted while the sequences were read."""
        return Notes(**self.header.notes, skipped=tuple(self._numbers("skipped").tolist()))


def _stamp(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _rises(numbers: np.ndarray, *, strictly: bool = False) -> bool:
    """Whether no number is below the one before; in pieces, since they may be a whole file.

    They are compared, because differences of whole numbers may be too large to tell.
    """
    for at in range(0, numbers.size - 1, _NUMBERS):
        after = numbers[at + 1 : at + _NUMBERS + 1]
        before = numbers[at : at + after.size]
        if not (after > before if strictly else after >= before).all():
            return False
    return True


def _letters_check(header: Header) -> Any:
    """Return the function that says whether bytes hold letters of the alphabet only; None where they cannot but."""
    size = header.alphabet.size
    if header.packed and size < 4:
        codes = np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3
        fine = (codes < size).all(axis=1)
        return lambda block: bool(fine[block].all())
    if header.packed or size >= UNKNOWN:
        return None
    # an unknown letter is 255, which becomes 0 here
    return lambda block: bool((block + np.uint8(1)).max() <= size)
