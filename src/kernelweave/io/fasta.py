"""Sequence files: into memory, by records or by blocks, or packed into a file that is mapped."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataWarning, InputError
from ..sequences import Alphabet, Rules, SequenceBuilder, SequenceSet
from ..sequences.alphabet import find_alphabet
from ..sequences.build import AMBIGUOUS_SHARE, MemorySink
from ..sequences.store import FileSink
from .records import Batch, id_of, read_batches
from .streams import Source
from .tables import header_labels, tidy_labels

PathLike = str | os.PathLike
#: Called as f(records so far, share of the current file read or None).
OnRecords = Callable[[int, float | None], None]


class Record(NamedTuple):
    """One record: the header line without '>', and the letters as they stand in the file."""

    header: str
    sequence: str

    @property
    def id(self) -> str:
        """The first word of the header."""
        return id_of(self.header)


class Loaded(NamedTuple):
    """Sequences of one or several files, with the ids and labels that were asked for."""

    sequences: SequenceSet
    ids: list[str] | None
    labels: np.ndarray | None


class Block(NamedTuple):
    """Some records of a file."""

    sequences: SequenceSet
    ids: list[str]
    #: Share of the file read so far, or None for a pipe.
    fraction: float | None


def iter_fasta(path: PathLike) -> Iterator[Record]:
    """Walk through a FASTA or FASTQ file, plain or gzip, in bounded memory.

    Parameters
    ----------
    path : path, "-" or binary file
        "-" is standard input.

    Yields
    ------
    record : Record

    Raises
    ------
    InputError
        If the file is empty, not FASTA or FASTQ, truncated or damaged.
    """
    with Source(path) as source:
        for batch in read_batches(source):
            data, cuts = batch.text.tobytes(), batch.offsets.tolist()
            letters: Any = data.decode() if data.isascii() else data
            parts = [letters[a:b] for a, b in pairwise(cuts)]
            if letters is data:
                parts = [part.decode("utf-8", "backslashreplace") for part in parts]
            yield from map(Record, batch.headers(), parts)


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


def read_fasta(
    path: PathLike, alphabet: Alphabet | str = "auto", *, packed: bool | None = None, **rules: Any
) -> tuple[SequenceSet, list[str]]:
    """Read a FASTA or FASTQ file, plain or gzip, into memory.

    Parameters
    ----------
    path : path, "-" or binary file
        "-" is standard input.
    alphabet : "auto", name or Alphabet
        "auto" guesses from the first four megabytes.
    packed : bool or None
        Two bits a letter; None: where the alphabet allows.
    **rules
        `ambiguous`, `lower`, `on_short`, `min_length`, as in `as_sequences`.

    Returns
    -------
    sequences : SequenceSet
    ids : list of str
        The first word of every header, of the records that were kept.

    Raises
    ------
    InputError
        Naming the file, the record and the position.
    """
    found = _load([path], MemorySink, alphabet, packed, Rules(**rules), None, True, None)
    return found.sequences, found.ids or []


def read_labelled_fasta(
    positives: PathLike,
    negatives: PathLike | None = None,
    *,
    label: str = "label",
    alphabet: Alphabet | str = "auto",
    packed: bool | None = None,
    **rules: Any,
) -> Loaded:
    """Read sequences with labels: two files (+1 and -1), or one file with labels in its headers.

    Parameters
    ----------
    positives : path
        The positive examples, or the only file.
    negatives : path or None
        The negative examples.
    label : str
        For one file: the name of a ``name=value`` field, or a regular expression with one group.
    alphabet, packed, **rules
        As in `read_fasta`.

    Returns
    -------
    loaded : Loaded
        (sequences, ids, labels)
    """
    paths = [positives] if negatives is None else [positives, negatives]
    labels: Any = header_labels(label) if negatives is None else (1, -1)
    return _load(paths, MemorySink, alphabet, packed, Rules(**rules), labels, True, None)


def read_files(
    paths: Sequence[PathLike],
    alphabet: Alphabet | str = "auto",
    *,
    labels: Sequence | Callable[[str], Any] | None = None,
    progress: OnRecords | None = None,
    **rules: Any,
) -> Loaded:
    """Read several sequence files into one set in memory, in this order.

    Parameters
    ----------
    paths : sequence of path, "-" or binary file
    labels, progress
        As in `pack_fasta`.
    alphabet, **rules
        As in `read_fasta`.

    Returns
    -------
    loaded : Loaded
        (sequences, ids, labels)
    """
    return _load(list(paths), MemorySink, alphabet, None, Rules(**rules), labels, True, progress)


def pack_fasta(
    paths: PathLike | Iterable[PathLike],
    out: PathLike,
    *,
    alphabet: Alphabet | str = "auto",
    packed: bool | None = None,
    labels: Sequence | Callable[[str], Any] | None = None,
    keep_ids: bool = False,
    progress: OnRecords | None = None,
    **rules: Any,
) -> Loaded:
    """Convert sequence files to one packed file, in bounded memory.

    Parameters
    ----------
    paths : path or paths
        FASTA or FASTQ, plain or gzip, read in this order.
    out : path
        The packed file. It appears when it is whole; after an error there is none.
    alphabet, packed, **rules
        As in `read_fasta`.
    labels : sequence, callable or None
        One label for each file, or a function of the header such as ``header_labels("label")``.
    keep_ids : bool
        Return the ids, which costs memory for every record.
    progress : callable or None
        Called as progress(records so far, share of the current file read or None).

    Returns
    -------
    loaded : Loaded
        The mapped `SequenceSet`, and ids and labels where asked for.
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) or hasattr(paths, "read") else list(paths)
    return _load(files, lambda: FileSink(out), alphabet, packed, Rules(**rules), labels, keep_ids, progress)


def unique_ids(ids: Iterable[str]) -> list[str]:
    """Make ids unique for an output file: a second "a" becomes "a_2"; the first keeps its name."""
    ids = list(ids)
    taken, seen, out = set(ids), set(), []
    for name in ids:
        new, count = name, 2
        while new in seen or (new != name and new in taken):
            new, count = f"{name}_{count}", count + 1
        seen.add(new)
        out.append(new)
    return out


class _Gathered:
    """What is collected beside the letters: hashes of ids always, ids and labels on request."""

    def __init__(self, labels: Any, keep_ids: bool) -> None:
        self._labels_of = labels
        self.ids: list[str] | None = [] if keep_ids else None
        self._labels: list[np.ndarray] = []
        self._hashes: list[np.ndarray] = []

    def add(self, batch: Batch, kept: np.ndarray | None, file: int) -> None:
        rows = slice(None) if kept is None else kept
        heads = batch.heads[rows]
        if not len(heads):
            return
        if callable(self._labels_of):
            self._labels.append(np.asarray([self._labels_of(header) for header in batch.headers(rows)]))
        elif self._labels_of is not None:
            self._labels.append(np.full(len(heads), self._labels_of[file]))
        if self.ids is None:
            from .._fast.fasta import hash_ids

            self._hashes.append(hash_ids(np.frombuffer(batch.block, np.uint8), heads))
        else:
            ids = batch.headers(rows, first_word=True)
            self._hashes.append(np.fromiter(map(hash, ids), np.int64, len(ids)))
            self.ids += ids

    def labels(self) -> np.ndarray | None:
        return tidy_labels(np.concatenate(self._labels)) if self._labels else None

    def warn_duplicates(self) -> None:
        """Warn if ids repeat; the hashes take 8 bytes a record where the ids would take a hundred."""
        if not self._hashes:
            return
        hashes = np.concatenate(self._hashes)
        total = hashes.size
        hashes.sort()
        repeated = total - 1 - int(np.count_nonzero(np.diff(hashes)))
        if repeated:
            warnings.warn(
                f"{repeated} of {total} ids repeat an earlier one; outputs will number them (see unique_ids).",
                DataWarning,
                stacklevel=4,
            )


def _load(
    paths: list,
    make_sink: Callable[[], Any],
    alphabet: Alphabet | str,
    packed: bool | None,
    rules: Rules,
    labels: Any,
    keep_ids: bool,
    progress: OnRecords | None,
) -> Loaded:
    """Stream the files through one builder into a sink."""
    if not paths:
        raise InputError("No sequence file was given.")
    if labels is not None and not callable(labels) and len(labels) != len(paths):
        raise InputError(f"One label for each file is needed; got {len(labels)} labels for {len(paths)} files.")
    sink = make_sink()
    builder, gathered, records = None, _Gathered(labels, keep_ids), 0
    try:
        for file, path in enumerate(paths):
            with Source(path) as source:
                for batch in read_batches(source):
                    if builder is None:
                        found = _alphabet_of(alphabet, batch)
                        builder = SequenceBuilder(found, rules, found.packable if packed is None else packed, sink)
                    gathered.add(batch, builder.add(batch.text, batch.offsets, batch.name), file)
                    records += len(batch)
                    if progress is not None:
                        progress(records, source.fraction)
        assert builder is not None  # a file without records is an error already
        gathered.warn_duplicates()
        sequences = builder.finish()
        return Loaded(sequences, gathered.ids, gathered.labels())
    finally:
        sink.abort()


def _alphabet_of(alphabet: Alphabet | str, batch: Batch) -> Alphabet:
    if not (isinstance(alphabet, str) and alphabet == "auto"):
        return find_alphabet(alphabet)
    from .._fast.packing import histogram

    return find_alphabet("auto", histogram(batch.text))
