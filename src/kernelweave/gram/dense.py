"""Grams that hold their matrices: in memory or in a memory-mapped file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..kernels import Kernel
from ..parallel import for_blocks
from ..views import Views
from .base import BLOCK_BYTES, Gram, apply_each_at, product, support_of


class DenseGram(Gram):
    """All K_m as matrices, in float64 or float32.

    Products are always summed in float64. The matrices lie in one or several stacks, so
    that loops over many small ones run in one go; a stored matrix (`Precomputed`) is a stack
    of its own, used where it lies.

    Parameters
    ----------
    stacks : list of arrays of shape (m, n, n) or (n, n)
    places : list of (stack, position), one per term
    """

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        stacks: Sequence[np.ndarray],
        places: Sequence[tuple[int, int]] | None = None,
        factors: np.ndarray | None = None,
    ) -> None:
        super().__init__(terms, X, factors)
        self.stacks = [stack if stack.ndim == 3 else stack[None] for stack in map(np.asarray, stacks)]
        if places is None:
            places = [(s, p) for s, stack in enumerate(self.stacks) for p in range(len(stack))]
        self.places = list(places)

    @classmethod
    def compute(
        cls,
        terms: Sequence[Kernel],
        X: Views,
        *,
        dtype: type = np.float64,
        directory: str | Path | None = None,
        n_jobs: int = 1,
    ) -> DenseGram:
        """Evaluate every term on X, in blocks of rows, on threads; into a file where a directory is given."""
        n, fresh = len(X), [term for term in terms if not term.stored]
        stack = _allocate((len(fresh), n, n), dtype, directory)

        def fill(part: slice) -> None:
            whole = part.stop - part.start == n  # then kernels can use that the matrix is symmetric
            rows, cols = (X, None) if whole else (X.rows(np.arange(part.start, part.stop)), X)
            for m, term in enumerate(fresh):
                stack[m, part] = finite(term.compute(rows, cols), term)

        for_blocks(fill, n if fresh else 0, max(1, min(n, BLOCK_BYTES // (8 * n))), n_jobs)
        stacks, places, position = [stack], [], 0
        for term in terms:
            if term.stored:
                K = term.compute(X, None)
                stacks.append(K.T if K.flags.f_contiguous else np.ascontiguousarray(K))  # symmetric: either will do
                places.append((len(stacks) - 1, 0))
            else:
                places.append((0, position))
                position += 1
        return cls(terms, X, stacks, places)

    def matrix_of(self, m: int) -> np.ndarray:
        """Return K_m without its factor."""
        stack, position = self.places[m]
        return self.stacks[stack][position]

    def _by_stack(self, picked: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (stack, positions, where in `picked`) for every stack that holds picked terms."""
        places = np.array([self.places[m] for m in picked], dtype=np.int64).reshape(-1, 2)
        for s, stack in enumerate(self.stacks):
            where = np.flatnonzero(places[:, 0] == s)
            if len(where):
                yield stack, places[where, 1], where

    def rescaled(self, factors: np.ndarray) -> Gram:
        return DenseGram(self.terms, self.X, self.stacks, self.places, factors)

    def only(self, picked: Sequence[int]) -> Gram:
        terms, places = [self.terms[m] for m in picked], [self.places[m] for m in picked]
        return DenseGram(terms, self.X, self.stacks, places, self.factors[list(picked)])

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        if at is not None:
            return super().apply(coef, weights, at)
        out = np.zeros(coef.shape)
        for m in np.flatnonzero(weights):
            out += weights[m] * self.factors[m] * product(self.matrix_of(int(m)), coef)
        return out

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        if at is not None:
            return apply_each_at(self, coef, at)
        if coef.ndim == 2:
            return np.stack([self.apply_each(column) for column in coef.T], axis=-1)
        from .._fast.dense import rows_times

        support, coef = support_of(coef), np.ascontiguousarray(coef)
        if 2 * len(support) < self.n:
            each = np.array([rows_times(self.matrix_of(m), support, coef[support]) for m in range(self.n_terms)])
            return each * self.factors[:, None]
        return self.apply_some(np.arange(self.n_terms), np.arange(self.n), coef)

    def apply_some(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        from .._fast.dense import products

        out = np.empty((len(picked), len(at)))
        for stack, positions, where in self._by_stack(picked):
            out[where] = products(stack, positions, at, coef)
        return out * self.factors[picked][:, None]

    def quad_columns(self, coef: np.ndarray) -> np.ndarray:
        from .._fast.dense import quads

        out = np.empty((self.n_terms, coef.shape[1]))
        support, columns = support_of(coef), np.ascontiguousarray(coef.T)
        for stack, positions, where in self._by_stack(np.arange(self.n_terms)):
            out[where] = quads(stack, positions, support, columns)
        return out * self.factors[:, None]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        from .._fast.dense import gather

        cols = np.arange(self.n) if cols is None else cols
        out = np.zeros((len(rows), len(cols)))
        for m in np.flatnonzero(weights):
            out += gather(self.matrix_of(int(m)), rows, cols, weights[m] * self.factors[m])
        return out

    def block_each(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        from .._fast.dense import gather

        out = np.empty((self.n_terms, len(rows), len(cols)))
        together = _in_a_row(rows) and _in_a_row(cols)
        for m in range(self.n_terms):
            if together:
                part = self.matrix_of(m)[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
                np.multiply(part, self.factors[m], out=out[m])
            else:
                out[m] = gather(self.matrix_of(m), rows, cols, self.factors[m])
        return out

    def diag_each(self) -> np.ndarray:
        return np.array([np.diagonal(self.matrix_of(m)) for m in range(self.n_terms)], dtype=np.float64)

    def matrix(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        scaled = weights * self.factors
        used = np.flatnonzero(scaled)
        if len(used) == 1:  # nothing to add up, so nothing to copy
            return self.matrix_of(int(used[0])), float(scaled[used[0]])
        from .._fast.dense import mix

        parts = [mix(stack, positions, scaled[used[where]]) for stack, positions, where in self._by_stack(used)]
        K = parts[0] if parts else np.zeros((self.n, self.n))
        for part in parts[1:]:
            K = K + part
        return K, 1.0


def _in_a_row(index: np.ndarray) -> bool:
    return len(index) > 0 and bool((index == np.arange(index[0], index[0] + len(index))).all())


def finite(K: np.ndarray, term: Kernel) -> np.ndarray:
    """Pass K on, or say which term is not finite."""
    if not np.isfinite(K).all():
        raise InputError(f"The term {term!r} takes infinite values on these data: scale the features first.")
    return K


def _allocate(shape: tuple[int, ...], dtype: type, directory: str | Path | None) -> np.ndarray:
    if directory is None or 0 in shape:
        return np.empty(shape, dtype=dtype)
    # the file has no name once it is mapped, so nothing is left behind however the process ends
    with tempfile.TemporaryFile(dir=directory, prefix="kernelweave-") as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)
