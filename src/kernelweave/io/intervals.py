"""Places on sequences: read regions, write scores as TSV, BED or bedGraph, and go on where a run was interrupted."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

import numpy as np

from ..errors import InputError
from .atomic import AtomicFile
from .streams import Source

FORMATS = ("tsv", "bed", "bedgraph")
_ENDINGS = {".tsv": "tsv", ".txt": "tsv", ".bed": "bed", ".bedgraph": "bedgraph", ".bg": "bedgraph"}

#: Sequence, start, end: from 0 on, the end not included.
Region = tuple[str, int, int]


def format_of(path: str | os.PathLike) -> str:
    """Return the format that the ending of a file name stands for; TSV where it says nothing."""
    return _ENDINGS.get(os.path.splitext(os.fspath(path))[1].lower(), "tsv")


class IntervalWriter:
    """Writes scored windows to a binary file; all coordinates are on the forward strand, from 0 on, half open.

    - "tsv": sequence, start, end, strand, score, with a line of names.
    - "bed": the score as 1000 / (1 + exp(−score)), from 0 to 1000, and as it is in a seventh column.
    - "bedgraph": the score at the middle letter of every window; of two strands the higher one.

    Parameters
    ----------
    file : binary file
    format : {"tsv", "bed", "bedgraph"}
    """

    def __init__(self, file: BinaryIO, format: str = "tsv") -> None:
        if format not in FORMATS:
            raise InputError(f"format must be one of {', '.join(map(repr, FORMATS))}; got {format!r}.")
        self.file, self.format = file, format

    def begin(self) -> None:
        """Write what stands above all rows."""
        if self.format == "tsv":
            self.file.write(b"sequence\tstart\tend\tstrand\tscore\n")
        elif self.format == "bedgraph":
            self.file.write(b"track type=bedGraph\n")

    def write(self, name: str, starts: np.ndarray, ends: np.ndarray, strands: np.ndarray, scores: np.ndarray) -> None:
        """Write windows of one sequence, sorted by start."""
        self.file.write(getattr(self, f"_{self.format}")(name, starts, ends, strands, scores).encode())

    @staticmethod
    def _tsv(name: str, *columns: np.ndarray) -> str:
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return "".join([f"{name}\t{start}\t{end}\t{strand}\t{score:.6f}\n" for start, end, strand, score in rows])

    @staticmethod
    def _bed(name: str, starts: np.ndarray, ends: np.ndarray, strands: np.ndarray, scores: np.ndarray) -> str:
        shades = np.rint(500.0 * (1.0 + np.tanh(0.5 * scores))).astype(np.int64)  # the same without overflow
        rows = zip(*(column.tolist() for column in (starts, ends, shades, strands, scores)), strict=True)
        return "".join(
            [f"{name}\t{a}\t{b}\t.\t{shade}\t{strand}\t{score:.6f}\n" for a, b, shade, strand, score in rows]
        )

    @staticmethod
    def _bedgraph(name: str, starts: np.ndarray, ends: np.ndarray, strands: np.ndarray, scores: np.ndarray) -> str:
        if not len(starts):
            return ""
        firsts = np.flatnonzero(np.diff(starts, prepend=-1))
        middles = ((starts + ends) // 2)[firsts].tolist()
        best = np.maximum.reduceat(scores, firsts).tolist()
        return "".join([f"{name}\t{m}\t{m + 1}\t{score:.6f}\n" for m, score in zip(middles, best, strict=True)])


# -- regions ---------------------------------------------------------------------------------------------------------


class Regions:
    """Stretches of named sequences, overlaps and neighbours joined.

    Parameters
    ----------
    regions : iterable of (sequence, start, end)
        From 0 on, the end not included.
    """

    def __init__(self, regions: Iterable[Region]) -> None:
        by_name: dict[str, list[tuple[int, int]]] = {}
        for name, start, end in regions:
            if not 0 <= start < end:
                raise InputError(f"A region needs 0 ≤ start < end; got {start} to {end} of {name!r}.")
            by_name.setdefault(name, []).append((int(start), int(end)))
        if not by_name:
            raise InputError("regions holds no region; leave it out to scan everything.")
        self._spans = {name: joined(np.array(sorted(spans))) for name, spans in by_name.items()}

    @property
    def names(self) -> list[str]:
        """The sequences that have any."""
        return list(self._spans)

    def inside(self, name: str, starts: np.ndarray, length: int) -> np.ndarray:
        """Return which windows lie wholly inside a region, (n,) bool."""
        if name not in self._spans:
            return np.zeros(len(starts), bool)
        firsts, lasts = self._spans[name]
        at = np.searchsorted(firsts, starts, side="right") - 1
        return (at >= 0) & (starts + length <= lasts[np.maximum(at, 0)])


def joined(spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return spans (n, 2), sorted by start, as (starts, ends) of separate ones."""
    reach = np.maximum.accumulate(spans[:, 1])
    new = np.append(True, spans[1:, 0] > reach[:-1])
    last = np.append(np.flatnonzero(new)[1:] - 1, len(spans) - 1)
    return spans[new, 0], reach[last]


def read_regions(path: str | os.PathLike) -> list[Region]:
    """Read the first three columns of a BED file, plain or gzip; comments and track lines are skipped."""
    with Source(path) as source:
        lines = source.read().decode("utf-8", "backslashreplace").splitlines()
    regions = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith(("#", "track", "browser")):
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        # 18 digits fit into 64 bits; isdigit alone would let through what int does not read
        places = [len(field) <= 18 and field.isascii() and field.isdigit() for field in fields[1:3]]
        if len(places) < 2 or not all(places) or int(fields[1]) >= int(fields[2]):
            raise InputError(
                f"{source.name}, line {number}: a BED row is sequence, start and end (0 ≤ start < end), separated by "
                f"tabs; got {line[:60]!r}."
            )
        regions.append((fields[0], int(fields[1]), int(fields[2])))
    return regions


def as_regions(regions: Any) -> Regions | None:
    """Return regions from None, a BED file, or (sequence, start, end) triples."""
    if regions is None or isinstance(regions, Regions):
        return regions
    return Regions(read_regions(regions) if isinstance(regions, (str, os.PathLike)) else regions)


# -- output that can be continued ------------------------------------------------------------------------------------


class ResumableFile:
    """A binary file, `file`, that keeps what is finished when its writer dies, and takes its name when it is whole.

    Until then, `<path>.partial` holds the rows, and `<path>.progress` notes how much of
    them is finished and what they are made of.

    Parameters
    ----------
    path : path of the finished file
    made_of : dict
        What the output depends on; a partial file that was made of something else is refused.
    """

    def __init__(self, path: str | os.PathLike, made_of: Mapping[str, Any]) -> None:
        self.path = os.path.expanduser(os.fspath(path))
        self._partial, self._progress = f"{self.path}.partial", f"{self.path}.progress"
        self._made_of = dict(made_of)
        AtomicFile(self._progress).abort()  # says now what would fail later
        #: What `note` kept last, or None at the beginning.
        self.noted: dict[str, Any] | None = None
        size = self._find()
        self.file: BinaryIO = open(self._partial, "r+b" if size else "w+b")  # noqa: SIM115  # closed by commit or close
        self.file.truncate(size)
        self.file.seek(size)

    def _find(self) -> int:
        """Return the bytes that are finished, after checking that they belong here."""
        if not (os.path.exists(self._partial) and os.path.exists(self._progress)):
            return 0
        try:
            with open(self._progress, encoding="utf-8") as file:
                state = json.load(file)
            size, self.noted, before = int(state["bytes"]), dict(state["noted"]), dict(state["made_of"])
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{self._progress} is damaged; remove it to start over.") from None
        changed = sorted(k for k in before.keys() | self._made_of.keys() if before.get(k) != self._made_of.get(k))
        if changed:
            shown = "; ".join(f"{k} was {before.get(k)!r}, is {self._made_of.get(k)!r}" for k in changed)
            raise InputError(f"{self._partial} was begun differently ({shown}). Remove it to start over.")
        if os.path.getsize(self._partial) < size:
            raise InputError(f"{self._partial} is shorter than {self._progress} says; remove both to start over.")
        return size

    def note(self, **noted: Any) -> None:
        """Keep what was written so far, with a few words on how far that is."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.noted = noted
        state = {"bytes": self.file.tell(), "noted": noted, "made_of": self._made_of}
        with AtomicFile(self._progress) as out:
            out.file.write(json.dumps(state, indent=1).encode())

    def commit(self) -> None:
        """Give the file its name."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        os.replace(self._partial, self.path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._progress)

    def __enter__(self) -> ResumableFile:
        return self

    def __exit__(self, kind: type | None, *_: Any) -> None:
        if kind is None:
            self.commit()
        self.file.close()
