"""Numbers along a genome: bedGraph, and bigWig where a package for it is installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from .atomic import AtomicFile, check_writable
from .bed import Intervals

#: Rows that are handed over at a time.
BLOCK = 1 << 16


class Stretch(NamedTuple):
    """Numbers of letters that lie next to each other, from `start` on."""

    name: str
    start: int
    values: np.ndarray


def letter_track(intervals: Intervals, rows: Sequence[np.ndarray], order: Sequence[str] = ()) -> Iterator[Stretch]:
    """Yield numbers of letters by place: those of strand "-" turned round, and the mean where intervals overlap.

    Parameters
    ----------
    intervals : Intervals
    rows : sequence of arrays
        A number for every letter of every interval, in reading direction.
    order : sequence of str
        The order of the sequences; those that are not in it come behind, as they come first.
    """
    names = list(dict.fromkeys([*order, *intervals.names.tolist()]))
    for name in names:
        here = np.flatnonzero(intervals.names == name)
        here = here[np.argsort(intervals.starts[here], kind="stable")]
        group: list[int] = []
        reach = -1
        for i in here.tolist():
            if group and intervals.starts[i] > reach:
                yield _mean(name, intervals, rows, group)
                group = []
            group.append(i)
            reach = max(reach if len(group) > 1 else -1, int(intervals.ends[i]))
        if group:
            yield _mean(name, intervals, rows, group)


def _mean(name: str, intervals: Intervals, rows: Sequence[np.ndarray], group: list[int]) -> Stretch:
    first, last = int(intervals.starts[group].min()), int(intervals.ends[group].max())
    sums, counts = np.zeros(last - first), np.zeros(last - first)
    for i in group:
        part = slice(int(intervals.starts[i]) - first, int(intervals.ends[i]) - first)
        values = np.asarray(rows[i])[: part.stop - part.start]
        sums[part] += values[::-1] if intervals.strands[i] == "-" else values
        counts[part] += 1
    return Stretch(name, first, sums / np.maximum(counts, 1))


def write_bedgraph(path: str | os.PathLike, track: Iterator[Stretch]) -> None:
    """Write a track as bedGraph, a line for every letter."""
    with AtomicFile(path) as out:
        out.file.write(b"track type=bedGraph\n")
        for name, start, values in track:
            rows = enumerate(values.tolist(), start)
            out.file.write("".join(f"{name}\t{at}\t{at + 1}\t{value:.6g}\n" for at, value in rows).encode())


def write_bigwig(path: str | os.PathLike, track: Iterator[Stretch], lengths: Mapping[str, int]) -> None:
    """Write a track as bigWig; it needs the package pyBigWig.

    Parameters
    ----------
    path : path of the file
    track : stretches in the order of `lengths`, by rising start
    lengths : letters of every sequence
    """
    package = bigwig_package()
    check_writable(path)
    target = os.path.realpath(os.path.expanduser(os.fspath(path)))
    with tempfile.TemporaryDirectory(prefix=".kw-", dir=os.path.dirname(target)) as folder:
        file = package.open(os.path.join(folder, "track.bw"), "w")
        file.addHeader(list(lengths.items()))
        for name, start, values in track:
            for at in range(0, len(values), BLOCK):
                part = values[at : at + BLOCK].astype(float).tolist()
                file.addEntries(name, start + at, values=part, span=1, step=1)
        file.close()
        os.replace(os.path.join(folder, "track.bw"), target)


def bigwig_package() -> Any:
    """Return the package that writes bigWig files, or say how to install it."""
    try:
        import pyBigWig
    except ImportError:
        raise ImportError(
            "bigWig files are written by pyBigWig: pip install 'kernelweave[genome]'. bedGraph needs no package."
        ) from None
    return pyBigWig


def read_bedgraph(path: str | os.PathLike) -> Iterator[Stretch]:
    """Yield the rows of a bedGraph file of single letters as stretches, in bounded memory."""
    name, start = "", 0
    values: list[float] = []
    with open(os.path.expanduser(os.fspath(path)), encoding="utf-8") as file:
        for line in file:
            if line.startswith(("track", "#", "browser")):
                continue
            fields = line.split("\t")
            if len(fields) != 4 or int(fields[2]) != int(fields[1]) + 1:
                raise InputError(f"{path}: a row for every letter is needed; got {line[:60]!r}.")
            if values and (fields[0] != name or int(fields[1]) != start + len(values) or len(values) >= BLOCK):
                yield Stretch(name, start, np.array(values))
                values = []
            if not values:
                name, start = fields[0], int(fields[1])
            values.append(float(fields[3]))
    if values:
        yield Stretch(name, start, np.array(values))
