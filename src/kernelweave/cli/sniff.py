"""What kind of file this is, as seen from its first bytes."""

from __future__ import annotations

import os
import re
import stat
import sys
import zlib
from typing import Any

from ..errors import InputError

_HEAD = 1 << 16
_SVMLIGHT = re.compile(rb"\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?(\s+(qid:)?[0-9]+:\S+)+\s*(#.*)?", re.ASCII)
_NUMBER = re.compile(rb"\s*[-+]?[0-9.]+\s*", re.ASCII)


def opened(path: str) -> Any:
    """Return what readers take: the path itself, "-", or the open file where it can be read only once.

    Looking at the first bytes of a pipe would consume them, so a pipe stays open, and is looked into by `peek`.
    """
    name = os.path.expanduser(path)
    if path == "-":
        return path
    if not stat.S_ISREG(os.stat(name).st_mode):
        if os.path.isdir(name):
            raise InputError(f"{path!r} is a folder; name the files in it.")
        return open(name, "rb")  # readers need it open; the process is short
    return name


def kind_of(source: Any) -> str:
    """Return "model", "packed", "sequences", "svmlight", "parquet" or "table"."""
    head = _first_bytes(source)
    if head.startswith(b"\x1f\x8b"):
        head = _unzipped(head)
    if head.startswith(b"PK\x03\x04"):
        return "model"
    if head.startswith(b"kwseq"):
        return "packed"
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = [line for line in text.splitlines() if line.strip()]
    notes = (b"#", b";")
    first = next((line for line in lines if not line.startswith(notes)), b"")
    if first.startswith((b">", b"@")) or not lines:
        return "sequences"
    return "svmlight" if _is_svmlight(first, lines) else "table"


def _is_svmlight(first: bytes, lines: list[bytes]) -> bool:
    """A line may be a label alone, for a sample of zeros, but not all of them are."""
    if _SVMLIGHT.fullmatch(first):
        return True
    return bool(_NUMBER.fullmatch(first)) and any(_SVMLIGHT.fullmatch(line) for line in lines[1:10])


def _first_bytes(source: Any) -> bytes:
    if source == "-":
        source = sys.stdin.buffer
    elif isinstance(source, str):
        with open(source, "rb") as file:
            return file.read(_HEAD)
    if hasattr(source, "peek"):
        return source.peek(_HEAD)[:_HEAD]
    at = source.tell()
    head = source.read(_HEAD)
    source.seek(at)
    return head


def _unzipped(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(head, _HEAD)
    except zlib.error:  # the reader will say what is wrong with it
        return b""
