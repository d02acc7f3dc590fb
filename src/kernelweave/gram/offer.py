"""What a gram says of itself before it is made: what it is capable of, how many bytes it takes, and why it is good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..kernels import Kernel

if TYPE_CHECKING:
    from .base import Gram

#: Samples that a solver of second order takes a matrix of where none is held, at the most.
SECOND_ORDER = 1024
#: For estimates: the part of the samples that lie between their bounds, or that a dual solver gathers, at the most.
FREE_SHARE = 0.45
#: For estimates: samples that are active at the end, as a share of all and at least.
ACTIVE_SHARE, ACTIVE_SAMPLES = 0.1, 10_000
#: Samples that a dual solver optimises at a time where rows are computed: their matrix is there twice.
WORKING_SET = 512
#: The part of the budget that tables of words, or rows on demand beside them, may take: one in so many.
PARTS = 4

#: What takes less than this is no reason to refuse a fit, whatever the budget.
SPARE_BYTES = 16 * 10**6

#: How terms are held that get no matrix.
NO_MATRIX = "no matrix"

#: Ranks of offers: of those that fit, the lowest is taken. One below `DOUBLE` is taken wherever it is offered.
TILED, DOUBLE, SINGLE, STREAMED, ROWS = -1, 0, 10, 20, 30


@dataclass(frozen=True)
class Needs:
    """What the machine that is to be found needs of its kernel."""

    n_jobs: int = 1
    #: True for machines that rest on all samples: their linear system is one more matrix.
    on_all: bool = False
    #: True where a ridge is added to the matrix, so that even one term is copied.
    ridged: bool = False
    #: True where coefficients may be found by descent on some samples at a time (`Gram.coordinates`).
    descends: bool = True
    #: True where the dual solver that was asked for takes no matrix.
    no_matrix: bool = False
    #: The relative gap that is wanted: single precision is not good for all of them.
    tol: float = 0.0
    #: True where the machine may be found from samples that are vectors of a few numbers (`Gram.vectors`).
    vectors: bool = True
    #: Of up to so many samples the machine may be found by rows of the kernel that are kept (`Gram.pairs`); and where
    #: there are more, by those of so many at a time.
    by_rows: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Room:
    """What a gram may take: bytes, threads, and a directory for files where there is one."""

    budget: int
    needs: Needs = field(default_factory=Needs)
    directory: str | Path | None = None

    def less(self, taken: float) -> Room:
        """Return the same with a smaller budget."""
        return replace(self, budget=max(0, self.budget - int(taken)))

    @property
    def share(self) -> int:
        """What tables of words, or rows beside them, may take."""
        return self.budget // PARTS


@dataclass(frozen=True)
class Held:
    """What a gram is capable of, as it holds its terms. Solvers ask for this, and never for a class."""

    #: What `Gram.coordinates` are made of: "features" that can be listed, or "blocks", matrices of the samples, which
    #: grow with their square. Nothing where there are none.
    coordinates: frozenset[str] = frozenset({"blocks"})
    #: True where every look at all terms evaluates every kernel again.
    streams: bool = False
    #: True where engines can keep the words of the samples (`Gram.rows_times_in`).
    words: bool = False
    #: The terms whose matrices are in single precision: `rounding.exact_apply` computes products in double precision.
    single: tuple[int, ...] = ()
    #: The terms of which that holds for `Gram.quad` as well: only `rounding.safe_quad` proves anything of these.
    rough: tuple[int, ...] = ()
    #: Bytes of a pair where matrices of many samples are made sooner than products with few of them; 0 where not.
    set_bytes: float = 0.0
    #: Bytes of such a matrix, at the most.
    most_set: float = np.inf
    #: Samples that a solver of second order may take a matrix of where none is held.
    second_order: int = SECOND_ORDER
    #: True where products of many samples are those of BLAS, which then has threads of its own.
    blas: bool = True

    @property
    def sets(self) -> bool:
        """Whether machines are solved on sets of many samples, each by its own matrix."""
        return self.set_bytes > 0

    @property
    def lists(self) -> bool:
        """Whether features can be listed, of some terms at least, so that no matrix of all samples is needed."""
        return "features" in self.coordinates

    @classmethod
    def of_all(cls, parts: Sequence[Held], n_terms: Sequence[int]) -> Held:
        """Return what several grams side by side are capable of."""
        found = [part.coordinates for part in parts]
        firsts = np.cumsum([0, *n_terms])
        return cls(
            frozenset().union(*found) if all(found) else frozenset(),
            any(part.streams for part in parts),
            any(part.words for part in parts),
            tuple(int(first) + m for part, first in zip(parts, firsts, strict=False) for m in part.single),
            tuple(int(first) + m for part, first in zip(parts, firsts, strict=False) for m in part.rough),
            second_order=min(part.second_order for part in parts),
            blas=any(part.blas for part in parts),
        )


@dataclass(frozen=True)
class Bytes:
    """About how many bytes a gram takes. Nothing is computed to say so."""

    #: All the time: matrices, rows, features, and tables for products with the samples that are active in the end.
    held: float = 0.0
    #: For a while, to make what is held.
    making: float = 0.0
    #: For a while, to solve machines: the weighted sum of the matrices, and those that solvers gather.
    solving: float = 0.0
    #: Of coordinates: for every sample, and for every pair of samples.
    per_sample: float = 0.0
    per_pair: float = 0.0

    @property
    def peak(self) -> float:
        """The most at a time, without coordinates."""
        return self.held + max(self.making, self.solving)

    def coordinates(self, n_rows: int) -> float:
        """Return the bytes of the coordinates of so many samples."""
        return self.per_sample * n_rows + self.per_pair * n_rows**2

    def __add__(self, other: Bytes) -> Bytes:
        """Return what both take side by side, made one after the other."""
        return Bytes(
            self.held + other.held,
            max(self.making, other.making),
            self.solving + other.solving,
            self.per_sample + other.per_sample,
            self.per_pair + other.per_pair,
        )


@dataclass(frozen=True)
class Offer:
    """One way to hold some terms: a row of the plan."""

    terms: tuple[Kernel, ...]
    #: How they are held, and why so, for people.
    how: str
    why: str
    bytes: Bytes
    held: Held
    #: Makes the gram; until then nothing is computed.
    make: Callable[[], Gram]
    rank: int = ROWS
    #: True where machines are solved quicker than with matrices, from some 3,000 samples on.
    quicker: bool = False

    @classmethod
    def of(cls, gram: Gram, how: str, why: str, rank: int = ROWS, quicker: bool = False) -> Offer:
        """Offer a gram that holds nothing until it is asked for a product."""
        return cls(gram.terms, how, why, gram.bytes, gram.held, lambda: gram, rank, quicker)


def n_active(n: int) -> int:
    """Return how many samples are active at the end, by experience."""
    return min(n, max(ACTIVE_SAMPLES, int(ACTIVE_SHARE * n)))


def working_set_bytes(n: int) -> int:
    """Return what a dual solver takes that optimises some samples at a time."""
    return 2 * 8 * min(n, WORKING_SET) ** 2


def second_order_bytes(n: int, n_terms: int, most: int, on_all: bool = False) -> int:
    """Return what a step of second order in the weights takes, with at most so many samples, or none for one term.

    It takes a matrix of the samples between their bounds, and one of half of them.
    """
    n_free = min(n if on_all else FREE_SHARE * n, most)
    return int(8 * 1.25 * n_free**2) if n_terms > 1 else 0
