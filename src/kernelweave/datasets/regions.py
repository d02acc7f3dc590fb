"""Negatives for peaks: regions of a genome that look like the positives, and are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import clock
from ..errors import InputError
from ..io.bed import Intervals, read_intervals, texts
from ..io.genome import Genome, open_genome
from ..sequences.layout import offsets_of

#: Shares of the regions below each quantile that is reported.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Most regions for every positive.
MAX_RATIO = 50
#: Letters of the places that are looked at together.
LETTERS_AT_ONCE = 1 << 24
#: Places that are looked at for a region in the first round, and in a later one at the most.
FIRST_TRIES, MOST_TRIES = 4, 64
_G_OR_C, _LOWER, _UNKNOWN = (np.zeros(256, np.int32) for _ in range(3))
_G_OR_C[list(b"GCgcSs")] = 1
_LOWER[ord("a") : ord("z") + 1] = 1
_UNKNOWN[:] = 1
_UNKNOWN[list(b"ACGTacgt")] = 0


@dataclass(frozen=True)
class MatchedRegions:
    """Regions that look like others, and how well they do.

    Attributes
    ----------
    regions : Intervals
        The negatives, in the order of their positives.
    matches : array of int
        Which positive every one of them was drawn for.
    n_wanted, n_unmatched : int
        How many were asked for, and for how many of them nothing was found.
    gc, repeats : dict of float to (float, float)
        For each quantile, the share of G and C, or of lower-case letters, of the positives and of the negatives.
    """

    regions: Intervals
    matches: np.ndarray
    n_wanted: int
    n_unmatched: int
    gc: dict[float, tuple[float, float]]
    repeats: dict[float, tuple[float, float]]

    def __len__(self) -> int:
        return len(self.regions)

    def __str__(self) -> str:
        lines = [f"{len(self):,} of {self.n_wanted:,} negatives were matched ({self.n_unmatched:,} were not found)."]
        for name, found in (("G and C", self.gc), ("lower case", self.repeats)):
            shown = ", ".join(f"{100 * q:g} %: {a:.3f} / {b:.3f}" for q, (a, b) in found.items())
            lines.append(f"Share of {name} at the quantiles, positives / negatives: {shown}.")
        return "\n".join(lines)


def matched_regions(
    positives: Any,
    genome: Any,
    *,
    ratio: int = 1,
    exclude: Any = None,
    gc_tol: float = 0.02,
    repeat_tol: float = 0.02,
    max_tries: int = 1000,
    random_state: int | np.random.Generator | None = None,
) -> MatchedRegions:
    """Draw regions of a genome that are as long as the positives, and alike in G and C and in repeats.

    For every positive, `ratio` regions are drawn at random from all of the genome. Each has its length and its strand,
    a share of G and C within `gc_tol` of its own, and a share of lower-case letters (repeats) within `repeat_tol`. None
    has an unknown letter, and none overlaps a positive, a region of `exclude`, or another one. So the quantiles of the
    regions and of the positives that they were found for differ by no more than the tolerances.

    Parameters
    ----------
    positives : Intervals, path of a BED file, or rows (sequence, start, end)
    genome : Genome or path of a FASTA file
    ratio : int
        Regions for every positive, from 1 to 50.
    exclude : Intervals, path, rows or None
        Where no region may lie, such as a list of artefacts.
    gc_tol, repeat_tol : float
        How far the shares may differ.
    max_tries : int
        Places that are looked at for every region before it is given up.
    random_state : int, Generator or None
        The same seed gives the same regions.

    Returns
    -------
    MatchedRegions

    Examples
    --------
    >>> from kernelweave.datasets import make_genome, matched_regions
    >>> made = make_genome(n_peaks=20, length=20_000, random_state=0)
    >>> found = matched_regions(made.peaks, made.genome, random_state=0)
    >>> len(found), found.n_unmatched
    (20, 0)
    """
    if not (isinstance(ratio, (int, np.integer)) and 1 <= ratio <= MAX_RATIO):
        raise InputError(f"ratio must be a whole number from 1 to {MAX_RATIO}; got {ratio!r}.")
    source, own = open_genome(genome), not isinstance(genome, Genome)
    try:
        wanted = as_intervals(positives)
        wanted.check(source)
        barred = [wanted] if exclude is None else [wanted, _known(as_intervals(exclude), source)]
        return _Draw(source, wanted, barred, (gc_tol, repeat_tol), random_state).run(int(ratio), max_tries)
    finally:
        if own:
            source.close()


def as_intervals(regions: Any) -> Intervals:
    """Return intervals from intervals, a BED file, or rows of (sequence, start, end)."""
    if isinstance(regions, Intervals):
        return regions
    if isinstance(regions, (list, tuple, np.ndarray)):
        return Intervals.of(regions)
    return read_intervals(regions)


def _known(exclude: Intervals, genome: Genome) -> Intervals:
    """Refuse a list of which no row is on this genome: it would exclude nothing, in silence."""
    if len(exclude) and not any(name in genome for name in exclude.names.tolist()):
        raise genome.unknown(exclude.names[0], exclude.row_name(0))
    return exclude


def shares(genome: Genome, intervals: Intervals) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares of G and C and of lower case among the letters of intervals, and how many are unknown."""
    found = list(texts(genome, intervals))
    starts = offsets_of(np.fromiter(map(len, found), np.int64, len(found)))
    letters = np.frombuffer(b"".join(found), np.uint8)
    if not len(letters):
        return np.zeros(len(found)), np.zeros(len(found)), np.zeros(len(found))
    gc, lower, unknown = (np.add.reduceat(table[letters], starts[:-1]) for table in (_G_OR_C, _LOWER, _UNKNOWN))
    return gc / np.diff(starts), lower / np.diff(starts), unknown


class _Barred:
    """Where no region may lie, by sequence: sorted spans."""

    def __init__(self, barred: list[Intervals]) -> None:
        self._spans: dict[str, np.ndarray] = {}
        for one in barred:
            for name in dict.fromkeys(one.names.tolist()):
                here = one.names == name
                self.add(name, one.starts[here], one.ends[here])

    def add(self, name: str, starts: np.ndarray, ends: np.ndarray) -> None:
        """Add spans, overlapping or not; those that touch are joined."""
        from ..io.intervals import joined

        new = np.stack([starts, ends], axis=1)
        spans = np.concatenate([self._spans[name], new]) if name in self._spans else new
        self._spans[name] = np.stack(joined(spans[np.argsort(spans[:, 0], kind="stable")]), axis=1)

    def free(self, name: str, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return which stretches touch no span, (n,) bool."""
        if name not in self._spans:
            return np.ones(len(starts), bool)
        spans = self._spans[name]
        before = np.searchsorted(spans[:, 1], starts, side="right")  # spans that end at or before the start
        return np.append(spans[:, 0], np.iinfo(np.int64).max)[before] >= ends


@dataclass(frozen=True)
class _Found:
    """Regions that fit: the positive that each is for, the number of its sequence, and where it starts."""

    matches: np.ndarray
    sequences: np.ndarray
    starts: np.ndarray

    def rows(self, chosen: Any) -> _Found:
        return _Found(self.matches[chosen], self.sequences[chosen], self.starts[chosen])


class _Draw:
    """One drawing of regions: rounds of random places, of which those are kept that fit."""

    def __init__(
        self, genome: Genome, wanted: Intervals, barred: list[Intervals], tol: tuple[float, float], seed: Any
    ) -> None:
        self.genome, self.wanted, self.tol = genome, wanted, tol
        self.barred, self.rng = _Barred(barred), np.random.default_rng(seed)
        self.lengths = wanted.ends - wanted.starts
        self.names = np.array(list(genome.lengths), dtype=object)
        self.offsets = offsets_of(np.array(list(genome.lengths.values()), dtype=np.int64))
        parts = [shares(genome, wanted.rows(part)) for part in self._parts(np.arange(len(wanted)), 1)]
        self.gc, self.lower = (np.concatenate([part[i] for part in parts]) for i in (0, 1))

    def run(self, ratio: int, max_tries: int) -> MatchedRegions:
        """Draw until every positive has its regions, or has been tried for often enough."""
        missing = np.repeat(np.arange(len(self.wanted)), ratio)
        n_wanted, tries, each = len(missing), 0, FIRST_TRIES
        kept: list[_Found] = []
        while len(missing) and tries < max_tries:
            each, left = min(each, max_tries - tries), []
            for part in self._parts(missing, each):
                clock.check()
                slots, found = self._round(missing[part], each)
                kept.append(found)
                left.append(np.delete(missing[part], slots))
            missing, tries, each = np.concatenate(left), tries + each, min(2 * each, MOST_TRIES)
        return self._result(kept, n_wanted)

    def _parts(self, needs: np.ndarray, each: int) -> Iterator[slice]:
        """Cut positives into blocks whose places have no more than so many letters together."""
        size = max(1, LETTERS_AT_ONCE // (each * max(1, int(self.lengths[needs].max(initial=1)))))
        return (slice(at, min(at + size, len(needs))) for at in range(0, len(needs), size))

    def _round(self, needs: np.ndarray, each: int) -> tuple[np.ndarray, _Found]:
        """Draw `each` places for each of some positives; return which of these have a region now, and the regions."""
        slots = np.repeat(np.arange(len(needs)), each)
        places = self.rng.integers(0, self.offsets[-1], len(slots))
        sequences = np.searchsorted(self.offsets, places, side="right") - 1
        drawn = _Found(needs[slots], sequences, places - self.offsets[sequences])
        good = np.flatnonzero(self._fits(drawn))
        _, first = np.unique(slots[good], return_index=True)  # of several that fit, the one that was drawn first
        good = good[first]
        good = good[self._apart(drawn.rows(good))]
        found = drawn.rows(good)
        for number in np.unique(found.sequences):
            here = found.rows(found.sequences == number)
            self.barred.add(self.names[number], here.starts, here.starts + self.lengths[here.matches])
        return slots[good], found

    def _fits(self, drawn: _Found) -> np.ndarray:
        """Which places lie inside of a sequence, touch nothing that is barred, and look like their positives."""
        ends = drawn.starts + self.lengths[drawn.matches]
        good = ends <= np.diff(self.offsets)[drawn.sequences]
        for number in np.unique(drawn.sequences):
            here = np.flatnonzero(good & (drawn.sequences == number))
            good[here] = self.barred.free(self.names[number], drawn.starts[here], ends[here])
        rows = np.flatnonzero(good)
        rows = rows[np.lexsort((drawn.starts[rows], drawn.sequences[rows]))]  # files are read quickest in their order
        gc, lower, unknown = shares(self.genome, self._intervals(drawn.rows(rows)))
        matches = drawn.matches[rows]
        near = (np.abs(gc - self.gc[matches]) <= self.tol[0]) & (np.abs(lower - self.lower[matches]) <= self.tol[1])
        good[rows] = near & (unknown == 0)
        return good

    def _apart(self, found: _Found) -> np.ndarray:
        """Which regions to keep so that no two overlap, (n,) bool: of two that do, the one that starts first."""
        keep = np.zeros(len(found.starts), bool)
        last: dict[int, int] = {}
        order = np.lexsort((found.starts, found.sequences))
        for i, number, start in zip(order, found.sequences[order].tolist(), found.starts[order].tolist(), strict=True):
            if start >= last.get(number, 0):
                keep[i], last[number] = True, start + int(self.lengths[found.matches[i]])
        return keep

    def _intervals(self, found: _Found) -> Intervals:
        return Intervals(
            self.names[found.sequences],
            found.starts,
            found.starts + self.lengths[found.matches],
            self.wanted.strands[found.matches],
            np.full(len(found.starts), -1, np.int64),
            "the matched regions",
        )

    def _result(self, kept: list[_Found], n_wanted: int) -> MatchedRegions:
        empty = np.empty(0, np.int64)
        columns = (
            np.concatenate([empty, *(getattr(part, name) for part in kept)])
            for name in ("matches", "sequences", "starts")
        )
        found = _Found(*columns)
        found = found.rows(np.argsort(found.matches, kind="stable"))
        regions = self._intervals(found)
        parts = [shares(self.genome, regions.rows(part)) for part in self._parts(found.matches, 1)]
        gc, lower = (np.concatenate([np.empty(0), *(part[i] for part in parts)]) for i in (0, 1))
        return MatchedRegions(
            regions,
            found.matches,
            n_wanted,
            n_wanted - len(regions),
            _quantiles(self.gc[found.matches], gc),
            _quantiles(self.lower[found.matches], lower),
        )


def _quantiles(positives: np.ndarray, negatives: np.ndarray) -> dict[float, tuple[float, float]]:
    if not len(negatives):
        return {}
    return {q: (float(np.quantile(positives, q)), float(np.quantile(negatives, q))) for q in QUANTILES}
