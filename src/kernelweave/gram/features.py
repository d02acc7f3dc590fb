"""Grams of kernels whose features are listed: sparse rows instead of matrices, the normal instead of coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..kernels import Kernel
from ..kernels.sparse_rows import Rows, add_products
from ..parallel import for_blocks
from ..views import Views
from .base import BLOCK_BYTES, Gram, support_of
from .coordinates import Coordinates, ListedCoordinates
from .feature_map import FeatureMap, add_lookups
from .offer import NO_MATRIX, Bytes, Held, Offer, Room
from .prepared import Prepared, PreparedListedWords
from .stores import listed_scores

#: Rows that one thread looks up before it asks for more.
ROW_BLOCK = 256
#: Normals are summed in up to MAX_SUMS parts, each with so many entries per feature that adding them up costs little.
MAX_SUMS, SUM_ENTRIES = 8, 8
#: Bytes of every feature that has a number, and of every key while keys are counted.
NUMBERED_BYTES, KEY_BYTES = 48.0, 32.0
#: For fewer rows than this, a block is looked up row by row instead of through an index by feature.
FEW_ROWS = 16


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

    special = True
    held = Held(coordinates=frozenset({"features"}), words=True, blas=False)

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

    @classmethod
    def takes(cls, term: Kernel, X: Views) -> bool:
        return term.gram_kind == "features"

    @classmethod
    def bound(cls, terms: Sequence[Kernel], X: Views, room: Room) -> FeatureGram:
        return cls(terms, X, room.needs.n_jobs)

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        gram = cls.bound(terms, X, room)
        # a step reads the features of a sample here, and a row of numbers, one after the other, there
        groups = [group for one in gram.maps for group in one.groups]
        sets = [group.sequences(X) for group in groups]
        means = [known.n_letters / max(1, len(known)) for known in sets]
        found = sum(group.vocabulary.most(mean) for group, mean in zip(groups, means, strict=True))
        return Offer.of(gram, NO_MATRIX, "features are listed once, and read", quicker=found <= gram.n)

    def rescaled(self, factors: np.ndarray) -> Gram:
        return FeatureGram(self.terms, self.X, self.n_jobs, factors, self.maps)

    def only(self, picked: Sequence[int]) -> Gram:
        terms, maps = [self.terms[m] for m in picked], [self.maps[m] for m in picked]
        return FeatureGram(terms, self.X, self.n_jobs, self.factors[list(picked)], maps)

    def sampled(self, rows: np.ndarray) -> Gram | None:
        return FeatureGram(self.terms, self.X.rows(rows), self.n_jobs)

    @property
    def bytes(self) -> Bytes:
        """About as many as random texts would take, where features are not held yet."""
        found = [one.expected() for one in self.maps]
        entries, features = sum(e for e, _, _ in found), sum(f for _, f, _ in found)
        return Bytes(
            held=8.0 * entries + NUMBERED_BYTES * features,
            making=KEY_BYTES * max((keys for _, _, keys in found), default=0.0),
            per_sample=70.0 * entries / max(1, self.n),  # 20 to keep them, more while they are sorted
        )

    def _coordinates(self, rows: np.ndarray) -> Coordinates:
        parts = [(m, part.take(rows)) for m, one in enumerate(self.maps) for part in one.keep()]
        return ListedCoordinates(parts, self.factors)

    def normals(self, m: int, rows: np.ndarray, coef: np.ndarray) -> Iterator[tuple[Rows, np.ndarray]]:
        """Yield the features of every group, and Σ_q coef[q] Φ_m(X[rows[q]]), (n_features, n_machines)."""
        for part in self.maps[m].rows():
            scaled = coef if part.scale is None else coef * part.scale[rows, None]
            yield part, np.array([self._normal(part, rows, np.ascontiguousarray(column)) for column in scaled.T])

    def _normal(self, part: Rows, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return Σ_q coef[q] · counts of row q; on threads where the features are few against the text."""
        from .._fast.sparse import scatter

        n_entries = len(part.ids) * len(rows) // max(1, len(part))
        n_sums = int(np.clip(n_entries // (SUM_ENTRIES * max(1, part.n_columns)), 1, min(MAX_SUMS, max(1, len(rows)))))
        sums = np.zeros((n_sums, part.n_columns))  # how many does not depend on the threads, so neither does the result
        size = -(-len(rows) // n_sums)

        def add(block: slice) -> None:
            scatter(*part.arrays, rows[block], coef[block], sums[block.start // size])

        for_blocks(add, len(rows), max(1, size), self.n_jobs)
        return sums[0] if n_sums == 1 else sums.sum(axis=0)

    def _times(self, m: int, rows: np.ndarray, coef: np.ndarray, factor: float, out: np.ndarray) -> None:
        """Add factor · K_m[:, rows] @ coef to out, without the term's factor."""
        self.maps[m].keep()  # products with all samples come again and again
        for part, normal in self.normals(m, rows, coef):

            def look_up(block: slice, part: Rows = part, normal: np.ndarray = normal) -> None:
                add_lookups(part, normal, block, factor, out)

            for_blocks(look_up, self.n, ROW_BLOCK, self.n_jobs)

    def _times_at(self, m: int, coef: np.ndarray, factor: float, at: Views, out: np.ndarray) -> None:
        """Add factor · K_m(at, X) @ coef to out, a block of new samples at a time: only the normals are held."""
        rows = support_of(coef)
        one = self.maps[m]
        normals = [normal for _, normal in self.normals(m, rows, coef[rows])]
        one.add_products(normals, at, factor, out, self.n_jobs)

    def _apply(self, m: int, coef: np.ndarray, factor: float, at: Views | None, out: np.ndarray) -> None:
        rows = support_of(coef)
        if len(rows) == 0:
            return
        if at is not None:
            self._times_at(m, coef, factor, at, out)
        else:
            self._times(m, rows, coef[rows], factor, out)

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        columns = _columns(coef)
        out = np.zeros((self.n_terms, self.n if at is None else len(at), columns.shape[1]))
        for m, factor in enumerate(self.factors):
            self._apply(m, columns, factor, at, out[m])
        return out.reshape(*out.shape[:2], *coef.shape[1:])

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        scaled, columns = weights * self.factors, _columns(coef)
        out = np.zeros((self.n if at is None else len(at), columns.shape[1]))
        for m in np.flatnonzero(scaled):
            self._apply(int(m), columns, scaled[m], at, out)
        return out.reshape(len(out), *coef.shape[1:])

    def prepare(self, coef: np.ndarray, weights: np.ndarray) -> Prepared:
        return PreparedListedWords(self, coef, weights)

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        scaled, columns = weights * self.factors, _columns(coef)
        out = np.zeros((self.n, columns.shape[1]))
        for m in np.flatnonzero(scaled):
            self._times(int(m), np.asarray(rows), columns, scaled[m], out)
        return out.reshape(self.n, *coef.shape[1:])

    def rows_times_in(self, store: str, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        scaled, columns = weights * self.factors, _columns(coef)
        out = np.zeros((self.n, columns.shape[1]))
        for m in np.flatnonzero(scaled):
            for group, part in zip(self.maps[m].groups, self.maps[m].keep(), strict=True):
                for c, column in enumerate(columns.T):
                    found = listed_scores(store, group, part, self.X, np.asarray(rows), column, self.n_jobs)
                    out[:, c] += scaled[m] * found
        return out.reshape(self.n, *coef.shape[1:])

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
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


def _columns(coef: np.ndarray) -> np.ndarray:
    """Return (n, n_machines), also of no rows at all."""
    return coef[:, None] if coef.ndim == 1 else coef


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
