"""Grams of kernels whose vectors are written out: a table of features instead of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..kernels import Kernel
from ..parallel import blocks
from ..views import Views
from .base import BLOCK_BYTES, ROUNDING, Gram, block_rows, support_of
from .coordinates import Coordinates, TableCoordinates
from .embedding import Embedding, Vectors, embedding_sizes
from .offer import NO_MATRIX, SPARE_BYTES, Bytes, Held, Offer, Room
from .prepared import Prepared, PreparedGram
from .sharded_embedding import embedding_of

#: Double precision is taken where the table is at most this part of the budget.
ROOMY = 0.25
#: So many times fewer numbers than samples make the table quicker than a matrix.
FEWER = 4
#: Up to so many terms, products of all of them are taken in one pass over the table.
FEW_TERMS = 8


class DenseFeatureGram(Gram):
    """K_m = Φ_m Φ_m' with Φ_m (n, d_m) written out: products go through the normals Φ_m' coef, in O(n d).

    For `Linear`, `Polynomial(degree=2)` on few columns and `LowRank`; also scaled, normalised, or on some columns.
    Sums are in double precision, and do not depend on the number of threads.

    Parameters
    ----------
    terms : kernels with `embedding_sizes`
    dtype : np.float64 or np.float32
        What the features are held in.
    """

    special = True
    joins = True

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        n_jobs: int = 1,
        factors: np.ndarray | None = None,
        dtype: type = np.float64,
        embedding: Embedding | None = None,
        which: Sequence[int] | None = None,
    ) -> None:
        super().__init__(terms, X, factors)
        self.n_jobs = n_jobs
        #: Features of these terms, and perhaps of others; `which` says where each term is among those.
        self.embedding = embedding_of(terms, X, dtype, n_jobs) if embedding is None else embedding
        self.which = list(range(self.n_terms)) if which is None else list(which)

        single = tuple(range(self.n_terms)) if np.dtype(self.embedding.dtype) == np.float32 else ()
        self.held = Held(coordinates=frozenset({"features"}), single=single, rough=single)

    @classmethod
    def takes(cls, term: Kernel, X: Views) -> bool:
        return term.gram_kind == "vectors" and embedding_sizes(term, X) is not None

    @classmethod
    def bound(cls, terms: Sequence[Kernel], X: Views, room: Room) -> DenseFeatureGram:
        return cls(terms, X, room.needs.n_jobs)

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        for dtype, most in ((np.float64, ROOMY * room.budget), (np.float32, max(room.budget, SPARE_BYTES))):
            gram = cls(terms, X, room.needs.n_jobs, dtype=dtype)
            if gram.bytes.peak <= most:
                quicker = FEWER * gram.embedding.size <= gram.n
                return Offer.of(gram, NO_MATRIX, "a sample is a vector of a few numbers", quicker=quicker)
        return None

    def rescaled(self, factors: np.ndarray) -> Gram:
        return self._sharing(range(self.n_terms), factors)

    def only(self, picked: Sequence[int]) -> Gram:
        return self._sharing(picked, self.factors[list(picked)])

    def _sharing(self, picked: Sequence[int], factors: np.ndarray) -> Gram:
        terms, which = [self.terms[m] for m in picked], [self.which[m] for m in picked]
        return DenseFeatureGram(terms, self.X, self.n_jobs, factors, embedding=self.embedding, which=which)

    def sampled(self, rows: np.ndarray) -> Gram | None:
        return DenseFeatureGram(self.terms, self.X.rows(rows), self.n_jobs)

    @property
    def bytes(self) -> Bytes:
        """The table; samples are made, and read, some at a time."""
        one = self.embedding
        return Bytes(one.nbytes, making=32.0 * min(self.n, one.block * self.n_jobs) * one.size, per_sample=24.0)

    def _columns(self, m: int) -> slice:
        """Return the columns of a term in the table."""
        return self.embedding.columns(self.which[m])

    def vectors(self, weights: np.ndarray) -> Vectors | None:
        return Vectors(self.embedding, np.sqrt(self.column_scales(weights)))

    def column_scales(self, weights: np.ndarray) -> np.ndarray:
        """Return what φ·φ is multiplied with in every column of the table at these weights, (size,)."""
        scales = np.zeros(self.embedding.size)
        for m, scale in enumerate(weights * self.factors):
            scales[self._columns(m)] += scale
        return scales

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        columns = coef.reshape(len(coef), -1)
        if at is not None:
            return self.prepare(columns, weights[None]).values(at).reshape(len(at), *coef.shape[1:])
        return self._times(self.embedding.normals(columns), weights).reshape(coef.shape)

    def _times(self, normals: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self.embedding.times(self.column_scales(weights)[:, None] * normals)

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        columns = coef.reshape(len(coef), -1)
        found = self._each(columns) if at is None else self._each_at(columns, at)
        return found.reshape(self.n_terms, -1, *coef.shape[1:])

    def _each(self, coef: np.ndarray) -> np.ndarray:
        normals, c = self.embedding.normals(coef), coef.shape[1]
        if self.n_terms > FEW_TERMS and self.embedding.nbytes:  # and it is here
            return self._each_by_columns(normals)
        apart = np.zeros((self.embedding.size, self.n_terms * c))
        for m, f in enumerate(self.factors):
            apart[self._columns(m), m * c : (m + 1) * c] = f * normals[self._columns(m)]
        return self.embedding.times(apart).reshape(self.n, self.n_terms, c).swapaxes(0, 1)

    def _each_by_columns(self, normals: np.ndarray) -> np.ndarray:
        out, middle = np.empty((self.n_terms, self.n, normals.shape[1])), self.embedding.middle
        for part in blocks(self.n, self.embedding.block):
            some = self.embedding.table[part].astype(np.float64, copy=False)
            for m, f in enumerate(self.factors):
                own = self._columns(m)
                np.matmul(some[:, own], f * normals[own], out=out[m, part])
                out[m, part] += f * middle[own] @ normals[own]
        return out

    def _each_at(self, coef: np.ndarray, at: Views) -> np.ndarray:
        normals, out = self.normals_at(coef), np.empty((self.n_terms, len(at), coef.shape[1]))
        for m, f in enumerate(self.factors):
            out[m] = f * self._values(m, at, normals[m])
        return out

    def _values(self, m: int, at: Views, normal: np.ndarray) -> np.ndarray:
        out = np.empty((len(at), normal.shape[1]))
        for part in blocks(len(at), self.embedding.block):
            out[part] = self.embedding.values(self.which[m], at.between(part.start, part.stop), normal)
        return out

    def normals_at(self, coef: np.ndarray) -> list[np.ndarray]:
        """Return Φ_m' coef of every term, without its factor, in double precision; nothing is held."""
        support, out = support_of(coef), [np.zeros((self._size(m), coef.shape[1])) for m in range(self.n_terms)]
        every = len(support) == self.n
        for part in blocks(len(support), self.embedding.block):
            some = self.X.between(part.start, part.stop) if every else self.X.rows(support[part])
            for m in range(self.n_terms):
                out[m] += self.embedding.sums(self.which[m], some, coef[support[part]])
        return out

    def _size(self, m: int) -> int:
        columns = self._columns(m)
        return columns.stop - columns.start

    def prepare(self, coef: np.ndarray, weights: np.ndarray) -> PreparedVectors:
        return PreparedVectors(self, coef, weights)

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        columns = np.zeros((self.n, coef[0:1].size if len(coef) else 1))
        columns[rows] = coef.reshape(len(coef), columns.shape[1])
        return self._times(self.embedding.normals(columns), weights).reshape(self.n, *coef.shape[1:])

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        squares = self.embedding.normals(coef) ** 2
        return np.array([f * squares[self._columns(m)].sum(axis=0) for m, f in enumerate(self.factors)])

    def hidden(self, coef: np.ndarray) -> np.ndarray:
        quad = (self.quad(coef) / self.factors[:, None]).sum(axis=1)
        # rounding changes φ by at most r |φ − middle|, r = ROUNDING, and so ‖Σ coef φ‖ by r Σ |coef| ‖φ − middle‖
        more = [2.0 * ROUNDING * np.linalg.norm(np.abs(coef).T @ self._lengths[m]) for m in self.which]
        return (np.sqrt(quad) + more) ** 2 - quad

    def anew(self, m: int, coef: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        columns, one = coef.reshape(len(coef), -1), self.only([m]).rescaled(np.ones(1))
        seen = self.X if at is None else self.X.rows(at)
        return one.apply(columns, np.ones(1), seen).reshape(len(seen), *coef.shape[1:])

    @cached_property
    def _lengths(self) -> np.ndarray:
        """‖φ_m(x) − middle‖ of every term and sample."""
        return np.sqrt(self.embedding.squares(whole=False))

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), self.n if cols is None else len(cols)))
        chosen = np.arange(self.n) if cols is None else np.asarray(cols)
        left = self.embedding.taken(np.asarray(rows)) * self.column_scales(weights)
        for part in blocks(len(chosen), block_rows(BLOCK_BYTES, self.embedding.size)):
            out[:, part] = left @ self.embedding.taken(chosen[part]).T
        return out

    def block_each(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        A, B = self.embedding.taken(np.asarray(rows)), self.embedding.taken(np.asarray(cols))
        every = [(f, self._columns(m)) for m, f in enumerate(self.factors)]
        return np.array([f * A[:, own] @ B[:, own].T for f, own in every]).reshape(-1, len(rows), len(cols))

    def diag_each(self) -> np.ndarray:
        return self.embedding.squares()[self.which]

    def _coordinates(self, rows: np.ndarray) -> Coordinates:
        return TableCoordinates(self, rows)


class PreparedVectors(PreparedGram):
    """Terms whose support adds up to one normal for every machine: k values of a few landmarks, or φ itself."""

    gram: DenseFeatureGram

    def __init__(self, gram: DenseFeatureGram, coef: np.ndarray, weights: np.ndarray) -> None:
        super().__init__(gram, coef, weights)
        self._normals: list[np.ndarray] | None = None

    @property
    def normals(self) -> list[np.ndarray]:
        """Φ_m' coef of every term, weighted: they are summed up once."""
        if self._normals is None:
            scaled = self.weights * self.gram.factors
            self._normals = [w * scaled[:, m] for m, w in enumerate(self.gram.normals_at(self.coef))]
            self.nbytes = sum(normal.nbytes for normal in self._normals)
        return self._normals

    def values(self, at: Views) -> np.ndarray:
        """Return the values of every sample and machine, (n_samples, n_machines)."""
        out = np.zeros((len(at), self.n_machines))
        self.add(at, out)
        return out

    def add(self, at: Views, out: np.ndarray, n_jobs: int = 1) -> None:
        for m, normal in enumerate(self.normals):
            if normal.any():
                out += self.gram._values(m, at, normal)

    def pays(self, n_queries: int) -> bool:
        return True

    def summed(self) -> Prepared:
        _ = self.normals
        return self
