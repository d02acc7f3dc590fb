"""The packed file: a header, the letters, and where sequences start; written once, then mapped.

Layout, little endian: 8192 bytes of header, then the sections that the header lists (each starting at a multiple of
64 bytes). The header is magic, version, a checksum and JSON; the digest in it covers everything behind it.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
import zlib
from dataclasses import asdict
from typing import Any

import numpy as np

from ..errors import InputError
from .alphabet import ALPHABETS, Alphabet
from .layout import Notes
from .sets import SequenceSet

MAGIC = b"kwseq\r\n\x1a"  # the line ends show a transfer in text mode
VERSION = 1
HEADER_SIZE = 8192
_PREFIX = struct.Struct("<8sIII")  # magic, version, checksum of the rest, length of the JSON
_ALIGN = 64
_COPY = 1 << 22


class FileSink:
    """Where a stream of encoded rows goes: a temporary file that takes its name when it is whole."""

    def __init__(self, path: str | os.PathLike) -> None:
        from ..io.atomic import AtomicFile  # here, because readers in io need this module

        self._whole = AtomicFile(path)
        self.path, self._file = self._whole.path, self._whole.file
        folder = os.path.dirname(self.path) or "."
        self._side = [tempfile.SpooledTemporaryFile(max_size=_COPY, dir=folder) for _ in range(2)]  # noqa: SIM115
        self._hash = hashlib.blake2b(digest_size=16)
        self._sections: dict[str, tuple[int, int]] = {}
        self._at = HEADER_SIZE
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
        self._hash.update(view)
        self._at += len(view)

    def _close_section(self, name: str, start: int) -> int:
        self._sections[name] = (start, self._at - start)
        self._write(bytes(-self._at % _ALIGN))
        return self._at

    def finish(self, alphabet: Alphabet, packed: bool, notes: Notes) -> SequenceSet:
        """Write what follows the letters, give the file its name, and map it."""
        start = self._close_section("data", HEADER_SIZE)
        for name, side, wanted in zip(
            ("offsets", "unknown"), self._side, (self._length is None and self.n > 0, True), strict=True
        ):
            side.seek(0)
            while wanted and (piece := side.read(_COPY)):
                self._write(piece)
            start = self._close_section(name, start)
        self._write(np.asarray(notes.skipped, "<i8").tobytes())
        self._close_section("skipped", start)
        counts = {key: value for key, value in asdict(notes).items() if key != "skipped"}
        header = {
            "alphabet": alphabet.name if ALPHABETS.get(alphabet.name) == alphabet else asdict(alphabet),
            "n": self.n,
            "length": self._length if self.n else 0,
            "packed": packed,
            "sections": self._sections,
            "size": self._at,
            "notes": counts,
            "digest": self._hash.hexdigest(),
        }
        self._file.seek(0)
        self._file.write(_header_bytes(header))
        self._whole.commit()
        for side in self._side:
            side.close()
        return open_set(self.path)

    def abort(self) -> None:
        """Leave nothing behind; does nothing after `finish`."""
        for side in self._side:
            side.close()
        self._whole.abort()


def _header_bytes(header: dict[str, Any]) -> bytes:
    body = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    rest = struct.pack("<I", len(body)) + body
    rest += bytes(HEADER_SIZE - 16 - len(rest))
    return MAGIC + struct.pack("<II", VERSION, zlib.crc32(rest)) + rest


def _read_header(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        raw = file.read(HEADER_SIZE)
        size = os.fstat(file.fileno()).st_size
    if raw[: len(MAGIC)] != MAGIC:
        raise InputError(
            f"{path!r} is not a packed sequence file (its first bytes are {raw[:8]!r}). Write one with pack_fasta."
        )
    if len(raw) < HEADER_SIZE:
        raise InputError(f"{path!r} is truncated inside its header ({size} bytes). Pack the sequences again.")
    _, version, checksum, length = _PREFIX.unpack_from(raw)
    if version > VERSION:
        raise InputError(f"{path!r} has format version {version}; this kernelweave reads up to {VERSION}. Upgrade it.")
    if zlib.crc32(raw[16:]) != checksum or version < 1:
        raise InputError(f"The header of {path!r} is damaged (checksum differs). Pack the sequences again.")
    header = json.loads(raw[_PREFIX.size : _PREFIX.size + length])
    if size != header["size"]:
        what = "truncated" if size < header["size"] else "damaged"
        raise InputError(
            f"{path!r} is {what}: it has {size} bytes, its header says {header['size']}. Pack the sequences again."
        )
    return header


def open_set(path: str | os.PathLike) -> SequenceSet:
    """Map a packed file; reads its header only."""
    path = os.path.expanduser(os.fspath(path))
    header = _read_header(path)
    mapped = np.asarray(np.memmap(path, np.uint8, "r"))

    def section(name: str) -> np.ndarray:
        start, size = header["sections"][name]
        return mapped[start : start + size]

    alphabet = header["alphabet"]
    return SequenceSet(
        Alphabet.named(alphabet) if isinstance(alphabet, str) else Alphabet(**alphabet),
        section("data"),
        header["n"],
        header["length"],
        section("offsets").view("<i8") if header["length"] is None else None,
        header["packed"],
        section("unknown").view("<i8"),
        Notes(**header["notes"], skipped=tuple(section("skipped").view("<i8").tolist())),
        path,
    )


def verify_file(path: str) -> None:
    """Compare the digest of a packed file with its header's."""
    header = _read_header(path)
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        file.seek(HEADER_SIZE)
        while piece := file.read(_COPY):
            digest.update(piece)
    if digest.hexdigest() != header["digest"]:
        raise InputError(f"The content of {path!r} is damaged (digest differs). Pack the sequences again.")


def save_set(sequences: SequenceSet, path: str | os.PathLike) -> None:
    """Write a set to a packed file."""
    sink = FileSink(path)
    try:
        sink.append(sequences._buffer, sequences.offsets, sequences.unknown if sequences.packed else sequences._unknown)
        sink.finish(sequences.alphabet, sequences.packed, sequences.notes)
    finally:
        sink.abort()
