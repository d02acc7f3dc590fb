"""Places on a genome: BED, narrowPeak, GFF and GTF files, and the letters that stand there."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..sequences import DNA, Rules, SequenceBuilder, SequenceSet
from ..sequences.build import MemorySink
from ..sequences.layout import offsets_of
from .genome import Genome
from .streams import Source

#: Rows that are cut out at a time.
BLOCK = 1 << 14
#: Columns of a narrowPeak row, the last of which is the summit, counted from the start; −1 where there is none.
_PEAK_COLUMNS = 10
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_REAL = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?", re.ASCII)
_COMPLEMENT = bytes.maketrans(b"ACGTURYKMBVDHacgturykmbvdh", b"TGCAAYRMKVBHDtgcaayrmkvbhd")


@dataclass(frozen=True)
class Intervals:
    """Stretches of named sequences: from 0 on, the end not included, all coordinates on the forward strand.

    Attributes
    ----------
    names : array of str
        The sequence that every row lies on.
    starts, ends : arrays of int
    strands : array of str
        "+", "-" (the reverse complement is meant) or ".".
    summits : array of int
        Where the highest place is, on the sequence; −1 where none is known.
    source : str
        Where they come from, for messages.
    lines : array of int
        Their lines there; 0 where there is none.
    """

    names: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    strands: np.ndarray
    summits: np.ndarray
    source: str = "the regions"
    lines: np.ndarray | None = None

    @classmethod
    def of(cls, rows: Any, source: str = "the regions") -> Intervals:
        """Return the intervals of rows (sequence, start, end) or (sequence, start, end, strand)."""
        rows = [tuple(row) for row in rows]
        strands = [str(row[3]) if len(row) > 3 else "." for row in rows]
        return cls(
            np.array([str(row[0]) for row in rows], dtype=object),
            np.array([row[1] for row in rows], dtype=np.int64),
            np.array([row[2] for row in rows], dtype=np.int64),
            np.array(strands, dtype="U1"),
            np.full(len(rows), -1, np.int64),
            source,
        )

    def __len__(self) -> int:
        return len(self.starts)

    def rows(self, chosen: Any) -> Intervals:
        """Return some of the rows."""
        lines = None if self.lines is None else self.lines[chosen]
        names, starts, ends = self.names[chosen], self.starts[chosen], self.ends[chosen]
        return Intervals(names, starts, ends, self.strands[chosen], self.summits[chosen], self.source, lines)

    def widened(self, width: int | None = None, slop: int = 0) -> Intervals:
        """Return windows of `width` letters around summits or middles, or the rows with `slop` letters on either side.

        Nothing is cut off: windows may end outside of their sequence.
        """
        if width is None:
            return replace(self, starts=self.starts - slop, ends=self.ends + slop)
        middles = np.where(self.summits >= 0, self.summits, (self.starts + self.ends) // 2)
        starts = middles - width // 2
        return replace(self, starts=starts, ends=starts + width)

    @property
    def ids(self) -> list[str]:
        """What every row is called: chr1:100-400, and (+) or (-) where it has a strand."""
        columns = (self.names.tolist(), self.starts.tolist(), self.ends.tolist(), self.strands.tolist())
        return [
            f"{name}:{start}-{end}" + ("" if strand == "." else f"({strand})")
            for name, start, end, strand in zip(*columns, strict=True)
        ]

    def row_name(self, i: int) -> str:
        """Return what row i is called in messages."""
        line = "" if self.lines is None else f", line {self.lines[i]}"
        return f"{self.source}{line} ({self.names[i]}:{self.starts[i]}-{self.ends[i]})"

    def inside(self, genome: Genome) -> np.ndarray:
        """Return which rows lie inside of their sequences, (n,) bool; a name that is not there is an error."""
        lengths = np.zeros(len(self), np.int64)
        for name in dict.fromkeys(self.names.tolist()):
            here = self.names == name
            if name not in genome:
                raise genome.unknown(name, self.row_name(int(np.argmax(here))))
            lengths[here] = genome.length(name)
        return (self.starts >= 0) & (self.ends <= lengths)

    def check(self, genome: Genome) -> None:
        """Raise the error that names the first row outside of its sequence."""
        outside = np.flatnonzero(~self.inside(genome))
        if len(outside):
            i = int(outside[0])
            raise InputError(
                f"{self.row_name(i)} lies outside of {genome.name}, where {self.names[i]!r} has "
                f"{genome.length(self.names[i]):,} letters ({len(outside):,} of {len(self):,} rows do). Is it another "
                "release of the genome?"
            )


# -- files -------------------------------------------------------------------------------------------------------------


def read_intervals(path: str | os.PathLike, feature: str | None = None) -> Intervals:
    """Read a BED file (3 columns or more), narrowPeak, GFF or GTF, plain or gzip.

    Parameters
    ----------
    path : path, "-" or binary file
        Which of them it is, is seen from its columns. BED counts from 0, GFF and GTF from 1. Comments, track and
        browser lines are skipped.
    feature : str or None
        GFF and GTF: the kind of rows to read, such as "gene"; it may be left out where there is one kind only.

    Raises
    ------
    InputError
        Naming the line.
    """
    with Source(path) as source:
        data = source.read()
    if b"\0" in data:
        raise InputError(f"{source.name} looks like a binary file: it holds NUL bytes.")
    rows = list(_rows(data.decode("utf-8", "backslashreplace")))
    if not rows:
        raise InputError(f"{source.name} holds no rows; a BED row is sequence, start and end, separated by tabs.")
    if _is_gff(rows[0][1]):
        return _from_gff(rows, source.name, feature)
    if feature is not None:
        raise InputError(f"Features are chosen from GFF and GTF files; {source.name} is BED.")
    return _from_bed(rows, source.name)


def looks_like_intervals(line: bytes) -> bool:
    """Say whether a line is a row of BED, GFF or GTF."""
    fields = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
    return _is_gff(fields) or (len(fields) >= 3 and all(_NUMBER.fullmatch(field) for field in fields[1:3]))


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(re.split("\r\n|\n|\r", text), 1):
        if line.startswith("##FASTA"):  # the letters themselves may follow in a GFF file
            return
        if line.strip() and not line.startswith(("#", "track", "browser")):
            yield number, line.split("\t") if "\t" in line else line.split()


def _is_gff(fields: list[str]) -> bool:
    places = len(fields) >= 8 and all(_NUMBER.fullmatch(field) for field in fields[3:5])
    return places and fields[6] in ("+", "-", ".", "?") and fields[7] in ("0", "1", "2", ".")


def _from_bed(rows: list[tuple[int, list[str]]], source: str) -> Intervals:
    peaks = all(_is_peak(fields) for _, fields in rows)
    found = []
    for number, fields in rows:
        whole = len(fields) >= 3 and fields[0] and all(_NUMBER.fullmatch(field) for field in fields[1:3])
        strand = fields[5] if len(fields) > 5 else "."
        if not whole or int(fields[1]) >= int(fields[2]) or strand not in ("+", "-", "."):
            raise _row_error(source, number, fields, "BED row is sequence, start and end (0 ≤ start < end)")
        start, end = int(fields[1]), int(fields[2])
        summit = start + int(fields[9]) if peaks and fields[9] != "-1" else -1
        if summit >= end:
            raise _row_error(source, number, fields, "narrowPeak row has its summit between start and end")
        found.append((fields[0], start, end, strand, summit, number))
    return _gathered(found, source)


def _is_peak(fields: list[str]) -> bool:
    if len(fields) != _PEAK_COLUMNS or not all(_REAL.fullmatch(field) for field in fields[6:9]):
        return False
    return fields[9] == "-1" or _NUMBER.fullmatch(fields[9]) is not None


def _from_gff(rows: list[tuple[int, list[str]]], source: str, feature: str | None) -> Intervals:
    kinds = Counter(fields[2] for _, fields in rows if len(fields) > 2)
    if (len(kinds) > 1) if feature is None else feature not in kinds:
        shown = ", ".join(f"{kind} ({n:,})" for kind, n in kinds.most_common(8))
        raise InputError(f"{source} has rows of these kinds; choose one with feature=...: {shown}.")
    found = []
    for number, fields in rows:
        if not _is_gff(fields) or not 1 <= int(fields[3]) <= int(fields[4]):
            raise _row_error(source, number, fields, "GFF row has start and end (1 ≤ start ≤ end) in columns 4 and 5")
        if feature in (None, fields[2]):
            strand = fields[6].replace("?", ".")
            found.append((fields[0], int(fields[3]) - 1, int(fields[4]), strand, -1, number))
    return _gathered(found, source)


def _row_error(source: str, number: int, fields: list[str], what: str) -> InputError:
    shown = "\t".join(fields)[:60]
    return InputError(f"{source}, line {number}: a {what}, separated by tabs; got {shown!r}.")


def _gathered(found: list[tuple], source: str) -> Intervals:
    names, starts, ends, strands, summits, lines = zip(*found, strict=True)
    return Intervals(
        np.array(names, dtype=object),
        np.array(starts, dtype=np.int64),
        np.array(ends, dtype=np.int64),
        np.array(strands, dtype="U1"),
        np.array(summits, dtype=np.int64),
        source,
        np.array(lines, dtype=np.int64),
    )


# -- letters -----------------------------------------------------------------------------------------------------------


def reverse_complement(text: bytes) -> bytes:
    """Return the other strand of some letters, case and ambiguous letters kept."""
    return text.translate(_COMPLEMENT)[::-1]


def cut_out(genome: Genome, intervals: Intervals, **rules: Any) -> SequenceSet:
    """Return the letters of intervals, those on the strand "-" as their reverse complements.

    Parameters
    ----------
    genome : Genome
    intervals : Intervals
    **rules
        `ambiguous`, `lower`, `on_short`, `min_length`, as in `as_sequences`.
    """
    intervals.check(genome)
    builder = SequenceBuilder(DNA, Rules(**rules), False, MemorySink())
    for at in range(0, len(intervals), BLOCK):
        part = intervals.rows(slice(at, at + BLOCK))
        found = list(texts(genome, part))
        lengths = np.fromiter(map(len, found), np.int64, len(found))
        builder.add(np.frombuffer(b"".join(found), np.uint8), offsets_of(lengths), part.row_name)
    return builder.finish()


def texts(genome: Genome, intervals: Intervals) -> Iterator[bytes]:
    """Yield the letters of every interval as they stand in the file, or their reverse complements."""
    columns = (intervals.names.tolist(), intervals.starts.tolist(), intervals.ends.tolist(), intervals.strands.tolist())
    for name, start, end, strand in zip(*columns, strict=True):
        text = genome.fetch(name, start, end).tobytes()
        yield reverse_complement(text) if strand == "-" else text
