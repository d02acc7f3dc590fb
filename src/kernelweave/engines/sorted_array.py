"""Sorted pairs of k-mer and value: the least memory, any k-mer of 64 bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Engine, as_pairs


class SortedArray(Engine):
    """Additions are collected and sorted in at the next question; lookup is a binary search."""

    name = "sorted"

    def clear(self) -> None:
        self._features = np.zeros(0, np.uint64)
        self._values = np.zeros(0)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, features: ArrayLike, values: ArrayLike) -> None:
        features, values = as_pairs(features, values)
        self._waiting.append((features.copy(), values.copy()))

    def _settle(self) -> None:
        if not self._waiting:
            return
        features = np.concatenate([self._features, *(f for f, _ in self._waiting)])
        values = np.concatenate([self._values, *(v for _, v in self._waiting)])
        self._waiting = []
        order = np.argsort(features, kind="stable")
        features, values = features[order], values[order]
        first = np.flatnonzero(np.concatenate(([True], features[1:] != features[:-1]))) if len(features) else order
        self._features = features[first]
        self._values = np.add.reduceat(values, first) if len(first) else values

    def lookup(self, features: ArrayLike) -> np.ndarray:
        from kernelweave._fast.tables import sorted_lookup

        self._settle()
        features = np.ascontiguousarray(features, np.uint64)
        out = np.empty(len(features))
        sorted_lookup(self._features, self._values, features, out)
        return out

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        self._settle()
        return self._features, self._values
