"""Bytes from a path, standard input or an open file; gzip is known by its first bytes, damage is never silent."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from typing import Any, BinaryIO

from ..errors import InputError, InputTypeError

_BOM = b"\xef\xbb\xbf"
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
        magic = self._raw.read(8)
        self._raw = _rewind(self._raw, magic)
        self.gzipped = magic[:2] == b"\x1f\x8b"
        self._file = _gunzip(self._raw) if self.gzipped else self._raw
        try:
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
        file = open(self.name, "rb")
        self._opened.append(file)
        return file

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
                f"{self.name} is truncated: its gzip data ends early, after {self.offset} bytes of text. Fetch it again."
            ) from None
        except (gzip.BadGzipFile, zlib.error, *_isal_errors()) as error:
            raise InputError(
                f"{self.name} is damaged: its gzip data is wrong after {self.offset} bytes of text ({error}). Fetch it again."
            ) from None
        except OSError as error:
            raise OSError(
                error.errno, f"{self.name}: reading failed at byte {self.offset}: {error.strerror}"
            ) from error
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

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _size_of(file: BinaryIO) -> int | None:
    try:
        return os.fstat(file.fileno()).st_size if file.seekable() and file.tell() == 0 else None
    except (OSError, AttributeError, ValueError):
        return None


def _rewind(file: BinaryIO, head: bytes) -> BinaryIO:
    """The same stream with `head`, already read, in front again."""
    if getattr(file, "seekable", lambda: False)():
        file.seek(-len(head), os.SEEK_CUR)
        return file
    return io.BufferedReader(_Again(file, head), 1 << 17)


class _Again(io.RawIOBase):
    """A pipe with some bytes put back."""

    def __init__(self, file: BinaryIO, head: bytes) -> None:
        self._file, self._head = file, head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._file.read(len(buffer)) or b""
        self._head = self._head[len(data) :] if self._head else b""
        buffer[: len(data)] = data
        return len(data)


def _gunzip(file: BinaryIO) -> BinaryIO:
    """A reader of all members of a gzip stream; isal is several times quicker where it is installed."""
    try:
        from isal import igzip
    except ImportError:
        return gzip.GzipFile(fileobj=file)
    return igzip.GzipFile(fileobj=file)


def _isal_errors() -> tuple[type[Exception], ...]:
    module = sys.modules.get("isal.isal_zlib")
    return (module.error,) if module else ()
