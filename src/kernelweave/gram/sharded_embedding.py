"""Φ written out where the samples are: its products are rounds over shards."""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..cluster import Engine, NumberShards, Shard, cut, engine_for
from ..cluster.work import bytes_for_tables
from ..kernels import Kernel
from ..views import Views
from .base import support_of
from .embedding import Embedding

#: Bytes of tables that a process keeps for its shards.
TABLES_BYTES = 4 * 2**30

_tables: OrderedDict[tuple[str, str], Embedding] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class TableTask:
    """One product of the table of a shard: "sums", "times", "moments" or "squares" of `Embedding`."""

    #: The name of terms and middle: of what is in them.
    key: str
    terms: tuple[Kernel, ...]
    middle: np.ndarray
    what: str
    whole: bool = True
    vectors: np.ndarray | None = None

    def __call__(self, shard: Shard) -> Any:
        one, given = self._embedding(shard), shard.values
        if self.what == "times":
            assert self.vectors is not None
            return one.times(self.vectors, self.whole)
        if self.what == "squares":
            return one.squares(self.whole)
        assert given is not None
        return one.moments(given) if self.what == "moments" else one.normals(given, self.whole)

    def _embedding(self, shard: Shard) -> Embedding:
        """Return the table of a shard; those used last are kept. A cold process makes it again."""
        name = self.key, shard.place
        with _lock:
            if name in _tables:
                _tables.move_to_end(name)
                return _tables[name]
        made = Embedding(self.terms, shard.views(), middle=self.middle)
        with _lock:
            _tables[name] = made
            most = min(TABLES_BYTES, bytes_for_tables(sum(one.nbytes for one in _tables.values())))
            while sum(one.nbytes for one in _tables.values()) > most:  # a table that is too large alone is not kept
                _tables.popitem(last=False)
        return made


class ShardedEmbedding(Embedding):
    """φ of samples in shards: tables stay with the workers, in double precision, and only sums come back.

    Parameters
    ----------
    shards : list of Shard
    engine : Engine
    """

    def __init__(self, terms: Sequence[Kernel], X: Views, shards: Sequence[Shard], engine: Engine) -> None:
        super().__init__(terms, X, np.float64)
        self.shards, self.engine = list(shards), engine
        self._key = ""

    @property
    def nbytes(self) -> int:
        return 0

    def _round(self, what: str, shards: Sequence[Shard], **given: Any) -> list[Any]:
        if not self._key:
            content = pickle.dumps((self.terms, self.middle), pickle.HIGHEST_PROTOCOL)
            self._key = hashlib.blake2b(content, digest_size=16).hexdigest()
        task = TableTask(self._key, self.terms, self.middle, what, **given)
        return self.engine.map(task, shards, self.engine.next_version())

    def _with(self, values: np.ndarray) -> list[Shard]:
        """Return the shards with the numbers of their samples, without those whose numbers are all zero."""
        parts = ((one, np.ascontiguousarray(values[one.start : one.stop])) for one in self.shards)
        return [replace(one, values=part) for one, part in parts if part.any()]

    def placed(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._rows(rows) - self.middle, np.arange(len(rows))

    def taken(self, rows: np.ndarray) -> np.ndarray:
        return self._rows(rows)

    def normals(self, coef: np.ndarray, whole: bool = True) -> np.ndarray:
        if not len(support_of(coef)):
            return np.zeros((self.size, coef.shape[1]))
        return np.sum(self._round("sums", self._with(coef), whole=whole), axis=0)

    def times(self, vectors: np.ndarray, whole: bool = True) -> np.ndarray:
        return np.concatenate(self._round("times", self.shards, vectors=vectors, whole=whole))

    def moments(self, both: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self._round("moments", self._with(both))
        size = self.size
        if not found:
            return np.zeros((size, both.shape[1])), np.zeros((size, size))
        return np.sum([sums for sums, _ in found], axis=0), np.sum([second for _, second in found], axis=0)

    def squares(self, whole: bool = True) -> np.ndarray:
        return np.concatenate(self._round("squares", self.shards, whole=whole), axis=1)


def embedding_of(terms: Sequence[Kernel], X: Views, dtype: type, n_jobs: int) -> Embedding:
    """Return φ of samples: held here, or, where they are in shards, with whoever reads those."""
    data = getattr(X, "data", None)
    if not isinstance(data, NumberShards):
        return Embedding(terms, X, dtype, n_jobs)
    engine = engine_for({None: data}, n_jobs)
    return ShardedEmbedding(terms, X, cut({None: data}, engine.n_threads), engine)
