"""What a scan reads, one record after another: files of records, packed files, and sets of sequences."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..io.records import Fragment, read_fragments
from ..io.streams import Source
from ..sequences import SequenceSet
from ..sequences.header import MAGIC


class FileSource(Source):
    """FASTA or FASTQ, plain or gzip."""

    def fragments(self, block: int) -> Iterator[Fragment]:
        """Yield records in pieces of about `block` letters, in order."""
        return read_fragments(self, block)


class SetSource:
    """A set of sequences, in memory or in packed files: records without names, some of them in memory at a time."""

    def __init__(self, sequences: SequenceSet, name: str) -> None:
        self.sequences, self.name, self._done = sequences, name, 0

    def __enter__(self) -> SetSource:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    @property
    def fraction(self) -> float:
        """The share of the records that was read."""
        return self._done / max(1, len(self.sequences))

    def fragments(self, block: int) -> Iterator[Fragment]:
        """Yield records in pieces of at most `block` letters, in order."""
        n = len(self.sequences)
        rows = max(1, block * n // max(1, self.sequences.n_letters))
        for start in range(0, n, rows):
            part = self.sequences.rows(slice(start, min(start + rows, n)))
            text = part.alphabet.byte_of[part.flat_codes()]
            for row, (low, high) in enumerate(pairwise(part.offsets.tolist()), start):
                self._done = row + 1
                for at in range(low, max(high, low + 1), block):
                    yield Fragment(row, "", at - low, text[at : min(at + block, high)])


def open_source(given: Any) -> FileSource | SetSource:
    """Open what is to be scanned: a path or an open file of records, a packed file, or a set of sequences."""
    if isinstance(given, SequenceSet):
        return SetSource(given, given.path or "the set of sequences")
    if isinstance(given, (str, os.PathLike)) and os.path.isfile(path := os.path.expanduser(os.fspath(given))):
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return SetSource(SequenceSet.open(path), os.fspath(given))
    return FileSource(given)
