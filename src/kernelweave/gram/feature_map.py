"""What a term makes of sequences: groups of explicit features, learned on some samples and made of any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..categories import CATEGORIES
from ..errors import InputError
from ..kernels import Kernel
from ..kernels.pieces import Norm, Piece, pieces
from ..kernels.sparse_rows import Rows
from ..kernels.vocabulary import Vocabulary
from ..parallel import for_blocks
from ..sequences import Alphabet, SequenceSet
from ..views import Views

#: Letters of new samples that one thread turns into features at a time.
BLOCK_LETTERS = 1 << 22


@dataclass
class Group:
    """One group of features of a piece: those of one vocabulary, with one weight, without the scale of the piece."""

    piece: Piece
    vocabulary: Vocabulary
    alphabet: Alphabet
    weight: float

    def fit(self, X: Views, roots: dict[Norm, np.ndarray]) -> Rows:
        """Return the features of the samples that the term is bound to."""
        return self._finish(self.vocabulary.fit(self.sequences(X)), roots)

    def map(self, X: Views, roots: dict[Norm, np.ndarray]) -> Rows:
        """Return the features of other samples, as far as they are known."""
        return self._finish(self.vocabulary.map(self.sequences(X)), roots)

    def sequences(self, X: Views) -> SequenceSet:
        """Return the sequences that the group sees, over the alphabet of the first samples."""
        asked = self.piece.core.alphabet
        return X.through(self.piece.path).sequences(asked if asked == CATEGORIES else self.alphabet)

    def _finish(self, rows: Rows, roots: dict[Norm, np.ndarray]) -> Rows:
        rows = replace(self.piece.core.finish(rows), weight=self.piece.scale * self.weight)
        for norm in self.piece.norms:
            rows = rows.scaled(roots[norm])
        return rows


def groups_of(piece: Piece, X: Views) -> list[Group]:
    """Return the groups of features of a piece, none of them listed yet."""
    if piece.core.word_kind != "free":
        raise InputError(f"{piece.core!r} has no explicit features; bind it as a matrix.")
    alphabet = piece.core.sequences(X.through(piece.path)).alphabet
    return [Group(piece, words, alphabet, w) for w, words in piece.core.parts(alphabet, piece.degree)]


class FeatureMap:
    """Φ of one term, so that k(x, y) = Φ(x)·Φ(y): learned on X, then made of any samples."""

    def __init__(self, term: Kernel, X: Views) -> None:
        self.X = X
        self._rows: list[Rows] | None = None
        #: The kernel is the sum of the products of these.
        self.groups = [group for piece in pieces(term, X) for group in groups_of(piece, X)]
        self.norms = {norm: None for group in self.groups for norm in group.piece.norms}  # in order

    def keep(self) -> list[Rows]:
        """Return the features of X, one group after another, and hold them from now on."""
        if self._rows is None:
            self._rows = list(self.rows())
        return self._rows

    def expected(self) -> tuple[float, float, float]:
        """Return how many features the samples have together, how many different ones, and keys counted at a time."""
        found = [group.vocabulary.expected(group.sequences(self.X)) for group in self.groups]
        if self._rows is not None:
            return float(sum(len(part.ids) for part in self._rows)), sum(f for _, f, _ in found), 0.0
        return sum(e for e, _, _ in found), sum(f for _, f, _ in found), max((k for _, _, k in found), default=0.0)

    def rows(self) -> Iterator[Rows]:
        """Yield the features of X; they are made anew unless they are held."""
        if self._rows is not None:
            yield from self._rows
            return
        roots = self.roots(self.X)
        for group in self.groups:
            yield group.fit(self.X, roots)

    def roots(self, X: Views) -> dict[Norm, np.ndarray]:
        """Return 1 / √k(x, x) for every kernel that divides by it."""
        return {norm: norm.inverse(X) for norm in self.norms}

    def add_products(self, normals: list[np.ndarray], at: Views, factor: float, out: np.ndarray, n_jobs: int) -> None:
        """Add factor · Φ(at)·normals to out (n, n_machines), a block of new samples at a time; one array per group."""
        n_letters = max((group.sequences(at).n_letters for group in self.groups), default=0)

        def look_up(block: slice) -> None:
            views = at.rows(np.arange(block.start, block.stop))
            roots = self.roots(views)
            for group, normal in zip(self.groups, normals, strict=True):
                add_lookups(group.map(views, roots), normal, slice(0, len(views)), factor, out[block])

        for_blocks(look_up, len(at), max(1, BLOCK_LETTERS * len(at) // max(1, n_letters)), n_jobs)


def add_lookups(part: Rows, normal: np.ndarray, block: slice, factor: float, out: np.ndarray) -> None:
    """Add factor · the inner products of these samples with the normals to out[block], one column each."""
    from .._fast.sparse import gather

    found = np.empty(block.stop - block.start)
    for c in range(len(normal)):
        gather(*part.arrays, normal[c], block.start, found)
        out[block, c] += factor * part.weight * (found if part.scale is None else found * part.scale[block])
