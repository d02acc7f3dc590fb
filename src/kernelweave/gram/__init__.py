"""Grams: kernels bound to data. `bind` is the one rule table from kernels to grams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from ..errors import MemoryBudgetError
from ..kernels import Kernel
from ..memory import budget_bytes, readable
from ..views import Views
from .base import Combined, Gram
from .cached import WORKING_SET, CachedGram
from .definite import check_definite
from .dense import DenseGram, evaluation_bytes
from .diagonal import DiagonalGram
from .distinct import distinct_of
from .features import FeatureGram
from .linadd import LinaddGram
from .stacked import StackedGram
from .streamed import STREAMED_MATRICES, StreamedGram
from .tiled import TiledGram

#: With more samples than the first, terms that need no matrix get none; with more than the second already where it is
#: quicker to solve machines without (`Gram.beats_matrices`).
LINADD_SAMPLES, EXPLICIT_SAMPLES = 10_000, 3_000
#: For estimates: samples that are active at the end, as a share of all and at least; bytes of each sample's values.
ACTIVE_SHARE, ACTIVE_SAMPLES, SAMPLE_BYTES = 0.1, 10_000, 100
#: The part of the samples, and the most of them, that a dual solver gathers into a matrix of their own; and how many it
#: solves a linear system of by a factor of the whole matrix.
GATHERED_SHARE, MAX_GATHERED, MAX_FACTORED = 0.45, 5_000, 8_000
#: Words that take less than this are no reason to refuse a fit, whatever the budget.
SPARE_BYTES = 16 * 10**6
#: Terms that must fit as matrices where the others are streamed.
MIN_HELD_TERMS = 60
#: Rows that a cache must hold at the least for a solver to make headway.
MIN_CACHED_ROWS = 64

GRAMS = (DenseGram, CachedGram, StreamedGram, DiagonalGram, LinaddGram, FeatureGram, StackedGram, TiledGram)
#: Grams without a matrix, by what a kernel says of itself (`Kernel.gram_kind`).
MATRIX_FREE: dict[str, Callable[..., Gram]] = {"linadd": LinaddGram, "features": FeatureGram}


def bind(
    kernel: Kernel,
    X: Views,
    *,
    memory: str | int | float | None = None,
    directory: str | Path | None = None,
    n_jobs: int = 1,
    matrix_free: bool | None = None,
    on_all: bool = False,
    ridged: bool = False,
) -> Gram:
    """Bind the terms of a kernel to data, as the memory budget allows.

    Terms that need no matrix (`Kernel.gram_kind`) get none where there are more than 10,000 samples (3,000 where that
    is quicker, as for listed features or one kernel with shifts), or where the matrices do not fit. With
    matrix_free=True they never get one, and with matrix_free=False it does not count what is quicker.

    All others: matrices in float64 where they fit, in float32 where only those fit (or in a memory-mapped file where a
    directory is given): n_terms · n² numbers. Otherwise, with many terms on few samples, terms are streamed and only
    the active ones held; with many samples, rows are computed on demand and the latest kept. Beside terms whose
    features are listed, rows on demand are all that they ever need (but for matrix_free=False).

    Raises
    ------
    MemoryBudgetError
        Where not even a small cache fits; says how much it would take and what to do.
    InputError
        Where a term that was given as a function, or by a class of the user's, is no kernel on these samples.
    """
    work = Work(budget_bytes(memory), n_jobs, on_all, ridged)
    return check_definite(_bound(kernel.terms(X), X, work, directory, matrix_free))


def _bound(
    terms: Sequence[Kernel], X: Views, work: Work, directory: str | Path | None, matrix_free: bool | None
) -> Gram:
    if _by_matrices(terms, X, work, matrix_free):
        return bind_matrices(terms, X, work, directory)
    grams = _unheld(terms, X, work.n_jobs, work.budget // 4)
    if matrix_free is False or not _joined(grams).explicit:
        free = [gram for gram in grams if not isinstance(gram, CachedGram)]
        left = work.less(SAMPLE_BYTES * len(X) + sum(gram.product_bytes(n_active(gram.n)) for gram in free))
        for number, gram in enumerate(grams):
            if isinstance(gram, CachedGram):
                grams[number] = bind_matrices(gram.terms, X, left, directory)
    else:
        _check_words(_joined(grams), work)
    return _joined(grams)


def _check_words(gram: Gram, work: Work) -> None:
    """Complain where words and products with them do not fit, before any of them is made."""
    need = gram.product_bytes(n_active(gram.n)) + max(gram.making_bytes(), gram.second_order_bytes())
    if need > max(work.budget, SPARE_BYTES):
        raise MemoryBudgetError(
            f"The words of {gram.n:,} samples and products with them take about {readable(need)}; the budget is "
            f"{readable(work.budget)}. Raise memory=..., or use a shorter k, fewer mismatches or fewer samples."
        )


@dataclass(frozen=True)
class Work:
    """What a fit may take, and what it takes beside the kernel that it holds."""

    budget: int
    n_jobs: int = 1
    #: True for machines that rest on all samples: their linear system is one more matrix.
    on_all: bool = False
    #: True where a ridge is added to the matrix, so that even one term is copied.
    ridged: bool = False

    def less(self, taken: float) -> Work:
        """Return the same with a smaller budget."""
        return replace(self, budget=max(0, self.budget - int(taken)))

    def beside(self, terms: Sequence[Kernel], n: int) -> tuple[float, float]:
        """Return the bytes that evaluating matrices takes at a time, and solving a machine on them."""
        block = min(evaluation_bytes(terms, n), 8 * n * n)
        evaluating = 1.2 * block * min(self.n_jobs, -(-8 * n * n // max(1, block)))  # the values, and which are finite
        if self.on_all:
            return evaluating, 8.0 * n * n if n <= MAX_FACTORED else 0.0
        return evaluating, 8.0 * min(GATHERED_SHARE * n, MAX_GATHERED) ** 2


def estimate(
    kernel: Kernel,
    X: Views,
    memory: str | int | float | None = None,
    matrix_free: bool | None = None,
    n_jobs: int = 1,
    on_all: bool = False,
    ridged: bool = False,
) -> tuple[str, float]:
    """Return how `bind` would hold the terms, in words, and about how many bytes a fit takes beside the data.

    No kernel is evaluated, and no feature is listed. What does not fit at all is the error that `bind` would raise.
    """
    terms, work, n = kernel.terms(X), Work(budget_bytes(memory), n_jobs, on_all, ridged), len(X)
    beside = 0.0
    if not _by_matrices(terms, X, work, matrix_free):
        gram, active = _joined(_unheld(terms, X, n_jobs, work.budget // 4)), n_active(n)
        if matrix_free is not False and gram.explicit:
            _check_words(gram, work)
            solving = gram.coordinate_bytes(active) + gram.second_order_bytes()
            need = gram.product_bytes(active) + max(gram.making_bytes(), solving)
            return "no matrix", SAMPLE_BYTES * n + min(need, work.budget)
        free = [term for term in terms if term.gram_kind in MATRIX_FREE]
        # these machines are found in small sets, but bounds are those of all that has a coefficient
        beside = SAMPLE_BYTES * n + _joined(_unheld(free, X, n_jobs, work.budget // 4)).product_bytes(active)
        beside += gram.second_order_bytes()
        terms = tuple(term for term in terms if term.gram_kind not in MATRIX_FREE)
        if not terms:
            return "no matrix", beside
    left = work.less(beside)
    for each, how in ((8, "matrices in double precision"), (4, "matrices in single precision")):
        whole = _matrix_bytes(terms, X, left, each)
        if whole <= left.budget:
            return how, beside + whole
    gram = bind_matrices(terms, X, left)  # by now it holds nothing yet
    how = "as many matrices of active terms as fit" if gram.streams else "rows on demand, the latest kept"
    return how, beside + gram.product_bytes(n)


def n_active(n: int) -> int:
    """Return how many samples are active at the end, by experience."""
    return min(n, max(ACTIVE_SAMPLES, int(ACTIVE_SHARE * n)))


def _by_matrices(terms: Sequence[Kernel], X: Views, work: Work, matrix_free: bool | None) -> bool:
    """Say whether all terms are bound by their matrices."""
    makers = [MATRIX_FREE.get(term.gram_kind) for term in terms]
    fits = _matrix_bytes(terms, X, work) <= work.budget
    if not any(makers) or (not matrix_free and fits and len(X) <= EXPLICIT_SAMPLES):
        return True
    if matrix_free or not fits or len(X) > LINADD_SAMPLES:
        return False
    # without a matrix only where that is quicker
    return not (matrix_free is None and all(makers) and _joined(_unheld(terms, X)).beats_matrices)


def _unheld(terms: Sequence[Kernel], X: Views, n_jobs: int = 1, most_bytes: int = 2**28) -> list[Gram]:
    """Return terms side by side without any matrix: those that need one by rows on demand. Nothing is computed yet."""
    kinds = [(make, tuple(some)) for make, some in groupby(terms, lambda term: MATRIX_FREE.get(term.gram_kind))]
    grams = [make(group, X, n_jobs) if make else CachedGram(group, X, most_bytes) for make, group in kinds]
    for gram in grams:
        gram.wave_bytes = min(gram.wave_bytes, most_bytes)
    return grams


def _joined(grams: Sequence[Gram]) -> Gram:
    return grams[0] if len(grams) == 1 else StackedGram(grams)


def _matrix_bytes(terms: Sequence[Kernel], X: Views, work: Work, each: int = 8) -> int:
    """Bytes of all matrices that are not there yet, with `each` for a number, of the combined one, and beside them.

    Which samples repeat is looked at only where the budget is too small for whole matrices.
    """
    n = len(X)
    combined, (evaluating, solving) = 8 * n * n * (len(terms) > 1 or work.ridged), work.beside(terms, n)

    def with_rest(fresh: int) -> int:
        # single precision ends with values that are evaluated anew
        return int(each * fresh + max(evaluating, combined + max(solving, evaluating * (each == 4))))

    whole = with_rest(n * n * sum(not term.stored for term in terms))
    if whole <= work.budget:
        return whole
    sizes = [n if found is None else len(found) for found in distinct_of(terms, X)]
    return with_rest(sum(size**2 for term, size in zip(terms, sizes, strict=True) if not term.stored))


def bind_matrices(terms: Sequence[Kernel], X: Views, work: Work, directory: str | Path | None = None) -> Gram:
    """Bind terms by their matrices: whole, in single precision, one after another, or row by row."""
    n, whole, budget, n_jobs = len(X), _matrix_bytes(terms, X, work), work.budget, work.n_jobs
    if whole <= budget or directory is not None:
        return DenseGram.compute(terms, X, directory=directory, n_jobs=n_jobs)
    if _matrix_bytes(terms, X, work, each=4) <= budget:
        return DenseGram.compute(terms, X, dtype=np.float32, n_jobs=n_jobs)
    if len(terms) > MIN_HELD_TERMS and 2 * 8 * n * n * MIN_HELD_TERMS <= budget:
        beside = 8 * n * n * (STREAMED_MATRICES + n_jobs)
        return StreamedGram(terms, X, cache_bytes=budget - beside, n_jobs=n_jobs)
    least, cached = 8 * n * len(terms) * MIN_CACHED_ROWS, CachedGram(terms, X, cache_bytes=budget // 2)
    if 2 * least <= budget and cached.product_bytes(n) <= max(budget, SPARE_BYTES):
        return cached
    raise MemoryBudgetError(
        f"{len(terms)} terms on {n:,} samples take {readable(whole)} as matrices, {readable(2 * least)} with the "
        f"smallest cache of rows; the budget is {readable(budget)}. Raise memory=..., or use fewer terms or samples."
    )


def for_prediction(terms: Sequence[Kernel], X: Views, factors: np.ndarray, n_jobs: int = 1) -> Gram:
    """Bind terms to support samples, to be multiplied with new samples only: nothing is held."""
    return _joined(_unheld(terms, X, n_jobs)).rescaled(factors)


__all__ = [
    "GRAMS",
    "SPARE_BYTES",
    "WORKING_SET",
    "CachedGram",
    "Combined",
    "DenseGram",
    "DiagonalGram",
    "FeatureGram",
    "Gram",
    "LinaddGram",
    "StackedGram",
    "StreamedGram",
    "TiledGram",
    "bind",
    "estimate",
    "for_prediction",
    "n_active",
]
