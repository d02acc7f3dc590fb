"""Bytes from a path, standard input or an open file; gzip is known by its first bytes, damage is never silent."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from typing import Any, BinaryIO, Self

from ..errors import InputError, InputTypeError

_BOM = b"\xef\xbb\xbf"
BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_FOREIGN = {
    b"BZh": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"\x28\xb5\x2f\xfd": "zstd data",
    b"PK\x03\x04": "a zip archive",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


class Source:
    """A readable stream of bytes that knows its name; a byte order mark is dropped and gzip is opened.

    Parameters
    ----------
    path : path, "-" or binary file
        "-" is standard input, which can be read once.
    """

    def __init__(self, path: Any) -> None:
        self._opened: list[BinaryIO] = []
        self._raw = self._open(path)
        self.size = _size_of(self._raw)
        self.offset = 0
        magic = self._raw.read(16)
        self._pipe: Any = None
        if getattr(self._raw, "seekable", lambda: False)():
            self._raw.seek(-len(magic), os.SEEK_CUR)
        else:
            self._pipe = _Again(self._raw, magic)
            self._raw = io.BufferedReader(self._pipe, 1 << 17)
        self.gzipped = magic[:2] == b"\x1f\x8b"
        self._bgzip = self.gzipped and magic[12:14] == b"BC"
        self._file = _gunzip(self._raw) if self.gzipped else self._raw
        try:
            self._require_last_block()
            self._head = self._read(8)
            self._refuse_foreign(self._head if self.gzipped else magic)
        except BaseException:
            self.close()
            raise
        if self._head.startswith(_BOM):
            self._head = self._head[len(_BOM) :]

    def _open(self, path: Any) -> BinaryIO:
        if hasattr(path, "read"):
            self.name = str(getattr(path, "name", "the given file"))
            if isinstance(path, io.TextIOBase):
                raise InputTypeError(f"{self.name} was opened as text; open it with mode 'rb'.")
            return path
        if path == "-":
            self.name = "standard input"
            return sys.stdin.buffer
        self.name = os.path.expanduser(os.fspath(path))
        file = open(self.name, "rb")  # noqa: SIM115  # closed by close()
        self._opened.append(file)
        return file

    def _require_last_block(self) -> None:
        """A bgzip file cut between two blocks is good gzip; only its empty last block shows that it is whole."""
        if self._bgzip and self.size:
            self._raw.seek(-min(len(BGZIP_END), self.size), os.SEEK_END)
            end = self._raw.read()
            self._raw.seek(0)
            self._check_last_block(end)

    def _check_last_block(self, end: bytes) -> None:
        if end != BGZIP_END:
            raise InputError(f"{self.name} is truncated: the last block of a bgzip file is missing. Fetch it again.")

    def _refuse_foreign(self, magic: bytes) -> None:
        for start, kind in _FOREIGN.items():
            if magic.startswith(start):
                raise InputError(f"{self.name} is {kind}; plain text (UTF-8) or gzip is needed. Convert it first.")

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes (all that is left for -1); fewer only at the end."""
        head, self._head = self._head, b""
        if size < 0:
            return head + self._read(-1)
        return head + self._read(max(0, size - len(head)))

    def _read(self, size: int) -> bytes:
        try:
            data = self._file.read(size) or b""
        except EOFError:
            raise InputError(
                f"{self.name} is truncated: its gzip data ends after {self.offset} bytes of text. Fetch it again."
            ) from None
        except _gzip_errors() as error:
            raise InputError(
                f"{self.name} is damaged: wrong gzip data after {self.offset} bytes of text ({error}). Fetch it again."
            ) from None
        except OSError as error:
            raise OSError(
                error.errno, f"{self.name}: reading failed at byte {self.offset}: {error.strerror}"
            ) from error
        if not data and size and self._bgzip and self._pipe is not None:
            self._check_last_block(self._pipe.tail)
        self.offset += len(data)
        return data

    @property
    def fraction(self) -> float | None:
        """Share of the file read so far, or None for a pipe."""
        return self._raw.tell() / self.size if self.size else None

    def close(self) -> None:
        """Close what this source opened, and nothing else."""
        for file in self._opened:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _size_of(file: BinaryIO) -> int | None:
    """Size of what can be rewound and stands at its start; None for a pipe."""
    if not getattr(file, "seekable", lambda: False)() or file.tell():
        return None
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


class _Again(io.RawIOBase):
    """A pipe with some bytes put back; remembers the last bytes it gave."""

    def __init__(self, file: BinaryIO, head: bytes) -> None:
        self._file, self._head = file, head
        self.tail = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._file.read(len(buffer)) or b""
        self._head = self._head[len(data) :] if self._head else b""
        self.tail = (self.tail + data)[-len(BGZIP_END) :]
        buffer[: len(data)] = data
        return len(data)


def _gunzip(file: BinaryIO) -> Any:
    """A reader of all members of a gzip stream; isal is several times quicker where it is installed."""
    try:
        from isal import igzip
    except ImportError:
        return gzip.GzipFile(fileobj=file)
    return igzip.GzipFile(fileobj=file)


def _gzip_errors() -> tuple[type[Exception], ...]:
    module = sys.modules.get("isal.isal_zlib")
    return (gzip.BadGzipFile, zlib.error, *((module.error,) if module else ()))
