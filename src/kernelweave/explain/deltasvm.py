"""The weights of all words of a few letters, as deltaSVM keeps them: a table that scores variants without a model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from ..estimators.fitted import fitted_model
from ..io.atomic import AtomicFile
from ..io.streams import Source
from ..parallel import blocks
from ..scan.scanner import machine_of
from ..sequences import DNA
from .haplotypes import PieceScorer, encoded, word_span

#: Longest words that are listed: a table of them takes 128 MB.
MAX_K = 12
#: Words that are scored or written at a time.
BLOCK_WORDS = 1 << 16


@dataclass(frozen=True)
class KmerWeights:
    """weights[u] of every DNA word u of k letters, by its number: two bits a letter (A, C, G, T), the first on top.

    It scores a stretch of letters by the sum of the weights of its words, and so serves as a model for variants.
    """

    k: int
    weights: np.ndarray

    @property
    def flank(self) -> int:
        """Letters on either side of a variant that its score depends on."""
        return self.k - 1

    @property
    def about(self) -> str:
        """What the score is, in words."""
        return f"sum of the weights of all words of {self.k} letters that cover the variant"

    @cached_property
    def both_strands(self) -> bool:
        """Whether every word weighs as much as its reverse complement."""
        return bool(np.allclose(self.weights, self.weights[reverse_numbers(self.k)], rtol=1e-9, atol=1e-12))

    def scores(self, texts: Sequence[bytes]) -> np.ndarray:
        """Return the sums of the weights of the words of texts; words with unknown letters add nothing."""
        from .._fast.features import spectrum_keys

        codes, offsets = encoded(texts, DNA)
        keys, starts = spectrum_keys(codes, offsets, self.k, 2, DNA.size)
        rows = np.repeat(np.arange(len(texts)), np.diff(starts))
        return np.bincount(rows, self.weights[keys], minlength=len(texts))

    def save(self, path: str | os.PathLike) -> None:
        """Write word and weight, a line each; of a word and its reverse complement only one, if they weigh the same."""
        numbers = np.arange(4**self.k)
        if self.both_strands:
            numbers = numbers[numbers <= reverse_numbers(self.k)]
        with AtomicFile(path) as out:
            for part in blocks(len(numbers), BLOCK_WORDS):
                words = word_texts(numbers[part], self.k)
                rows = zip(words, self.weights[numbers[part]].tolist(), strict=True)
                out.file.write("".join(f"{word}\t{weight!r}\n" for word, weight in rows).encode())


def kmer_weights(model: Any, k: int | None = None, *, label: Any = None) -> KmerWeights:
    """Return the weights of all DNA words of k letters: the decision value of each as a sequence, without intercept.

    The sum over the words of a sequence is its decision value (but for the intercept) where all words of the model have
    k letters, or gaps that make them as long, and nothing is divided by norms. Otherwise it is deltaSVM's stand-in
    for it.

    Parameters
    ----------
    model : fitted estimator of one view of DNA, whose words count anywhere
    k : int or None
        From the letters of the longest word of the model, which None stands for, to 12.
    label : class label, where there are more than two

    Examples
    --------
    >>> from kernelweave import MKLClassifier, Spectrum
    >>> model = MKLClassifier(Spectrum(k=3)).fit(["GATTACA", "TGATTAC", "CCCCCCC", "GGGGCCC"], [1, 1, 0, 0])
    >>> weights = kmer_weights(model)
    >>> bool(abs(weights.scores([b"GATTA"])[0] + model.intercept_ - model.decision_function(["GATTA"])[0]) < 1e-9)
    True
    """
    fitted = fitted_model(model)
    span, _ = word_span(fitted)
    if span is None:
        raise InputError("A table of words is for models whose words count anywhere, such as Spectrum and GappedKmer.")
    k = span if k is None else k
    if not (isinstance(k, (int, np.integer)) and span <= k <= MAX_K):
        raise InputError(f"k must be a whole number from {span}, the longest word of the model, to {MAX_K}; got {k!r}.")
    machine = machine_of(fitted, label)
    read, intercept = PieceScorer(fitted, machine, "sum", "+", k - 1, 1), float(fitted.intercepts[machine])
    weights = np.empty(4**k)
    for part in blocks(len(weights), BLOCK_WORDS):
        texts = [word.encode() for word in word_texts(np.arange(part.start, part.stop), k)]
        weights[part] = read.scores(texts) - intercept
    return KmerWeights(int(k), weights)


def read_kmer_weights(path: str | os.PathLike) -> KmerWeights:
    """Read a table of words and weights, plain or gzip: all words of k letters, or one of each pair of strands.

    Raises
    ------
    InputError
        Where a line is not a word and a number, where words differ in length, come twice, or are missing.
    """
    with Source(path) as source:
        lines = source.read().decode("utf-8", "backslashreplace").splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    k = len(rows[0][0]) if rows else 0
    if not 1 <= k <= MAX_K:
        raise InputError(
            f"{source.name} is not a table of words: a line is a word of 1 to {MAX_K} letters and a number."
        )
    for number, row in enumerate(rows, 1):
        if len(row) != 2 or len(row[0]) != k or not _is_number(row[1]):
            raise InputError(
                f"{source.name}, row {number}: a word of {k} letters and a number are needed; got {row!r}."
            )
    codes = DNA.table[np.frombuffer("".join(row[0] for row in rows).encode("latin-1", "replace"), np.uint8)]
    if codes.size != k * len(rows) or (codes >= DNA.size).any():
        raise InputError(f"{source.name}: words are made of A, C, G and T.")
    numbers = codes.reshape(-1, k).astype(np.int64) @ 4 ** np.arange(k)[::-1]
    if len(np.unique(numbers)) < len(numbers):
        raise InputError(f"{source.name}: a word comes twice.")
    weights = np.full(4**k, np.nan)
    weights[numbers] = [float(row[1]) for row in rows]
    weights = np.where(np.isnan(weights), weights[reverse_numbers(k)], weights)
    missing = np.flatnonzero(np.isnan(weights))
    if len(missing):
        word = word_texts(missing[:1], k)[0]
        raise InputError(f"{source.name} lacks {len(missing):,} of {4**k:,} words of {k} letters, such as {word}.")
    return KmerWeights(k, weights)


def word_texts(numbers: np.ndarray, k: int) -> list[str]:
    """Return words by their numbers."""
    codes = numbers[:, None] >> (2 * np.arange(k)[::-1]) & 3
    text = DNA.byte_of[codes].tobytes().decode()
    return [text[i : i + k] for i in range(0, len(text), k)]


def reverse_numbers(k: int) -> np.ndarray:
    """Return the number of the reverse complement of every word of k letters."""
    out, rest = np.zeros(4**k, np.int64), np.arange(4**k)
    for _ in range(k):
        out = out << 2 | (3 - (rest & 3))
        rest = rest >> 2
    return out


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
