"""Φ written out: what terms make of samples where that is a vector of a few numbers each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from ..kernels import Kernel
from ..kernels.pieces import Piece, pieces
from ..parallel import blocks, for_blocks
from ..views import Views
from .base import finite, support_of

#: Samples from which the middle of all of them is taken.
MIDDLE_SAMPLES = 4_096
#: Numbers of Φ that one thread makes, or reads, at a time.
BLOCK_NUMBERS = 1 << 19
#: Numbers that stay near the processor while they are multiplied with each other.
NEAR_NUMBERS = 1 << 17
#: Normals are summed in so many parts, whatever the number of threads.
PARTS = 8


def embedding_sizes(term: Kernel, X: Views) -> list[int] | None:
    """Return how many numbers every piece of a term makes of a sample; None where one of them has no vectors."""
    found = []
    for piece in pieces(term, X):
        size = None if _is_part(piece) else piece.core.embedding_size(X.through(piece.path))
        if size is None:
            return None
        found.append(size)
    return found


def _is_part(piece: Piece) -> bool:
    return piece.degree is not None or piece.position is not None


@dataclass(frozen=True)
class Vectors:
    """Samples as z(x) = √scales · (φ(x) − middle), (n, size): K_ij = z_i·z_j but for what centring K takes off."""

    embedding: Embedding
    #: √scales, one for every column of the table.
    roots: np.ndarray

    @property
    def size(self) -> int:
        """How many numbers a sample has."""
        return len(self.roots)

    def times(self, w: np.ndarray) -> np.ndarray:
        """Return z·w of every sample, (n,)."""
        return self.embedding.times((self.roots * w)[:, None], whole=False)[:, 0]

    def sums(self, coef: np.ndarray) -> np.ndarray:
        """Return Σ_i coef_i z_i, (size,), or (size, k) for coef of shape (n, k)."""
        found = self.embedding.normals(coef.reshape(len(coef), -1), whole=False)
        return (self.roots[:, None] * found).reshape(-1, *coef.shape[1:])

    def some(self, rows: np.ndarray) -> Factor:
        """Return some of the samples."""
        table, places = self.embedding.placed(rows)
        return Factor(table[places] * self.roots)

    def rows(self, whole: bool) -> np.ndarray:
        """Return the vectors of all samples, with their middle where whole, but for columns that weigh nothing."""
        used = np.flatnonzero(self.roots)
        added = self.embedding.middle[used] if whole else 0.0
        return (self.embedding.table[:, used] + added) * self.roots[used]

    def moments(self, slope: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Σ_i slope_i z_i, Σ_i share_i z_i and Σ_i share_i z_i z_i', for share ≥ 0."""
        sums, second = self.embedding.moments(np.column_stack([slope, share]))
        return self.roots * sums[:, 0], self.roots * sums[:, 1], second * np.outer(self.roots, self.roots)


@dataclass(frozen=True)
class Factor:
    """Samples as the rows z of a matrix Z."""

    Z: np.ndarray

    @property
    def size(self) -> int:
        """How many numbers a sample has."""
        return int(self.Z.shape[1])

    def times(self, w: np.ndarray) -> np.ndarray:
        """Return z·w of every sample."""
        return self.Z @ w

    def sums(self, coef: np.ndarray) -> np.ndarray:
        """Return Σ_i coef_i z_i."""
        return self.Z.T @ coef

    def moments(self, slope: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Σ_i slope_i z_i, Σ_i share_i z_i and Σ_i share_i z_i z_i'."""
        return self.Z.T @ slope, self.Z.T @ share, (self.Z * share[:, None]).T @ self.Z


def _times(values: np.ndarray, factors: np.ndarray | None) -> np.ndarray:
    return values if factors is None else values * factors


class Embedding:
    """φ_m(x) of every term m and sample x, so that k_m(x, y) = φ_m(x)·φ_m(y); made when it is first asked for.

    Held as one table, (n, size): φ less its middle, which loses fewer digits in single precision and makes descent
    quick.

    Parameters
    ----------
    terms : kernels with `embedding_sizes`
    dtype : np.float64 or np.float32
    middle : array of shape (size,), optional
        What is taken off, where it is known already.
    """

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        dtype: type = np.float64,
        n_jobs: int = 1,
        middle: np.ndarray | None = None,
    ) -> None:
        self.terms, self.X, self.dtype, self.n_jobs = tuple(terms), X, dtype, n_jobs
        self.pieces = [pieces(term, X) for term in self.terms]
        sizes = [sum(embedding_sizes(term, X) or []) for term in self.terms]
        #: Where the columns of every term begin, and where they end.
        self.starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        self._table: np.ndarray | None = None
        self._middle = middle

    @property
    def size(self) -> int:
        """How many numbers a sample has, of all terms together."""
        return int(self.starts[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return len(self.X) * self.size * np.dtype(self.dtype).itemsize

    @property
    def made(self) -> bool:
        """Whether the table is there."""
        return self._table is not None

    def columns(self, m: int) -> slice:
        """Return the columns of a term."""
        return slice(int(self.starts[m]), int(self.starts[m + 1]))

    # -- any samples ---------------------------------------------------------------------------------------------------

    def _parts(self, m: int, X: Views) -> Iterator[tuple[Kernel, Views, np.ndarray | None, slice]]:
        """Yield every piece of a term: core, samples as it sees them, their factors, and its columns of the term."""
        first = 0
        for piece in self.pieces[m]:
            seen = X.through(piece.path)
            size = int(piece.core.embedding_size(seen) or 0)
            plain = piece.scale == 1.0 and not piece.norms
            factors = None if plain else np.sqrt(piece.scale) * piece.inverse_norms(X)[:, None]
            yield piece.core, seen, factors, slice(first, first + size)
            first += size

    def of(self, m: int, X: Views) -> np.ndarray:
        """Return φ_m of any samples, in double precision."""
        found = [_times(core.embed(seen), factors) for core, seen, factors, _ in self._parts(m, X)]
        return finite(found[0] if len(found) == 1 else np.hstack(found), self.terms[m])

    def sums(self, m: int, X: Views, coef: np.ndarray) -> np.ndarray:
        """Return Σ_i coef_i φ_m(x_i) of any samples, (n_columns, n_machines); nothing is held."""
        return np.concatenate([core.embedded_sum(seen, _times(coef, f)) for core, seen, f, _ in self._parts(m, X)])

    def values(self, m: int, X: Views, normal: np.ndarray) -> np.ndarray:
        """Return φ_m(x)·normal of any samples, (n, n_machines); nothing is held."""
        out = np.zeros((len(X), normal.shape[1]))
        for core, seen, factors, part in self._parts(m, X):
            out += _times(core.embedded_values(seen, normal[part]), factors)
        return out

    # -- the samples that it is of -------------------------------------------------------------------------------------

    @property
    def middle(self) -> np.ndarray:
        """What was taken off every φ: about its mean."""
        if self._middle is None:
            n = len(self.X)
            rows = np.unique(np.linspace(0, n - 1, min(n, MIDDLE_SAMPLES)).astype(np.int64))
            self._middle = self._rows(rows).mean(axis=0) if n else np.zeros(self.size)
        return self._middle

    @property
    def table(self) -> np.ndarray:
        """φ less its middle of all samples, (n, size)."""
        if self._table is None:
            middle = self.middle
            table: np.ndarray = np.empty((len(self.X), self.size), self.dtype)

            def fill(part: slice) -> None:
                some = self.X.between(part.start, part.stop)
                for m in range(len(self.terms)):
                    own = self.columns(m)
                    np.subtract(self.of(m, some), middle[own], out=table[part, own], casting="same_kind")

            for_blocks(fill, len(self.X), self.block, self.n_jobs)
            self._table = table
        return self._table

    @property
    def block(self) -> int:
        """How many samples are made, or read, at a time."""
        return max(1, BLOCK_NUMBERS // max(1, self.size))

    def _rows(self, rows: np.ndarray) -> np.ndarray:
        """Return φ of some of the samples, made anew."""
        some = self.X.rows(rows)
        return np.hstack([self.of(m, some) for m in range(len(self.terms))])

    def placed(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a table that holds φ less its middle of some samples, and where they are in it."""
        return self.table, rows

    def taken(self, rows: np.ndarray) -> np.ndarray:
        """Return φ of some of the samples, (len(rows), size), in double precision."""
        return self.table[rows] + self.middle

    def normals(self, coef: np.ndarray, whole: bool = True) -> np.ndarray:
        """Return Σ_i coef_i φ(x_i), (size, n_machines), for coef of shape (n, n_machines); on threads.

        Of φ less its middle where not whole.
        """
        from .._fast.number_tables import table_sums

        table, n_machines, rows = self.table, coef.shape[1], support_of(coef)
        sums = np.zeros((PARTS, n_machines, self.size))
        size = max(1, -(-len(rows) // PARTS))

        def add(part: slice) -> None:
            for start in range(part.start, part.stop, self.block):
                some = rows[start : min(start + self.block, part.stop)]
                table_sums(table, some, coef[some], sums[part.start // size])

        for_blocks(add, len(rows), size, self.n_jobs)
        found = sums.sum(axis=0).T
        return found + self.middle[:, None] * coef[rows].sum(axis=0) if whole else found

    def times(self, vectors: np.ndarray, whole: bool = True) -> np.ndarray:
        """Return φ(x)·vectors of all samples, (n, n_machines), for vectors of shape (size, n_machines); on threads.

        Of φ less its middle where not whole.
        """
        from .._fast.number_tables import table_times

        table, lines = self.table, np.ascontiguousarray(vectors.T)
        out = np.empty((len(table), len(lines)))

        def look_up(part: slice) -> None:
            table_times(table, np.arange(part.start, part.stop), lines, out[part])

        for_blocks(look_up, len(table), self.block, self.n_jobs)
        return out + self.middle @ vectors if whole else out

    def moments(self, both: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ_i c_i φ_i of both columns, (size, 2), and `second` of the last; φ less its middle."""
        return self.normals(both, whole=False), self.second(both[:, 1])

    def second(self, share: np.ndarray) -> np.ndarray:
        """Return Σ_i share_i φ_i φ_i' with φ less its middle, (size, size), for share ≥ 0."""
        table, total, first = self.table, np.zeros((self.size, self.size), order="F"), share[0] if len(share) else 0.0
        roots = None if (share == first).all() else np.sqrt(share)[:, None]
        rows = max(1, NEAR_NUMBERS // max(1, self.size))
        # one piece of memory for all: a process that gives it back at once, as workers do, waits for it anew each time
        kept = np.empty((rows, self.size))
        for part in blocks(len(table), rows):
            some = table[part]
            if roots is not None or some.dtype != np.float64:
                some = np.multiply(some, 1.0 if roots is None else roots[part], out=kept[: len(some)])
            total = blas.dsyrk(1.0, some.T, beta=1.0, c=total, overwrite_c=1)
        total *= first if roots is None else 1.0
        return np.triu(total) + np.triu(total, 1).T

    def squares(self, whole: bool = True) -> np.ndarray:
        """Return ‖φ_m(x)‖² of every term and sample, (n_terms, n); of φ less its middle where not whole."""
        from .._fast.number_tables import table_squares

        table, out = self.table, np.empty((len(self.terms), len(self.X)))
        added = self.middle if whole else np.zeros(self.size)

        def square(part: slice) -> None:
            found = np.empty((len(out), part.stop - part.start))
            table_squares(table, part.start, added, self.starts, found)
            out[:, part] = found

        for_blocks(square, len(table), self.block, self.n_jobs)
        return out
