"""Grams that hold their matrices: in memory or in a memory-mapped file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..kernels import Kernel
from ..parallel import for_blocks
from ..views import Views
from .base import BLOCK_BYTES, Gram, apply_each_at, product


class DenseGram(Gram):
    """All K_m as matrices, in float64 or float32.

    Products are always summed in float64. `bind` computes the matrices; a
    stored matrix (`Precomputed`) is used where it lies.
    """

    def __init__(
        self, terms: Sequence[Kernel], X: Views, matrices: Sequence[np.ndarray], factors: np.ndarray | None = None
    ) -> None:
        super().__init__(terms, X, factors)
        self.matrices = list(matrices)
        self._stack = _one_array(self.matrices)

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
        """Evaluate every term on X, in blocks of rows, on threads; into files where a directory is given."""
        n, fresh = len(X), [m for m, term in enumerate(terms) if not term.stored]
        stack = _allocate((len(fresh), n, n), dtype, directory)
        matrices = [stack[fresh.index(m)] if not term.stored else term.compute(X, None) for m, term in enumerate(terms)]
        size = max(1, min(n, BLOCK_BYTES // (8 * n)))

        def fill(part: slice) -> None:
            rows = X.rows(np.arange(part.start, part.stop))
            for m in fresh:
                matrices[m][part] = finite(terms[m].compute(rows, X), terms[m])

        for_blocks(fill, n if fresh else 0, size, n_jobs)
        return cls(terms, X, matrices)

    def rescaled(self, factors: np.ndarray) -> Gram:
        return DenseGram(self.terms, self.X, self.matrices, factors)

    def only(self, picked: Sequence[int]) -> Gram:
        terms = [self.terms[m] for m in picked]
        return DenseGram(terms, self.X, [self.matrices[m] for m in picked], self.factors[list(picked)])

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        if at is not None:
            return super().apply(coef, weights, at)
        used = np.flatnonzero(weights)
        out = np.zeros(coef.shape)
        for m in used:
            out += weights[m] * self.factors[m] * product(self.matrices[m], coef)
        return out

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        if at is not None:
            return apply_each_at(self, coef, at)
        if self._stack is not None and self._stack.dtype == np.float64:
            each = (self._stack.reshape(-1, self.n) @ coef).reshape((self.n_terms, *coef.shape))
        else:
            each = np.array([product(K, coef) for K in self.matrices])
        return each * self.factors.reshape((-1,) + (1,) * coef.ndim)

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        out = np.zeros((len(rows), self.n if cols is None else len(cols)))
        for m in np.flatnonzero(weights):
            K = self.matrices[m]
            out += weights[m] * self.factors[m] * (K[rows] if cols is None else K[rows[:, None], cols])
        return out

    def diag_each(self) -> np.ndarray:
        return np.array([np.diagonal(K) for K in self.matrices], dtype=np.float64)

    def matrix(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        scaled = weights * self.factors
        used = np.flatnonzero(scaled)
        if len(used) == 1:  # nothing to add up, so nothing to copy
            return self.matrices[used[0]], float(scaled[used[0]])
        stack = self._stack
        if stack is not None and 2 * len(used) > self.n_terms:
            flat = scaled.astype(stack.dtype) @ stack.reshape(self.n_terms, -1)
            return flat.reshape(self.n, self.n), 1.0
        K = np.zeros((self.n, self.n), dtype=self.matrices[0].dtype)
        for m in used:
            K += scaled[m] * self.matrices[m]
        return K, 1.0


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


def _one_array(matrices: list[np.ndarray]) -> np.ndarray | None:
    """Return the matrices as one array where they already lie one after another."""
    first = matrices[0].base
    if not isinstance(first, np.ndarray) or first.ndim != 3 or len(first) != len(matrices):
        return None
    inside = all(K.base is first and np.shares_memory(K, first[m]) for m, K in enumerate(matrices))
    return first if inside else None
