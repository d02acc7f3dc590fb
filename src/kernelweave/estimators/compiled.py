"""Fitted models made ready: what the support has to say is added up once, and then looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import MemoryBudgetError
from ..gram import MATRIX_FREE, FeatureGram, Gram, LinaddGram, StackedGram
from ..gram.base import support_of
from ..gram.families import Family
from ..gram.feature_map import FeatureMap
from ..gram.tables import Tables, are_few
from ..kernels import Kernel
from ..kernels.weighted_degree import same_length
from ..memory import readable
from ..sequences import SequenceSet
from ..views import Views

#: Most bytes of tables that a model keeps without being asked to.
KEPT_BYTES = 2 * 2**30


class Part:
    """Some terms of a model: adds what they say of new samples to out (n, n_machines)."""

    #: Bytes that are kept.
    nbytes = 0

    def add(self, at: Views, out: np.ndarray, n_jobs: int) -> None:
        """Add the part's values of every sample and machine."""
        raise NotImplementedError


@dataclass
class TablePart(Part):
    """The terms of one weighted degree kernel as one table per machine."""

    family: Family
    #: The sequences of the support, whose alphabet and length new ones must have.
    own: SequenceSet
    #: (machine, its tables), of machines that have any.
    tables: list[tuple[int, Tables]]

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return sum(tables.nbytes for _, tables in self.tables)

    def add(self, at: Views, out: np.ndarray, n_jobs: int) -> None:
        queries = self.family.sequences(at, like=self.own)
        same_length(queries, self.own)
        roots = self.family.roots(at)
        for c, tables in self.tables:
            values = tables.scores(queries, n_jobs)
            out[:, c] += values if roots is None else values * roots


@dataclass
class NormalPart(Part):
    """One term with listed features: the normal of every machine, by group of features."""

    map: FeatureMap
    #: Per group: (n_machines, n_features), with the weights of the term in it.
    normals: list[np.ndarray]

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return sum(normal.nbytes for normal in self.normals)

    def add(self, at: Views, out: np.ndarray, n_jobs: int) -> None:
        self.map.add_products(self.normals, at, 1.0, out, n_jobs)


@dataclass
class PlainPart(Part):
    """Terms that have nothing to prepare."""

    gram: Gram
    coef: np.ndarray
    #: (n_machines, n_terms)
    weights: np.ndarray

    def add(self, at: Views, out: np.ndarray, n_jobs: int) -> None:
        for c, row in enumerate(self.weights):
            if row.any():
                out[:, c] += self.gram.apply(np.ascontiguousarray(self.coef[:, c]), row, at)


@dataclass
class Compiled:
    """f(x) = intercept + Σ parts, for every machine of a fitted model."""

    intercept: np.ndarray
    parts: list[Part] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables and normals."""
        return sum(part.nbytes for part in self.parts)

    def decide(self, at: Views, n_jobs: int = 1) -> np.ndarray:
        """Return decision values, (n_samples, n_machines)."""
        out = np.tile(self.intercept, (len(at), 1))
        for part in self.parts:
            part.add(at, out, n_jobs)
        return out


def compile_model(
    gram: Gram | None, coef: np.ndarray, weights: np.ndarray, intercept: np.ndarray, budget: int
) -> Compiled:
    """Add up the support of a fitted model.

    Parameters
    ----------
    gram : the terms on the support samples, or None where none has any weight
    coef : (n_support, n_machines)
    weights : (1 or n_machines, n_terms)
    budget : most bytes that tables may take

    Raises
    ------
    MemoryBudgetError
        Where the tables would take more.
    """
    rows = np.broadcast_to(weights, (coef.shape[1], weights.shape[1]))
    out = Compiled(intercept)
    if gram is None:
        return out
    grams = gram.grams if isinstance(gram, StackedGram) else [gram]
    shares = np.split(rows, np.cumsum([part.n_terms for part in grams])[:-1], axis=1)
    needed = sum(_table_bytes(part, coef) for part in grams if isinstance(part, LinaddGram))
    if needed > budget:
        raise MemoryBudgetError(
            f"The tables of this model take about {readable(needed)}, the budget is {readable(budget)}. Raise "
            "memory=..., or go on without compile(): predictions are the same, with tables built anew for every call."
        )
    for part, share in zip(grams, shares, strict=True):
        if isinstance(part, LinaddGram):
            out.parts += _table_parts(part, coef, share)
        elif isinstance(part, FeatureGram):
            out.parts += _normal_parts(part, coef, share)
        else:
            out.parts.append(PlainPart(part, coef, share))
    return out


def _table_bytes(gram: LinaddGram, coef: np.ndarray) -> int:
    return sum(gram.table_bytes(family, column) for family in gram.families for column in coef.T)


def _table_parts(gram: LinaddGram, coef: np.ndarray, weights: np.ndarray) -> list[Part]:
    parts: list[Part] = []
    for family in gram.families:
        part = TablePart(family, family.sequences(gram.X), [])
        for c, row in enumerate(weights[:, family.numbers]):
            if row.any() and coef[:, c].any():
                part.tables.append((c, gram.tables(family, coef[:, c], row)))
        parts.append(part)
    return parts


def _normal_parts(gram: FeatureGram, coef: np.ndarray, weights: np.ndarray) -> list[Part]:
    rows, parts = support_of(coef), []
    for m, one in enumerate(gram.maps):
        scales = weights[:, m, None] * gram.factors[m]
        if scales.any():
            parts.append(NormalPart(one, [normal * scales for _, normal in gram.normals(m, rows, coef[rows])]))
    return list(parts)


def is_worthwhile(terms: Sequence[Kernel], n_support: int, n_queries: int) -> bool:
    """Whether a prediction would build tables or normals anyway, so that they may as well be kept."""
    prepared = any(term.gram_kind in MATRIX_FREE for term in terms)
    return prepared and not are_few(n_support, n_queries)
