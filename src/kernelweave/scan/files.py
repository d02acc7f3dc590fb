"""From a file of sequences to scored windows, and on to a file of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import InputError
from ..estimators.fitted import steps_of
from ..io.atomic import AtomicFile
from ..io.intervals import IntervalWriter, ResumableFile, format_of
from .scanner import Hits, Progress, Scanner

Callback = Callable[[Progress], None]
#: The numbers that decision values are made of.
DECIDING = ("dual_coef", "intercept", "weights", "scales")


def scan_file(model: Any, path: Any, *, callback: Callback | None = None, **options: Any) -> Iterator[Hits]:
    """Score every window of the sequences of a file, or every window at a word, on one or both strands.

    Parameters
    ----------
    model : fitted estimator
        Of one view of sequences.
    path : path, "-", binary file, SequenceSet or Shards
        FASTA or FASTQ, plain or gzip, or sequences that are packed; records of any length pass in pieces.
    callback : callable or None
        Called with a `Progress` after every block.
    **options
        `at`, `anchor`, `strands`, `threshold`, `regions`, `unknown`, `window`, `label`, `n_jobs` and `block`: see
        `Scanner`.

    Yields
    ------
    hits : Hits
        Scored windows of one sequence: those of one block, by rising start. Scores are those that `decision_function`
        gives the cut windows.

    Examples
    --------
    >>> for hits in scan_file(model, "genome.fa.gz", at="AG", threshold=1.0):  # doctest: +SKIP
    ...     print(hits.name, hits.starts, hits.strands, hits.scores)
    """
    scanner = Scanner(model, **options)
    return _all_hits(scanner, path, callback)


def _all_hits(scanner: Scanner, path: Any, callback: Callback | None) -> Iterator[Hits]:
    for hits, _ in scanner.blocks(path):
        yield from hits
        if callback is not None:
            callback(scanner.progress)


def scan_to_file(
    model: Any,
    path: Any,
    output: str | os.PathLike,
    *,
    format: str | None = None,
    resume: bool = False,
    callback: Callback | None = None,
    **options: Any,
) -> Progress:
    """Scan a file and write the hits to another, which appears when it is whole.

    Parameters
    ----------
    model, path, callback, **options
        As in `scan_file`.
    output : path
    format : {"tsv", "bed", "bedgraph"} or None
        None: by the ending of `output`.
    resume : bool
        Keep what is finished beside `output` should the run die, and go on from there: by whole sequences.

    Returns
    -------
    progress : Progress
        What was scored in this run.
    """
    scanner = Scanner(model, **options)
    kind = format_of(output) if format is None else format
    if not resume:
        with AtomicFile(output) as out:
            writer = IntervalWriter(out.file, kind)
            writer.begin()
            for hits, _ in scanner.blocks(path):
                _write(writer, hits)
                if callback is not None:
                    callback(scanner.progress)
        return scanner.progress
    with ResumableFile(output, _made_of(model, path, kind, options)) as kept:
        writer, done = IntervalWriter(kept.file, kind), 0 if kept.noted is None else int(kept.noted["sequences"])
        if kept.noted is None:
            writer.begin()
        for hits, finished in scanner.blocks(path, done):
            _write(writer, hits)
            if finished is not None and finished > done:
                done = finished
                kept.note(sequences=done)
            if callback is not None:
                callback(scanner.progress)
    return scanner.progress


def _write(writer: IntervalWriter, hits: list[Hits]) -> None:
    for found in hits:
        writer.write(found.name, found.starts, found.ends, found.strands, found.scores)


def _made_of(model: Any, path: Any, format: str, options: dict[str, Any]) -> dict[str, Any]:
    """What the rows of an output depend on, in a form that can be compared later."""
    digest, machine = hashlib.blake2b(digest_size=12), steps_of(model)[-1]
    for part in (repr(machine.kernel_), *(getattr(machine, f"{name}_") for name in DECIDING)):
        digest.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes())
    name = os.path.abspath(os.path.expanduser(os.fspath(path))) if isinstance(path, (str, os.PathLike)) else None
    if name is None or not os.path.isfile(name):
        raise InputError("resume=True reads the sequences again from the start, so it needs a file and no pipe.")
    scored = {key: repr(value) for key, value in sorted(options.items()) if key not in ("n_jobs", "block")}
    return {"model": digest.hexdigest(), "sequences": name, "size": os.path.getsize(name), "format": format} | scored
