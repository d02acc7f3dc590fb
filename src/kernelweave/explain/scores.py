"""Scores of all words of a few letters, from the weights of the words of all lengths that overlap them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels.weighted_degree import code_matrix
from ..sequences import Alphabet, as_sequences
from .kmers import KmerTable, letters_of, sorted_table
from .normals import FreeWords, PlacedWords, chosen, free_words, placed_words

#: Words of one length beyond which a list of all of them is hopeless.
MAX_WORDS = 1 << 22


@dataclass(frozen=True)
class KmerScores:
    """Scores of all words of `order` letters at all positions: values[u, p], with kmers[u] and positions[p].

    `positions` is [−1] for words that count anywhere.
    """

    values: np.ndarray
    positions: np.ndarray
    order: int
    letters: str
    view: Hashable = None

    @cached_property
    def kmers(self) -> np.ndarray:
        """All words of `order` letters, in the order of the rows of `values`."""
        return np.array(["".join(word) for word in product(self.letters, repeat=self.order)])

    def table(self, top: int = 20) -> KmerTable:
        """Return the words with the largest |score| as a table of kmer, position and weight."""
        flat = np.abs(self.values).ravel()
        best = np.argpartition(-flat, min(top, len(flat) - 1))[:top]
        u, p = np.unravel_index(best, self.values.shape)
        return sorted_table({"kmer": self.kmers[u], "position": self.positions[p], "weight": self.values[u, p]}, top)


class ScoredWords:
    """The words of some terms on one view, all placed or all free."""

    def __init__(self, model: Any, term: Any, machine: int) -> None:
        fitted, pieces, coef = chosen(model, term, machine)
        placed = placed_words(fitted, pieces, coef)
        self.free = [_checked(part) for part in free_words(fitted, pieces, coef)]
        found: list[PlacedWords | FreeWords] = [*placed, *self.free]
        kinds = {(repr(words.view), words.support.alphabet, isinstance(words, PlacedWords)) for words in found}
        if len(kinds) != 1:
            raise InputError(
                "These terms see several views, or some have words with positions and others without; choose with "
                "term=...: word_views(model) lists what goes together."
            )
        self.placed: PlacedWords | None = placed[0] if placed else None
        self.support, self.view = found[0].support, found[0].view
        self.alphabet: Alphabet = self.support.alphabet
        self.positions = np.arange(self.placed.length) if self.placed else np.array([-1])

    # -- letters and their probabilities

    def even_chance(self) -> np.ndarray:
        """Every letter is equally likely, (length, letters)."""
        return np.full((len(self.positions), self.alphabet.size), 1.0 / self.alphabet.size)

    def chance(self, background: Any) -> np.ndarray:
        """Return the probabilities of the letters, (length, letters)."""
        shape = (len(self.positions), self.alphabet.size)
        if isinstance(background, str):
            if background == "uniform":
                return self.even_chance()
        elif background is None or not _is_numbers(background):
            sequences = self.support if background is None else as_sequences(background, self.alphabet)
            return self._counted(sequences)
        else:
            found = np.asarray(background, dtype=np.float64)
            if found.shape in (shape, shape[1:]) and (found >= 0).all() and np.allclose(found.sum(axis=-1), 1.0):
                return np.array(np.broadcast_to(found, shape))
        raise InputError(
            f'background must be None, "uniform", sequences, or probabilities that add up to 1, of shape {shape} or '
            f"{shape[1:]} for the letters {self.alphabet.letters[:30]!r}; got {background!r}."
        )

    def _counted(self, sequences: Any) -> np.ndarray:
        columns = code_matrix(sequences).T if self.placed else sequences.flat_codes()[None]
        if len(columns) != len(self.positions):
            raise InputError(
                f"The background's sequences have {len(columns)} letters, those of the model {len(self.positions)}."
            )
        size = self.alphabet.size
        counts = np.array([np.bincount(column, minlength=256)[:size] for column in columns], dtype=np.float64)
        totals = counts.sum(axis=1, keepdims=True)
        return np.divide(counts, totals, out=np.full(counts.shape, 1.0 / size), where=totals > 0)

    # -- scores

    def check_orders(self, orders: Sequence[int] | None) -> list[int]:
        """Return lengths of words that can be listed."""
        size, longest = self.alphabet.size, len(self.positions) if self.placed else None
        if orders is None:
            return [k for k in range(1, 9) if size**k <= MAX_WORDS // 4 and (longest is None or k <= longest)]
        for k in orders:
            whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool) and k >= 1
            if not whole or size ** int(k) > MAX_WORDS or (longest is not None and k > longest):
                most = max(j for j in range(1, 64) if size**j <= MAX_WORDS)
                raise InputError(
                    f"Words of {k!r} letters cannot be listed: for {size} letters, order must be a whole number from 1 "
                    f"to {most if longest is None else min(most, longest)}."
                )
        if not len(orders):
            raise InputError("orders must name at least one length of words, such as range(1, 9).")
        return [int(k) for k in orders]

    def level(self, levels: np.ndarray, k: int) -> np.ndarray:
        """Return the scores of the words of k letters; none where they do not fit."""
        start = self._start(k)
        return levels[start : self._start(k + 1)] if start < len(levels) else levels[:0]

    def _start(self, k: int) -> int:
        return sum(self.alphabet.size**j for j in range(1, k))

    def scores(self, order: int, chance: np.ndarray, centred: bool = False) -> KmerScores:
        """Return the scores of all words of one length; with their mean under `chance` taken off where `centred`."""
        (order,) = self.check_orders([order])
        n_positions = len(self.positions) - order + 1 if self.placed else 1
        values = np.zeros((self.alphabet.size**order, n_positions))
        for column, levels in self.walk(order, chance):
            part = self.level(levels, order)
            if len(part):
                if centred:
                    rows = chance[column : column + order] if self.placed else np.repeat(chance, order, axis=0)
                    part = part - reduce(np.kron, rows) @ part
                values[:, column] = part
        return KmerScores(values, self.positions[:n_positions], order, self.alphabet.letters, self.view)

    def walk(self, orders: int, chance: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (column, scores of all words of up to `orders` letters), the last position first."""
        return self._walk_placed(orders, chance) if self.placed else self._walk_free(orders, chance)

    def _walk_placed(self, orders: int, chance: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        from .._fast.importance import add_words, join_words

        assert self.placed is not None
        codes, coef, *_ = self.placed.stacked
        own = np.zeros((self._start(orders + 1), 4))
        last_inside, last_right, inside, left, right, out = np.zeros((6, len(own)))
        for p, kinds, shares in self._overlaps(orders, chance):
            used = self._start(shares.shape[1] + 1)
            own[:] = 0.0
            add_words(codes, coef, kinds, shares, p, self.alphabet.size, own)
            join_words(own[:used], self.alphabet.size, last_inside, last_right, inside, left, right, out)
            yield p, out[:used]
            last_inside, inside = inside, last_inside
            last_right, right = right, last_right

    def _overlaps(self, orders: int, chance: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield (position, the kind of every sequence, what a kind adds to its own words), the last position first."""
        from .._fast.importance import even_overlaps, overlaps

        assert self.placed is not None
        codes, _, layer, tables, _ = self.placed.stacked
        n, length = codes.shape
        if not (chance == chance[0, 0]).all():
            for p in range(length - 1, -1, -1):
                shares = np.zeros((n, min(orders, length - p), 4))
                overlaps(codes, layer, p, tables, chance, shares)
                yield p, np.arange(n), shares
            return
        # sequences with as many known letters before p, and as many from p on, add the same
        n_layers, _, degree = tables.shape
        known = (codes < min(self.alphabet.size, 255)).T
        before, after = np.zeros((length, n), np.int32), np.zeros(n, np.int64)
        for p in range(1, length):
            before[p] = np.where(known[p - 1], np.minimum(before[p - 1] + 1, degree - 1), 0)
        for p in range(length - 1, -1, -1):
            after = np.where(known[p], np.minimum(after + 1, degree), 0)
            code = (layer * degree + before[p]) * (degree + 1) + after
            there = np.bincount(code, minlength=n_layers * degree * (degree + 1)) > 0
            kinds = np.array(np.unravel_index(np.flatnonzero(there), (n_layers, degree, degree + 1))).T.tolist()
            fitting = min(orders, length - p)
            shares = np.array([even_overlaps(tables[m], p, b, a, fitting, chance[0, 0]) for m, b, a in kinds])
            yield p, (np.cumsum(there) - 1)[code], shares

    def _walk_free(self, orders: int, chance: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        from .._fast.importance import add_free_words, join_words

        own = np.zeros((self._start(orders + 1), 4))
        for part in self.free:
            words, lengths, weights = letters_of(part)
            add_free_words(words, lengths, weights * part.typical, chance[0], own)
        inside, left, right, out = np.zeros((4, len(own)))
        join_words(own, self.alphabet.size, inside, right, inside, left, right, out)
        yield 0, out


def _is_numbers(background: Any) -> bool:
    try:
        return np.asarray(background).dtype.kind in "fiub"
    except ValueError:
        return False


def _checked(part: FreeWords) -> FreeWords:
    if not part.group.vocabulary.counts_runs:
        raise InputError(
            f"{part.group.piece.core!r} has words, but no scores of shorter and longer ones: that is for "
            "WeightedDegree and Spectrum. kmer_table(model) lists its words; term=... chooses other terms."
        )
    return part
