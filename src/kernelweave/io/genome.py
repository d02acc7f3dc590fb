"""A genome: named sequences of any length in one FASTA file, of which only the stretches are read that are needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from ..sequences import DNA
from ..sequences.layout import PACKING
from ..sequences.rules import letter_error
from .bgzip import BlockFile, PlainFile, is_bgzip
from .faidx import Entry, index_of
from .records import Fragment, id_of, read_fragments
from .streams import Source

#: Letters that are packed together where a genome is held in memory.
CHUNK = 1 << 20


class Genome:
    """Named sequences, read by name and place; `open_genome` makes one.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    lengths : dict of str to int
        Letters of every sequence, in the order of the file.
    """

    name: str
    lengths: Mapping[str, int]

    def fetch(self, name: str, start: int, end: int) -> np.ndarray:
        """Return the letters from `start` (from 0 on) to before `end`, as bytes (uint8) with their case.

        Raises
        ------
        InputError
            Where the genome has no such sequence, or the stretch is not inside of it.
        """
        length = self.length(name)
        if not 0 <= start <= end <= length:
            raise InputError(
                f"{name}:{start}-{end} lies outside of {self.name}, where {name!r} has {length:,} letters. Is it "
                "another release of the genome?"
            )
        return self._letters(name, start, end)

    def length(self, name: str) -> int:
        """Return how many letters a sequence has; an error names those that there are."""
        if name not in self.lengths:
            raise self.unknown(name)
        return self.lengths[name]

    def unknown(self, name: str, source: str = "The request") -> InputError:
        """Return the error for a name that is not there: both spellings, and how to make them agree."""
        names = list(self.lengths)
        shown = ", ".join(map(repr, names[:4])) + (f", ... ({len(names):,} in all)" if len(names) > 4 else "")
        other = other_name(name)
        remedy = "Give the genome of the same release, or leave these rows out."
        if other in self.lengths:
            how = "sed 's/^chr//'" if name.startswith("chr") else "sed 's/^/chr/'"
            remedy = f"{other!r} is there: make the names agree, for example by `{how}` on the rows."
        return InputError(f"{source} names the sequence {name!r}, but {self.name} has {shown}. {remedy}")

    def _letters(self, name: str, start: int, end: int) -> np.ndarray:
        raise NotImplementedError

    def close(self) -> None:
        """Close the file, if one is open."""

    def __contains__(self, name: object) -> bool:
        return name in self.lengths

    def __enter__(self) -> Genome:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Genome {self.name!r}: {len(self.lengths):,} sequences, {sum(self.lengths.values()):,} letters>"


def open_genome(path: str | os.PathLike | Genome) -> Genome:
    r"""Open a FASTA file to read stretches of it.

    Parameters
    ----------
    path : path, or Genome
        Plain or bgzip: read by its index (`path.fai`), which is made once, beside the file or, where that cannot be
        written to, in the cache folder of the user. Plain gzip cannot be read at any place: it is read through once
        and held in memory, two bits a letter.

    Returns
    -------
    genome : Genome
        A context manager; a `Genome` is returned as it is.

    Warns
    -----
    DataWarning
        Where an index is stale or damaged, and is made anew.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.fa"
    >>> _ = path.write_text(">chr1\nACGTAC\nGTTT\n")
    >>> with open_genome(path) as genome:
    ...     genome.lengths, genome.fetch("chr1", 4, 8).tobytes()
    ({'chr1': 10}, b'ACGT')
    """
    if isinstance(path, Genome):
        return path
    name = os.path.expanduser(os.fspath(path))
    with open(name, "rb") as file:
        head = file.read(18)
    if head[:2] == b"\x1f\x8b" and not is_bgzip(head):
        return HeldGenome(name)
    return IndexedGenome(name, BlockFile(name) if is_bgzip(head) else PlainFile(name))


def other_name(name: str) -> str:
    """Return the other usual name of a chromosome: chr1 for 1, 1 for chr1."""
    return name[3:] if name.startswith("chr") else f"chr{name}"


class IndexedGenome(Genome):
    """A FASTA file, plain or bgzip, that is read by its index; nothing of it is held.

    Parameters
    ----------
    path : path of the file
    text : the same, open
    """

    def __init__(self, path: str, text: PlainFile) -> None:
        self.name, self._text = path, text
        try:
            if text.read_at(0, 3) == b"\xef\xbb\xbf":
                raise InputError(f"{path} begins with a byte order mark; save it without one.")
            self._entries = index_of(path, text)
        except BaseException:
            text.close()
            raise
        self.lengths = {name: entry.length for name, entry in self._entries.items()}
        self._checked: set[str] = set()

    def _letters(self, name: str, start: int, end: int) -> np.ndarray:
        entry = self._entries[name]
        if name not in self._checked:
            self._check(entry)
            self._checked.add(name)
        first = entry.place(start)
        raw = self._text.read_at(first, entry.place(end - 1) + 1 - first) if end > start else b""
        letters = np.frombuffer(raw, np.uint8)
        letters = letters[letters > 32]
        if len(letters) != end - start:
            raise self._misfit(name)
        return letters

    def _check(self, entry: Entry) -> None:
        """Look at both ends of a record: an index of another file, or a damaged one, would read other letters."""
        before = self._text.read_at(max(0, entry.offset - 4096), min(entry.offset, 4096))
        header = before.rstrip(b"\r\n").rpartition(b"\n")[2]
        after = self._text.read_at(entry.end, 64)
        known = header[1:].decode("utf-8", "backslashreplace")
        long = len(header) >= 4000  # of which the beginning is not seen
        begins = before.endswith(b"\n") and (long or (header[:1] == b">" and id_of(known) == entry.name))
        ends = not entry.length or after[:1] in (b"", b"\r", b"\n")
        if not (begins and ends and after.strip()[:1] in (b"", b">")):
            raise self._misfit(entry.name)

    def _misfit(self, name: str) -> InputError:
        return InputError(
            f"The index of {self.name} does not fit the file at {name!r}. Remove {self.name}.fai, and it is made anew."
        )

    def close(self) -> None:
        self._text.close()


class HeldGenome(Genome):
    """A gzipped FASTA file, read through once: two bits a letter, and where letters are unknown or in lower case."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._held: dict[str, _Packed] = {}
        with Source(path) as source:
            record = -1
            for piece in read_fragments(source, CHUNK):
                if piece.record != record:
                    record = piece.record
                    if piece.id in self._held:
                        raise InputError(f"{path} has two records named {piece.id!r}; names must differ. Rename one.")
                    packed = self._held[piece.id] = _Packed()
                _check_letters(piece, path)
                packed.add(piece.text)
        for packed in self._held.values():
            packed.finish()
        self.lengths = {name: packed.length for name, packed in self._held.items()}

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return sum(packed.nbytes for packed in self._held.values())

    def _letters(self, name: str, start: int, end: int) -> np.ndarray:
        return self._held[name].letters(start, end)


class TextGenome(Genome):
    """Sequences that are in memory already, as text by name."""

    def __init__(self, sequences: Mapping[str, str | bytes], name: str = "the genome") -> None:
        texts = {key: text.encode("ascii") if isinstance(text, str) else text for key, text in sequences.items()}
        self.name, self._held = name, {key: np.frombuffer(text, np.uint8) for key, text in texts.items()}
        self.lengths = {key: len(text) for key, text in texts.items()}

    def _letters(self, name: str, start: int, end: int) -> np.ndarray:
        return self._held[name][start:end]


def _check_letters(piece: Fragment, source: str) -> None:
    from .._fast.packing import histogram

    counts, bad = histogram(piece.text), ~DNA.allowed_bytes
    if counts[bad].any():
        where = f"{source}: record {piece.record + 1} ({piece.id!r})"
        raise letter_error(DNA, counts, bad, piece.text, np.array([-piece.start, len(piece.text)]), lambda _: where)


class _Packed:
    """The letters of one sequence in chunks, at two bits each; unknown and lower-case ones as runs."""

    def __init__(self) -> None:
        self.length = 0
        self._chunks: list[np.ndarray] = []
        self._tail = np.empty(0, np.uint8)
        self._runs: dict[str, list[np.ndarray]] = {"unknown": [], "lower": []}

    def add(self, text: np.ndarray) -> None:
        codes = DNA.table[text]
        for name, marks in (("unknown", codes >= DNA.size), ("lower", text >= ord("a"))):
            edges = np.flatnonzero(np.diff(marks.astype(np.int8), prepend=0, append=0))
            self._runs[name].append(edges.reshape(-1, 2) + self.length)
        self.length += len(text)
        held = np.concatenate([self._tail, codes])
        whole = len(held) // CHUNK * CHUNK
        for at in range(0, whole, CHUNK):
            self._pack(held[at : at + CHUNK])
        self._tail = held[whole:]

    def _pack(self, codes: np.ndarray) -> None:
        from .._fast.packing import pack

        out = np.empty(-(-len(codes) // 4), np.uint8)
        pack(codes, PACKING, np.array([0, len(codes)]), out, np.array([0, len(out)]))
        self._chunks.append(out)

    def finish(self) -> None:
        if len(self._tail):
            self._pack(self._tail)
        self._tail = np.empty(0, np.uint8)
        self._spans = {name: np.concatenate([np.empty((0, 2), int), *runs]) for name, runs in self._runs.items()}
        self._runs = {}

    @property
    def nbytes(self) -> int:
        return sum(chunk.nbytes for chunk in self._chunks) + sum(spans.nbytes for spans in self._spans.values())

    def letters(self, start: int, end: int) -> np.ndarray:
        from .._fast.packing import unpack

        parts = [np.empty(0, np.uint8)]
        for number in range(start // CHUNK, -(-end // CHUNK)):
            low, high = max(start - number * CHUNK, 0) // 4 * 4, min(end - number * CHUNK, CHUNK)
            codes = np.empty(high - low, np.uint8)
            unpack(self._chunks[number][low // 4 :], np.array([0, 0]), np.array([0, high - low]), codes)
            parts.append(codes[max(0, start - number * CHUNK - low) :])
        out = DNA.byte_of[np.concatenate(parts)]
        out[self._marked("unknown", start, end)] = ord("N")
        out[self._marked("lower", start, end)] |= 32
        return out

    def _marked(self, name: str, start: int, end: int) -> np.ndarray:
        """Which letters of a stretch lie in a run, (n,) bool."""
        spans = self._spans[name]
        first, last = np.searchsorted(spans[:, 1], start, side="right"), np.searchsorted(spans[:, 0], end)
        steps = np.zeros(end - start + 1, np.int32)
        np.add.at(steps, np.maximum(spans[first:last, 0] - start, 0), 1)
        np.add.at(steps, np.minimum(spans[first:last, 1], end) - start, -1)
        return np.cumsum(steps[:-1]) > 0
