"""Samples seen through one or several views: tables, dicts, lists of views, matrices.

Every container a user may hand over becomes a `Views` once, at the door
(`as_views`); kernels ask it for what they need: numbers, ids or one raw column.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .categories import CATEGORIES, category_names
from .errors import InputError, InputTypeError
from .matrices import check_sound, column_numbers, finite_matrix, ids_of, listed_labels, object_column, upright

if TYPE_CHECKING:
    from .sequences import Alphabet, SequenceSet

Columns = Hashable | Sequence[Hashable] | slice
#: Columns, columns of what they show, and so on; in the end perhaps some `Letters` of each sequence.
Path = tuple[Any, ...]

#: Most numbers of several chosen columns that are kept at hand.
MAX_LATEST = 1 << 20


class Views:
    """n samples, each seen through one or several named views."""

    #: Names or positions of the columns, as `select` takes them.
    labels: tuple[Hashable, ...]
    #: The several columns that were chosen last, where they are small.
    _latest: tuple[list[int], Views] | None = None

    def __init__(self) -> None:
        #: The sequences that the column was turned into, by the alphabet that was asked for.
        self._sequences: dict[str | Alphabet, SequenceSet] = {}
        #: Single columns that were chosen before.
        self._children: dict[int, Views] = {}

    def __getstate__(self) -> Any:
        return {name: value for name, value in vars(self).items() if name != "_latest"}

    def __len__(self) -> int:
        raise NotImplementedError

    def select(self, columns: Columns) -> Views:
        """Keep only the named columns."""
        raise NotImplementedError

    def through(self, path: Path) -> Views:
        """Return the samples as seen through columns of columns."""
        seen: Views = self
        for columns in path:
            seen = columns.of(seen) if hasattr(columns, "of") else seen.select(columns)
        return seen

    def rows(self, index: np.ndarray) -> Views:
        """Keep only the samples at `index`."""
        raise NotImplementedError

    def between(self, start: int, stop: int) -> Views:
        """Return the samples from one place to another, to be read at once: they may be no copy."""
        return self.rows(np.arange(start, stop))

    def matrix(self, gaps: bool = False) -> np.ndarray | sparse.csr_array:
        """Return all columns as one matrix of finite float64 numbers; with `gaps`, NaN where one is missing."""
        raise NotImplementedError

    def column(self) -> Any:
        """Return the single raw column, for kernels on things that are not numbers."""
        raise NotImplementedError

    def native(self) -> Any:
        """Return the data as the user would know them, for callables."""
        raise NotImplementedError

    def _letters(self) -> Any:
        """Return the single column, which is to be read as strings."""
        return self.column()

    def sequences(self, alphabet: str | Alphabet = "auto") -> SequenceSet:
        """Return the single column as sequences of letters; they are read once and remembered.

        As "categories", anything is read by its name: numbers, too, and what is missing as an empty text.
        """
        if alphabet == CATEGORIES and alphabet not in self._sequences:
            from .sequences import as_sequences

            self._sequences[alphabet] = as_sequences(category_names(self.column()), "text", on_short="zero")
        if alphabet not in self._sequences:
            from .sequences import as_sequences

            found = as_sequences(self._letters(), alphabet)
            for name in (alphabet, found.alphabet, found.alphabet.name):  # however it is asked for next
                self._sequences.setdefault(name, found)
        return self._sequences[alphabet]

    def sequences_like(self, others: SequenceSet) -> SequenceSet:
        """Return the single column as sequences over the alphabet of others, and keep to it from now on."""
        found = self.sequences(others.alphabet)
        self._sequences["auto"] = found  # a guess of its own could read the same letters otherwise
        return found

    def _child(self, picked: list[int], make: Callable[[], Views]) -> Views:
        """Return the view of some columns; a single one is kept with what it remembers, of several the latest is."""
        if len(picked) != 1:
            latest = self._latest
            if latest is None or latest[0] != picked:
                latest = (picked, make())
                self._latest = latest if len(self) * len(picked) <= MAX_LATEST else None
            return latest[1]
        if picked[0] not in self._children:
            self._children[picked[0]] = make()
        return self._children[picked[0]]

    def _with_rows(self, twin: Views, index: np.ndarray) -> Views:
        """Let a view of some samples have what this one remembers of them."""
        subsets = {id(found): found.rows(index) for found in self._sequences.values()}
        twin._sequences = {name: subsets[id(found)] for name, found in self._sequences.items()}
        for column, child in self._children.items():
            if child._sequences:
                twin._children[column] = child.rows(index)
        return twin

    def ids(self) -> np.ndarray:
        """Return the single column as integers."""
        return ids_of(np.asarray(self.column()))


class ArrayViews(Views):
    """One dense or sparse matrix, or one column of anything."""

    def __init__(self, data: Any, labels: tuple[Hashable, ...] | None = None) -> None:
        super().__init__()
        self.data = data
        self._chosen = labels is not None
        if labels is None:
            labels = tuple(range(data.shape[1])) if data.ndim == 2 else (0,)
        self.labels = labels
        self._matrix: Any = None

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def select(self, columns: Columns) -> Views:
        if self.data.ndim == 1:
            raise InputError(f"X is a single column, so .on({columns!r}) has nothing to choose from; leave it out.")
        if isinstance(columns, slice):
            picked = list(range(self.data.shape[1]))[columns]
        else:
            picked = [self._position(c) for c in (columns if isinstance(columns, (list, tuple)) else [columns])]
        labels = tuple(self.labels[p] for p in picked)
        return self._child(picked, lambda: ArrayViews(self.data[:, picked], labels))

    def _position(self, column: Hashable) -> int:
        width = self.data.shape[1]
        if isinstance(column, (int, np.integer)):
            if self._chosen and column in self.labels:  # after a choice, columns keep the numbers they had
                return self.labels.index(column)
            if -width <= column < width:
                return int(column) % width
        raise InputError(
            f"X is a matrix of {width} columns without names; .on({column!r}) does not name one of them. "
            f"Use a number from 0 to {width - 1}, or pass a DataFrame."
        )

    def rows(self, index: np.ndarray) -> Views:
        twin = ArrayViews(self.data[index], self.labels if self._chosen else None)
        twin._matrix = twin.data if self._matrix is self.data else None  # which was looked at already
        return self._with_rows(twin, index)

    def between(self, start: int, stop: int) -> Views:
        if sparse.issparse(self.data) or self.data.dtype.kind not in "biuf":
            return super().between(start, stop)
        twin = ArrayViews(self.data[start:stop], self.labels if self._chosen else None)
        twin._matrix = None if self._matrix is None else self._matrix[start:stop]  # which was looked at already
        return twin

    def matrix(self, gaps: bool = False) -> np.ndarray | sparse.csr_array:
        if self._matrix is not None:
            return self._matrix
        found = finite_matrix(self.data, gaps)
        if not gaps:  # with none of them: later ones need not look again
            self._matrix = found
        return found

    def column(self) -> Any:
        if self.data.ndim == 2:
            if self.data.shape[1] != 1:
                raise InputError(
                    f"One column is needed here, but X has {self.data.shape[1]}; choose one with .on(...)."
                )
            return self.data[:, 0]
        return self.data

    def native(self) -> Any:
        return self.data

    def _letters(self) -> Any:
        if sparse.issparse(self.data) or self.data.dtype.kind in "biufc":
            raise InputTypeError(
                f"This kernel compares sequences of letters, but X holds {self.data.dtype} numbers. Pass strings, or "
                "use a kernel on numbers such as RBF."
            )
        return self.column()


class TableViews(Views):
    """A DataFrame (pandas, polars, Arrow), held through narwhals."""

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self.frame = frame
        self.labels = tuple(frame.columns)

    def __getstate__(self) -> Any:
        return self.frame.to_native(), self._sequences, self._children

    def __setstate__(self, state: Any) -> None:
        import narwhals as nw

        native, *remembered = state
        self.__init__(nw.from_native(native, eager_only=True))  # type: ignore[misc]
        self._sequences, self._children = remembered

    def __len__(self) -> int:
        return len(self.frame)

    def select(self, columns: Columns) -> Views:
        if isinstance(columns, slice):
            picked = list(range(len(self.labels)))[columns]
        else:
            picked = [self._position(name) for name in (columns if isinstance(columns, (list, tuple)) else [columns])]
        return self._child(picked, lambda: TableViews(self.frame[:, picked]))

    def _position(self, name: Hashable) -> int:
        if name in self.labels:
            return self.labels.index(name)
        if isinstance(name, (int, np.integer)) and -len(self.labels) <= name < len(self.labels):
            return int(name) % len(self.labels)
        raise InputError(f"The table has no column {name!r}; it has {listed_labels(self.labels)}.")

    def rows(self, index: np.ndarray) -> Views:
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index
        return self._with_rows(TableViews(self.frame[index]), index)

    def matrix(self, gaps: bool = False) -> np.ndarray | sparse.csr_array:
        return np.column_stack(
            [column_numbers(column, name, gaps) for column, name in zip(self._columns(), self.labels, strict=True)]
        )

    def _columns(self) -> list[Any]:
        return list(self.frame.iter_columns())

    def column(self) -> Any:
        if len(self.labels) != 1:
            raise InputError(
                f"One column is needed here, but the table has {listed_labels(self.labels)}; choose one with .on(...)."
            )
        return self._columns()[0].to_native()

    def native(self) -> Any:
        return self.frame.to_native()


class DictViews(Views):
    """Named views side by side, each of any kind."""

    def __init__(self, parts: dict[Hashable, Views]) -> None:
        super().__init__()
        self.parts = parts
        self.labels = tuple(parts)

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    def select(self, columns: Columns) -> Views:
        if isinstance(columns, slice):
            names: list[Hashable] = list(self.labels)[columns]
        else:
            names = list(columns) if isinstance(columns, (list, tuple)) else [columns]
        for name in names:
            if name not in self.parts:
                raise InputError(f"There is no view {name!r}; the views are {listed_labels(self.labels)}.")
        return self.parts[names[0]] if len(names) == 1 else DictViews({name: self.parts[name] for name in names})

    def rows(self, index: np.ndarray) -> Views:
        return DictViews({name: part.rows(index) for name, part in self.parts.items()})

    def matrix(self, gaps: bool = False) -> np.ndarray | sparse.csr_array:
        matrices = [part.matrix(gaps) for part in self.parts.values()]
        if any(sparse.issparse(m) for m in matrices):
            return sparse.csr_array(sparse.hstack(matrices))
        return np.hstack(matrices)

    def sequences(self, alphabet: str | Alphabet = "auto") -> SequenceSet:
        return self._single().sequences(alphabet)

    def sequences_like(self, others: SequenceSet) -> SequenceSet:
        return self._single().sequences_like(others)

    def column(self) -> Any:
        return self._single().column()

    def _single(self) -> Views:
        if len(self.parts) != 1:
            raise InputError(
                f"One view is needed here, but there are {listed_labels(self.labels)}; choose one with .on(...)."
            )
        return next(iter(self.parts.values()))

    def native(self) -> Any:
        return {name: part.native() for name, part in self.parts.items()}


class SequenceViews(Views):
    """One column of sequences that are packed already."""

    labels = (0,)

    def __init__(self, data: SequenceSet) -> None:
        super().__init__()
        self.data = data
        self._sequences = {"auto": data, data.alphabet: data, data.alphabet.name: data}

    def __len__(self) -> int:
        return len(self.data)

    def select(self, columns: Columns) -> Views:
        raise InputError(f"X is a single column, so .on({columns!r}) has nothing to choose from; leave it out.")

    def rows(self, index: np.ndarray) -> Views:
        return SequenceViews(self.data.rows(index))

    def matrix(self, gaps: bool = False) -> np.ndarray | sparse.csr_array:
        raise InputTypeError("This kernel needs numbers, but X is a SequenceSet; use a kernel for sequences.")

    def column(self) -> Any:
        return self.data

    def native(self) -> Any:
        return self.data


def as_views(X: Any) -> Views:
    """Wrap whatever container the user handed over.

    A DataFrame, a dict or list of 2-d views, a matrix (dense or sparse), or one column (ids, strings, a `SequenceSet`).
    """
    from .matrices import loaded
    from .sequences import SequenceSet

    X = loaded(X)
    if isinstance(X, Views) or hasattr(X, "as_views"):
        return X if isinstance(X, Views) else X.as_views()
    if isinstance(X, SequenceSet):
        return SequenceViews(X)
    check_sound(X)
    if sparse.issparse(X):
        return ArrayViews(sparse.csr_array(X))
    if isinstance(X, dict):
        return _dict_views(X)
    if isinstance(X, (list, tuple)):
        # any, not all: NumPy would turn a missing value among strings into the text 'nan'
        if any(isinstance(part, (str, bytes)) for part in X):
            return ArrayViews(object_column(X))
        if X and all(len(getattr(part, "shape", ())) == 2 for part in X):
            return _dict_views(dict(enumerate(X)))
    frame = None if isinstance(X, np.ndarray) else _through_narwhals(X)
    return _array_views(np.asanyarray(X)) if frame is None else frame


def _array_views(X: np.ndarray) -> Views:
    if X.ndim not in (1, 2):
        raise InputError(f"X must be a matrix, a column or a table; got an array of {X.ndim} dimensions.")
    return ArrayViews(X)


def _dict_views(parts: dict[Any, Any]) -> Views:
    if not parts:
        raise InputError("X is an empty dict or list; give at least one view.")
    views = {name: as_views(upright(part)) for name, part in parts.items()}
    lengths = {name: len(view) for name, view in views.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"All views must describe the same samples, but their lengths differ: {lengths}.")
    return DictViews(views)


def _through_narwhals(X: Any) -> Views | None:
    import narwhals as nw

    wrapped = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(wrapped, nw.DataFrame):
        return TableViews(wrapped)
    return TableViews(wrapped.alias(wrapped.name or "column").to_frame()) if isinstance(wrapped, nw.Series) else None
