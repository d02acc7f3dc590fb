"""A hash table with open addressing: reads and writes in constant time, memory as needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Engine, as_pairs


class HashTable(Engine):
    """Any k-mer of 64 bits; quick to add to and to ask, also in turns."""

    name = "hash"

    def clear(self) -> None:
        self._keys = np.zeros(64, np.uint64)
        self._entries = np.full(64, -1)
        self._weights = np.zeros(64)
        self._size = 0

    def add(self, features: ArrayLike, values: ArrayLike) -> None:
        from kernelweave._fast.tables import hash_add

        self._keys, self._entries, self._weights, self._size = hash_add(
            self._keys, self._entries, self._weights, self._size, *as_pairs(features, values)
        )

    def lookup(self, features: ArrayLike) -> np.ndarray:
        from kernelweave._fast.tables import hash_lookup

        features = np.ascontiguousarray(features, np.uint64)
        out = np.empty(len(features))
        hash_lookup(self._keys, self._entries, self._weights, features, out)
        return out

    def sqnorm(self) -> float:
        weights = self._weights[: self._size]
        return float(weights @ weights)

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(self._entries >= 0)
        used = used[np.argsort(self._keys[used])]
        return self._keys[used], self._weights[self._entries[used]]
