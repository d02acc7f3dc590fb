"""What a term makes of sequences: groups of explicit features, learned on some samples and made of any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels import ExplicitKernel, Frozen, Kernel, Normalized, On, Only, Scaled, Sum
from ..kernels.base import _inverse_root
from ..kernels.sparse_rows import Rows
from ..kernels.vocabulary import Vocabulary
from ..sequences import Alphabet, SequenceSet
from ..views import Views

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

    def expected(self) -> tuple[float, float, float]:
        """Return how many features the samples have together, how many different ones, and keys counted at a time."""
        found = [group.vocabulary.expected(group.sequences(self.X)) for group in self.groups]
        if self._rows is not None:
            return float(sum(len(part.ids) for part in self._rows)), sum(f for _, f, _ in found), 0.0
        return sum(e for e, _, _ in found), sum(f for _, f, _ in found), max((k for _, _, k in found), default=0.0)

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
