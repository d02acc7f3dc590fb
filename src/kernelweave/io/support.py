"""Support samples to arrays and back: of every container, only what the model's terms read.

Every container becomes a node, a small JSON object that names the arrays that hold its data:

- ``{"kind": "matrix"}`` and ``{"kind": "csr"}``: numbers without names;
- ``{"kind": "columns"}``: the columns of a table, of a matrix of strings, or a single one; numbers and sequences;
- ``{"kind": "views"}``: named nodes side by side;
- ``{"kind": "unread"}``: nothing, where no term of the model reads anything.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import asdict
from types import NoneType
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from ..kernels import Kernel
from ..kernels.pieces import readers
from ..matrices import finite_matrix
from ..sequences import ALPHABETS, UNKNOWN, Alphabet, Notes, SequenceSet
from ..sequences.layout import row_starts
from ..views import ArrayViews, DictViews, Path, SequenceViews, Views
from .kept import KeptColumn, KeptViews, UnreadViews
from .plain import damaged, fields, grows

#: One kernel at the end of an expression, and the columns that it is seen through.
Request = tuple[Path, Kernel]
#: What the number of a column takes, among the names of all of them.
LABEL_BYTES = 64
_NO_CODES = np.empty(0, np.uint8)
_NOTES = tuple(name for name in Notes.__dataclass_fields__ if name != "skipped")


def requests_of(kernel: Kernel, X: Views) -> Iterator[Request]:
    """Yield what a kernel reads of the samples."""
    # what reads "anything" reads nothing at all, as Identity does
    return (request for request in readers(kernel, X) if request[1].reads != "anything")


class NamesOnly(Views):
    """Columns without data, enough to ask which of them an expression reads."""

    def __init__(self, labels: tuple[Any, ...], strict: bool = True) -> None:
        super().__init__()
        self.labels, self._strict = labels, strict

    def select(self, columns: Any) -> NamesOnly:
        if isinstance(columns, slice):
            return NamesOnly(self.labels[columns], self._strict)
        chosen = list(columns) if isinstance(columns, (list, tuple)) else [columns]
        chosen = [
            self.labels[c] if isinstance(c, int) and -len(self.labels) <= c < len(self.labels) else c for c in chosen
        ]
        for name in chosen if self._strict else ():
            if name not in self.labels:
                raise InputError(
                    f"The kernel reads a column {name!r}; the table has {', '.join(map(repr, self.labels[:8]))}."
                )
        return NamesOnly(tuple(chosen), self._strict)


# -- to arrays ---------------------------------------------------------------------------------------------------------


class Packer:
    """Collects the arrays of support samples."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def keep(self, array: np.ndarray) -> str:
        """Return the name under which an array is kept."""
        name = f"support/{len(self.arrays)}.npy"
        self.arrays[name] = array
        return name

    def pack(self, X: Views, wanted: list[Request]) -> dict[str, Any]:
        """Return the node of the samples, with the data that were asked for."""
        if isinstance(X, DictViews):
            return self._views(X, wanted)
        if not wanted:
            return {"kind": "unread"}
        text = any(leaf.reads == "sequences" for _, leaf in wanted)
        if isinstance(X, ArrayViews) and X.data.ndim == 2 and not text and _has_no_names(X):
            return self._matrix(X.data)
        return self._columns(X, wanted)

    def _views(self, X: DictViews, wanted: list[Request]) -> dict[str, Any]:
        shares: dict[Hashable, list[Request]] = {name: [] for name in X.labels}
        for path, leaf in wanted:
            marks, path = _marks(path)
            seen = X.select(path[0]) if path else X
            names = list(seen.labels) if isinstance(seen, DictViews) else [n for n in X.labels if X.parts[n] is seen]
            for name in names:
                shares[name].append((marks if isinstance(seen, DictViews) else (*marks, *path[1:]), leaf))
        parts = [self.pack(part, shares[name]) for name, part in X.parts.items()]
        return {"kind": "views", "names": _labels(X), "parts": parts}

    def _matrix(self, data: Any) -> dict[str, Any]:
        if data.dtype.kind not in "biuf" or data.dtype.itemsize > 8:
            data = finite_matrix(data, gaps=True)
        if not sparse.issparse(data):
            return {"kind": "matrix", "values": self.keep(np.asarray(data))}
        kept = {name: self.keep(getattr(data, name)) for name in ("data", "indices", "indptr")}
        return {"kind": "csr", "width": int(data.shape[1]), **kept}

    def _columns(self, X: Views, wanted: list[Request]) -> dict[str, Any]:
        found: dict[int, KeptColumn] = {}
        for path, leaf in wanted:
            seen = X.through(path)
            for label in seen.labels:
                column = found.setdefault(X.labels.index(label), KeptColumn())
                if leaf.reads == "sequences":
                    column.sequences[leaf.alphabet] = seen.sequences(leaf.alphabet)
                elif leaf.reads == "ids" and hasattr(seen, "absent"):
                    ids = seen.ids()
                    column.values = np.where(ids < 0, np.nan, ids)
                elif column.values is None:
                    column.values = _numbers(X if _is_single(X) else X.select(label))
        columns = [self._column(position, column) for position, column in sorted(found.items())]
        # choosing columns of an array lays them out one after another
        order = X.order if isinstance(X, KeptViews) else "F" if isinstance(X, ArrayViews) else "C"
        return {"kind": "columns", "labels": _labels(X), "columns": columns, "order": order}

    def _column(self, position: int, column: KeptColumn) -> dict[str, Any]:
        distinct = {found.alphabet: found for found in column.sequences.values()}
        sequences = [
            self._sequences(found, [name for name, one in column.sequences.items() if one.alphabet == alphabet])
            for alphabet, found in distinct.items()
        ]
        values = None if column.values is None else self.keep(column.values)
        return {"position": position, "values": values, "sequences": sequences}

    def _sequences(self, found: SequenceSet, asked: list[Any]) -> dict[str, Any]:
        alphabet, small = found.alphabet, found.pack() if found.alphabet.packable else found
        return {
            "alphabet": alphabet.name if ALPHABETS.get(alphabet.name) == alphabet else asdict(alphabet),
            "asked": [name for name in asked if isinstance(name, str)],
            "length": found.length,
            "packed": found.packed,
            "letters": self.keep(small.buffer),
            "offsets": None if found.length is not None else self.keep(found.offsets),
            "unknown": self.keep(small.unknown) if small.packed and small.unknown.size else None,
            "notes": {name: getattr(found.notes, name) for name in _NOTES},
        }


def _labels(X: Views) -> Any:
    """Return the names of columns or views: as many as there are, where they are the numbers from 0 on."""
    if X.labels == tuple(range(len(X.labels))):
        return len(X.labels)
    for label in X.labels:
        if not isinstance(label, (str, int)) or isinstance(label, bool):
            raise InputError(
                f"A model file keeps columns and views whose names are strings or whole numbers; got {label!r}. "
                "Rename it and fit again, or pickle the model."
            )
    return list(X.labels)


def _marks(path: Path) -> tuple[Path, Path]:
    """Return what a path says before any column is chosen, and the rest."""
    chosen = next((place for place, columns in enumerate(path) if not hasattr(columns, "of")), len(path))
    return path[:chosen], path[chosen:]


def _has_no_names(X: ArrayViews) -> bool:
    """Say whether the columns of a matrix are numbered as they stand: those that were chosen keep their numbers."""
    return sparse.issparse(X.data) or X.labels == tuple(range(len(X.labels)))


def _is_single(X: Views) -> bool:
    return isinstance(X, SequenceViews) or (isinstance(X, ArrayViews) and X.data.ndim == 1)


def _numbers(X: Views) -> np.ndarray:
    values = np.asarray(X.column())
    known = values.dtype.kind in "biuf" and values.dtype.itemsize <= 8
    return values if known else np.asarray(X.matrix(gaps=True))[:, 0]


# -- and back ----------------------------------------------------------------------------------------------------------


class Unpacker:
    """Takes arrays by name, and sees to it that each is what the node needs.

    Parameters
    ----------
    arrays : dict of str to array
    n : int
        Support samples.
    memory : int
        Bytes that names of columns may take.
    gaps : bool
        Whether numbers may be missing: the kernel has a rule for that.
    """

    def __init__(self, arrays: dict[str, np.ndarray], n: int, memory: int, gaps: bool = False) -> None:
        self.arrays, self.n, self.memory, self.gaps = dict(arrays), n, memory, gaps

    def take(self, name: Any, kinds: str, *shape: int | None, gaps: bool = False) -> np.ndarray:
        """Return an array of finite numbers of these kinds and this shape (None for any size); each is taken once."""
        array = self.arrays.pop(name, None) if isinstance(name, str) else None
        if array is None:
            raise damaged(f"the array {str(name)[:80]!r} is not there, or is used twice")
        fits = array.ndim == len(shape) and all(
            s is None or s == size for s, size in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype.kind not in kinds:
            raise damaged(f"{name} has the shape {array.shape} and type {array.dtype}, not those of its place")
        if array.dtype.kind == "f" and (np.isinf(array) if gaps else ~np.isfinite(array)).any():
            raise damaged(f"{name} holds {'infinity' if gaps else 'NaN or infinity'}")
        return array

    def unpack(self, node: Any) -> Views:
        """Return the samples of a node."""
        kind = node.get("kind") if isinstance(node, dict) else None
        if kind == "matrix":
            _, values = fields(node, "the data", kind=str, values=str)
            return ArrayViews(self.take(values, "biuf", self.n, None, gaps=self.gaps))
        if kind == "csr":
            return self._csr(node)
        if kind == "columns":
            return self._columns(node)
        if kind == "unread":
            fields(node, "the data", kind=str)
            return UnreadViews(self.n)
        if kind == "views":
            _, names, parts = fields(node, "the data", kind=str, names=(list, int), parts=list)
            labels = self._labels(names)
            if len(labels) != len(parts) or not parts:
                raise damaged(f"there are {len(parts)} views, and {len(labels)} names of them")
            return DictViews({name: self.unpack(part) for name, part in zip(labels, parts, strict=True)})
        raise damaged(f"there are no data of kind {str(kind)[:40]!r}")

    def _csr(self, node: Any) -> Views:
        _, width, *names = fields(node, "the data", kind=str, width=int, data=str, indices=str, indptr=str)
        indptr = self.take(names[2], "i", self.n + 1)
        indices, values = self.take(names[1], "i", None), self.take(names[0], "biuf", None, gaps=self.gaps)
        if values.dtype == np.float16:
            raise damaged("the entries of a sparse matrix are of a type that no matrix has")
        if indptr[0] != 0 or indptr[-1] != len(indices) or len(values) != len(indices) or not grows(indptr):
            raise damaged("the rows of a sparse matrix do not fit its entries")
        self._labels(width)
        if len(indices) and not (indices.min() >= 0 and indices.max() < width):
            raise damaged(f"a sparse matrix of {width} columns has entries outside of them")
        return ArrayViews(sparse.csr_array((values, indices, indptr), shape=(self.n, width)))

    def _columns(self, node: Any) -> Views:
        _, names, nodes, order = fields(node, "the data", kind=str, labels=(list, int), columns=list, order=str)
        labels, columns = self._labels(names), {}
        for one in nodes:
            position, values, sequences = fields(one, "a column", position=int, values=(str, NoneType), sequences=list)
            if not 0 <= position < len(labels) or position in columns:
                raise damaged(f"column {position} of {len(labels)} is there twice, or not at all")
            column = KeptColumn(None if values is None else self.take(values, "biuf", self.n, gaps=self.gaps))
            for found, asked in map(self._sequences, sequences):
                column.sequences |= dict.fromkeys([*asked, found.alphabet, found.alphabet.name], found)
            columns[position] = column
        return KeptViews(self.n, labels, columns, "F" if order == "F" else "C")

    def _labels(self, names: Any) -> tuple[Any, ...]:
        if isinstance(names, int):
            if not 0 <= names * LABEL_BYTES <= self.memory:
                raise damaged(f"there cannot be {names} columns")
            return tuple(range(names))
        if not all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in names):
            raise damaged("names are strings or whole numbers")
        if len(set(names)) < len(names):
            raise damaged("two columns or views have the same name")
        return tuple(names)

    def _sequences(self, node: Any) -> tuple[SequenceSet, list[str]]:
        name, asked, length, packed, letters, cuts, holes, noted = fields(
            node, "the sequences", alphabet=(str, dict), asked=list, length=(int, NoneType), packed=bool, letters=str,
            offsets=(str, NoneType), unknown=(str, NoneType), notes=dict,
        )  # fmt: skip
        alphabet, buffer = _alphabet(name), self.take(letters, "u", None)
        notes = Notes(*fields(noted, "the notes", **dict.fromkeys(_NOTES, int)))
        offsets = _offsets(self.take(cuts, "i", self.n + 1)) if cuts is not None else None
        if (offsets is None) == (length is None) or not all(isinstance(one, str) for one in asked):
            raise damaged("sequences have a common length or offsets, one of them")
        n_letters = self.n * length if offsets is None else int(offsets[-1])
        if alphabet.packable:
            size = self.n * -(-length // 4) if offsets is None else int(row_starts(offsets)[-1])
        else:
            size = n_letters
        if buffer.dtype != np.uint8 or len(buffer) != size or (length or 0) < 0:
            raise damaged(f"{len(buffer)} bytes are not those of {n_letters} letters")
        unknown = np.empty(0, np.int64) if holes is None else self.take(holes, "i", None).astype(np.int64)
        if len(unknown) and (unknown[0] < 0 or unknown[-1] >= n_letters or not grows(unknown, strictly=True)):
            raise damaged("letters that are unknown lie outside of the sequences")
        found = SequenceSet(alphabet, buffer, self.n, length, offsets, alphabet.packable, unknown, notes)
        # compiled code looks codes up in tables, and trusts them; two bits are always one of four letters
        codes = found.flat_codes() if alphabet.size != 4 or not found.packed else _NO_CODES
        if alphabet.size < UNKNOWN and ((codes >= alphabet.size) & (codes != UNKNOWN)).any():
            raise damaged(f"sequences hold letters that are not of the alphabet {alphabet!r}")
        return found if packed or not found.packed else found.unpack(), asked


def _offsets(offsets: np.ndarray) -> np.ndarray:
    if offsets[0] != 0 or not grows(offsets) or offsets[-1] > 1 << 60:
        raise damaged("sequences do not follow one another")
    return offsets.astype(np.int64)


def _alphabet(name: Any) -> Alphabet:
    if isinstance(name, str):
        if name not in ALPHABETS:
            raise damaged(f"there is no alphabet {name[:40]!r}")
        return ALPHABETS[name]
    kinds = {"letters": str, "name": str, "complement": (str, NoneType), "ambiguous": str, "aliases": str}
    try:
        alphabet = Alphabet(*fields(name, "the alphabet", **kinds))
        assert alphabet.table.size == alphabet.byte_of.size == 256  # both are made of the fields
    except (InputError, ValueError, AssertionError) as error:
        raise damaged(f"its alphabet cannot be read: {error}") from None
    return alphabet
