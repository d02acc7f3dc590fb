"""Grams of kernels that compare words in pairs: one table of all words of a length instead of a matrix of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from ..kernels import Kernel
from ..kernels.kinds import ONLY_PAIRS, PAIRS
from ..kernels.pair_matrix import pair_matrix
from ..kernels.pair_rules import PairRule, WordList
from ..kernels.pair_tables import summed_table, table_scores
from ..kernels.pieces import Piece, pieces
from ..parallel import for_blocks
from ..sequences import Alphabet, SequenceSet
from ..views import Views
from .base import Gram, support_of
from .cached import CachedGram
from .feature_map import BLOCK_LETTERS
from .features import FeatureGram
from .offer import NO_MATRIX, Bytes, Held, Offer, Room
from .prepared import Prepared, PreparedGram, PreparedTogether
from .stacked import joined


@dataclass
class TablePiece:
    """One piece of a term: which words of the samples are compared, by which rule."""

    piece: Piece
    alphabet: Alphabet
    rule: PairRule
    X: Views
    _held: tuple[WordList, np.ndarray] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, piece: Piece, X: Views) -> TablePiece:
        """Return the piece on the samples that it is bound to; no words are read yet."""
        alphabet = piece.core.sequences(X.through(piece.path)).alphabet
        return cls(piece, alphabet, piece.core.rule(alphabet), X)

    def sequences(self, X: Views) -> SequenceSet:
        """Return the sequences that the piece sees, over the alphabet of the first samples."""
        return X.through(self.piece.path).sequences(self.alphabet)

    def read(self, X: Views) -> tuple[WordList, np.ndarray]:
        """Return the words of some samples on one strand, and what each sample is multiplied with."""
        words = self.piece.core.word_list(self.sequences(X), self.rule)
        return words, self.piece.inverse_norms(X)

    def keep(self) -> tuple[WordList, np.ndarray]:
        """Return the same of the bound samples, and hold it from now on."""
        if self._held is None:
            self._held = self.read(self.X)
        return self._held

    def table(self, coef: np.ndarray, n_jobs: int = 1) -> np.ndarray:
        """Return what one occurrence of every word adds to Σ_q coef[q] k(q, ·), without the norms of what is asked."""
        (words, roots), rows = self.keep(), support_of(coef)
        return summed_table(self.rule, words, rows, self.piece.scale * coef[rows] * roots[rows], n_jobs)

    def scores(self, table: np.ndarray, at: Views | None, n_jobs: int = 1) -> np.ndarray:
        """Return the sums of a table over the words of every sample; those that it is bound to where None."""
        if at is None:
            words, roots = self.keep()
            return table_scores(words, table, n_jobs) * roots
        n_letters, out = self.sequences(at).n_letters, np.empty(len(at))

        def look_up(block: slice) -> None:
            words, roots = self.read(at.rows(np.arange(block.start, block.stop)))
            out[block] = table_scores(words, table) * roots

        for_blocks(look_up, len(at), max(1, BLOCK_LETTERS * len(at) // max(1, n_letters)), n_jobs)
        return out

    def block(self, rows: np.ndarray, cols: np.ndarray | None) -> np.ndarray:
        """Return k(X[rows], X[cols]); all columns where None."""
        words, roots = self.keep()
        A = words.take(rows).both_strands(self.rule)
        if cols is None:
            B = words.both_strands(self.rule)
        else:
            B = A if cols is rows or np.array_equal(rows, cols) else words.take(cols).both_strands(self.rule)
        out = pair_matrix(self.rule, A, B)
        out *= self.piece.scale * roots[rows, None]
        out *= roots if cols is None else roots[cols]
        return out


class WordTableGram(Gram):
    """K_m @ coef by a table of all words: Σ_q coef[q] k(q, x) = Σ_{u in x} s(u), with s(u) from the words of all q.

    A product costs a few passes over a table of size^length numbers, and one look at every word of the samples, however
    many of them have a coefficient. Beside the table there are 4 bytes for every letter.

    Parameters
    ----------
    terms : kernels that compare words in pairs (`WordPairKernel`), whose words fit into a table
        Also scaled, normalised, or on some columns.
    n_jobs : int
        Threads; results do not depend on how many there are.
    """

    special = True
    #: Descent goes by matrices of the active samples: words are too many to be listed.
    held = Held(coordinates=frozenset({"features", "blocks"}))

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        n_jobs: int = 1,
        factors: np.ndarray | None = None,
        parts: Sequence[list[TablePiece]] | None = None,
    ) -> None:
        super().__init__(terms, X, factors)
        self.n_jobs = n_jobs
        self.parts = list(parts or ([TablePiece.of(piece, X) for piece in pieces(term, X)] for term in self.terms))

    @classmethod
    def takes(cls, term: Kernel, X: Views) -> bool:
        return term.gram_kind in (PAIRS, ONLY_PAIRS)

    @classmethod
    def bound(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Gram:
        runs = [(kind, tuple(some)) for kind, some in groupby(terms, lambda term: _kind_of(term, X))]
        makers = {cls: lambda some: cls(some, X, room.needs.n_jobs)}
        return joined([makers[kind](some) if kind in makers else kind.bound(some, X, room) for kind, some in runs])

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        kinds = {_kind_of(term, X) for term in terms}
        if kinds == {FeatureGram}:
            return FeatureGram.offer(terms, X, room)
        if CachedGram in kinds:
            return None
        return Offer.of(cls.bound(terms, X, room), NO_MATRIX, "a table of all words serves every product")

    def rescaled(self, factors: np.ndarray) -> Gram:
        return WordTableGram(self.terms, self.X, self.n_jobs, factors, self.parts)

    def only(self, picked: Sequence[int]) -> Gram:
        terms, parts = [self.terms[m] for m in picked], [self.parts[m] for m in picked]
        return WordTableGram(terms, self.X, self.n_jobs, self.factors[list(picked)], parts)

    def sampled(self, rows: np.ndarray) -> Gram | None:
        return WordTableGram(self.terms, self.X.rows(rows), self.n_jobs)

    @property
    def bytes(self) -> Bytes:
        """About how many bytes it takes: the words, and a table at a time."""
        every = [part for parts in self.parts for part in parts]
        words = sum(8.0 * part.sequences(self.X).n_letters for part in every)  # numbers and weights
        table = 8.0 * max((part.rule.n_words for part in every), default=0)
        return Bytes(held=words + table, per_pair=8.0 * (self.n_terms + 1))

    def _scores(self, m: int, column: np.ndarray, at: Views | None) -> np.ndarray:
        """Return K_m(at, X) @ column, without the term's factor."""
        out = np.zeros(self.n if at is None else len(at))
        if column.any():
            for part in self.parts[m]:
                out += part.scores(part.table(column, self.n_jobs), at, self.n_jobs)
        return out

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        columns = coef.reshape(len(coef), -1)
        n = self.n if at is None else len(at)
        found = [[f * self._scores(m, column, at) for column in columns.T] for m, f in enumerate(self.factors)]
        return np.moveaxis(np.array(found).reshape(self.n_terms, columns.shape[1], n), 1, 2).reshape(
            self.n_terms, n, *coef.shape[1:]
        )

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        scaled, columns = weights * self.factors, coef.reshape(len(coef), -1)
        out = np.zeros((self.n if at is None else len(at), columns.shape[1]))
        for m in np.flatnonzero(scaled):
            for c, column in enumerate(columns.T):
                out[:, c] += scaled[m] * self._scores(int(m), column, at)
        return out.reshape(len(out), *coef.shape[1:])

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        full = np.zeros((self.n, *coef.shape[1:]))
        full[rows] = coef
        return self.apply(full, weights)

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        scaled, out = weights * self.factors, np.zeros((len(rows), self.n if cols is None else len(cols)))
        for m in np.flatnonzero(scaled):
            for part in self.parts[m]:
                out += scaled[m] * part.block(np.asarray(rows), None if cols is None else np.asarray(cols))
        return out

    def block_each(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return np.array([self.block(rows, cols, one) for one in np.eye(self.n_terms)])

    def prepare(self, coef: np.ndarray, weights: np.ndarray) -> Prepared:
        return PreparedWordTables(self, coef, weights)


def _kind_of(term: Kernel, X: Views) -> type[Gram]:
    """Return the gram of a term: by tables, or by features or rows where words are too many for that."""
    cores = [(one.core, one.core.sequences(X.through(one.path)).alphabet) for one in pieces(term, X)]
    if all(core.rule(alphabet).fits for core, alphabet in cores):
        return WordTableGram
    return FeatureGram if term.gram_kind == PAIRS else CachedGram


class PreparedWordTables(PreparedGram):
    """Terms that compare words in pairs, to be added up in tables of all words."""

    gram: WordTableGram

    def pays(self, n_queries: int) -> bool:
        return True  # every product begins with the table

    def table_bytes(self) -> int:
        return sum(8 * part.rule.n_words * self.n_machines for parts in self.gram.parts for part in parts)

    def summed(self) -> Prepared:
        found: list[Prepared] = []
        for m, parts in enumerate(self.gram.parts):
            scales = np.broadcast_to(self.weights[:, m] * self.gram.factors[m], self.n_machines)
            for part in parts:
                used = [c for c in range(self.n_machines) if scales[c] and self.coef[:, c].any()]
                tables = {c: part.table(scales[c] * self.coef[:, c], self.gram.n_jobs) for c in used}
                found.append(KeptWordTables(part, tables, self.n_machines))
        return PreparedTogether(found, self.n_machines)


class KeptWordTables(Prepared):
    """One piece of a term: what every word adds to every machine, weights inside."""

    def __init__(self, part: TablePiece, tables: dict[int, np.ndarray], n_machines: int) -> None:
        self.part, self.tables, self.n_machines = part, tables, n_machines
        self.nbytes = sum(table.nbytes for table in tables.values())

    def add(self, at: Views, out: np.ndarray, n_jobs: int = 1) -> None:
        for c, table in self.tables.items():
            out[:, c] += self.part.scores(table, at, n_jobs)
