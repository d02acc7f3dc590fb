"""FASTA and FASTQ to batches of records, or fragments of long ones; whole arrays at a time, and no damage passes.

FASTQ is parsed by dnaio. FASTA is parsed here: dnaio skips every line that starts with '#', so that one damaged byte
can merge two records, and it decodes headers by the locale.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..sequences.layout import offsets_of
from .streams import Source

BLOCK = 1 << 22
#: A header of more bytes than this is no header.
MAX_HEADER = 1 << 24
_START = 1 << 16
_FASTQ_ROWS = 1 << 14
_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")


@dataclass(frozen=True)
class Batch:
    """Some records of a file: their letters, and where each record and header lies.

    Attributes
    ----------
    text : ndarray of uint8
        The letters, one record after another.
    offsets : ndarray of int64, shape (n + 1,)
        Where each record starts in `text`.
    block : bytes
        What holds the headers.
    heads : ndarray of int64, shape (n, 2)
        Where each header starts and stops in `block`.
    first : int
        Records of the file before this batch.
    source : str
        Name of the file.
    """

    text: np.ndarray
    offsets: np.ndarray
    block: bytes
    heads: np.ndarray
    first: int
    source: str

    def __len__(self) -> int:
        return len(self.heads)

    def headers(self, rows: Any = slice(None), first_word: bool = False) -> list[str]:
        """Return the headers (or their first words, the ids) of some rows; bytes that are not UTF-8 are escaped."""
        from .._fast.fasta import join_heads

        heads = self.heads[rows]
        out = np.empty(int((heads[:, 1] - heads[:, 0]).sum()) + len(heads), np.uint8)
        size = join_heads(np.frombuffer(self.block, np.uint8), heads, first_word, out)
        return out[:size].tobytes().decode("utf-8", "backslashreplace").split("\n")[:-1]

    def name(self, i: int) -> str:
        """Return what record i is called in messages."""
        return f"{self.source}: record {self.first + i + 1} ({self.headers([i], True)[0]!r})"


def id_of(header: str) -> str:
    """Return the first word of a header."""
    return header.split(None, 1)[0] if header.strip() else ""


def read_batches(source: Source, block_size: int = BLOCK) -> Iterator[Batch]:
    """Yield the records of a FASTA or FASTQ stream in batches of about `block_size` bytes.

    Raises
    ------
    InputError
        If the stream is empty, binary, not FASTA or FASTQ, truncated or damaged.
    """
    start = _first_record(source, block_size)
    if start.startswith(b"@"):
        yield from _fastq_batches(source, start)
    else:
        yield from _fasta_batches(source, start, block_size)


def _first_record(source: Source, block_size: int) -> bytes:
    """Read up to the first '>' or '@', past blank lines and comments, and return what was read from there on."""
    data = source.read(min(block_size, _START))
    if not data:
        again = " (it can be read only once)" if source.name == "standard input" else ""
        raise InputError(f"{source.name} is empty{again}; FASTA or FASTQ records are needed.")
    _refuse_nul(source, data)
    while True:
        data = data.lstrip()
        if not data.startswith((b"#", b";")):
            break
        end = min((at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0), default=len(data))
        data = data[end:] or source.read(_START)
    if data.startswith((b">", b"@")):
        return data
    if not data:
        raise InputError(f"{source.name} holds no records; a FASTA record starts with '>'.")
    raise InputError(
        f"{source.name} is not FASTA or FASTQ: a record starts with '>' or '@', this file with "
        f"{data[:20].decode('utf-8', 'backslashreplace')!r}. For tables use read_table."
    )


def _refuse_nul(source: Source, data: bytes) -> None:
    if b"\0" in data:
        raise InputError(f"{source.name} looks like a binary file: it holds NUL bytes, before byte {source.offset}.")


def _fasta_batches(source: Source, data: bytes, block_size: int) -> Iterator[Batch]:
    first, carry = 0, data
    while True:
        # A record longer than a block doubles the reads, so that joining stays linear.
        data = source.read(max(block_size, len(carry)))
        _refuse_nul(source, data)
        block = carry + data
        cut = _last_record(block) if data else len(block)
        carry = block[cut:]
        if cut:
            batch = _parsed(block[:cut], first, source)
            yield batch
            first += len(batch)
        if not data:
            return


def _parsed(block: bytes, first: int, source: Source) -> Batch:
    """Return the records of a block of FASTA, of which `first` came before."""
    from .._fast.fasta import split_records

    letters = np.frombuffer(block, np.uint8)
    limit = np.count_nonzero(letters == ord(">"))
    text, offsets = np.empty(len(block), np.uint8), np.empty(limit + 1, np.int64)
    heads = np.empty((limit, 2), np.int64)
    n = split_records(letters, _line_ends(block, letters), text, offsets, heads)
    return Batch(text[: offsets[n]], offsets[: n + 1], block, heads[:n], first, source.name)


def _line_ends(block: bytes, letters: np.ndarray) -> np.ndarray:
    """Positions of LF and CR, and the end; the two bytes of CRLF enclose an empty line."""
    marks = letters == 10
    if b"\r" in block:
        marks |= letters == 13
    return np.append(np.flatnonzero(marks), letters.size)


def _last_record(block: bytes) -> int:
    """Where the last record starts that may go on behind the block; 0 if it is the only one."""
    last = block.rfind(b"\n>")
    return (max(last, block.rfind(b"\r>")) if b"\r" in block else last) + 1


def _fastq_batches(source: Source, start: bytes) -> Iterator[Batch]:
    import dnaio

    first = 0
    try:
        records = iter(dnaio.FastqReader(io.BufferedReader(_FastqBytes(source, start), BLOCK)))
        while rows := list(islice(records, _FASTQ_ROWS)):
            text = np.frombuffer("".join([row.sequence for row in rows]).encode("ascii"), np.uint8)
            names = [_ESCAPED.sub(_byte_of, row.name.encode()) for row in rows]
            stops = offsets_of(np.array([len(name) for name in names]))
            yield Batch(
                text,
                offsets_of(np.array([len(row) for row in rows])),
                b"".join(names),
                np.stack([stops[:-1], stops[1:]], axis=1),
                first,
                source.name,
            )
            first += len(rows)
    except dnaio.FileFormatError as error:
        raise InputError(f"{source.name} is damaged or truncated after record {first}: {error}") from None


def _byte_of(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)])


class _FastqBytes(io.RawIOBase):
    """FASTQ as dnaio wants it: LF line ends, no blank lines at the end, ASCII (other bytes escaped)."""

    def __init__(self, source: Source, start: bytes) -> None:
        self._source = source
        self._held = b""  # line ends whose meaning the next bytes decide
        self._lines = 0
        self._done = False
        self._next = self._clean(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._next and not self._done:
            self._fill(len(buffer))
        out, self._next = self._next[: len(buffer)], self._next[len(buffer) :]
        buffer[: len(out)] = out
        return len(out)

    def _fill(self, size: int) -> None:
        data = self._source.read(max(size, 1 << 16))
        _refuse_nul(self._source, data)
        if data:
            self._next = self._clean(data)
        else:
            self._done = True
            # The last record ends with its quality line, which is empty if its sequence is.
            self._next = b"\n\n" if self._lines % 4 == 2 else b"\n"

    def _clean(self, data: bytes) -> bytes:
        data = self._held + data
        body = data.rstrip(b"\r\n")
        self._held = data[len(body) :]
        if b"\r" in body:
            body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not body.isascii():
            body = body.decode("ascii", "backslashreplace").encode()
        self._lines += body.count(b"\n")
        return body


# -- long records, a fragment at a time: a chromosome passes through a few megabytes of memory -------------------------


class Fragment(NamedTuple):
    """Some letters of a record: which record (from 0 on), its id, where they start in it, and the letters (uint8)."""

    record: int
    id: str
    start: int
    text: np.ndarray


def read_fragments(source: Source, block_size: int) -> Iterator[Fragment]:
    """Yield the records of a FASTA or FASTQ stream in fragments of at most about twice `block_size` letters, in order.

    Every record gives at least one fragment, also an empty one.

    Raises
    ------
    InputError
        If the stream is empty, binary, not FASTA or FASTQ, truncated or damaged.
    """
    carry = _first_record(source, block_size)
    if carry.startswith(b"@"):
        for batch in _fastq_batches(source, carry):
            for row, name in enumerate(batch.headers(first_word=True)):
                yield Fragment(batch.first + row, name, 0, _letters(batch, row))
        return
    record, name, at = -1, "", 0
    while True:
        data = source.read(block_size)
        _refuse_nul(source, data)
        block = carry + data
        cut = _cut_place(block, source) if data else len(block)
        carry, block = block[cut:], block[:cut]
        # what the last record goes on with is read as a record with an empty header
        batch = _parsed(block if record < 0 else b">\n" + block, 0, source)
        for row, id_ in enumerate(batch.headers(first_word=True)):
            text = _letters(batch, row)
            if row > 0 or record < 0:
                record, name, at = record + 1, id_, 0
            elif not len(text):
                continue
            yield Fragment(record, name, at, text)
            at += len(text)
        if not data:
            return


def _letters(batch: Batch, row: int) -> np.ndarray:
    return batch.text[batch.offsets[row] : batch.offsets[row + 1]]


def _cut_place(block: bytes, source: Source) -> int:
    """Where to cut a block: behind its last whole line, or inside a line of letters that fills all of it."""
    cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
    if cut:
        return cut
    if block.startswith(b">"):
        if len(block) > MAX_HEADER:
            raise InputError(f"{source.name} is not FASTA: it has a header of more than {len(block)} bytes.")
        return 0
    # blanks and '>' mean something else at the end of a line than inside of it
    cut = len(block) - 1
    while cut > 0 and (block[cut] in b"> \t" or block[cut - 1] in b" \t"):
        cut -= 1
    return cut
