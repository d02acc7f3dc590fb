"""Some letters of every sequence, as a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .errors import InputError, InputTypeError
from .views import Columns, Views

if TYPE_CHECKING:
    from .sequences import Alphabet, SequenceSet


@dataclass(frozen=True)
class Letters:
    """Which letters of a sequence are seen: those of ``sequence[start:stop]``."""

    start: int = 0
    stop: int | None = None

    def of(self, whole: Views) -> Views:
        """Return the samples as seen through these letters."""
        return LetterViews(whole, self)

    def first(self, length: int) -> int:
        """Return where the letters begin in a sequence of so many."""
        return min(self.start, length) if self.start >= 0 else max(0, length + self.start)

    def __repr__(self) -> str:
        first = str(self.start or "")
        return f"letters[{first}:{'' if self.stop is None else self.stop}]"


class LetterViews(Views):
    """Some letters of every sequence of one column."""

    labels = (0,)

    def __init__(self, whole: Views, letters: Letters) -> None:
        super().__init__()
        self.whole, self.letters = whole, letters

    def __len__(self) -> int:
        return len(self.whole)

    def select(self, columns: Columns) -> Views:
        raise InputError(f"Parts of sequences have no columns, so .on({columns!r}) belongs outside of .part(...).")

    def rows(self, index: np.ndarray) -> Views:
        return LetterViews(self.whole.rows(index), self.letters)

    def matrix(self) -> np.ndarray | sparse.csr_array:
        raise InputTypeError("This kernel needs numbers, but .part(...) chooses letters of sequences.")

    def column(self) -> Any:
        return self.sequences()

    def native(self) -> Any:
        return list(self.sequences())

    def sequences(self, alphabet: str | Alphabet = "auto") -> SequenceSet:
        return self._stretch(self.whole.sequences(alphabet))

    def sequences_like(self, others: SequenceSet) -> SequenceSet:
        return self._stretch(self.whole.sequences_like(others))

    def _stretch(self, found: SequenceSet) -> SequenceSet:
        def make(whole: SequenceSet) -> SequenceSet:
            return whole.part(self.letters.start, self.letters.stop)

        return found.derived(repr(self.letters), make)
