"""Grams of kernels whose features are listed: sparse rows instead of matrices, the normal instead of coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels import ExplicitKernel, Frozen, Kernel, Normalized, On, Only, Scaled, Sum
from ..kernels.base import _inverse_root
from ..kernels.vocabulary import Rows, Vocabulary, add_products
from ..parallel import for_blocks
from ..sequences import Alphabet, SequenceSet
from ..views import Views
from .base import BLOCK_BYTES, Gram, support_of

#: Rows that one thread looks up before it asks for more.
ROW_BLOCK = 256
#: Letters of new samples that one thread turns into features at a time.
BLOCK_LETTERS = 1 << 22
#: For fewer rows than this, a block is looked up row by row instead of through an index by feature.
FEW_ROWS = 16

Path = tuple[Any, ...]


@dataclass(eq=False, frozen=True)
class Norm:
    """What samples are divided by: the root of the diagonal of a kernel."""

    path: Path
    kernel: Kernel

    def inverse(self, X: Views) -> np.ndarray:
        """Return 1 / √k(x, x) of every sample, 0 where there is nothing to divide."""
        return _inverse_root(self.kernel.compute_diag(_seen(X, self.path)))


@dataclass
class Group:
    """One group of features of a term: those of one vocabulary, on one view, with one weight."""

    kernel: ExplicitKernel
    vocabulary: Vocabulary
    alphabet: Alphabet
    path: Path
    weight: float
    norms: tuple[Norm, ...]

    def fit(self, X: Views, roots: dict[Norm, np.ndarray]) -> Rows:
        """Return the features of the samples that the term is bound to."""
        return self._finish(self.vocabulary.fit(self.sequences(X)), roots)

    def map(self, X: Views, roots: dict[Norm, np.ndarray]) -> Rows:
        """Return the features of other samples, as far as they are known."""
        return self._finish(self.vocabulary.map(self.sequences(X)), roots)

    def sequences(self, X: Views) -> SequenceSet:
        """Return the sequences that the group sees, over the alphabet of the first samples."""
        return _seen(X, self.path).sequences(self.alphabet)

    def _finish(self, rows: Rows, roots: dict[Norm, np.ndarray]) -> Rows:
        rows = replace(self.kernel.finish(rows), weight=self.weight)
        for norm in self.norms:
            rows = rows.scaled(roots[norm])
        return rows


def _seen(X: Views, path: Path) -> Views:
    for columns in path:
        X = X.select(columns)
    return X


def groups_of(
    term: Kernel, X: Views, path: Path = (), weight: float = 1.0, norms: tuple[Norm, ...] = ()
) -> list[Group]:
    """Take a term apart: scaling, choosing columns, adding, splitting and normalising keep features explicit."""
    if isinstance(term, On):
        return groups_of(term.kernel, X, (*path, term.columns), weight, norms)
    if isinstance(term, Scaled):
        return groups_of(term.kernel, X, path, weight * term.scale, norms)
    if isinstance(term, Frozen):
        return groups_of(term.kernel, X, path, weight, norms)
    if isinstance(term, Sum):
        return [group for part in term.kernels for group in groups_of(part, X, path, weight, norms)]
    if isinstance(term, Normalized):
        return groups_of(term.kernel, X, path, weight, (*norms, Norm(path, term.kernel)))
    degree = term.degree if isinstance(term, Only) else None
    core: Any = term.kernel if isinstance(term, Only) else term
    if isinstance(core, Normalized):  # a part is divided by the norms of the whole
        norms, core = (*norms, Norm(path, core.kernel)), core.kernel
    if not isinstance(core, ExplicitKernel):
        raise InputError(f"{term!r} has no explicit features; bind it as a matrix.")
    alphabet = core.sequences(_seen(X, path)).alphabet
    return [Group(core, words, alphabet, path, weight * w, norms) for w, words in core.parts(alphabet, degree)]


class FeatureMap:
    """Φ of one term, so that k(x, y) = Φ(x)·Φ(y): learned on X, then made of any samples."""

    def __init__(self, term: Kernel, X: Views) -> None:
        self.X = X
        self._rows: list[Rows] | None = None
        #: The kernel is the sum of the products of these.
        self.groups = groups_of(term, X)
        self.norms = {norm: None for group in self.groups for norm in group.norms}  # in order

    def keep(self) -> list[Rows]:
        """Return the features of X, one group after another, and hold them from now on."""
        if self._rows is None:
            self._rows = list(self.rows())
        return self._rows

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

    def normals(self, m: int, rows: np.ndarray, coef: np.ndarray) -> Iterator[tuple[Rows, np.ndarray]]:
        """Yield the features of every group, and Σ_q coef[q] Φ_m(X[rows[q]]), (n_features, n_machines)."""
        from .._fast.sparse import scatter

        for part in self.maps[m].rows():
            normal = np.zeros((coef.shape[1], part.n_columns))
            scaled = coef if part.scale is None else coef * part.scale[rows, None]
            for c in range(coef.shape[1]):
                scatter(*part.arrays, rows, np.ascontiguousarray(scaled[:, c]), normal[c])
            yield part, normal

    def _times(self, m: int, rows: np.ndarray, coef: np.ndarray, factor: float, out: np.ndarray) -> None:
        """Add factor · K_m[:, rows] @ coef to out, without the term's factor."""
        self.maps[m].keep()  # products with all samples come again and again
        for part, normal in self.normals(m, rows, coef):

            def look_up(block: slice, part: Rows = part, normal: np.ndarray = normal) -> None:
                _add_lookups(part, normal, block, factor, out)

            for_blocks(look_up, self.n, ROW_BLOCK, self.n_jobs)

    def _times_at(self, m: int, coef: np.ndarray, factor: float, at: Views, out: np.ndarray) -> None:
        """Add factor · K_m(at, X) @ coef to out, a block of new samples at a time: only the normals are held."""
        rows = support_of(coef)
        one = self.maps[m]
        normals = [normal for _, normal in self.normals(m, rows, coef[rows])]
        n_letters = max((group.sequences(at).n_letters for group in one.groups), default=0)
        size = max(1, BLOCK_LETTERS * len(at) // max(1, n_letters))

        def look_up(block: slice) -> None:
            views = at.rows(np.arange(block.start, block.stop))
            roots = one.roots(views)
            for group, normal in zip(one.groups, normals, strict=True):
                part = group.map(views, roots)
                _add_lookups(part, normal, slice(0, len(views)), factor, out[block])

        for_blocks(look_up, len(at), size, self.n_jobs)

    def _apply(self, m: int, coef: np.ndarray, factor: float, at: Views | None, out: np.ndarray) -> None:
        rows = support_of(coef)
        if len(rows) == 0:
            return
        if at is not None:
            self._times_at(m, coef, factor, at, out)
        else:
            self._times(m, rows, coef[rows], factor, out)

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        columns = coef.reshape(len(coef), -1)
        out = np.zeros((self.n_terms, self.n if at is None else len(at), columns.shape[1]))
        for m, factor in enumerate(self.factors):
            self._apply(m, columns, factor, at, out[m])
        return out.reshape(*out.shape[:2], *coef.shape[1:])

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        scaled, columns = weights * self.factors, coef.reshape(len(coef), -1)
        out = np.zeros((self.n if at is None else len(at), columns.shape[1]))
        for m in np.flatnonzero(scaled):
            self._apply(int(m), columns, scaled[m], at, out)
        return out.reshape(len(out), *coef.shape[1:])

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        scaled, columns = weights * self.factors, coef.reshape(len(coef), -1)
        out = np.zeros((self.n, columns.shape[1]))
        for m in np.flatnonzero(scaled):
            self._times(int(m), np.asarray(rows), columns, scaled[m], out)
        return out.reshape(self.n, *coef.shape[1:])

    def quad_columns(self, coef: np.ndarray) -> np.ndarray:
        rows, out = support_of(coef), np.zeros((self.n_terms, coef.shape[1]))
        for m in range(self.n_terms):
            for part, normal in self.normals(m, rows, coef[rows]):
                out[m] += part.weight * np.einsum("cu,cu->c", normal, normal)
        return out * self.factors[:, None]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows)
        chosen = np.arange(self.n) if cols is None else np.asarray(cols)
        scaled, out = weights * self.factors, np.zeros((len(rows), len(chosen)))
        for m in np.flatnonzero(scaled):
            for part in self.maps[m].keep():
                if len(rows) < FEW_ROWS:
                    _add_rows(part, rows, chosen, scaled[m], out)
                else:
                    other = part if cols is None else part.take(chosen)
                    self._add_many(part.take(rows), other, scaled[m], out)
        return out

    def _add_many(self, left: Rows, right: Rows, factor: float, out: np.ndarray) -> None:
        _ = right.by_feature  # built before the threads ask for it

        def fill(block: slice) -> None:
            add_products(left, right, out[block], block.start, factor)

        for_blocks(fill, len(left), max(1, min(ROW_BLOCK, BLOCK_BYTES // (8 * max(1, len(right))))), self.n_jobs)

    def diag_each(self) -> np.ndarray:
        return np.array([np.sum([part.diag for part in one.keep()], axis=0) for one in self.maps]).reshape(-1, self.n)

    @property
    def nbytes(self) -> int:
        """Bytes of all features."""
        return sum(array.nbytes for one in self.maps for part in one.keep() for array in part.arrays)


def _add_lookups(part: Rows, normal: np.ndarray, block: slice, factor: float, out: np.ndarray) -> None:
    """Add factor · the inner products of these samples with the normals to out[block], one column each."""
    from .._fast.sparse import gather

    found = np.empty(block.stop - block.start)
    for c in range(len(normal)):
        gather(*part.arrays, normal[c], block.start, found)
        out[block, c] += factor * part.weight * (found if part.scale is None else found * part.scale[block])


def _add_rows(part: Rows, rows: np.ndarray, cols: np.ndarray, factor: float, out: np.ndarray) -> None:
    """Add factor · K[rows, cols] to out, of one group of features."""
    from .._fast.sparse import few_rows

    found = np.empty(out.shape)
    few_rows(*part.arrays, rows, cols, np.zeros(part.n_columns), found)
    found *= factor * part.weight
    if part.scale is not None:
        found *= part.scale[rows, None]
        found *= part.scale[cols]
    out += found
