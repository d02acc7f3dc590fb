"""Which samples a model was trained on: 64 bits for each, so that a test can be told from a repetition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..cluster import Shard, columns_of, current_engine, cut, engine_for
from ..errors import InputError
from ..io.support import requests_of
from ..kernels import Kernel
from ..sequences import Alphabet, SequenceSet
from ..views import Views, as_views

#: Most hashes that are kept; of more samples, those with the smallest hashes, which is a choice at random.
MOST = 1 << 20
#: Sequences that are read at a time.
_BLOCK = 1 << 14


@dataclass(frozen=True)
class Trained:
    """What a model remembers of its training samples.

    Attributes
    ----------
    n_samples : int
        Samples that took part.
    n_distinct : int
        How many of them differ in what the model reads.
    hashes : array of uint64 or None
        Sorted and distinct: all, or the `MOST` smallest. None where nothing can be said: a kernel that is a function
        of the user's own may read anything.
    target : str or None
        What was predicted: the name of a column.
    """

    n_samples: int
    n_distinct: int
    hashes: np.ndarray | None
    target: str | None = None


@dataclass(frozen=True)
class Overlap:
    """Which of some samples a model was trained on.

    Attributes
    ----------
    seen : array of bool
        Samples that are the same as training samples in all that the model reads.
    unseen : array of bool
        Samples that are not. Where a model keeps some of its hashes only, a few samples can be neither.
    """

    seen: np.ndarray
    unseen: np.ndarray

    @property
    def n_seen(self) -> int:
        """How many of the samples were trained on: counted, or estimated from those that could be looked up."""
        found, looked_up = int(self.seen.sum()), int((self.seen | self.unseen).sum())
        return found if looked_up == len(self.seen) else round(len(self.seen) * found / max(looked_up, 1))


@dataclass(frozen=True)
class Hashes:
    """The task of `sample_hashes`."""

    kernel: Kernel

    def __call__(self, shard: Shard) -> np.ndarray:
        return sample_hashes(self.kernel, shard.views())


def _hashes_of_shards(kernel: Kernel, X: Views, n_jobs: int) -> np.ndarray:
    """Return `sample_hashes`, where the samples are."""
    columns = columns_of(kernel.terms(X), X, mapped=current_engine() is not None)
    if columns is None:
        return sample_hashes(kernel, X)
    engine = engine_for(columns, n_jobs)
    return np.concatenate(engine.map(Hashes(kernel), cut(columns, engine.n_threads), engine.next_version()))


def remember(kernel: Kernel, X: Views, target: Any = None, n_jobs: int = 1) -> Trained:
    """Return what a model is to remember of its training samples."""
    name = target if isinstance(target, str) else None
    if not all(leaf.says_all for leaf in kernel.leaves()):
        return Trained(len(X), len(X), None, name)
    hashes = np.sort(_hashes_of_shards(kernel, X, n_jobs))  # several times as quick as np.unique
    hashes = hashes[np.append(True, hashes[1:] != hashes[:-1])]
    return Trained(len(X), len(hashes), hashes[:MOST], name)


def alphabet_of(model: Any, column: Any = None) -> Alphabet | None:
    """Return the alphabet of a column that a fitted model reads, or of all that it reads; None where there is none."""
    try:
        support = model.fitted_.support
        return (support if column is None else support.select(column)).sequences("auto").alphabet
    except InputError:
        return None


def overlap(model: Any, X: Any) -> Overlap | None:
    """Return which samples a fitted model was trained on; None where that is not known.

    Samples are compared by what the model reads of them: numbers as they are, sequences by their letters, ids of a
    given matrix. Neither their order nor the container that holds them matters.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
    X : samples, as for `predict`
    """
    known, fitted = model.trained_, model.fitted_
    if known is None or known.hashes is None or not len(known.hashes):
        return None
    try:
        found = sample_hashes(fitted.kernel, as_views(X), fitted.support)
    except InputError:  # a term that learning left out may read what these samples do not have
        return None
    place = np.minimum(np.searchsorted(known.hashes, found), len(known.hashes) - 1)
    seen = known.hashes[place] == found
    sure = np.ones(len(seen), bool) if known.n_distinct == len(known.hashes) else found <= known.hashes[-1]
    return Overlap(seen, sure & ~seen)


def sample_hashes(kernel: Kernel, X: Views, support: Views | None = None) -> np.ndarray:
    """Return one uint64 for every sample, from all that the kernel reads of it.

    Parameters
    ----------
    kernel : Kernel
    X : Views
    support : Views, optional
        Samples whose alphabets decide how the letters of X are read.
    """
    from .._fast.hashing import join_hashes

    out = np.zeros(len(X), np.uint64)
    done = set()
    for path, leaf in requests_of(kernel, X):
        what = (repr(path), leaf.reads, repr(getattr(leaf, "alphabet", None)))
        if what not in done:
            done.add(what)
            join_hashes(_leaf_hashes(path, leaf, X, support), out)
    return out


def _leaf_hashes(path: tuple[Any, ...], leaf: Kernel, X: Views, support: Views | None) -> np.ndarray:
    """Return the hashes of what one kernel reads."""
    seen = X.through(path)
    if leaf.reads == "sequences":
        return _letters(_sequences(path, leaf, seen, support))
    if leaf.reads == "ids":
        return _numbers(seen.ids()[:, None].astype(np.float64))
    return _numbers(seen.matrix(gaps=True))


def _sequences(path: tuple[Any, ...], leaf: Kernel, seen: Views, support: Views | None) -> SequenceSet:
    if support is not None:
        try:
            return seen.sequences_like(support.through(path).sequences(leaf.alphabet))
        except InputError:  # a model file keeps what terms with a positive weight read; a guess will have to do
            pass
    return seen.sequences(leaf.alphabet)


def _letters(sequences: SequenceSet) -> np.ndarray:
    from .._fast.hashing import hash_letters

    out = np.zeros(len(sequences), np.uint64)
    for start in range(0, len(sequences), _BLOCK):
        part = sequences.rows(slice(start, start + _BLOCK))
        hash_letters(part.flat_codes(), part.alphabet.byte_of, part.offsets, out[start : start + _BLOCK])
    return out


def _numbers(matrix: Any) -> np.ndarray:
    from .._fast.hashing import hash_rows, hash_sparse_rows

    out = np.zeros(matrix.shape[0], np.uint64)
    if sparse.issparse(matrix):
        matrix = matrix.copy() if not matrix.has_canonical_format else matrix
        matrix.sum_duplicates()
        hash_sparse_rows(matrix.data.view(np.uint64), matrix.indices, matrix.indptr, out)
    else:
        hash_rows(np.ascontiguousarray(matrix, dtype=np.float64).view(np.uint64), out)
    return out
