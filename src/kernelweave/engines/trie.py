"""A trie: one walk finds a k-mer and all its prefixes, whose sums are kept on the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Engine, as_pairs


class Trie(Engine):
    """Array-based trie with aggregated weights: each node holds the sum of all values added below it."""

    name = "trie"
    finds_prefixes = True

    def clear(self) -> None:
        self._keys = np.zeros(64, np.uint64)
        self._entries = np.full(64, -1)
        self._weights = np.zeros(64)
        self._ends = np.zeros(64, np.uint64)
        self._size = 1

    @staticmethod
    def can_hold(k: int, bits: int) -> bool:
        return k >= 1 and k * bits <= 64 and bits <= 32

    def add(self, features: ArrayLike, values: ArrayLike) -> None:
        from kernelweave._fast.tries import trie_add

        self._keys, self._entries, self._weights, self._ends, self._size = trie_add(
            self._keys, self._entries, self._weights, self._ends, self._size, *as_pairs(features, values),
            self.k, self.bits,
        )  # fmt: skip

    def lookup(self, features: ArrayLike) -> np.ndarray:
        return self.lookup_prefixes(features, np.arange(1, self.k + 1) == self.k)

    def lookup_prefixes(self, features: ArrayLike, beta: ArrayLike) -> np.ndarray:
        from kernelweave._fast.tries import trie_lookup

        features, beta = np.ascontiguousarray(features, np.uint64), np.ascontiguousarray(beta, np.float64)
        out = np.empty(len(features))
        trie_lookup(self._keys, self._entries, self._weights, features, self.k, self.bits, beta, out)
        return out

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        from kernelweave._fast.tries import trie_leaves

        nodes, features = trie_leaves(self._keys, self._entries, self._ends, self._size, self.bits)
        order = np.argsort(features)
        return features[order], self._weights[nodes[order]]
