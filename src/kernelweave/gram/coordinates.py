"""Features of some samples as coordinate descent needs them: a normal that is read and added to sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import clock
from ..kernels.sparse_rows import Rows
from ..kernels.weighted_degree import code_matrix
from ..views import Views
from .families import Family
from .scratch import Scratch

if TYPE_CHECKING:
    from .dense_features import DenseFeatureGram
    from .tiled import TiledGram

#: Samples that one compiled call reads or adds: a tenth of a second or so.
BURST = 10_000

#: Letters that are read off the sequences instead of being stored: at most the first, and so few that another SPARE
#: letters make no more words than there are sequences, so that their tables stay in the cache (measured).
MAX_SHORT, SPARE = 8, 3


@dataclass
class Descent:
    """Samples in feature space at given weights, with a normal Σ_i a[i] φ_i that follows the coefficients."""

    #: Parts of the normal that add up, each a `Space`.
    spaces: tuple[Any, ...]
    #: k(x, x) of every sample, and the part of it that no space has: that of features which no other sample has.
    diag: np.ndarray
    alone: np.ndarray
    #: What spaces of tables leave out.
    middles: tuple[Middle, ...] = ()

    @classmethod
    def of(cls, space: Any, diag: np.ndarray) -> Descent:
        """Return the samples as one space has them."""
        from .._fast.coordinate import stored

        alone = np.empty(len(diag))
        for part in _bursts(len(alone)):
            stored(space, *part, alone)
        return cls((space,), diag, np.subtract(diag, alone, out=alone))

    @property
    def alone_in_table(self) -> bool:
        """Whether one table has all there is."""
        return len(self.spaces) == 1 and len(self.middles) == 1

    def set(self, a: np.ndarray) -> None:
        """Make the normal anew from the coefficients: rounding starts afresh."""
        from .._fast.coordinate import rebuild

        if self.alone_in_table:
            self.middles[0].set(a)
            return
        for part in _bursts(len(a)):
            rebuild(self.spaces, a, *part)

    def visit(self, *problem: Any) -> tuple[int, float, float]:
        """Visit some samples; see `_fast.coordinate.visit`, which takes what comes after the diagonal."""
        from .._fast.coordinate import visit, visit_table

        if self.alone_in_table:
            space = self.spaces[0]
            return visit_table(space.table, space.which, space.vector, self.diag, *problem)
        return visit(self.spaces, self.alone, self.diag, *problem)

    def f(self, a: np.ndarray) -> np.ndarray:
        """Return K a, where the normal is that of a."""
        from .._fast.coordinate import read_all

        out = np.empty(len(a))
        if self.alone_in_table:
            out[:] = self.middles[0].times(self.spaces[0].vector[0])
        else:
            for part in _bursts(len(a)):
                read_all(self.spaces, self.alone, a, *part, out)
        for middle in self.middles:
            out += middle.missing(a)
        return out

    def constant(self, a: np.ndarray) -> float:
        """Return what the spaces leave out of K a for all samples alike, where the normal is that of a."""
        return sum(middle.constant(float(a.sum())) for middle in self.middles)

    def linear(self, linear: np.ndarray, total: float) -> np.ndarray:
        """Return the linear part of a problem in the coefficients, with what the spaces leave out of K."""
        return linear if total == 0.0 else np.sum([linear, *(total * one.drift() for one in self.middles)], axis=0)


def _bursts(n: int) -> list[tuple[int, int]]:
    """Return ranges of samples, each of which takes a tenth of a second or so."""
    return [(start, min(start + BURST, n)) for start in range(0, max(n, 1), BURST)]


class Coordinates:
    """The features of some samples. Their weights come later, and may change; their structure does not."""

    def at(self, weights: np.ndarray) -> Descent:
        """Return the samples at these weights, with a normal of zero."""
        raise NotImplementedError


class WordCoordinates(Coordinates):
    """The words of a weighted degree kernel at their positions, for one family of terms.

    Short words of DNA are read off the sequences, longer ones are kept where two samples share them: 4 bytes a letter,
    and about 20 bytes for every stretch of words that the same samples share. Words that may be moved are written at
    all places that they may be moved to, and read at one: all of this as often as there are places.
    """

    def __init__(self, family: Family, X: Views, factors: np.ndarray) -> None:
        from .._fast.bits import ambiguous_rows, pack_words
        from .._fast.coordinate import shared_words

        self.family, self.factors = family, factors
        own = family.sequences(X)
        self.codes, size = code_matrix(own), own.alphabet.size
        n, self.length = self.codes.shape
        roots = family.roots(X)
        self.roots = np.ones(n) if roots is None else roots
        self.doubtful = ambiguous_rows(self.codes, size)
        self.moves = sorted(family.moves(), key=lambda move: abs(move[0]))  # in place comes first
        degree, moved = family.core.degree, moved_codes(self.codes, [shift for shift, _ in self.moves])
        exact = size == 4 and degree <= 32
        self.short = short_letters(n, degree) if exact and not len(self.doubtful) else 0
        self.words = np.ascontiguousarray(pack_words(moved).T) if self.short else np.zeros((len(moved), 1), np.uint64)
        self.leaf, spans, self.positions = shared_words(moved, degree, self.short, size, exact, clock.check)
        self.spans, self.above = spans[:, :2].astype(np.int16), np.ascontiguousarray(spans[:, 2])

    def at(self, weights: np.ndarray) -> Descent:
        from .._fast.coordinate import nothing

        table = fitting(self.family.table(self.length, (weights * self.factors)[self.family.numbers]))
        sums = np.zeros((self.length, table.shape[1] + 1))
        np.cumsum(table, axis=1, out=sums[:, 1:])
        nodes = np.zeros((len(self.spans), 2))
        nodes[:, 1] = sums[self.positions, self.spans[:, 1]] - sums[self.positions, self.spans[:, 0]]
        width = sum(16 ** (j + 1) for j in range(self.short // 2))
        top = np.zeros((self.length if self.short else 0, width))
        moves = np.array([weight for _, weight in self.moves])
        beta = np.array([weight * moved_weights(table[:, : self.short], shift) for shift, weight in self.moves])
        in_place = self.roots**2 * own_values(self.codes, self.doubtful, moves[0] * table)
        space = nothing(len(self.roots))._replace(
            moves=moves, words=self.words, top=top, beta=beta, leaf=self.leaf, nodes=nodes, above=self.above,
            roots=self.roots,
        )  # fmt: skip
        found = Descent.of(space, in_place)
        return Descent(found.spaces, in_place + self.roots**2 * self._moved_values(table), found.alone)

    def _moved_values(self, table: np.ndarray) -> np.ndarray:
        """Return what words of every sequence that agree with its own words elsewhere add to k(x, x)."""
        from .._fast.weighted_degree import cumulative, wd_pairs

        total, part = np.zeros(len(self.codes)), np.empty(len(self.codes))
        for shift, weight in self.moves:
            if 0 < shift < self.length:
                left, right = (np.ascontiguousarray(self.codes[:, cut]) for cut in (slice(shift, None), slice(-shift)))
                wd_pairs(left, right, cumulative(2.0 * weight * table[: self.length - shift]), part)
                total += part
        return total


class ListedCoordinates(Coordinates):
    """Listed features with their counts, those of a single sample left out."""

    def __init__(self, parts: Sequence[tuple[int, Rows]], factors: np.ndarray) -> None:
        self.factors, self.n = factors, len(parts[0][1])
        self.diags = [(m, part.diag) for m, part in parts]
        found, first = [], 0
        terms, sizes = [], []
        for m, part in parts:
            clock.check()
            often = np.bincount(part.ids, minlength=part.n_columns) > 1
            rows = np.repeat(np.arange(self.n), np.diff(part.starts))
            kept = often[part.ids]
            values = part.counts[kept].astype(np.float64)
            if part.scale is not None:
                values *= part.scale[rows[kept]]
            numbers = np.cumsum(often) - 1 + first
            found.append((rows[kept], numbers[part.ids[kept]], values))
            n_kept = int(often.sum())
            first += n_kept
            terms.append(np.full(n_kept, m))
            sizes.append(np.full(n_kept, part.weight))
        rows, slots, self.counts = (np.concatenate(column) for column in zip(*found, strict=True))
        if len(found) > 1:
            order = np.argsort(rows, kind="stable")
            slots, self.counts = slots[order], self.counts[order]
        self.slots = slots.astype(np.int32)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.n))]).astype(np.int64)
        self.term_of, self.weight_of = np.concatenate(terms), np.concatenate(sizes)

    def at(self, weights: np.ndarray) -> Descent:
        from .._fast.coordinate import nothing

        scaled = weights * self.factors
        normal = np.zeros((len(self.term_of), 2))
        normal[:, 1] = scaled[self.term_of] * self.weight_of
        diag = np.sum([scaled[m] * diag for m, diag in self.diags], axis=0)
        space = nothing(self.n)._replace(starts=self.starts, slots=self.slots, counts=self.counts, normal=normal)
        return Descent.of(space, diag)


class MatrixCoordinates(Coordinates):
    """Matrices of the samples, for terms that list no features: a move adds a row of their sum to all values.

    Parameters
    ----------
    matrices : array of shape (n_terms, n, n)
    """

    def __init__(self, matrices: np.ndarray) -> None:
        self.matrices = matrices

    def at(self, weights: np.ndarray) -> Descent:
        from .._fast.coordinate import nothing
        from .._fast.dense import mix

        used, n = np.flatnonzero(weights), self.matrices.shape[1]
        if len(used) == 0:
            return Descent.of(nothing(n), np.zeros(n))
        K = mix(self.matrices, used, weights[used])
        return Descent.of(nothing(n)._replace(K=K, f=np.zeros(n)), np.diagonal(K).copy())


class TiledCoordinates(Coordinates):
    """Samples by the matrix of all terms at the weights in question, made anew where these change."""

    def __init__(self, gram: TiledGram, rows: np.ndarray) -> None:
        self.gram, self.rows, self.scratch = gram, rows, Scratch()

    def at(self, weights: np.ndarray) -> Descent:
        from .._fast.coordinate import nothing

        n = len(self.rows)
        K = self.gram.submatrix(self.rows, weights, self.scratch.matrix(n, np.float64))
        return Descent.of(nothing(n)._replace(K=K, f=np.zeros(n)), np.diagonal(K).copy())


class TableCoordinates(Coordinates):
    """Samples that are rows of a table: φ less its middle.

    The middle is left out, which is as if every K_m were centred: K a then lacks a constant, and Σ a times `drift`.
    Descent gets along with that where Σ a is given, and is the quicker for it.
    """

    def __init__(self, gram: DenseFeatureGram, rows: np.ndarray) -> None:
        self.gram, self.rows = gram, np.asarray(rows, dtype=np.int64)
        self._table, self._which = gram.embedding.placed(self.rows)

    def at(self, weights: np.ndarray) -> Descent:
        from .._fast.coordinate import nothing, stored

        scales, embedding = self.gram.column_scales(weights), self.gram.embedding
        vector = np.vstack([np.zeros(embedding.size), scales])
        n, diag = len(self.rows), np.empty(len(self.rows))
        space = nothing(n)._replace(table=self._table, which=self._which, vector=vector)
        for part in _bursts(n):
            stored(space, *part, diag)
        return Descent((space,), diag, np.zeros(n), (Middle(space, embedding.middle),))


@dataclass
class Middle:
    """The middle of the rows of a table, which its space leaves out."""

    space: Any
    middle: np.ndarray

    def set(self, a: np.ndarray) -> None:
        """Make the normal anew from the coefficients."""
        from .._fast.number_tables import table_sums

        total = np.zeros((1, len(self.middle)))
        for first, last in _bursts(len(a)):
            table_sums(self.space.table, self.space.which[first:last], a[first:last, None], total)
        np.multiply(total[0], self.space.vector[1], out=self.space.vector[0])

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return (φ − middle)·vector of every sample."""
        from .._fast.number_tables import table_times

        out = np.empty((len(self.space.which), 1))
        for first, last in _bursts(len(out)):
            table_times(self.space.table, self.space.which[first:last], vector[None], out[first:last])
        return out[:, 0]

    def drift(self) -> np.ndarray:
        """Return middle·(φ − middle) of every sample."""
        return self.times(self.space.vector[1] * self.middle)

    def constant(self, total: float) -> float:
        """Return what the space lacks of K a for all samples alike, where its normal is that of a, and total = Σ a."""
        vector, scales = self.space.vector
        return float(self.middle @ vector) + total * float(scales @ self.middle**2)

    def missing(self, a: np.ndarray) -> np.ndarray | float:
        """Return all that the space lacks of K a."""
        total = float(a.sum())
        constant = self.constant(total)
        if abs(total) <= 1e-9 * float(np.abs(a).sum()):  # nothing but rounding
            return constant
        return constant + total * self.drift()


class JoinedCoordinates(Coordinates):
    """Several coordinates of the same samples, whose kernels add up.

    Parameters
    ----------
    parts : list of (coordinates, terms)
        Which of the weights each of them takes.
    """

    def __init__(self, parts: Sequence[tuple[Coordinates, slice]]) -> None:
        self.parts = parts

    def at(self, weights: np.ndarray) -> Descent:
        found = [part.at(weights[terms]) for part, terms in self.parts]
        spaces = tuple(space for one in found for space in one.spaces)
        diag, alone = (np.sum(each, axis=0) for each in zip(*((one.diag, one.alone) for one in found), strict=True))
        return Descent(spaces, diag, alone, tuple(middle for one in found for middle in one.middles))


def moved_codes(codes: np.ndarray, shifts: Sequence[int]) -> np.ndarray:
    """Return codes (n, length) moved by every shift, (n · n_shifts, length), those of a sample side by side."""
    (n, length), n_shifts = codes.shape, len(shifts)
    if list(shifts) == [0]:
        return codes
    out = np.full((n, n_shifts, length), 255, np.uint8)
    for number, shift in enumerate(shifts):
        if abs(shift) < length:
            low, high = max(0, -shift), min(length, length - shift)
            out[:, number, low:high] = codes[:, low + shift : high + shift]
    return out.reshape(n * n_shifts, length)


def moved_weights(table: np.ndarray, shift: int) -> np.ndarray:
    """Return weights (length, degree) of words that come from `shift` places on: zero where they were not whole."""
    length, degree = table.shape
    start, end = np.arange(length)[:, None] + shift, np.arange(length)[:, None] + shift + np.arange(1, degree + 1)
    return np.where((start >= 0) & (end <= length), table, 0.0)


def short_letters(n: int, degree: int) -> int:
    """Return how many letters are read off the sequences: an even number that grows with them."""
    short = 2
    while short + 2 <= min(MAX_SHORT, degree) and 4 ** (short + SPARE) <= n:
        short += 2
    return short if degree >= 2 else 0


def fitting(table: np.ndarray) -> np.ndarray:
    """Return the weights of every position and degree, (length, degree), zero where the word would leave the window."""
    length, degree = table.shape
    return np.where(np.arange(length)[:, None] + np.arange(1, degree + 1) <= length, table, 0.0)


def own_values(codes: np.ndarray, doubtful: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return k(x, x) of every sequence at these weights: the same for all whose letters are known."""
    from .._fast.weighted_degree import cumulative, wd_pairs

    out = np.full(len(codes), fitting(table).sum())
    if len(doubtful):
        some, part = codes[doubtful], np.empty(len(doubtful))
        wd_pairs(some, some, cumulative(table), part)
        out[doubtful] = part
    return out
