"""A look at all terms, coef' K_m coef of each: in blocks of terms, by the engine in use where that is worth a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from ..cluster import Engine, current_engine
from ..kernels import Kernel
from ..views import Views
from .base import finite, support_of
from .distinct import Distinct
from .pairs import PairFamily, Samples, burst_rows, in_bursts

#: Pairs of samples, times terms, from which a round is quicker than a look here; and the most of them in a task.
WORTH, MOST = 2 * 10**8, 10**10
#: Blocks for every thread of an engine.
BLOCKS_EACH = 4
#: What a pair costs a family beside the values of its terms, in such values.
SHARED_COST = 3


@dataclass(frozen=True)
class TermBlock:
    """The part of a round that is about some of the terms, with the coef in question: a few kilobytes.

    Attributes
    ----------
    number, n_blocks : int
    first, last : int
        The families, or terms, first .. last − 1.
    coef : array of shape (n, n_columns)
    turn, turns : int
        Of all blocks of rows, every turns-th, from this one on: where one family is more than a block.
    """

    number: int
    n_blocks: int
    first: int
    last: int
    coef: np.ndarray = field(compare=False, repr=False)
    turn: int = 0
    turns: int = 1

    alike = True
    hint = ""
    smaller = "Give workers more memory, or fewer threads."

    @property
    def named(self) -> str:
        """As errors name it, inside of a sentence."""
        return f"block {self.number + 1} of {self.n_blocks} of the terms"

    @property
    def place(self) -> str:
        """The text by which it is placed: the same in every round and every process."""
        return self.named


@dataclass(frozen=True)
class FamilyQuads:
    """The task for kernels on numbers, which travels once: samples, and what the terms make of them."""

    X: Views
    families: tuple[PairFamily, ...]
    #: What a worker makes once for all its blocks; it never travels.
    made: dict[str, Samples] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, block: TermBlock) -> list[tuple[int, np.ndarray]]:
        samples = self.made.setdefault("samples", Samples(self.X))
        some = self.families[block.first : block.last]
        if block.turns > 1:
            return rows_quads(some[0], samples, block.coef, 1, block.turn, block.turns)
        return [(0, np.concatenate([family_quads(family, samples, block.coef) for family in some]))]

    def __reduce__(self) -> tuple:
        return FamilyQuads, (self.X, self.families)


@dataclass(frozen=True)
class TermQuads:
    """The task for any kernels, which travels once; a matrix is made, used and let go."""

    X: Views
    terms: tuple[Kernel, ...]

    def __call__(self, block: TermBlock) -> np.ndarray:
        support = support_of(block.coef)
        return term_quads(self.terms[block.first : block.last], self.X.rows(support), block.coef[support])


def look_engine(n_terms: int, coef: np.ndarray) -> Engine | None:
    """Return the engine in use, where a look at so many terms is worth a round of it."""
    found = current_engine()
    return found if found is not None and worth_a_round(n_terms, len(support_of(coef))) else None


def worth_a_round(n_terms: int, n_support: int) -> bool:
    """Say whether a look at so many terms takes longer than a round, whatever the engine."""
    return n_terms * n_support**2 / 2 >= WORTH


# -- kernels on numbers ------------------------------------------------------------------------------------------------


def support_in(
    family: PairFamily, samples: Samples, coef: np.ndarray
) -> tuple[Distinct | None, np.ndarray, np.ndarray]:
    """Return which samples a family tells apart, where that helps, those with coef, and their coef, (c, n_support)."""
    told = samples.told(family.seen)
    if told is None:
        support = support_of(coef)
        return None, support, np.ascontiguousarray(coef[support].T)
    sums = told.sums(coef.T)
    support = support_of(sums.T)
    return told, told.first[support], np.ascontiguousarray(sums[:, support])


def rows_quads(
    family: PairFamily, samples: Samples, coef: np.ndarray, n_jobs: int = 1, turn: int = 0, turns: int = 1
) -> list[tuple[int, np.ndarray]]:
    """Return what blocks of rows add to coef' K_p coef of the pieces of a family, by the first row of each."""
    from .._fast.tiles import each_quads

    _, support, lines = support_in(family, samples, coef)
    data = np.ascontiguousarray(samples.seen(family.seen, np.float64)[:, support])
    cost, found = 0.5 * len(support) * family.cost(len(data)), dict[int, np.ndarray]()
    size = burst_rows(len(support), cost)

    def block(part: slice) -> None:
        if (part.start // size) % turns == turn:
            out, own = np.zeros((len(family.terms), len(lines))), (family.kind, data, family.forms, family.scales)
            each_quads(*own, family.places, lines, part.start, part.stop, out)
            found[part.start] = out

    in_bursts(block, len(support), cost, n_jobs)
    return sorted(found.items(), key=lambda one: one[0])


def family_quads(family: PairFamily, samples: Samples, coef: np.ndarray, n_jobs: int = 1) -> np.ndarray:
    """Return coef' K_p coef of the pieces of a family, (n_pieces, n_columns)."""
    return _in_order(rows_quads(family, samples, coef, n_jobs), (len(family.terms), coef.shape[1]))


def _in_order(blocks: Sequence[tuple[int, np.ndarray]], shape: tuple[int, int]) -> np.ndarray:
    """Add up blocks of rows, always in the same order, whoever made them."""
    total = np.zeros(shape)
    for _, found in sorted(blocks, key=lambda one: one[0]):
        total += found
    return total


def families_quads(task: FamilyQuads, coef: np.ndarray, n_terms: int, engine: Engine) -> np.ndarray:
    """Return coef' K_m coef of all terms, by a round of an engine: the same bits as here."""
    parts = _cut(task.families, coef, n_terms, engine.n_threads)
    answers = engine.map(task, parts, engine.next_version())
    total = np.zeros((n_terms, coef.shape[1]))
    for first, group in groupby(zip(parts, answers, strict=True), key=lambda one: one[0].first):
        found, some = list(group), task.families[first:]
        some = some[: found[0][0].last - first]
        terms = np.concatenate([family.terms for family in some])
        blocks = [block for _, blocks in found for block in blocks]
        np.add.at(total, terms, _in_order(blocks, (len(terms), coef.shape[1])))
    return total


def _cut(families: Sequence[PairFamily], coef: np.ndarray, n_terms: int, n_threads: int) -> list[TermBlock]:
    """Cut families into blocks that take about as long: about four for every thread, more where that is too long."""
    costs = np.array([SHARED_COST + len(family.forms) for family in families])
    share = costs.sum() / _n_blocks(n_terms, coef, n_threads)
    found: list[tuple[int, int, int, int]] = []
    first, held = 0, 0
    for number, cost in enumerate(costs.tolist()):
        if held and held + cost > share:
            found.append((first, number, 0, 1))
            first, held = number, 0
        turns = int(-(-cost // share))
        if turns > 1:
            found += [(number, number + 1, turn, turns) for turn in range(turns)]
            first = number + 1
        else:
            held += cost
    if held:
        found.append((first, len(families), 0, 1))
    return [TermBlock(k, len(found), low, high, coef, *own) for k, (low, high, *own) in enumerate(found)]


def _n_blocks(n_terms: int, coef: np.ndarray, n_threads: int) -> int:
    pairs = n_terms * len(support_of(coef)) ** 2 / 2
    return max(BLOCKS_EACH * n_threads, int(-(-pairs // MOST)))


# -- any kernels -------------------------------------------------------------------------------------------------------


def term_quads(terms: Sequence[Kernel], X: Views, coef: np.ndarray) -> np.ndarray:
    """Return coef' K_m coef of every term, (n_terms, n_columns), on samples that all have coef."""
    matrices = (finite(term.compute(X, None), term) for term in terms)
    return np.array([np.einsum("ic,ic->c", coef, K @ coef) for K in matrices])


def terms_quads(task: TermQuads, coef: np.ndarray, engine: Engine) -> np.ndarray:
    """Return coef' K_m coef of all terms, by a round of an engine: the same bits as here."""
    n_terms = len(task.terms)
    ends = np.unique(np.linspace(0, n_terms, min(n_terms, _n_blocks(n_terms, coef, engine.n_threads)) + 1).astype(int))
    starts = ends[:-1].tolist()
    parts = [
        TermBlock(k, len(starts), low, high, coef) for k, (low, high) in enumerate(zip(starts, ends[1:], strict=True))
    ]
    return np.concatenate(engine.map(task, parts, engine.next_version()))
