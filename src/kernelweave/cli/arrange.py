"""From columns as they were read to samples as a kernel wants them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from .data import Data, Reading

if TYPE_CHECKING:
    import numpy as np

    from ..kernels import Kernel


def arranged(data: Data, kernel: Kernel, how: Reading, model: Any = None) -> tuple[Data, list[str] | None]:
    """Return the data with X as `kernel` reads it, and the names of its columns.

    Of a table only the columns that the kernel names are kept, numbers as they are and strings as sequences. A single
    column of sequences that the kernel does not name becomes X itself, so that such a model reads sequence files, too.

    Parameters
    ----------
    data : Data
    kernel : Kernel
    how : Reading
    model : fitted estimator, optional
        Whose columns and alphabets the data are to have.
    """
    from ..estimators.trained import alphabet_of

    if data.kind != "table":
        return data, None
    if model is not None and getattr(model, "feature_names_in_", None) is not None:
        names = [str(name) for name in model.feature_names_in_]
        _require(names, data)
    else:
        names = _named(kernel, data) or list(data.X)
    readers = {name: readers_of(kernel, name) for name in names}
    bare = len(names) == 1 and not _named(kernel, data) and {r.leaf.reads for r in readers[names[0]]} == {"sequences"}
    columns: dict[str, Any] = {}
    skipped: set[int] = set()
    for name in names:
        known = None if model is None else alphabet_of(model, None if bare else name)
        columns[name], left_out = _column(data, name, readers[name], how, known)
        skipped.update(left_out)
    data = replace(data, X=columns[names[0]] if bare else columns)
    return (_without(data, skipped) if skipped else data), names


def _named(kernel: Kernel, data: Data) -> list[str] | None:
    """Return the columns that a kernel names, in the order of the table; None where a part of it reads all."""
    from ..io.support import NamesOnly

    views = NamesOnly(tuple(data.X))
    found: set[Any] = set()
    for reader in _readers(kernel, views):
        if not reader.columns:
            return None
        found.update(views.select(reader.columns[0]).labels)
    return [name for name in data.X if name in found]


class Reader(NamedTuple):
    """A kernel at an end of an expression, the columns that it reads, and whether it has a rule for who lacks them."""

    columns: tuple[Any, ...]
    gapped: bool
    leaf: Any


def _readers(kernel: Kernel, views: Any) -> Iterator[Reader]:
    from ..io.support import requests_of

    for path, leaf in requests_of(kernel, views):
        columns = tuple(part for part in path if not hasattr(part, "of"))
        yield Reader(columns, len(columns) < len(path), leaf)


def readers_of(kernel: Kernel, name: str) -> list[Reader]:
    """Return the kernels at the ends of an expression that read this column."""
    from ..io.support import NamesOnly

    found = []
    for reader in _readers(kernel, NamesOnly((name,), strict=False)):
        first = reader.columns[0] if reader.columns else name
        if first == name or (isinstance(first, (list, tuple)) and name in first):
            found.append(reader)
    return found


def _column(data: Data, name: str, readers: list[Reader], how: Reading, alphabet: Any) -> tuple[Any, tuple[int, ...]]:
    """Return one column as it is to be read, and the rows that were left out for being short."""
    import numpy as np

    from ..categories import CATEGORIES
    from ..sequences import as_sequences

    values, leaves = data.X[name], [reader.leaf for reader in readers]
    if values.dtype.kind in "mM":
        return values[:, None] if any(leaf.reads == "numbers" for leaf in leaves) else _as_text(values), ()
    if values.dtype.kind != "O":
        if any(leaf.reads == "sequences" and leaf.alphabet != CATEGORIES for leaf in leaves):
            raise InputError(
                f"{data.source}: the column {name!r} holds numbers, but {leaves[0]!r} reads sequences or text."
            )
        return np.asarray(values, dtype=np.float64)[:, None], ()
    alphabets = {getattr(leaf, "alphabet", None) for leaf in leaves}
    if any(leaf.reads == "numbers" for leaf in leaves):
        row = next((i for i, value in enumerate(values) if not _is_number(value)), 0)
        raise InputError(
            f"{data.source}, column {name!r}: {str(values[row])[:40]!r} in data row {row + 1} is not a number. "
            "Correct it, leave the column out with --columns, or put a kernel for text on it."
        )
    if len(alphabets) != 1 or alphabets & {None, CATEGORIES} or any(reader.gapped for reader in readers):
        return values, ()  # every kernel reads the letters, and what is missing, in its own way
    asked: Any = next(iter(alphabets))
    chosen = asked if asked != "auto" else alphabet or how.alphabet
    try:
        found = as_sequences(values, chosen, ids=data.ids, **how.rules)
    except InputError as error:
        raise type(error)(f"{data.source}, column {name!r}: {error}") from None
    return found, found.notes.skipped


def _as_text(dates: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.where(np.isnat(dates), "", dates.astype(str)).astype(object)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _without(data: Data, skipped: set[int]) -> Data:
    """Leave rows out of everything; a set of sequences has left its own out already."""
    import numpy as np

    kept = np.setdiff1d(np.arange(len(data)), list(skipped))

    def thinned(column: Any) -> Any:
        if len(column) == len(kept):
            return column
        own = getattr(getattr(column, "notes", None), "skipped", ())
        return column[np.flatnonzero(np.isin(np.setdiff1d(np.arange(len(data)), list(own)), kept))]

    X = {name: thinned(column) for name, column in data.X.items()} if isinstance(data.X, dict) else thinned(data.X)
    y = None if data.y is None else data.y[kept]
    groups = None if data.groups is None else data.groups[kept]
    return replace(data, X=X, y=y, ids=[data.ids[i] for i in kept], groups=groups)


def _require(names: list[str], data: Data) -> None:
    missing = [name for name in names if name not in data.X]
    if missing:
        raise InputError(
            f"{data.source} lacks {'columns' if len(missing) > 1 else 'the column'} "
            f"{', '.join(map(repr, missing[:5]))} that the model was trained on; it has {_listed(tuple(data.X))}."
        )


def _listed(names: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, names[:8])) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def model_alphabet(model: Any) -> Any:
    """Return the alphabet of a model that reads sequences and nothing else."""
    from ..estimators.trained import alphabet_of

    return alphabet_of(model) or "auto"
