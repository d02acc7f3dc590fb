"""How like the ideal kernel the terms are: products of kernels over all pairs of samples, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from ..gram import Gram
from ..gram.base import BLOCK_BYTES
from ..parallel import blocks

#: Bytes of kernel values that are worked on at a time, so that they stay near the processor.
CACHE_BYTES = 2**20


@dataclass(frozen=True)
class Moments:
    """G[m, l] = ⟨K_m, K_l⟩, h[m] = ⟨K_m, T⟩ and tt = ⟨T, T⟩, with ⟨A, B⟩ = Σ_ij share_i share_j A_ij B_ij."""

    G: np.ndarray
    h: np.ndarray
    tt: float
    #: How many samples the pairs were made of.
    n_points: int

    def each(self) -> np.ndarray:
        """Return the alignment of every term: ⟨K_m, T⟩ / (‖K_m‖ ‖T‖)."""
        squares = self.G.diagonal()
        seen = squares > 1e-24 * squares.max()  # what is zero but for rounding is like nothing
        return np.where(seen, self.h, 0.0) / np.sqrt(np.where(seen, squares, 1.0) * max(self.tt, 1e-300))

    def alignment(self, weights: np.ndarray) -> float:
        """Return the alignment of Σ_m weights[m] K_m."""
        square = max(float(weights @ self.G @ weights), 0.0)
        return float(weights @ self.h) / max(float(np.sqrt(square * self.tt)), 1e-300)


class Pairs:
    """The pairs of some samples: what every term makes of them, and what the ideal kernel Y Y' would.

    Parameters
    ----------
    gram : Gram
    some : array of row numbers
        The samples whose pairs count.
    share : array of shape (len(some),)
        How much each of them counts; a pair counts share_i · share_j.
    Y : array of shape (len(some), n_columns)
        The ideal kernel is T = Y Y'.
    centred : bool
        Take the mean out of every K_m and of Y, as a machine with an intercept does: K_m becomes P'K_m P
        with P = I − share 1' / Σ share.
    diagonal : bool
        Whether pairs of a sample with itself count.
    """

    def __init__(
        self,
        gram: Gram,
        some: np.ndarray,
        share: np.ndarray,
        Y: np.ndarray,
        centred: bool = True,
        diagonal: bool = False,
    ) -> None:
        self.gram, self.some, self.centred, self.diagonal = gram, some, centred, diagonal
        self.share = share * (len(share) / share.sum())
        self.Y = Y - self.share @ Y / len(some) if centred else Y
        #: What is taken off every K_m: by row and by column.
        self._left, self._right = np.zeros((2, gram.n_terms, len(some)))
        if centred:
            coef = np.zeros(gram.n)
            coef[some] = self.share / len(some)
            self._right = gram.apply_some(np.arange(gram.n_terms), some, coef)
            self._left = self._right - (self._right @ self.share / len(some))[:, None]

    def __len__(self) -> int:
        return len(self.some)

    def block(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return K_m of every term for these rows and columns of the samples, (n_terms, len(rows) · len(cols))."""
        K = self.gram.block_each(self.some[rows], self.some[cols])
        return self._values(K, 0, rows, cols, np.ones(K.shape[1:]))

    def _values(self, K: np.ndarray, start: int, rows: np.ndarray, cols: np.ndarray, roots: np.ndarray) -> np.ndarray:
        """Return the values of a block from its column `start` on, times the roots of how much each pair counts."""
        from .._fast.alignment import pair_values

        # means are taken off value by value: differences of large sums would lose the digits of nearly constant terms
        return pair_values(K, start, self._left[:, rows], self._right[:, cols], roots)

    def target(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the ideal kernel for these rows and columns of the samples."""
        return self.Y[rows] @ self.Y[cols].T

    def moments(self) -> Moments:
        """Return all products of the terms with each other and with the ideal kernel.

        Costs n_terms² · n² / 2 multiplications, by blocks of rows of the upper triangle; what is held
        at a time does not grow with the number of pairs.
        """
        n_terms = self.gram.n_terms
        G, h = np.zeros((n_terms, n_terms), order="F"), np.zeros(n_terms)
        for rows, cols, roots in self._triangle():
            K = self.gram.block_each(self.some[rows], self.some[cols])
            for part in blocks(len(cols), max(1, CACHE_BYTES // (8 * n_terms * len(rows)))):
                root = np.ascontiguousarray(roots[:, part])
                Z = self._values(K, part.start, rows, cols[part], root)
                G = dsyrk(1.0, Z.T, beta=1.0, c=G, trans=1, overwrite_c=1)  # its upper triangle
                h += Z @ (self.target(rows, cols[part]) * root).ravel()
        YY = self.Y.T @ (self.share[:, None] * self.Y)
        tt = float((YY * YY).sum())
        if not self.diagonal:
            tt -= float(((self.share * (self.Y * self.Y).sum(axis=1)) ** 2).sum())
        return Moments(np.triu(G) + np.triu(G, 1).T, h, tt, len(self))

    def _triangle(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows, the columns from there on, and the roots of how much their pairs count."""
        n, size = len(self), max(1, BLOCK_BYTES // (8 * self.gram.n_terms * len(self)))
        root = np.sqrt(self.share)
        for part in blocks(n, size):
            twice = root[part.start :].copy()
            twice[part.stop - part.start :] *= np.sqrt(2.0)  # for their mirror images below the diagonal
            roots = np.outer(root[part], twice)
            if not self.diagonal:
                np.fill_diagonal(roots, 0.0)
            yield np.arange(part.start, part.stop), np.arange(part.start, n), roots
