"""Sequences in several packed files: described by where they lie and by what they are, read where they are needed."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .layout import Notes, common_length, offsets_of
from .sets import SequenceSet

if TYPE_CHECKING:
    from .mapped import MappedFile

#: Rows that a shard has at the most, so that no task holds a worker for long, and at the least where there are more.
MOST_ROWS, LEAST_ROWS = 200_000, 2_000
#: Files that a process keeps open for the pieces of them that it is asked for.
MOST_OPENED = 256


@dataclass(frozen=True)
class PackedRows:
    """Some rows of one packed file, by its name and the digest of its content: a few hundred bytes, never letters."""

    path: str
    digest: str
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def open(self) -> SequenceSet:
        """Map the rows.

        Raises
        ------
        InputError
            Where the file is another one than was described.
        """
        found = _OPENED.get((self.path, self.digest))
        if found is None:
            found = SequenceSet.open(self.path)
        elif found.source is not None and found.source.changed():
            _OPENED.pop((self.path, self.digest), None)
            raise InputError(f"{self.path!r} was written to since it was opened: its digests differ. Open it again.")
        digest = digest_of(found)
        if digest != self.digest or len(found) < self.stop:
            raise InputError(
                f"{self.path!r} is not the file that was described (its digest is {digest}, not {self.digest}): "
                "it was written anew, or another machine has another file of that name. Open the shards again."
            )
        while len(_OPENED) >= MOST_OPENED:
            _OPENED.pop(next(iter(_OPENED)), None)
        _OPENED[self.path, self.digest] = found
        return found.rows(slice(self.start, self.stop))

    def take(self, rows: np.ndarray) -> SequenceSet:
        """Read some of the rows, counted from the first of these, into memory."""
        return self.open().rows(rows)


#: Files that pieces were opened of, by name and digest: their blocks need not be compared with their digests again.
_OPENED: dict[tuple[str, str], SequenceSet] = {}


class Shards(SequenceSet):
    """Sequences in several packed files, one after another; they are read where they are needed, and not before.

    It is a `SequenceSet` to `fit` and `predict`. What a cluster is told of it are descriptions: names of files, ranges
    of rows, digests.

    Parameters
    ----------
    files : sets of sequences
        Each mapped from a file, all over one alphabet.
    rows : int or None
        Rows of a shard; None leaves it to the engine, about four shards for every thread.
    """

    def __init__(self, files: Sequence[SequenceSet], rows: int | None = None) -> None:
        if not files:
            raise InputError("There are no shards: give the names of packed files, which `kernelweave convert` writes.")
        if rows is not None and not (isinstance(rows, (int, np.integer)) and rows > 0):
            raise InputError(f"rows, the rows of a shard, must be a whole number > 0, or None; got {rows!r}.")
        first = files[0]
        for file in files:
            if file.path is None:
                raise InputError("A shard is a packed file; this set is in memory. Write it with .save(path) first.")
            if (file.alphabet, file.packed) != (first.alphabet, first.packed):
                raise InputError(
                    f"{file.path!r} holds {file.alphabet!r}, {first.path!r} {first.alphabet!r}: shards are of one "
                    "alphabet. Convert them again with --alphabet."
                )
        self.files, self.rows_each = list(files), None if rows is None else int(rows)
        self._ends = np.cumsum([len(file) for file in files])
        lengths = {file.length for file in files if len(file)}
        n, length = int(self._ends[-1]), lengths.pop() if len(lengths) == 1 else None if lengths else 0
        super().__init__(first.alphabet, np.empty(0, np.uint8), n, length, None, first.packed, None, _notes(files))

    @classmethod
    def open(
        cls, paths: str | os.PathLike | Sequence[str | os.PathLike], rows: int | None = None, engine: Any = None
    ) -> Shards:
        """Map packed files: a pattern such as "windows.*.kwseq", or a list of names in the order of their rows.

        Parameters
        ----------
        paths : str or list of str
        rows : int or None
            Rows of a shard.
        engine : Dask client, Engine, str or None
            Whoever sees the files, where they are not to be seen here: workers find them, and send the rows that are
            needed here.

        Examples
        --------
        >>> import tempfile
        >>> from kernelweave.sequences import Shards, as_sequences
        >>> folder = tempfile.TemporaryDirectory()
        >>> found = Shards.write(as_sequences(["ACGT", "GGCC", "TTTA"]), f"{folder.name}/sites.kwseq", 2)
        >>> list(Shards.open(f"{folder.name}/sites.*.kwseq"))
        ['ACGT', 'GGCC', 'TTTA']
        """
        if engine is not None:
            from ..cluster import as_engine
            from ..cluster.far import FarShards

            return FarShards.find(paths, as_engine(engine), rows)
        names = files_named(paths, " Write shards with `kernelweave convert --shards N`.")
        return cls([SequenceSet.open(name) for name in names], rows)

    @classmethod
    def write(cls, sequences: SequenceSet, path: str | os.PathLike, n_shards: int) -> Shards:
        """Write sequences to so many packed files, sites.00.kwseq, sites.01.kwseq and so on, and map them."""
        names = shard_names(path, n_shards)
        for name, part in zip(names, shard_slices(len(sequences), n_shards), strict=True):
            sequences.rows(part).save(name)
        return cls.open(names)

    # -- descriptions ----------------------------------------------------------------------------------------------

    @property
    def ends(self) -> np.ndarray:
        """Where every file ends, in rows."""
        return self._ends

    @property
    def digests(self) -> list[str]:
        """The digest of every file."""
        return [digest_of(file) for file in self.files]

    def pieces(self, ranges: Sequence[tuple[int, int]]) -> list[PackedRows]:
        """Return the descriptions of ranges of rows, each of one file."""
        return [self.piece(start, stop) for start, stop in ranges]

    def piece(self, start: int, stop: int) -> PackedRows:
        """Return the description of some rows, all of one file."""
        number = int(np.searchsorted(self._ends, start, side="right"))
        first, file = int(self._ends[number]) - len(self.files[number]), self.files[number]
        return PackedRows(os.path.abspath(str(file.path)), digest_of(file), start - first, stop - first)

    def __reduce__(self) -> tuple:
        # Unlike other sets, shards are where they are: what travels is what they are called.
        described = [PackedRows(os.path.abspath(str(file.path)), digest_of(file), 0, len(file)) for file in self.files]
        return reopened, (described, self.rows_each)

    # -- the whole, for those who ask for it ----------------------------------------------------------------------

    @cached_property
    def buffer(self) -> np.ndarray:
        """The letters of all files, in memory."""
        return np.concatenate([file.buffer for file in self.files])

    @cached_property
    def _offsets(self) -> np.ndarray | None:
        return None if self.length is not None else offsets_of(np.concatenate([file.lengths for file in self.files]))

    @cached_property
    def kept_unknown(self) -> np.ndarray:
        """The positions of unknown letters that are kept beside packed ones."""
        firsts = np.cumsum([0, *(file.n_letters for file in self.files)])
        found = [file.kept_unknown + first for file, first in zip(self.files, firsts, strict=False)]
        return np.concatenate(found)

    @property
    def nbytes(self) -> int:
        return sum(file.nbytes for file in self.files)

    # -- rows ------------------------------------------------------------------------------------------------------

    def _slice(self, part: slice) -> SequenceSet:
        found = []
        for file, end in zip(self.files, self._ends, strict=True):
            first = int(end) - len(file)
            low, high = max(part.start, first), min(part.stop, int(end))
            if low < high:
                found.append(file.rows(slice(low - first, high - first)))
        if not found:
            return self.files[0].rows(slice(0, 0))
        return found[0] if len(found) == 1 else joined(found)

    def _rows_of(self, rows: np.ndarray) -> SequenceSet:
        number = np.searchsorted(self._ends, rows, side="right")
        order = np.argsort(number, kind="stable")
        bounds = np.searchsorted(number[order], np.arange(len(self.files) + 1))
        found = []
        for k, file in enumerate(self.files):
            own = rows[order[bounds[k] : bounds[k + 1]]]
            if len(own):
                found.append(file.rows(own - (int(self._ends[k]) - len(file))))
        together = found[0] if len(found) == 1 else joined(found)
        if (np.diff(number) >= 0).all():
            return together
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return together.rows(back)

    def __repr__(self) -> str:
        length = "varying" if self.length is None else self.length
        return f"<Shards n={self.n} length={length} alphabet={self.alphabet!r} files={len(self.files)}>"


def files_named(paths: str | os.PathLike | Sequence[str | os.PathLike], advice: str = "") -> list[str]:
    """Return the names of files: all that a pattern stands for, by their names, or a list as it is given."""
    if not isinstance(paths, (str, os.PathLike)):
        return [os.path.expanduser(os.fspath(path)) for path in paths]
    pattern = os.path.expanduser(os.fspath(paths))
    found = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
    if not found:
        raise InputError(f"No file is called {pattern!r}.{advice}")
    return found


def shard_names(path: str | os.PathLike, n_shards: int) -> list[str]:
    """Return the names of so many shards: sites.kwseq becomes sites.00.kwseq, sites.01.kwseq, ..."""
    if not (isinstance(n_shards, (int, np.integer)) and n_shards > 0):
        raise InputError(f"The number of shards must be a whole number > 0; got {n_shards!r}.")
    stem, ending = os.path.splitext(os.path.expanduser(os.fspath(path)))
    digits = max(2, len(str(n_shards - 1)))
    return [f"{stem}.{k:0{digits}d}{ending}" for k in range(n_shards)]


def shard_slices(n: int, n_shards: int) -> list[slice]:
    """Return so many slices of n rows that differ by one row at the most."""
    cuts = [n * k // n_shards for k in range(n_shards + 1)]
    return [slice(low, high) for low, high in pairwise(cuts)]


def digest_of(file: SequenceSet) -> str:
    """Return the digest of the packed file that a set is mapped from: it stands for every letter in it."""
    if file.source is None:
        raise InputError("This set is in memory; only a set from SequenceSet.open(path) has a file with a digest.")
    return file.source.header.digest


def sources_of(sequences: SequenceSet) -> list[MappedFile]:
    """Return the files that letters are mapped from."""
    files = sequences.files if isinstance(sequences, Shards) else [sequences]
    return [file.source for file in files if file.source is not None]


def reopened(described: Sequence[PackedRows], rows: int | None) -> Shards:
    """Open shards, in another process, by their descriptions."""
    for piece in described:
        piece.open()
    return Shards.open([piece.path for piece in described], rows)


def joined(parts: Sequence[SequenceSet]) -> SequenceSet:
    """Return sets one after another, as one in memory."""
    first, lengths = parts[0], np.concatenate([part.lengths for part in parts])
    offsets = offsets_of(lengths)
    starts = np.cumsum([0, *(part.n_letters for part in parts)])
    unknown = np.concatenate([part.kept_unknown + at for part, at in zip(parts, starts, strict=False)])
    buffer, length = np.concatenate([part.buffer for part in parts]), common_length(offsets)
    given = offsets if length is None else None
    return SequenceSet(first.alphabet, buffer, len(lengths), length, given, first.packed, unknown, first.notes)


def _notes(files: Sequence[SequenceSet]) -> Notes:
    names = ("n_letters", "n_lower", "n_ambiguous", "n_u", "n_short")
    counts: dict[str, Any] = {name: sum(getattr(file.notes, name) for file in files) for name in names}
    return Notes(**counts)
