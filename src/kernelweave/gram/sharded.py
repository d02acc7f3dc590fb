"""Grams of samples that stay where they are: products with all of them are tasks over shards."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..cluster import Engine, Shard, columns_of, current_engine, cut, engine_for
from ..cluster.work import bytes_for_tables
from ..errors import MemoryBudgetError
from ..kernels import Kernel
from ..parallel import blocks
from ..views import Views
from .base import Gram, block_rows, support_of
from .coordinates import Coordinates
from .offer import NO_MATRIX, Bytes, Held, Offer, Room, n_active
from .pair_rows import Pairs
from .prepared import Prepared

#: Samples that the bytes of a gram of some samples are estimated from.
PROBE = 1_000
#: Bytes of tables that a worker keeps for a round.
TABLE_BYTES = 2**30


@dataclass(frozen=True)
class Products:
    """The task of `apply`, `apply_about` and `apply_each`: K(shard, support) @ coef. The support travels inside.

    Attributes
    ----------
    gram : Gram
        The terms on the support, of which nothing is computed yet.
    coef : array of shape (n_support, n_machines)
    weights : array of shape (1 or n_machines, n_terms), or None for every term apart
    about : bool
        Whether about is good enough.
    """

    gram: Gram
    coef: np.ndarray
    weights: np.ndarray | None
    about: bool = False
    #: What a worker makes once for all its shards of a round; it never travels.
    made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, shard: Shard) -> np.ndarray:
        at = shard.views()
        if self.weights is None:
            return self.gram.apply_each(self.coef, at)
        if self.about:
            return self.gram.apply_about(self.coef[:, 0], self.weights[0], at)[:, None]
        out = np.zeros((len(shard), self.coef.shape[1]))
        self._prepared(len(shard)).add(at, out)
        return out

    def _prepared(self, n_queries: int) -> Prepared:
        with self.made.setdefault("lock", threading.Lock()):
            prepared = self.made.get("prepared")
            if prepared is None:
                found = self.gram.prepare(self.coef, self.weights)  # type: ignore[arg-type]
                if found.pays(n_queries):
                    with suppress(MemoryBudgetError):  # then tables are built for every shard, some at a time
                        found = found.kept(int(min(TABLE_BYTES, bytes_for_tables())))
                prepared = self.made["prepared"] = found
        return prepared

    def __reduce__(self) -> tuple:
        return Products, (self.gram, self.coef, self.weights, self.about)


@dataclass(frozen=True)
class Diagonals:
    """The task of `diag_each`."""

    terms: tuple[Kernel, ...]

    def __call__(self, shard: Shard) -> np.ndarray:
        at = shard.views()
        return np.array([term.compute_diag(at) for term in self.terms])


@dataclass(frozen=True)
class Opened:
    """The first task of a fit: whether a shard can be opened where it is to be read, as it was described."""

    def __call__(self, shard: Shard) -> int:
        return len(shard.views())


class ShardedGram(Gram):
    """K_m @ coef of samples in shards: an engine makes the products where the samples are.

    Only `apply`, `apply_each` and `diag` touch all samples. Descent, pairs and `quad` need the samples that matter:
    their rows are brought here, and go to a gram of their own.

    Parameters
    ----------
    shards : list of Shard
    engine : Engine
    room : Room
        For grams of some samples.
    """

    special = True
    elsewhere = True

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        shards: Sequence[Shard],
        engine: Engine,
        room: Room,
        factors: np.ndarray | None = None,
    ) -> None:
        super().__init__(terms, X, factors)
        self.shards, self.engine, self.room = list(shards), engine, room
        self._here: list[tuple[np.ndarray, Gram]] = []

    @classmethod
    def takes(cls, term: Kernel, X: Views) -> bool:
        from . import GRAMS

        others = (kind for kind in GRAMS if kind.special and not kind.elsewhere and not kind.joins)
        return _columns([term], X) is not None and any(kind.takes(term, X) for kind in others)

    @classmethod
    def bound(cls, terms: Sequence[Kernel], X: Views, room: Room) -> ShardedGram:
        columns = _columns(terms, X) or {}
        engine = engine_for(columns, room.needs.n_jobs)
        return cls(terms, X, cut(columns, engine.n_threads), engine, room)

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        gram = cls.bound(terms, X, room)
        why = f"{len(gram.shards)} shards, read where they are ({gram.engine.name})"
        return replace(Offer.of(gram, NO_MATRIX, why, quicker=True), make=gram.opened)

    def opened(self) -> Gram:
        """Return the gram, once every shard could be opened where it is to be read."""
        self._round(Opened())
        return self

    def _like(self, terms: Sequence[Kernel], factors: np.ndarray) -> ShardedGram:
        return ShardedGram(terms, self.X, self.shards, self.engine, self.room, factors)

    def rescaled(self, factors: np.ndarray) -> Gram:
        return self._like(self.terms, factors)

    def only(self, picked: Sequence[int]) -> Gram:
        return self._like([self.terms[m] for m in picked], self.factors[list(picked)])

    # -- some samples, here ------------------------------------------------------------------------------------------

    def sampled(self, rows: np.ndarray) -> Gram | None:
        return self._of(self.X.rows(rows))

    def _of(self, X: Views, n_jobs: int | None = None) -> Gram:
        from .plan import unheld

        room = self.room if n_jobs is None else replace(self.room, needs=replace(self.room.needs, n_jobs=n_jobs))
        return unheld(self.terms, X, room)

    def _local(self, rows: np.ndarray) -> Gram:
        """Return the gram of some samples; the last two are kept, since the support is asked for beside the active."""
        for known, gram in self._here:
            if np.array_equal(known, rows):
                return gram
        made = self._of(self.X.rows(rows)).rescaled(self.factors)
        self._here = [*self._here[-1:], (rows, made)]
        return made

    @cached_property
    def _probe(self) -> Gram:
        """A few samples, which say what all are capable of."""
        return self._of(self.X.rows(np.unique(np.linspace(0, self.n - 1, min(self.n, PROBE)).astype(np.int64))))

    @cached_property
    def held(self) -> Held:  # type: ignore[override]
        """What a gram of some samples is capable of; engines of words stay where the words are."""
        return replace(self._probe.held, words=False)

    @property
    def bytes(self) -> Bytes:
        one, times = self._probe.bytes, n_active(self.n) / max(1, self._probe.n)
        return replace(one, held=one.held * times, making=one.making * times)

    def _coordinates(self, rows: np.ndarray) -> Coordinates:
        return self._local(rows)._coordinates(np.arange(len(rows)))

    def pair_time(self, weights: np.ndarray) -> float:
        return self._probe.rescaled(self.factors).pair_time(weights)

    def pairs(self, rows: np.ndarray, weights: np.ndarray, budget: float, dtype: type = np.float64) -> Pairs:
        found = self._local(rows).pairs(np.arange(len(rows)), weights, budget, dtype)
        found.samples = rows
        return found

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        support = support_of(coef)
        if len(support) == 0:
            return np.zeros((self.n_terms, coef.shape[1]))
        return self._local(support).quad(coef[support])

    def block_each(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        both, places = np.unique(np.concatenate([rows, cols]), return_inverse=True)
        return self._local(both).block_each(places[: len(rows)], places[len(rows) :])

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows)
        if cols is not None:
            both, places = np.unique(np.concatenate([rows, cols]), return_inverse=True)
            return self._local(both).block(places[: len(rows)], places[len(rows) :], weights)
        out = np.empty((len(rows), self.n))
        for part in blocks(len(rows), block_rows(self.block_bytes, self.n)):
            out[part] = self.rows_times(rows[part], np.eye(part.stop - part.start), weights).T
        return out

    # -- all samples, where they are ---------------------------------------------------------------------------------

    def _round(self, task: Any) -> list[Any]:
        return self.engine.map(task, self.shards, self.engine.next_version())

    def _products(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray | None, about: bool = False) -> Any:
        """Run a round of products with some samples; coef (len(rows), n_machines)."""
        gram = self._of(self.X.rows(rows), n_jobs=1).rescaled(self.factors)  # shards are what runs side by side
        return self._round(Products(gram, coef, None if weights is None else weights[None], about))

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        support = support_of(coef)
        if at is not None and len(support):
            return self._local(support).apply(coef[support], weights, at)
        if at is not None:
            return np.zeros((len(at), *coef.shape[1:]))
        return self.rows_times(support, coef[support], weights)

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        columns = coef.reshape(len(coef), -1) if len(coef) else np.zeros((0, int(np.prod(coef.shape[1:]))))
        if len(rows) == 0 or not weights.any():
            return np.zeros((self.n, *coef.shape[1:]))
        found = np.concatenate(self._products(np.asarray(rows), columns, weights))
        return found.reshape(self.n, *coef.shape[1:])

    def apply_about(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        support = support_of(coef)
        if at is not None or len(support) == 0:
            return self.apply(coef, weights, at)
        return np.concatenate(self._products(support, coef[support, None], weights, about=True))[:, 0]

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        support = support_of(coef)
        if len(support) == 0:
            return np.zeros((self.n_terms, self.n if at is None else len(at), *coef.shape[1:]))
        if at is not None:
            return self._local(support).apply_each(coef[support], at)
        return np.concatenate(self._products(support, coef[support], None), axis=1)

    def apply_some(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return self.only(picked.tolist()).apply_each(coef, self.X.rows(at))

    def diag_each(self) -> np.ndarray:
        return np.concatenate(self._round(Diagonals(self.terms)), axis=1)


def _columns(terms: Sequence[Kernel], X: Views) -> dict[Hashable, Any] | None:
    """Return the columns that are shards; a mapped file is one where an engine was asked for."""
    return columns_of(terms, X, mapped=current_engine() is not None)


def sharded_values(gram: Gram, coef: np.ndarray, weights: np.ndarray, at: Views, n_jobs: int) -> np.ndarray | None:
    """Return the values of machines at samples in shards, (n_samples, n_machines); None where they are no shards.

    Parameters
    ----------
    gram : the terms on the support
    coef : array of shape (n_support, n_machines)
    weights : array of shape (1 or n_machines, n_terms)
    """
    columns = _columns(gram.terms, at)
    if columns is None:
        return None
    engine = engine_for(columns, n_jobs)
    task = Products(gram, coef, weights)
    return np.concatenate(engine.map(task, cut(columns, engine.n_threads), engine.next_version()))
