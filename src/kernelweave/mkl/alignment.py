"""How like the ideal kernel the terms are: products of kernels over all pairs of samples, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from ..gram import Gram
from ..gram.base import BLOCK_BYTES
from ..parallel import blocks

#: Bytes of kernel values that are read at a time where they are held: more would be fresh memory every time.
HELD_BYTES = 8 * 2**20
#: Bytes of kernel values that are worked on at a time, so that they stay near the processor.
CACHE_BYTES = 2**20
#: Up to this many columns of targets, differences are taken one by one; of more, from products, with a digit less.
FEW_COLUMNS = 16


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
        return self._pair_values(K, 0, rows, cols, np.ones(K.shape[1:]))

    def _pair_values(
        self, K: np.ndarray, start: int, rows: np.ndarray, cols: np.ndarray, roots: np.ndarray
    ) -> np.ndarray:
        """Return the values of a block from its column `start` on, times the roots of how much each pair counts."""
        from .._fast.alignment import pair_values

        # means are taken off value by value: differences of large sums would lose the digits of nearly constant terms
        # columns are picked in another order of memory, which would be compiled for
        left, right = (np.ascontiguousarray(part) for part in (self._left[:, rows], self._right[:, cols]))
        return pair_values(K, start, left, right, roots)

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
        for K, start, rows, cols, root in self._blocks_of_terms(self.diagonal):
            Z = self._pair_values(K, start, rows, cols, root)
            G = dsyrk(1.0, Z.T, beta=1.0, c=G, trans=1, overwrite_c=1)  # its upper triangle
            h += Z @ (self.target(rows, cols) * root).ravel()
        YY = self.Y.T @ (self.share[:, None] * self.Y)
        tt = float((YY * YY).sum())
        if not self.diagonal:
            tt -= float(((self.share * (self.Y * self.Y).sum(axis=1)) ** 2).sum())
        return Moments(np.triu(G) + np.triu(G, 1).T, h, tt, len(self))

    def spread(self) -> float:
        """Return the mean of ‖Y_i − Y_j‖² / 2 over all pairs: the variance of the targets."""
        off = self.Y - self.share @ self.Y / len(self)
        return float(self.share @ (off * off).sum(axis=1)) / len(self)

    def differences(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the normal equations (G, h) of t_ij = ‖Y_i − Y_j‖² / 2 on how far i and j are apart under every term.

        That is d_m(i, j) = (K_m(i, i) + K_m(j, j)) / 2 − K_m(i, j), and last d(i, j) = 1 for noise. A pair counts
        share_i · share_j / Σ_m weights[m] d_m(i, j). Costs what `moments` does.
        """
        from .._fast.alignment import pair_values

        n_columns = self.gram.n_terms + 1
        half = 0.5 * self.gram.factors[:, None] * self.gram.diag_each()[:, self.some]
        G, h = np.zeros((n_columns, n_columns), order="F"), np.zeros(n_columns)
        for K, start, rows, cols, root in self._blocks_of_terms(diagonal=False):
            D = np.ones((n_columns, root.size))
            left, right = np.ascontiguousarray(half[:, rows]), np.ascontiguousarray(half[:, cols])
            D[:-1] = -pair_values(K, start, left, right, np.ones(root.shape))
            root = root.ravel() / np.sqrt(np.maximum(weights @ D, weights[-1]))  # below for indefinite terms only
            D *= root
            G = dsyrk(1.0, D.T, beta=1.0, c=G, trans=1, overwrite_c=1)
            h += D @ (0.5 * self._apart(rows, cols).ravel() * root)
        return np.triu(G) + np.triu(G, 1).T, h

    def _apart(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return ‖Y_i − Y_j‖² for these rows and columns of the samples."""
        if self.Y.shape[1] <= FEW_COLUMNS:
            apart = self.Y[rows][:, None, :] - self.Y[cols][None, :, :]
            return np.asarray((apart * apart).sum(axis=2))
        squares = (self.Y * self.Y).sum(axis=1)
        return np.maximum(squares[rows][:, None] + squares[cols] - 2.0 * self.target(rows, cols), 0.0)

    def _blocks_of_terms(self, diagonal: bool) -> Iterator[tuple[np.ndarray, int, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield blocks of all terms, the first of their columns to look at, its rows and columns, and their roots."""
        for rows, cols, roots in self._upper_triangle(diagonal):
            K = self.gram.block_each(self.some[rows], self.some[cols])
            for part in blocks(len(cols), max(1, CACHE_BYTES // (8 * self.gram.n_terms * len(rows)))):
                yield K, part.start, rows, cols[part], np.ascontiguousarray(roots[:, part])

    def _upper_triangle(self, diagonal: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows, the columns from there on, and the roots of how much their pairs count."""
        room = BLOCK_BYTES if self.gram.held.streams else HELD_BYTES
        n, size = len(self), max(1, room // (8 * self.gram.n_terms * len(self)))
        root = np.sqrt(self.share)
        for part in blocks(n, size):
            twice = root[part.start :].copy()
            twice[part.stop - part.start :] *= np.sqrt(2.0)  # for their mirror images below the diagonal
            roots = np.outer(root[part], twice)
            if not diagonal:
                np.fill_diagonal(roots, 0.0)
            yield np.arange(part.start, part.stop), np.arange(part.start, n), roots
