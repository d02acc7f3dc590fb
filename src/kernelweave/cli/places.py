"""Samples that are places on a genome: BED, narrowPeak, GFF and GTF files, with negatives where they are wanted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..errors import MissingLabelError
from .console import count, note
from .data import Data, Reading, file_labels, opened

if TYPE_CHECKING:
    from ..io.bed import Intervals
    from ..io.genome import Genome

#: What --negatives may say instead of the name of a file.
MATCHED = "matched"


def read_places(files: tuple[str, ...], how: Reading, labelled: bool) -> Data:
    """Return the letters at the places in some files, and their classes: as for sequences, one file for each.

    Windows that run over the end of a chromosome because they were widened are left out, and counted.
    """
    import numpy as np

    from ..io.bed import cut_out
    from ..io.genome import open_genome

    if how.width is not None and how.slop is not None:
        raise click.UsageError("--width and --slop both say how long the windows are; give one of them.")
    if how.negatives is not None and len(files) > 1:
        raise click.UsageError("--negatives belongs to one file of positives.")
    if how.group_field is not None:
        raise click.UsageError("Places have no fields to group by; --groups chrom groups them by chromosome.")
    if how.negatives not in (None, MATCHED):
        files = (*files, str(how.negatives))
    labels = _labels(files, how) if labelled else None
    with open_genome(str(how.genome)) as genome:
        parts, notes = _parts(files, genome, how, labelled)
        for line in notes:
            note(line)
        every = _joined(parts)
        sequences = cut_out(genome, every, **how.rules)
    kept = np.delete(np.arange(len(every)), list(sequences.notes.skipped))
    y = None if labels is None else np.repeat(np.array(labels), [len(part) for part in parts])[kept]
    places = every.rows(kept)
    source = " and ".join(files)
    return Data("sequences", sequences, y, places.ids, source, intervals=places, notes=tuple(notes))


def _parts(files: tuple[str, ...], genome: Genome, how: Reading, labelled: bool) -> tuple[list[Intervals], list[str]]:
    """Return the windows of every file, those that are drawn behind them, and what there is to say."""
    from ..io.bed import read_intervals

    parts, notes = [], []
    for path in files:
        whole = read_intervals(opened(path), how.feature)
        whole.check(genome)
        kept, text = _windows(whole, genome, how)
        parts.append(kept)
        notes += text
    if labelled and how.negatives == MATCHED:
        drawn, text = _matched(parts[0], genome, how)
        parts.append(drawn)
        notes += text
    return parts, notes


def _labels(files: tuple[str, ...], how: Reading) -> list[Any]:
    if how.negatives == MATCHED:
        return [1, -1]
    if len(files) == 1:
        raise MissingLabelError(
            f"{files[0]} holds positives only. Have negatives drawn with --negatives matched, give a second file of "
            "them, or use --task one-class."
        )
    return file_labels(files)


def _windows(whole: Intervals, genome: Genome, how: Reading) -> tuple[Intervals, list[str]]:
    """Return the rows as long as they were asked for, and what was left out."""
    if how.width is None and not how.slop:
        return whole, []
    wide = whole.widened(how.width, how.slop or 0)
    inside = wide.inside(genome)
    lost = int(len(wide) - inside.sum())
    text = f"{whole.source}: {count(lost, 'window')} of {len(wide):,} would run over the end of a chromosome, and "
    return wide.rows(inside), [text + f"{'is' if lost == 1 else 'are'} left out."] if lost else []


def _matched(positives: Intervals, genome: Genome, how: Reading) -> tuple[Intervals, list[str]]:
    from ..datasets import matched_regions

    exclude = None if how.exclude is None else os.path.expanduser(how.exclude)
    found = matched_regions(positives, genome, ratio=how.ratio, exclude=exclude, random_state=how.seed)
    return found.regions, str(found).splitlines()


def _joined(parts: list[Intervals]) -> Intervals:
    import numpy as np

    from ..io.bed import Intervals

    def column(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    source = " and ".join(part.source for part in parts)
    return Intervals(
        column("names"), column("starts"), column("ends"), column("strands"), column("summits"), source=source
    )
