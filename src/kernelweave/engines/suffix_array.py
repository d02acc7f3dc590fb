"""Suffix array with matching statistics: k-mers of any length and alphabet, on whole sequences."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Engine, as_pairs


class SuffixArray(Engine):
    """Keeps the added texts themselves; a k-mer is a range of their sorted suffixes, whatever k is.

    `add` and `lookup` of single features need k * bits <= 64; `add_sequences` and `lookup_sequences` do not.
    """

    name = "suffix"
    limit = "it holds texts, where all words of one length count, wherever they stand and as often as they occur"
    reads_texts = True

    @staticmethod
    def can_hold(k: int, bits: int) -> bool:
        return k >= 1 and bits >= 1

    def clear(self) -> None:
        self._texts: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []
        self._built: tuple | None = None

    def add(self, features: ArrayLike, values: ArrayLike) -> None:
        features, values = as_pairs(features, values)
        self.add_sequences(self._spell(features), np.arange(len(features) + 1) * self.k, values)

    def lookup(self, features: ArrayLike) -> np.ndarray:
        features = np.ascontiguousarray(features, np.uint64)
        return self.lookup_sequences(self._spell(features), np.arange(len(features) + 1) * self.k)

    def add_sequences(self, codes: np.ndarray, offsets: np.ndarray, coef: ArrayLike) -> None:
        self._texts.append(_joined(codes, offsets))
        lengths = np.diff(offsets) + 1
        self._weights.append(np.repeat(np.asarray(coef, np.float64), lengths))
        self._built = None

    def lookup_sequences(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from kernelweave._fast.kmers import sum_rows

        sums = self._build()[-1]
        lengths, ranks = self.matches(codes, offsets)
        values = np.where(lengths >= self.k, sums[ranks], 0.0) if len(sums) else np.zeros(len(lengths))
        out = np.zeros(len(offsets) - 1)
        sum_rows(values, np.asarray(offsets) + np.arange(len(offsets)), out)
        return out

    def matches(self, codes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Matching statistics: per place the longest match with the added texts (at most k letters), and its rank.

        Every sequence is followed by one more place, its end, where nothing matches.
        """
        from kernelweave._fast.suffix import matching_statistics

        text, ends, suffixes, places, _ = self._build()
        query = _joined(codes, offsets)
        lengths, ranks = np.zeros(len(query), np.int64), np.zeros(len(query), np.int64)
        matching_statistics(text, ends, suffixes, places, query, self.k, lengths, ranks)
        return lengths, ranks

    def sqnorm(self) -> float:
        values = self._groups()[1]
        return float(values @ values)

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        text = self._build()[0]
        starts, values = self._groups()
        features = np.zeros(len(starts), np.uint64)
        for d in range(self.k):
            features = (features << np.uint64(self.bits)) | text[starts + d].astype(np.uint64)
        return features, values

    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """A place and the value of every k-mer, in order."""
        text, ends, suffixes, _, sums = self._build()
        from kernelweave._fast.suffix import common_lengths

        first = (common_lengths(text, ends, suffixes, self.k) < self.k) & (ends[suffixes] - suffixes >= self.k)
        return suffixes[first], sums[first]

    def _spell(self, features: np.ndarray) -> np.ndarray:
        shifts = np.arange(self.k - 1, -1, -1) * self.bits
        mask = np.uint64((1 << self.bits) - 1)
        return ((features[:, None] >> shifts.astype(np.uint64)) & mask).astype(np.int64).ravel()

    def _build(self) -> tuple:
        from kernelweave._fast.suffix import common_lengths, group_sums, suffix_array, suffix_ends

        if self._built is None:
            text = np.concatenate([np.zeros(0, np.int64), *self._texts])
            weights = np.concatenate([np.zeros(0), *self._weights])
            self._texts, self._weights = [text], [weights]
            ends, suffixes = suffix_ends(text), suffix_array(text, self.k)
            places = np.empty(len(text), np.int64)
            places[suffixes] = np.arange(len(text))
            sums = group_sums(common_lengths(text, ends, suffixes, self.k), suffixes, ends, weights, self.k)
            self._built = (text, ends, suffixes, places, sums)
        return self._built


def _joined(codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sequences as one int64 text, each followed by -1; ambiguous letters are -1 too."""
    codes = np.asarray(codes)
    offsets = np.asarray(offsets)
    letters = codes.astype(np.int64)
    if codes.dtype == np.uint8:
        letters[codes == 255] = -1
    text = np.full(len(letters) + len(offsets) - 1, -1)
    text[np.arange(len(letters)) + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))] = letters
    return text
