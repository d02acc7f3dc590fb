"""Samples that lack a view: who they are, and the samples that are left without them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from .errors import InputError
from .matrices import upright
from .views import ArrayViews, Columns, DictViews, TableViews, Views, as_views

if TYPE_CHECKING:
    from .sequences import Alphabet, SequenceSet

#: What was found of samples that are still in use: the rows that are there, and these as views.
_KNOWN: WeakKeyDictionary[Views, tuple[np.ndarray, Views]] = WeakKeyDictionary()


def absent(X: Views) -> np.ndarray:
    """Say of every sample whether all that is seen of it is missing: None, NaN, null, or a text without a letter.

    A row of a sparse matrix is missing where it holds a NaN.
    """
    if isinstance(X, DictViews):
        return np.logical_and.reduce([absent(part) for part in X.parts.values()])
    if isinstance(X, TableViews):
        columns = [_missing_in(column) for column in X.frame.iter_columns()]
        return np.logical_and.reduce(columns) if columns else np.zeros(len(X), bool)
    if isinstance(X, ArrayViews):
        return _absent_rows(X.data)
    return X.absent() if hasattr(X, "absent") else np.zeros(len(X), bool)


def there(X: Views) -> tuple[np.ndarray, Views]:
    """Return the rows that do not lack the view, and these samples; X itself where none does."""
    if X not in _KNOWN:
        rows = np.flatnonzero(~absent(X))
        if len(rows) == len(X):
            return rows, X  # not kept: it would keep itself alive
        _KNOWN[X] = rows, X.rows(rows)
    return _KNOWN[X]


def is_missing(value: Any) -> bool:
    """Say whether a value of a column of anything is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return isinstance(value, (str, bytes)) and not value


def _missing_in(column: Any) -> np.ndarray:
    """Say which values of a column of a table are missing."""
    import narwhals as nw

    found = column.is_null().to_numpy()
    if column.dtype.is_float():
        return found | np.isnan(np.asarray(column.to_numpy(), dtype=np.float64))
    if column.dtype in (nw.String, nw.Object, nw.Binary):
        return found | np.fromiter(map(is_missing, column.to_list()), bool, len(column))
    return np.asarray(found)


def _absent_rows(data: Any) -> np.ndarray:
    if sparse.issparse(data):
        rows = np.repeat(np.arange(data.shape[0]), np.diff(data.indptr))
        found = np.zeros(data.shape[0], bool)
        found[rows[np.isnan(data.data)] if data.dtype.kind == "f" else rows[:0]] = True
        return found
    if data.dtype.kind == "f":
        found = np.isnan(data)
    elif data.dtype.kind in "mM":
        found = np.isnat(data)
    elif data.dtype.kind in "biuc":
        found = np.zeros(data.shape, bool)
    else:
        found = np.fromiter(map(is_missing, data.ravel().tolist()), bool, data.size).reshape(data.shape)
    return found if found.ndim == 1 else found.all(axis=1) & (found.shape[1] > 0)


def joined(
    views: Mapping[Hashable, Any], samples: Mapping[Hashable, Sequence[Hashable]]
) -> tuple[list[Hashable], dict[Hashable, Any]]:
    """Return the names of all samples, as they are met first, and every view with a row for each of them."""
    if set(samples) != set(views):
        raise InputError(f"samples must name the rows of every view, {list(views)}; it has {list(samples)}.")
    for name, own in samples.items():
        if len(set(own)) < len(own):
            twice = next(one for i, one in enumerate(own) if one in own[:i])
            raise InputError(f"View {name!r} has two rows for the sample {twice!r}.")
        if len(own) != len(as_views(upright(views[name]))):
            raise InputError(f"View {name!r} has {len(as_views(upright(views[name])))} rows, and {len(own)} names.")
    names = list(dict.fromkeys(one for name in views for one in samples[name]))
    place = {name: row for row, name in enumerate(names)}
    return names, {
        name: spread(as_views(upright(view)), np.array([place[one] for one in samples[name]]), len(names))
        for name, view in views.items()
    }


def spread(X: Views, rows: np.ndarray, n: int) -> Any:
    """Return samples as n of them, those that are there at these rows, and nothing at the others."""
    if isinstance(X, DictViews):
        return {name: spread(part, rows, n) for name, part in X.parts.items()}
    if isinstance(X, TableViews):
        import narwhals as nw

        mask, places = np.zeros(n, bool), np.zeros(n, np.int64)
        mask[rows], places[rows] = True, np.arange(len(rows))
        there_ = nw.new_series("there", mask.tolist(), nw.Boolean, backend=X.frame.implementation)
        return (
            X.frame[places]
            .select(*(nw.when(there_).then(nw.col(name)).alias(name) for name in X.frame.columns))
            .to_native()
        )
    data: Any = X.data if isinstance(X, ArrayViews) else np.asarray(X.column(), dtype=object)
    if sparse.issparse(data) or (data.ndim == 2 and data.dtype.kind in "biuf"):
        return placed(data.astype(np.float64), rows, n)
    out = np.full((n, *data.shape[1:]), None, dtype=object)
    out[rows] = data
    return out


def placed(values: Any, rows: np.ndarray, n: int) -> Any:
    """Return a matrix of n rows, dense or sparse: the values at these, and NaN at the others."""
    if not sparse.issparse(values):
        out = np.full((n, values.shape[1]), np.nan)
        out[rows] = values
        return out
    lost = np.setdiff1d(np.arange(n), rows)  # one NaN marks the row of a sparse matrix
    marks = sparse.csr_array((np.full(len(lost), np.nan), (lost, 0 * lost)), (n, values.shape[1]))
    places = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (n, len(rows)))
    return sparse.csr_array(places @ values + marks)


@dataclass(frozen=True)
class Gapped:
    """Columns that some samples lack, for those who read them whole: NaN, empty sequences, ids of −1."""

    #: True where whole columns are meant, as they were given.
    given = True

    def of(self, whole: Views) -> Views:
        """Return the samples, those that lack the view among them."""
        return GappedViews(whole)

    def __repr__(self) -> str:
        return "gapped"


class GappedViews(Views):
    """Samples of which some lack the view."""

    def __init__(self, whole: Views) -> None:
        super().__init__()
        self.whole = whole

    @property
    def labels(self) -> tuple[Any, ...]:  # type: ignore[override]
        """Those of the columns as they came."""
        return self.whole.labels

    def __len__(self) -> int:
        return len(self.whole)

    def select(self, columns: Columns) -> Views:
        return GappedViews(self.whole.select(columns))

    def rows(self, index: np.ndarray) -> Views:
        return GappedViews(self.whole.rows(index))

    def absent(self) -> np.ndarray:
        """Say who lacks the view."""
        return absent(self.whole)

    def matrix(self, gaps: bool = False) -> np.ndarray | sparse.csr_array:
        rows, known = there(self.whole)
        found: Any = known.matrix(gaps=True)
        if known is self.whole:
            return found
        return placed(found, rows, len(self))

    def column(self) -> Any:
        return self.whole.column()

    def native(self) -> Any:
        return self.whole.native()

    def ids(self) -> np.ndarray:
        rows, known = there(self.whole)
        out = np.full(len(self), -1, np.int64)
        out[rows] = known.ids() if len(rows) else 0
        return out

    def sequences(self, alphabet: str | Alphabet = "auto") -> SequenceSet:
        return self._spread(lambda known: known.sequences(alphabet), alphabet)

    def sequences_like(self, others: SequenceSet) -> SequenceSet:
        return self._spread(lambda known: known.sequences_like(others), others.alphabet)

    def _spread(self, read: Any, alphabet: Any) -> SequenceSet:
        """Return the sequences that are there, and empty ones in place of the others."""
        from .sequences import as_sequences

        rows, known = there(self.whole)
        if known is self.whole:
            return read(known)
        if not len(rows):
            return as_sequences([""] * len(self), "text" if isinstance(alphabet, str) else alphabet, on_short="zero")
        found: SequenceSet = read(known)
        lengths, places = np.zeros(len(self), np.int64), np.zeros(len(self), np.int64)
        lengths[rows], places[rows] = found.lengths, np.arange(len(rows))
        return found.rows(places).shortened(lengths)
