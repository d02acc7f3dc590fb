"""Support samples as they come out of a model file: columns without the container that they came in."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ..sequences import Alphabet, SequenceSet
from ..views import Columns, Views


class NotKept(InputError):
    """Something was asked of support samples that prediction never needs, so that the file does not hold it."""


@dataclass
class KeptColumn:
    """One column: its numbers, where a kernel reads numbers or ids; its sequences, by the alphabet asked for."""

    values: np.ndarray | None = None
    sequences: dict[str | Alphabet, SequenceSet] = field(default_factory=dict)

    def absent(self) -> np.ndarray:
        """Say which values are missing: NaN, or without a letter."""
        if self.values is not None:
            return np.isnan(self.values) if self.values.dtype.kind == "f" else np.zeros(len(self.values), bool)
        found = next(iter(self.sequences.values()))
        return found.lengths == 0

    def rows(self, index: np.ndarray) -> KeptColumn:
        """Return some samples of the column."""
        subsets = {id(found): found.rows(index) for found in self.sequences.values()}
        return KeptColumn(
            None if self.values is None else self.values[index],
            {name: subsets[id(found)] for name, found in self.sequences.items()},
        )


class KeptViews(Views):
    """Named columns, of which only those are there that the model needs.

    Parameters
    ----------
    n : int
        Samples.
    labels : tuple
        Names of all columns that there were, so that numbers and slices find the right ones.
    columns : dict of int to KeptColumn
        Those that are there, by position.
    order : {"C", "F"}
        How a matrix of several columns lies in memory: as it did on fitting, so that sums round the same way.
    """

    def __init__(
        self, n: int, labels: tuple[Hashable, ...], columns: Mapping[int, KeptColumn], order: str = "C"
    ) -> None:
        super().__init__()
        self.n, self.labels, self.columns, self.order = n, labels, dict(columns), order

    def __len__(self) -> int:
        return self.n

    def select(self, columns: Columns) -> Views:
        if isinstance(columns, slice):
            picked = list(range(len(self.labels)))[columns]
        else:
            picked = [self._position(name) for name in (columns if isinstance(columns, (list, tuple)) else [columns])]
        there = {new: self.columns[old] for new, old in enumerate(picked) if old in self.columns}
        return KeptViews(self.n, tuple(self.labels[p] for p in picked), there, self.order)

    def _position(self, name: Hashable) -> int:
        if name in self.labels:
            return self.labels.index(name)
        if isinstance(name, (int, np.integer)) and -len(self.labels) <= name < len(self.labels):
            return int(name) % len(self.labels)
        raise InputError(f"The model was fitted on data without a column {name!r}.")

    def rows(self, index: np.ndarray) -> Views:
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index
        there = {position: column.rows(index) for position, column in self.columns.items()}
        return KeptViews(len(index), self.labels, there, self.order)

    def absent(self) -> np.ndarray:
        """Say which samples have nothing in any of the columns that were kept."""
        found = [column.absent() for column in self.columns.values()]
        return np.logical_and.reduce(found) if found else np.zeros(self.n, bool)

    def matrix(self, gaps: bool = False) -> np.ndarray:
        columns = [np.asarray(self._values(p), dtype=np.float64) for p in range(len(self.labels))]
        found = np.asarray(np.column_stack(columns), order="F" if self.order == "F" else "C")
        if not gaps and not np.isfinite(found).all():
            raise InputError("The model file has gaps in a column that a kernel reads without a rule for them.")
        return found

    def column(self) -> Any:
        return self._values(self._single())

    def native(self) -> Any:
        return {label: self._values(p) for p, label in enumerate(self.labels)}

    def sequences(self, alphabet: str | Alphabet = "auto") -> SequenceSet:
        there = self.columns.get(self._single(), KeptColumn()).sequences
        if alphabet not in there:
            raise NotKept(f"The model file keeps no {alphabet!r} sequences of column {self.labels[0]!r}.")
        return there[alphabet]

    def _single(self) -> int:
        if len(self.labels) != 1:
            raise InputError(f"One column is needed here, but there are {len(self.labels)}; choose one with .on(...).")
        return 0

    def _values(self, position: int) -> np.ndarray:
        values = self.columns.get(position, KeptColumn()).values
        if values is None:
            raise NotKept(f"The model file keeps no numbers of column {self.labels[position]!r}.")
        return values


class UnreadViews(Views):
    """Samples of which prediction reads nothing, so that nothing was kept but their number."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def __len__(self) -> int:
        return self.n

    @property
    def labels(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        """Not known."""
        raise NotKept("The model file keeps nothing of these samples: no term of the model reads them.")

    def select(self, columns: Columns) -> Views:
        return self

    def rows(self, index: np.ndarray) -> Views:
        index = np.asarray(index)
        return UnreadViews(int(index.sum()) if index.dtype == bool else len(index))

    def matrix(self, gaps: bool = False) -> np.ndarray:
        return self.column()

    def column(self) -> Any:
        return self.labels

    def native(self) -> Any:
        return self.labels
