"""Data files of any kind to samples, targets and names."""

from __future__ import annotations

import os
import re
import stat
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, MissingLabelError
from .console import count, work_bar

if TYPE_CHECKING:
    import numpy as np

    from ..io.bed import Intervals

#: Beside a packed file: a table of ids and labels.
LABELS_BESIDE = ".labels.tsv"
#: A matrix with a larger share of non-zeros is not sparse.
DENSE_SHARE = 0.5
#: Bytes by which the kind of a file is known.
_HEAD = 1 << 16
_SVMLIGHT = re.compile(rb"\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?(\s+(qid:)?[0-9]+:\S+)+\s*(#.*)?", re.ASCII)
_NUMBER = re.compile(rb"\s*[-+]?[0-9.]+\s*", re.ASCII)


@dataclass(frozen=True)
class Reading:
    """How files are to be read: the options of that name; `known_target` is what a model was trained to predict."""

    target: str | None = None
    known_target: str | None = None
    columns: str | None = None
    id_column: str | None = None
    labels: str | None = None
    label_field: str = "label"
    file_format: str = "auto"
    alphabet: Any = "auto"
    on_short: str = "error"
    min_length: int = 1
    ambiguous: str = "skip"
    lower: str = "upper"
    genome: str | None = None
    width: int | None = None
    slop: int | None = None
    feature: str | None = None
    negatives: str | None = None
    ratio: int = 1
    exclude: str | None = None
    group_field: str | None = None
    #: Where the drawing of negatives begins, which is not only for reading.
    seed: int = 0

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Reading:
        """Take the options that say how to read out of all options."""
        seed = options.get("seed", 0)
        names = [field.name for field in fields(cls) if field.name in options and field.name != "seed"]
        return cls(**{name: options.pop(name) for name in names}, seed=seed)

    @property
    def rules(self) -> dict[str, Any]:
        """The rules for odd letters and short sequences."""
        names = ("on_short", "min_length", "ambiguous", "lower")
        return {name: getattr(self, name) for name in names}

    @property
    def wanted(self) -> list[str] | None:
        """The columns that were asked for."""
        return None if self.columns is None else [name.strip() for name in self.columns.split(",")]


@dataclass(frozen=True)
class Data:
    """Samples as they were read.

    Attributes
    ----------
    kind : {"sequences", "table", "svmlight"}
    X : SequenceSet, dict of columns, or sparse matrix
    y : array or None
    ids : list of str
    source : str
        The names of the files, for messages.
    groups : array or None
        What --group-field says of every sample.
    intervals : Intervals or None
        Where the samples lie, if they were cut out of a genome.
    notes : tuple of str
        What is good to know of them.
    """

    kind: str
    X: Any
    y: np.ndarray | None
    ids: list[str]
    source: str
    groups: np.ndarray | None = None
    intervals: Intervals | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


def read(files: tuple[str, ...], how: Reading, *, labelled: bool = True, n_features: int | None = None) -> Data:
    """Read one or several files of one kind.

    Parameters
    ----------
    files : names of files, "-" for standard input
    how : Reading
    labelled : bool
        Whether targets are needed; where not, those that are there are left alone.
    n_features : int or None
        svmlight files: how many columns there are, where that is known.
    """
    if not files:
        raise click.UsageError("No data file was given.")
    if how.genome is not None:
        from .places import read_places

        return read_places(files, how, labelled)
    from .packed import elsewhere, read_packed

    if elsewhere(files):
        return read_packed(files, how, labelled)
    sources = [opened(path) for path in files]
    kinds = [how.file_format if how.file_format != "auto" else kind_of(source) for source in sources]
    if "model" in kinds:
        raise InputError(f"{files[kinds.index('model')]} is a model file or another zip file; data are needed here.")
    if len(set(kinds)) > 1:
        raise InputError(f"The files are of different kinds: {', '.join(map(' is '.join, zip(files, kinds)))}.")  # noqa: B905
    if "intervals" in kinds:
        path = files[kinds.index("intervals")]
        raise click.UsageError(f"{path} holds places (BED or GFF), not letters; say of which genome: --genome hg.fa.")
    if kinds[0] == "sequences":
        return _sequences(files, sources, how, labelled)
    if kinds[0] == "packed":
        return read_packed(files, how, labelled)
    if len(files) > 1:
        raise InputError(f"Several files are read for sequences only; got {len(files)} files ({kinds[0]}).")
    if kinds[0] == "svmlight":
        return _svmlight(files[0], sources[0], labelled, n_features)
    return _table(files[0], sources[0], how, labelled)


# -- sequences ---------------------------------------------------------------------------------------------------------


def _sequences(files: tuple[str, ...], sources: list[Any], how: Reading, labelled: bool) -> Data:
    from ..io.fasta import read_files
    from ..io.tables import header_labels, match_labels

    labels: Any = None
    if labelled and how.labels is None:
        labels = header_labels(how.label_field) if len(files) == 1 else file_labels(files)
    with work_bar("Reading", "record") as progress:
        try:
            found = read_files(sources, how.alphabet, labels=labels, progress=progress, **how.rules)
        except MissingLabelError as error:
            raise MissingLabelError(
                f"{files[0]}: {error} Give two files (positives, then negatives), a table of labels with --labels, "
                "another field with --label-field, or use --task one-class."
            ) from None
    y = found.labels
    if labelled and how.labels is not None:
        y = match_labels(found.ids or [], *label_table(how.labels, how))
    groups = None if how.group_field is None else _header_groups(files, how.group_field, found.sequences.notes.skipped)
    return Data("sequences", found.sequences, y, found.ids or [], " and ".join(files), groups)


def _header_groups(files: tuple[str, ...], field: str, skipped: tuple[int, ...]) -> np.ndarray:
    """Read the headers once more, for the group that each of them names."""
    import numpy as np

    from ..io.fasta import iter_fasta
    from ..io.tables import header_labels

    if any(not os.path.isfile(os.path.expanduser(path)) for path in files):
        raise click.UsageError("--group-field reads the headers of a file; standard input can be read only once.")
    group = header_labels(field)
    found = [group(record.header) for path in files for record in iter_fasta(path)]
    return np.delete(np.array(found), list(skipped))


def labels_or_blanks(field: str) -> Callable[[str], str]:
    """Return the function that finds the label in a header, and "" where there is none."""
    from ..io.tables import header_labels

    found = header_labels(field)

    def label(header: str) -> str:
        try:
            return found(header)
        except MissingLabelError:
            return ""

    return label


def file_labels(files: tuple[str, ...]) -> list[Any]:
    """Two files hold positives and negatives; of more, every one is a class by its name."""
    if len(files) == 2:
        return [1, -1]
    names = [Path(path).name.split(".")[0] for path in files]
    if len(set(names)) < len(names):
        raise InputError(f"Every file is a class by its name, but names repeat: {', '.join(names)}.")
    return names


def label_table(path: str, how: Reading, labelled: bool = True) -> tuple[Any, Any]:
    """Return the columns of ids and labels; None for labels that are neither there nor needed."""
    from ..io.tables import read_table, require_columns, tidy_labels

    table = read_table(path)
    names = list(table)
    id_name = how.id_column or ("id" if "id" in names else names[0])
    label = how.target or ("label" if "label" in names else names[-1])
    require_columns((id_name, label), names, path)
    if id_name != label:
        return table[id_name], tidy_labels(table[label])
    if labelled:
        raise InputError(f"{path} needs two columns, ids and labels; it has {', '.join(map(repr, names))}.")
    return table[id_name], None


def labels_path(path: str, ending: str = LABELS_BESIDE) -> str:
    """Return where the ids and labels of a packed file are kept."""
    return os.path.splitext(path)[0] + ending


# -- tables ------------------------------------------------------------------------------------------------------------


def _table(path: str, source: Any, how: Reading, labelled: bool) -> Data:
    from ..io.tables import read_table, require_columns, tidy_labels

    table = read_table(source)
    names = list(table)
    if how.target is None and how.known_target in names:
        how = replace(how, target=how.known_target)
    if labelled and how.target is None:
        shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise click.UsageError(f"Say what is to be predicted with --target COLUMN; {path} has {shown}.")
    id_name = how.id_column or ("id" if "id" in names and how.target != "id" else None)
    given = (how.target if labelled else None, id_name, how.group_field)
    apart = [name for name in given if name is not None]
    wanted = how.wanted or [name for name in names if name not in apart and name != how.target]
    require_columns((*apart, *wanted), names, path)
    if not len(table[names[0]]):
        raise InputError(f"{path} has a header line, but no rows.")
    if how.target in wanted:
        raise InputError(f"The column {how.target!r} is to be predicted, so it cannot be among --columns.")
    n = len(table[names[0]])
    ids = row_ids(n) if id_name is None else [str(value) for value in table[id_name]]
    y = None
    if labelled and how.target is not None:
        y = _present(tidy_labels(table[how.target]), path, how.target)
    groups = None if how.group_field is None else table[how.group_field].astype(str)
    return Data("table", {name: table[name] for name in wanted}, y, ids, path, groups)


def _present(y: Any, path: str, name: str) -> Any:
    """Refuse a target that is missing in some rows."""
    import numpy as np

    missing = np.isnan(y) if y.dtype.kind == "f" else np.array([str(value).strip() in ("", "None") for value in y])
    if missing.any():
        row = int(np.flatnonzero(missing)[0]) + 1
        what = count(int(missing.sum()), "row")
        raise InputError(f"{path}: {name!r} is missing in {what}, first in data row {row}. Fill or remove them.")
    return y


def _svmlight(path: str, source: Any, labelled: bool, n_features: int | None) -> Data:
    from ..io.tables import read_svmlight

    X, y = read_svmlight(source, n_features)
    if X.nnz > DENSE_SHARE * X.shape[0] * X.shape[1]:
        X = X.toarray()  # it takes no more memory so, and is quicker
    whole = (y % 1 == 0).all()
    return Data("svmlight", X, (y.astype(int) if whole else y) if labelled else None, row_ids(len(y)), path)


def row_ids(n: int, first: int = 0) -> list[str]:
    """Return names for rows that have none: their numbers, from 1 on."""
    return [str(first + i + 1) for i in range(n)]


# -- what kind of file it is, by its first bytes -----------------------------------------------------------------------


def opened(path: str) -> Any:
    """Return what readers take: the path itself, "-", or the open file where it can be read only once.

    Looking at the first bytes of a pipe would consume them, so a pipe stays open, and is looked into by `peek`.
    """
    name = os.path.expanduser(path)
    if path == "-":
        return path
    if not stat.S_ISREG(os.stat(name).st_mode):
        if os.path.isdir(name):
            raise InputError(f"{path!r} is a folder; name the files in it.")
        return open(name, "rb")  # readers need it open; the process is short
    return name


def kind_of(source: Any) -> str:
    """Return "model", "packed", "sequences", "svmlight", "parquet", "intervals" or "table"."""
    from ..io.bed import looks_like_intervals

    head = _first_bytes(source)
    if head.startswith(b"\x1f\x8b"):
        head = _unzipped(head)
    if head.startswith(b"PK\x03\x04"):
        return "model"
    if head.startswith(b"kwseq"):
        return "packed"
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = [line for line in text.splitlines() if line.strip()]
    notes = (b"#", b";")
    first = next((line for line in lines if not line.startswith(notes)), b"")
    if first.startswith((b">", b"@")) or not lines:
        return "sequences"
    if _is_svmlight(first, lines):
        return "svmlight"
    first = next((line for line in lines if not line.startswith((*notes, b"track", b"browser"))), b"")
    return "intervals" if looks_like_intervals(first) else "table"


def _is_svmlight(first: bytes, lines: list[bytes]) -> bool:
    """A line may be a label alone, for a sample of zeros, but not all of them are."""
    if _SVMLIGHT.fullmatch(first):
        return True
    return bool(_NUMBER.fullmatch(first)) and any(_SVMLIGHT.fullmatch(line) for line in lines[1:10])


def _first_bytes(source: Any) -> bytes:
    if source == "-":
        source = sys.stdin.buffer
    elif isinstance(source, str):
        with open(source, "rb") as file:
            return file.read(_HEAD)
    if hasattr(source, "peek"):
        return source.peek(_HEAD)[:_HEAD]
    at = source.tell()
    head = source.read(_HEAD)
    source.seek(at)
    return head


def _unzipped(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(head, _HEAD)
    except zlib.error:  # the reader will say what is wrong with it
        return b""
