"""Engines: a sparse vector indexed by k-mers, with three verbs: clear, add, lookup.

A feature is a k-mer as a uint64: `bits` bits a letter, the first letter on top. Sequences come as codes (N,) uint8
with offsets (n + 1,) int64; code 255 is an ambiguous letter, and k-mers that hold one do not count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kernelweave.errors import InputError


class Engine(ABC):
    """The vector v with v[u] = sum of the values added for the k-mer u."""

    name: ClassVar[str]
    #: What it cannot hold, in words.
    limit: ClassVar[str] = "its words take 64 bits at the most"
    #: True where one look-up also finds the sums of all that begins like a k-mer: `lookup_prefixes`.
    finds_prefixes: ClassVar[bool] = False
    #: True where whole texts are added and looked up rather than one k-mer after another.
    reads_texts: ClassVar[bool] = False

    def __init__(self, k: int, bits: int = 2):
        if not self.can_hold(k, bits):
            raise InputError(
                f"{type(self).__name__} cannot hold k-mers of {k} letters of {bits} bits. "
                "Use engines.choose(k, bits), which finds an engine that can."
            )
        self.k = k
        self.bits = bits
        self.clear()

    @staticmethod
    def can_hold(k: int, bits: int) -> bool:
        """Whether this engine works for k-mers of that length."""
        return k >= 1 and k * bits <= 64

    @abstractmethod
    def clear(self) -> None:
        """Set v to zero."""

    @abstractmethod
    def add(self, features: ArrayLike, values: ArrayLike) -> None:
        """v[features[i]] += values[i]; features may repeat."""

    @abstractmethod
    def lookup(self, features: ArrayLike) -> np.ndarray:
        """v[features], zero where nothing was added."""

    def lookup_prefixes(self, features: ArrayLike, beta: ArrayLike) -> np.ndarray:
        """Sum over d = 1 .. k of beta[d - 1] times the sum of all values whose k-mers share the first d letters."""
        raise NotImplementedError

    @abstractmethod
    def items(self) -> tuple[np.ndarray, np.ndarray]:
        """Features (sorted) and values of all that is stored."""

    def sqnorm(self) -> float:
        """Squared Euclidean norm of v."""
        values = self.items()[1]
        return float(values @ values)

    def add_sequences(self, codes: np.ndarray, offsets: np.ndarray, coef: ArrayLike) -> None:
        """V += sum over sequences of coef[r] * (counts of its k-mers)."""
        from kernelweave._fast.kmers import kmers

        features, starts = kmers(codes, offsets, self.k, self.bits)
        self.add(features, np.repeat(np.asarray(coef, np.float64), np.diff(starts)))

    def lookup_sequences(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n,): inner product of v with the k-mer counts of every sequence."""
        from kernelweave._fast.kmers import kmers, sum_rows

        features, starts = kmers(codes, offsets, self.k, self.bits)
        out = np.zeros(len(starts) - 1)
        sum_rows(self.lookup(features), starts, out)
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k}, bits={self.bits})"


def as_pairs(features: ArrayLike, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Features as uint64 and values as float64, of one length."""
    features = np.ascontiguousarray(features, np.uint64)
    values = np.ascontiguousarray(np.broadcast_to(np.asarray(values, np.float64), features.shape))
    return features, values
