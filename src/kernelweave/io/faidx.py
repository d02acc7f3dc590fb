"""The index of a FASTA file (.fai): where every record lies, so that a stretch of it can be read alone."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ..errors import DataWarning, InputError
from .atomic import AtomicFile
from .bgzip import PlainFile
from .records import id_of
from .streams import Source

#: Bytes that are looked at a time.
BLOCK = 1 << 22
_LARGEST = 1 << 62


class Entry(NamedTuple):
    """One record: its letters, where the first one stands, and how many letters and bytes a line has."""

    name: str
    length: int
    offset: int
    line_bases: int
    line_bytes: int

    def place(self, letter: int) -> int:
        """Return the byte at which a letter, from 0 on, stands."""
        line, column = divmod(letter, self.line_bases) if self.line_bases else (0, 0)
        return self.offset + line * self.line_bytes + column

    @property
    def end(self) -> int:
        """The byte behind the last letter."""
        return self.place(self.length - 1) + 1 if self.length else self.offset

    def to_line(self) -> str:
        """Return the entry as it stands in a .fai file."""
        return "\t".join(map(str, self)) + "\n"


def index_of(path: str, text: PlainFile) -> dict[str, Entry]:
    """Return the index of a FASTA file: the one beside it, that in the cache, or a new one that is kept there.

    Parameters
    ----------
    path : path of the FASTA file, plain or bgzip
    text : the same, open

    Warns
    -----
    DataWarning
        Where an index was there, but is older than the file, damaged, or of another file; a new one is made.
    """
    places = [f"{path}.fai", cached_index(path)]
    for place in places:
        if not os.path.exists(place):
            continue
        why = "is older than the file" if os.path.getmtime(place) < os.path.getmtime(path) else None
        try:
            entries = read_index(place)
            why = why or (None if _ends_there(entries, text) else "does not end where the file ends")
        except InputError as error:
            why = f"cannot be used: {error}"
        if why is None:
            return entries
        warnings.warn(f"{place} {why}; an index is made anew.", DataWarning, stacklevel=3)
    entries = build_index(path)
    for place in places:
        with suppress(OSError, InputError):  # a read-only folder is no reason to stop
            if place is places[1]:
                os.makedirs(os.path.dirname(place), exist_ok=True)
            with AtomicFile(place) as out:
                out.file.write("".join(entry.to_line() for entry in entries.values()).encode())
            break
    return entries


def cached_index(path: str) -> str:
    """Return where the index of a file in a folder that cannot be written to is kept."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    digest = hashlib.blake2b(os.path.realpath(path).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return os.path.join(folder, "kernelweave", f"{os.path.basename(path)}-{digest}.fai")


def read_index(path: str) -> dict[str, Entry]:
    """Read a .fai file.

    Raises
    ------
    InputError
        Where a line is not a name and four whole numbers that can be true.
    """
    with Source(path) as source:
        lines = source.read().decode("utf-8", "backslashreplace").splitlines()
    entries: dict[str, Entry] = {}
    for number, line in enumerate(lines, 1):
        name, *fields = line.split("\t")
        whole = len(fields) == 4 and all(field.isascii() and field.isdigit() and len(field) < 19 for field in fields)
        entry = Entry(name, *map(int, fields)) if whole else None
        if entry is None or not name or name in entries or not _is_possible(entry):
            raise InputError(
                f"{path}, line {number}: a line of an index is a name of its own, letters, offset, letters and bytes "
                f"of a line; got {line[:60]!r}. Remove the index, and it is made anew."
            )
        entries[name] = entry
    if not entries:
        raise InputError(f"{path} is an empty index; remove it, and it is made anew.")
    return entries


def _is_possible(entry: Entry) -> bool:
    lines = entry.line_bases <= entry.line_bytes <= entry.line_bases + 2
    return lines and (entry.line_bases > 0 or entry.length == 0) and max(entry[1:]) < _LARGEST


def _ends_there(entries: dict[str, Entry], text: PlainFile) -> bool:
    """Say whether nothing but the end of a line comes behind the last record."""
    end = max(entry.end for entry in entries.values())
    return end <= text.size and text.size - end <= 16 and not text.read_at(end, 16).strip()


# -- making one --------------------------------------------------------------------------------------------------------


def build_index(path: str) -> dict[str, Entry]:
    """Walk through a FASTA file, plain or gzip, and return where its records lie.

    Raises
    ------
    InputError
        If it is no FASTA, if names repeat, or if lines of a record differ in length before its last one.
    """
    entries: dict[str, Entry] = {}
    with Source(path) as source:
        for entry in _entries(source):
            if entry.name in entries:
                raise InputError(f"{source.name} has two records named {entry.name!r}; names must differ. Rename one.")
            entries[entry.name] = entry
    if not entries:
        raise InputError(f"{path} is empty; FASTA records are needed.")
    return entries


class _Record:
    """A record as its lines come by: `add` is told the letters and bytes of some lines."""

    def __init__(self, name: str, offset: int, source: str) -> None:
        self.name, self.offset, self._source = name, offset, source
        self.length, self._bases, self._bytes, self._is_over = 0, 0, 0, False

    def add(self, bases: np.ndarray, widths: np.ndarray) -> None:
        if not len(bases):
            return
        if not self._bytes:
            self._bases, self._bytes = int(bases[0]), int(widths[0])
        full = (bases == self._bases) & (widths == self._bytes)
        short = 0 if self._is_over else int(np.argmin(full)) if not full.all() else len(full)
        rest = bases[short:]
        good = not len(rest) or (not rest[1:].any() and rest[0] <= (0 if self._is_over else self._bases))
        if not good:
            raise InputError(
                f"{self._source}: the lines of {self.name!r} differ in length, so its letters cannot be found by their "
                "number. Write it anew with even lines, for example by `seqkit seq -w 60`."
            )
        self._is_over = self._is_over or len(rest) > 0
        self.length += int(bases.sum())

    def entry(self) -> Entry:
        return Entry(self.name, self.length, self.offset, self._bases, self._bytes)


def _entries(source: Source) -> Iterator[Entry]:
    record: _Record | None = None
    for base, block, starts, ends in _lines(source):
        heads = np.flatnonzero(block[starts - base] == ord(">"))
        cr = block[np.maximum(ends - base - 1, 0)] == 13
        bases, widths = ends - starts - (cr & (ends > starts)), ends - starts + 1
        for low, high in zip([-1, *heads], [*heads, len(starts)], strict=True):
            if low >= 0:
                if record is not None:
                    yield record.entry()
                header = block[starts[low] - base + 1 : ends[low] - base].tobytes().decode("utf-8", "backslashreplace")
                if "\r" in header.rstrip("\r"):
                    raise InputError(f"{source.name} ends its lines with CR alone; convert it to LF, and try again.")
                record = _Record(id_of(header), int(ends[low]) + 1, source.name)
            if record is None and high > low + 1 and bases[low + 1 : high].any():
                raise InputError(f"{source.name} is not FASTA: it does not begin with '>'.")
            if record is not None:
                record.add(bases[low + 1 : high], widths[low + 1 : high])
    if record is not None:
        yield record.entry()


def _lines(source: Source) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (place of a block, its bytes, where whole lines start and end): a block is cut behind its last line."""
    base, carry = 0, b""
    while True:
        data = source.read(max(BLOCK, len(carry)))  # a line longer than a block doubles the reads
        if b"\0" in data:
            raise InputError(f"{source.name} looks like a binary file: it holds NUL bytes.")
        held = carry + data
        cut = held.rfind(b"\n") + 1 if data else len(held)
        block, carry = np.frombuffer(held[:cut], np.uint8), held[cut:]
        if len(block):
            ends = np.flatnonzero(block == 10) + base
            if block[-1] != 10:
                ends = np.append(ends, base + len(block))
            yield base, block, np.append(base, ends[:-1] + 1), ends
        base += cut
        if not data:
            return
