"""Sequence files by blocks, for work that need not hold all of them; and several files as one set."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import DataWarning
from ..sequences import Alphabet, Rules, SequenceBuilder, SequenceSet
from ..sequences.build import AMBIGUOUS_SHARE, MemorySink
from .fasta import Loaded, PathLike, Progress, _alphabet_of, _load
from .records import read_batches
from .streams import Source


class Block(NamedTuple):
    """Some records of a file."""

    sequences: SequenceSet
    ids: list[str]
    #: Share of the file read so far, or None for a pipe.
    fraction: float | None


def read_blocks(path: PathLike, alphabet: Alphabet | str = "auto", **rules: Any) -> Iterator[Block]:
    """Walk through a FASTA or FASTQ file some megabytes at a time.

    Parameters
    ----------
    path : path, "-" or binary file
    alphabet : "auto", name or Alphabet
        "auto" guesses from the first block, and keeps to it.
    **rules
        `ambiguous`, `lower`, `on_short`, `min_length`, as in `as_sequences`.

    Yields
    ------
    block : Block

    Warns
    -----
    DataWarning
        At the end, when more than 5 % of the letters are ambiguous.
    """
    checked, letters, ambiguous = Rules(**rules), 0, 0
    with Source(path) as source:
        for batch in read_batches(source):
            alphabet = _alphabet_of(alphabet, batch)
            builder = SequenceBuilder(alphabet, checked, alphabet.packable, MemorySink())
            kept = builder.add(batch.text, batch.offsets, batch.name)
            letters, ambiguous = letters + builder.notes.n_letters, ambiguous + builder.notes.n_ambiguous
            if kept is not None and not kept.any():
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # one sentence about the whole file is enough
                sequences = builder.finish()
            yield Block(sequences, batch.headers(slice(None) if kept is None else kept, True), source.fraction)
        if ambiguous > AMBIGUOUS_SHARE * letters:
            share = 100 * ambiguous / letters
            warnings.warn(
                f"{source.name}: {ambiguous} of {letters} letters ({share:.1f} %) are ambiguous; every k-mer that "
                "holds one is skipped.",
                DataWarning,
                stacklevel=2,
            )


def read_files(
    paths: Sequence[PathLike],
    alphabet: Alphabet | str = "auto",
    *,
    labels: Sequence | Callable[[str], Any] | None = None,
    progress: Progress | None = None,
    **rules: Any,
) -> Loaded:
    """Read several sequence files into one set in memory, in this order.

    Parameters
    ----------
    paths : sequence of path, "-" or binary file
    alphabet : "auto", name or Alphabet
    labels : sequence, callable or None
        One label for each file, or a function of the header such as ``header_labels("label")``.
    progress : callable or None
        Called as progress(records so far, share of the current file read or None).
    **rules
        `ambiguous`, `lower`, `on_short`, `min_length`, as in `as_sequences`.

    Returns
    -------
    loaded : Loaded
        (sequences, ids, labels)
    """
    return _load(list(paths), MemorySink, alphabet, None, Rules(**rules), labels, True, progress)
