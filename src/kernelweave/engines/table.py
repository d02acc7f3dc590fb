"""The explicit map: one number for every possible k-mer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Engine, as_pairs

#: Largest table, in bits of the index: 2^28 numbers are 2 GB.
MAX_INDEX_BITS = 28


class Table(Engine):
    """Direct reads and writes; memory 2^(k * bits). Best for short k-mers of small alphabets."""

    name = "table"
    limit = f"it has a number for every possible word, which may take {MAX_INDEX_BITS} bits at the most"

    @staticmethod
    def can_hold(k: int, bits: int) -> bool:
        return k >= 1 and k * bits <= MAX_INDEX_BITS

    def clear(self) -> None:
        self._values = np.zeros(1 << (self.k * self.bits))

    def add(self, features: ArrayLike, values: ArrayLike) -> None:
        from kernelweave._fast.tables import table_add

        table_add(self._values, *as_pairs(features, values))

    def lookup(self, features: ArrayLike) -> np.ndarray:
        return self._values[np.asarray(features, np.uint64)]

    def sqnorm(self) -> float:
        return float(self._values @ self._values)

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        features = np.flatnonzero(self._values)
        return features.astype(np.uint64), self._values[features]
