"""Long records piece by piece: a chromosome passes through a few megabytes of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from .records import Batch, _fastq_batches, _first_record, _line_ends, _refuse_nul
from .streams import Source

#: A header of more bytes than this is no header.
MAX_HEADER = 1 << 24


class Piece(NamedTuple):
    """Some letters of a record: which record (from 0 on), its id, where they start in it, and the letters (uint8)."""

    record: int
    id: str
    start: int
    text: np.ndarray


def read_pieces(source: Source, block_size: int) -> Iterator[Piece]:
    """Yield the records of a FASTA or FASTQ stream in pieces of at most about twice `block_size` letters, in order.

    Every record gives at least one piece, also an empty one.

    Raises
    ------
    InputError
        If the stream is empty, binary, not FASTA or FASTQ, truncated or damaged.
    """
    carry = _first_record(source, block_size)
    if carry.startswith(b"@"):
        for batch in _fastq_batches(source, carry):
            for row, name in enumerate(batch.headers(first_word=True)):
                yield Piece(batch.first + row, name, 0, _letters(batch, row))
        return
    record, name, at = -1, "", 0
    while True:
        data = source.read(block_size)
        _refuse_nul(source, data)
        block = carry + data
        cut = _cut(block, source) if data else len(block)
        carry, block = block[cut:], block[:cut]
        # what the last record goes on with is read as a record with an empty header
        batch = _parse(block if record < 0 else b">\n" + block, source)
        for row, id_ in enumerate(batch.headers(first_word=True)):
            text = _letters(batch, row)
            if row > 0 or record < 0:
                record, name, at = record + 1, id_, 0
            elif not len(text):
                continue
            yield Piece(record, name, at, text)
            at += len(text)
        if not data:
            return


def _letters(batch: Batch, row: int) -> np.ndarray:
    return batch.text[batch.offsets[row] : batch.offsets[row + 1]]


def _parse(block: bytes, source: Source) -> Batch:
    from .._fast.fasta import split_records

    letters = np.frombuffer(block, np.uint8)
    limit = np.count_nonzero(letters == ord(">"))
    text, offsets = np.empty(len(block), np.uint8), np.empty(limit + 1, np.int64)
    heads = np.empty((limit, 2), np.int64)
    n = split_records(letters, _line_ends(block, letters), text, offsets, heads)
    return Batch(text, offsets[: n + 1], block, heads[:n], 0, source.name)


def _cut(block: bytes, source: Source) -> int:
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
