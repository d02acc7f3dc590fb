"""`Gram`: kernels bound to data, seen only through products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..kernels import Kernel
from ..parallel import blocks
from ..views import Views
from .offer import Bytes, Held, Offer, Room

if TYPE_CHECKING:
    from .coordinates import Coordinates
    from .embedding import Vectors
    from .pair_rows import PairPart, Pairs, RowRoom
    from .prepared import Prepared

#: Bytes of kernel values that are computed at a time where they are not kept.
BLOCK_BYTES = 64 * 2**20

#: How far a number may be from its rounding to single precision, relative to it.
ROUNDING = 2.0**-24

#: Samples that the sizes of the terms are taken from.
SIZE_SAMPLES = 256


class Gram:
    """The matrices K_m of n samples, one per term, each times its factor.

    A gram remembers neither coef nor weights: they travel as arguments. `coef` is
    (n,) or (n, n_machines); every result follows suit.

    A new way to hold kernels is a class with `offer`, `rescaled`, `only` and `block_each`, and its line in `GRAMS`. All
    other products are made of blocks, unless the class knows better ones.
    """

    #: True for grams that have a way of their own for the terms that they `take`, which needs no matrix.
    special = False
    #: True for special grams whose terms go with the others where those get matrices: one more costs little.
    joins = False
    #: True for special grams whose samples stay where they are: an engine makes the products there.
    elsewhere = False
    #: What the gram is capable of.
    held = Held()
    #: Threads that make products.
    n_jobs = 1
    #: Bytes of kernel values that are computed at a time.
    block_bytes = BLOCK_BYTES

    def __init__(self, terms: Sequence[Kernel], X: Views, factors: np.ndarray | None = None) -> None:
        self.terms = tuple(terms)
        self.X = X
        self.n = len(X)
        #: What every K_m is multiplied with: the scaling of the terms.
        self.factors = np.ones(len(self.terms)) if factors is None else np.asarray(factors, dtype=np.float64)
        self._last_coordinates: tuple[np.ndarray, Coordinates] | None = None
        self._row_room: RowRoom | None = None

    @classmethod
    def takes(cls, term: Kernel, X: Views) -> bool:
        """Say whether a special gram has a way of its own for this term on samples like these."""
        return False

    @classmethod
    def bound(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Gram:
        """Return the gram of some terms, with nothing computed yet."""
        return cls(terms, X)

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        """Return how the gram would hold these terms, all of which a special gram takes; None where it does not fit."""
        return None

    @classmethod
    def offer_rows(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        """Return how the gram would hold terms of which only products with few samples are asked for, or None."""
        return None

    def in_double(self, budget: float = 0.0) -> Gram | None:
        """Return the same gram with values in double precision, matrices within so many bytes; or None."""
        return None if self.held.single else self

    @property
    def bytes(self) -> Bytes:
        """About how many bytes it takes; nothing is computed to say so."""
        return Bytes(per_pair=8.0 * (self.n_terms + 1))  # the matrices of some samples, and their sum

    @property
    def n_terms(self) -> int:
        """How many terms there are."""
        return len(self.terms)

    def rescaled(self, factors: np.ndarray) -> Gram:
        """Return the same gram with other factors; nothing is copied."""
        raise NotImplementedError

    def only(self, picked: Sequence[int]) -> Gram:
        """Return the gram of some of the terms, in the order given; nothing is copied."""
        raise NotImplementedError

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        """Return Σ_m weights[m] K_m(at, X) @ coef; at = X where None."""
        each = self.apply_each(coef, at)
        return np.tensordot(weights, each, axes=1)

    def apply_about(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        """Return about what `apply` returns, where that is quicker."""
        return self.apply(coef, weights, at)

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        """Return K_m(at, X) @ coef, one row per term."""
        if at is not None:
            return apply_each_at(self, coef, at)
        support, out = support_of(coef), np.empty((self.n_terms, *coef.shape))
        for part in blocks(self.n, block_rows(self.block_bytes, self.n_terms * len(support))):
            out[:, part] = self.block_each(np.arange(part.start, part.stop), support) @ coef[support]
        return out

    def prepare(self, coef: np.ndarray, weights: np.ndarray) -> Prepared:
        """Return machines, ready for new samples: coef (n, n_machines), weights (1 or n_machines, n_terms)."""
        from .prepared import PreparedGram

        return PreparedGram(self, coef, weights)

    def apply_some(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return (K_m @ coef)[at] for some terms only, (len(picked), len(at))."""
        return self.only(picked.tolist()).apply_each(coef)[:, at]

    def quad(self, coef: np.ndarray) -> np.ndarray:
        """Return coef' K_m coef per term, one column per machine where coef has several."""
        return self._quad_columns(coef.reshape(self.n, -1)).reshape(self.n_terms, *coef.shape[1:])

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        """Return `quad` of coef (n, n_columns), as (n_terms, n_columns)."""
        return np.einsum("mic,ic->mc", self.apply_each(coef), coef)

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        """Return Σ_m weights[m] K_m[rows, cols]; all columns where None."""
        return np.tensordot(weights, self.block_each(rows, np.arange(self.n) if cols is None else cols), axes=1)

    def block_each(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return K_m[rows, cols] of every term, (n_terms, len(rows), len(cols)); nothing of it is kept."""
        A, B = self.X.rows(rows), self.X.rows(cols)
        out = np.empty((self.n_terms, len(rows), len(cols)))
        for m, (f, term) in enumerate(zip(self.factors, self.terms, strict=True)):
            for part in blocks(len(rows), block_rows(self.block_bytes, len(cols))):
                some = A if part.stop - part.start == len(rows) else A.rows(np.arange(part.start, part.stop))
                np.multiply(term.compute(some, B), f, out=out[m, part])
        return out

    def square(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return `block` of some samples among themselves, in the precision that values are computed in."""
        return self.block(rows, rows, weights)

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return Σ_m weights[m] K_m[:, rows] @ coef, for coef given at these rows only."""
        return self.block(rows, None, weights).T @ coef

    def some_times(self, at: np.ndarray, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return `rows_times` at some samples only."""
        return self.rows_times(rows, coef, weights)[at]

    def rows_times_in(self, store: str, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return `rows_times` by way of the normal, which is kept in the engine of that name."""
        raise InputError(
            f"store={store!r} keeps the words of sequences, and {self.terms[0]!r} has none that can be listed. "
            'Use store="auto", which works for every kernel.'
        )

    def diag(self, weights: np.ndarray) -> np.ndarray:
        """Return the diagonal of Σ_m weights[m] K_m."""
        return (weights * self.factors) @ self.diag_each()

    def diag_each(self) -> np.ndarray:
        """Return the diagonal of every K_m, without its factor."""
        return np.array([term.compute_diag(self.X) for term in self.terms])

    @cached_property
    def sizes(self) -> np.ndarray:
        """The largest k(x, x) of every term among some samples, with its factor."""
        some = self.X.rows(np.unique(np.linspace(0, self.n - 1, min(self.n, SIZE_SAMPLES)).astype(np.int64)))
        return np.array([f * term.compute_diag(some).max() for f, term in zip(self.factors, self.terms, strict=True)])

    def sampled(self, rows: np.ndarray) -> Gram | None:
        """Return the gram of some of the samples, without factors, where that is cheap; None where it is not."""
        return None

    def coordinates(self, rows: np.ndarray) -> Coordinates:
        """Return some samples for descent along their coefficients: by their features, or by matrices of them alone.

        Those that were asked for last are kept: weights change more often than samples do.
        """
        if self._last_coordinates is None or not np.array_equal(self._last_coordinates[0], rows):
            self._last_coordinates = None
            self._last_coordinates = rows, self._coordinates(rows)
        return self._last_coordinates[1]

    def _coordinates(self, rows: np.ndarray) -> Coordinates:
        from .coordinates import MatrixCoordinates

        return MatrixCoordinates(self.block_each(rows, rows))

    def pair_time(self, weights: np.ndarray) -> float:
        """Return how long a pair takes beside a visit of descent to one of the two; inf where `pairs` are not made."""
        return np.inf

    def pairs(self, rows: np.ndarray, weights: np.ndarray, budget: float, dtype: type = np.float64) -> Pairs:
        """Return the kernel of some samples, whose rows are made as they are needed and kept in so many bytes."""
        from .pair_rows import Pairs, RowRoom

        size = max(budget, 16 * len(rows))
        if self._row_room is None or 8 * len(self._row_room.numbers) < size - 8:
            self._row_room = RowRoom(size)
        return Pairs(self.pair_parts(rows, weights), rows, weights, self._row_room, dtype, self.n_jobs)

    def pair_parts(self, rows: np.ndarray, weights: np.ndarray) -> list[PairPart]:
        """Return what computes values of pairs of some samples, to be added up."""
        raise NotImplementedError

    def vectors(self, weights: np.ndarray) -> Vectors | None:
        """Return the samples as vectors of a few numbers, whose products are Σ_m weights[m] K_m; None without any."""
        return None

    def anew(self, m: int, coef: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        """Return K_m[at] @ coef without its factor, all rows where None, from values in double precision."""
        from .dense import evaluation_bytes

        support = support_of(coef)
        seen = self.X if at is None else self.X.rows(at)
        term, some = self.terms[m], coef[support]
        return apply_at(term, self.X.rows(support), some, seen, evaluation_bytes([term], self.n))

    def hidden(self, coef: np.ndarray) -> np.ndarray:
        """Return how far rounding to single precision may change coef' K_m coef; coef (n, n_columns), no factors."""
        support = support_of(coef)
        # rounding changes K_ij by at most r √(K_ii K_jj), r = ROUNDING, and so coef'K coef by r (Σ |coef_i| √K_ii)²
        roots = np.sqrt(np.maximum(self.diag_each()[:, support], 0.0))
        return ROUNDING * ((roots @ np.abs(coef[support])) ** 2).sum(axis=1)

    def matrix(self, weights: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Return (K, factor) with Σ_m weights[m] K_m = factor · K, or None where it is not held."""
        return None

    def at(self, weights: np.ndarray, held: bool = True) -> Combined:
        """Return the one kernel that these weights make; its matrix is not added up where held=False."""
        weights = np.asarray(weights, dtype=np.float64)
        matrix, factor = (self.matrix(weights) if held else None) or (None, 1.0)
        return Combined(matrix, factor, self, weights)

    def ridge(self, weights: np.ndarray) -> np.ndarray | None:
        """Return what an identity among the terms adds to the diagonal, or None where there is none."""
        return None


class Combined:
    """One kernel matrix K = Σ_m weights[m] K_m, whole where it is held, in blocks where not."""

    def __init__(
        self,
        matrix: np.ndarray | None,
        factor: float = 1.0,
        gram: Gram | None = None,
        weights: np.ndarray | None = None,
        store: str = "auto",
    ) -> None:
        #: The matrix (or None) and the number it has to be multiplied with.
        self.matrix, self.factor = matrix, factor
        owner: Any = gram  # None only where there is a matrix
        values: Any = weights
        self.gram, self.weights = owner, values
        #: The engine that keeps the normal in products with rows; "auto" leaves it to the gram.
        self.store = store
        self.n: int = len(matrix) if matrix is not None else owner.n
        #: What an identity among the terms adds to the diagonal, or None.
        self.ridge: np.ndarray | None = None if gram is None else owner.ridge(weights)
        self._square: tuple[np.ndarray, np.ndarray] | None = None

    def kept_in(self, store: str) -> Combined:
        """Return the same kernel, without its matrix, whose products with rows keep the normal in that engine."""
        if store == "auto" or self.gram is None:
            return self
        return Combined(None, 1.0, self.gram, self.weights, store)

    def apply(self, coef: np.ndarray) -> np.ndarray:
        """Return K @ coef."""
        if self.matrix is None:
            return self.gram.apply(coef, self.weights)
        support = np.flatnonzero(coef.reshape(self.n, -1).any(axis=1))
        if 2 * len(support) < self.n:
            return self.rows_times(support, coef[support])
        return self.factor * product(self.matrix, coef)

    def rows_times(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return K[:, rows] @ coef."""
        if self.store != "auto":
            return self.gram.rows_times_in(self.store, rows, coef, self.weights)
        if self.matrix is None:
            return self.gram.rows_times(rows, coef, self.weights)
        from .._fast.dense import rows_times

        if coef.ndim == 2:
            return np.column_stack([self.rows_times(rows, column) for column in coef.T])
        return self.factor * rows_times(self.matrix, rows, coef)

    def some_times(self, at: np.ndarray, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return K[at, rows] @ coef."""
        if self.matrix is None and self.store == "auto":
            return self.gram.some_times(at, rows, coef, self.weights)
        return self.rows_times(rows, coef)[at]

    def block(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return K[rows, cols]."""
        if self.matrix is None:
            return self.gram.block(rows, cols, self.weights)
        from .._fast.dense import gather

        return gather(self.matrix, rows, cols, self.factor)

    def square(self, rows: np.ndarray) -> np.ndarray:
        """Return K[rows, rows], in the precision that values are computed in; the last one is kept."""
        if self._square is None or not np.array_equal(self._square[0], rows):
            self._square = None  # let go of the old one first
            self._square = rows, self.gram.square(rows, self.weights)
        return self._square[1]

    def diag(self) -> np.ndarray:
        """Return the diagonal of K."""
        if self.matrix is None:
            return self.gram.diag(self.weights)
        return self.factor * np.asarray(np.diagonal(self.matrix), dtype=np.float64)


def product(K: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Return K @ coef in float64, whatever K is stored in."""
    if K.dtype == np.float64:
        return K @ coef
    out = np.empty((K.shape[0], *coef.shape[1:]))
    for part in blocks(K.shape[0], block_rows(min(BLOCK_BYTES, max(2**20, K.nbytes // 16)), K.shape[1])):
        out[part] = K[part].astype(np.float64) @ coef
    return out


def block_rows(block_bytes: float, n_columns: int) -> int:
    """Return how many rows of so many numbers a block of so many bytes has."""
    return max(1, int(block_bytes) // (8 * max(1, n_columns)))


def apply_at(term: Kernel, X: Views, coef: np.ndarray, at: Views, block_bytes: int | None = None) -> np.ndarray:
    """Return term(at, X) @ coef in blocks of rows, so that the matrix is never whole."""
    out = np.empty((len(at), *coef.shape[1:]))
    for part in blocks(len(at), block_rows(block_bytes or BLOCK_BYTES, len(X))):
        out[part] = term.compute(at.rows(np.arange(part.start, part.stop)), X) @ coef
    return out


def support_of(coef: np.ndarray) -> np.ndarray:
    """Return the rows of coef that are not zero."""
    return np.flatnonzero(coef.reshape(len(coef), -1).any(axis=1))


def apply_each_at(gram: Gram, coef: np.ndarray, at: Views) -> np.ndarray:
    """Return factors[m] · K_m(at, X) @ coef for new samples, from the support only."""
    support = support_of(coef)
    X, coef = gram.X.rows(support), coef[support]
    each = (apply_at(term, X, coef, at, gram.block_bytes) for term in gram.terms)
    return np.array([f * one for f, one in zip(gram.factors, each, strict=True)])


def finite(K: np.ndarray, term: Kernel) -> np.ndarray:
    """Pass K on, or say which term is not finite."""
    if not np.isfinite(K).all():
        raise InputError(f"The term {term!r} takes infinite values on these data: scale the features first.")
    return K
