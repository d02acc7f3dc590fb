"""Grams of kernels whose features are listed: sparse rows instead of matrices, the normal instead of coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels import ExplicitKernel, Frozen, Kernel, Normalized, On, Only, Scaled, Sum
from ..kernels.base import _inverse_root
from ..kernels.vocabulary import Rows, add_products
from ..parallel import for_blocks
from ..sequences import Alphabet
from ..views import Views
from .base import BLOCK_BYTES, Gram, support_of

#: Rows that one thread looks up before it asks for more.
ROW_BLOCK = 256
#: For fewer rows than this, a block is looked up row by row instead of through an index by feature.
FEW_ROWS = 16

#: What one string kernel of a term has learned: its alphabet, and its vocabularies with their weights.
Learned = tuple[Alphabet, list]


class FeatureMap:
    """Φ of one term, so that k(x, y) = Φ(x)·Φ(y): learned on X, then made of any samples.

    Scaling, choosing columns, taking parts and normalising keep features explicit.
    """

    def __init__(self, term: Kernel, X: Views) -> None:
        self.term = term
        self._learned: list[Learned] = []
        #: The features of X, one group after another: the kernel is the sum of their products.
        self.rows = self._walk(term, X, None)

    def at(self, X: Views) -> list[Rows]:
        """Return the features of other samples that those of the first also have."""
        return self._walk(self.term, X, iter(self._learned))

    def _walk(self, kernel: Kernel, X: Views, known: Iterator[Learned] | None) -> list[Rows]:
        if isinstance(kernel, ExplicitKernel):
            return self._leaf(kernel, X, known)
        if isinstance(kernel, On):
            return self._walk(kernel.kernel, X.select(kernel.columns), known)
        if isinstance(kernel, Sum):
            return [rows for part in kernel.kernels for rows in self._walk(part, X, known)]
        if isinstance(kernel, Scaled):
            return [replace(rows, weight=kernel.scale * rows.weight) for rows in self._walk(kernel.kernel, X, known)]
        if isinstance(kernel, Frozen):
            return self._walk(kernel.kernel, X, known)
        if isinstance(kernel, Normalized):
            return _normalised(self._walk(kernel.kernel, X, known))
        if isinstance(kernel, Only):
            return self._part(kernel, X, known)
        raise InputError(f"{kernel!r} has no explicit features; bind it as a matrix.")

    def _leaf(
        self, kernel: ExplicitKernel, X: Views, known: Iterator[Learned] | None, degree: int | None = None
    ) -> list[Rows]:
        if known is None:
            sequences = kernel.sequences(X)
            parts = kernel.parts(sequences.alphabet, degree)
            self._learned.append((sequences.alphabet, parts))
            return [_weighted(kernel.finish(words.fit(sequences)), weight) for weight, words in parts]
        alphabet, parts = next(known)
        sequences = X.sequences(alphabet)
        return [_weighted(kernel.finish(words.map(sequences)), weight) for weight, words in parts]

    def _part(self, kernel: Only, X: Views, known: Iterator[Learned] | None) -> list[Rows]:
        inner: Any = kernel.kernel
        if not isinstance(inner, Normalized):
            return self._leaf(inner, X, known, kernel.degree)
        part = self._leaf(inner.kernel, X, known, kernel.degree)
        return [rows.scaled(_inverse_root(inner.kernel.compute_diag(X))) for rows in part]  # by the norms of the whole


class FeatureGram(Gram):
    """K_m = Φ_m Φ_m' with sparse Φ_m: products go through the normal Φ_m' coef, and no matrix is ever formed.

    Memory is linear in the text. All sums are in float64, and do not depend on the number of threads.

    Parameters
    ----------
    terms : kernels with gram_kind "features"
        Also scaled, normalised, split, or on some columns.
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        n_jobs: int = 1,
        factors: np.ndarray | None = None,
        maps: Sequence[FeatureMap] | None = None,
    ) -> None:
        super().__init__(terms, X, factors)
        self.n_jobs = n_jobs
        self.maps = [FeatureMap(term, X) for term in self.terms] if maps is None else list(maps)

    def rescaled(self, factors: np.ndarray) -> Gram:
        return FeatureGram(self.terms, self.X, self.n_jobs, factors, self.maps)

    def only(self, picked: Sequence[int]) -> Gram:
        terms, maps = [self.terms[m] for m in picked], [self.maps[m] for m in picked]
        return FeatureGram(terms, self.X, self.n_jobs, self.factors[list(picked)], maps)

    def normals(self, m: int, rows: np.ndarray, coef: np.ndarray) -> Iterator[np.ndarray]:
        """Yield Σ_q coef[q] Φ_m(X[rows[q]]) of every group of features, without weights and factors."""
        from .._fast.sparse import scatter

        for part in self.maps[m].rows:
            normal = np.zeros(part.n_columns)
            scatter(*part.arrays, rows, coef if part.scale is None else coef * part.scale[rows], normal)
            yield normal

    def _times(self, m: int, rows: np.ndarray, coef: np.ndarray, at: list[Rows], out: np.ndarray) -> None:
        """out += K_m(at, X[rows]) @ coef, without its factor."""
        from .._fast.sparse import gather

        for part, normal in zip(at, self.normals(m, rows, coef), strict=True):

            def look_up(block: slice, part: Rows = part, normal: np.ndarray = normal) -> None:
                found = np.empty(block.stop - block.start)
                gather(*part.arrays, normal, block.start, found)
                out[block] += part.weight * (found if part.scale is None else found * part.scale[block])

            for_blocks(look_up, len(part), ROW_BLOCK, self.n_jobs)

    def _apply(self, m: int, coef: np.ndarray, at: Views | None, out: np.ndarray) -> None:
        """out += K_m(at, X) @ coef for every column of coef, without the factor."""
        rows = support_of(coef)
        if len(rows) == 0:
            return
        seen = self.maps[m].rows if at is None else self.maps[m].at(at)
        for c in range(coef.shape[1]):
            self._times(m, rows, np.ascontiguousarray(coef[rows, c]), seen, out[:, c])

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        columns = coef.reshape(len(coef), -1)
        out = np.zeros((self.n_terms, self.n if at is None else len(at), columns.shape[1]))
        for m in range(self.n_terms):
            self._apply(m, columns, at, out[m])
        out *= self.factors[:, None, None]
        return out.reshape(*out.shape[:2], *coef.shape[1:])

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        scaled, columns = weights * self.factors, coef.reshape(len(coef), -1)
        out = np.zeros((self.n if at is None else len(at), columns.shape[1]))
        for m in np.flatnonzero(scaled):
            one = np.zeros(out.shape)
            self._apply(int(m), columns, at, one)
            out += scaled[m] * one
        return out.reshape(len(out), *coef.shape[1:])

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        scaled, columns = weights * self.factors, coef.reshape(len(coef), -1)
        out = np.zeros((self.n, columns.shape[1]))
        for m in np.flatnonzero(scaled):
            for c in range(columns.shape[1]):
                scores = np.zeros(self.n)
                self._times(int(m), np.asarray(rows), np.ascontiguousarray(columns[:, c]), self.maps[m].rows, scores)
                out[:, c] += scaled[m] * scores
        return out.reshape(self.n, *coef.shape[1:])

    def quad_columns(self, coef: np.ndarray) -> np.ndarray:
        rows, out = support_of(coef), np.zeros((self.n_terms, coef.shape[1]))
        for m in range(self.n_terms):
            for c in range(coef.shape[1]):
                normals = self.normals(m, rows, np.ascontiguousarray(coef[rows, c]))
                out[m, c] = sum(
                    part.weight * (normal @ normal) for part, normal in zip(self.maps[m].rows, normals, strict=True)
                )
        return out * self.factors[:, None]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows)
        chosen = np.arange(self.n) if cols is None else np.asarray(cols)
        scaled, out = weights * self.factors, np.zeros((len(rows), len(chosen)))
        for m in np.flatnonzero(scaled):
            for part in self.maps[m].rows:
                if len(rows) < FEW_ROWS:
                    _add_rows(part, rows, chosen, scaled[m], out)
                else:
                    other = part if cols is None else part.take(chosen)
                    self._add_many(part.take(rows), other, scaled[m], out)
        return out

    def _add_many(self, left: Rows, right: Rows, factor: float, out: np.ndarray) -> None:
        right.by_feature  # noqa: B018: built once, before threads ask for it

        def fill(block: slice) -> None:
            add_products(left, right, out[block], block.start, factor)

        for_blocks(fill, len(left), max(1, min(ROW_BLOCK, BLOCK_BYTES // (8 * max(1, len(right))))), self.n_jobs)

    def diag_each(self) -> np.ndarray:
        return np.array([np.sum([part.diag for part in one.rows], axis=0) for one in self.maps]).reshape(-1, self.n)

    @property
    def nbytes(self) -> int:
        """Bytes of all features."""
        return sum(array.nbytes for one in self.maps for part in one.rows for array in part.arrays)


def _weighted(rows: Rows, weight: float) -> Rows:
    return replace(rows, weight=weight * rows.weight)


def _normalised(parts: list[Rows]) -> list[Rows]:
    """Divide by the norms: k(x, x) is the sum over all groups."""
    inverse = _inverse_root(np.sum([rows.diag for rows in parts], axis=0))
    return [rows.scaled(inverse) for rows in parts]


def _add_rows(part: Rows, rows: np.ndarray, cols: np.ndarray, factor: float, out: np.ndarray) -> None:
    """out += factor · K[rows, cols] of one group of features."""
    from .._fast.sparse import few_rows

    found = np.empty(out.shape)
    few_rows(*part.arrays, rows, cols, np.zeros(part.n_columns), found)
    found *= factor * part.weight
    if part.scale is not None:
        found *= part.scale[rows, None]
        found *= part.scale[cols]
    out += found
