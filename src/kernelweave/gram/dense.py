"""Grams that hold their matrices: in memory or in a memory-mapped file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..parallel import for_blocks
from ..views import Views
from .base import BLOCK_BYTES, Gram, apply_each_at, block_rows, finite, product, support_of
from .distinct import Distinct, distinct_of
from .offer import DOUBLE, FREE_SHARE, SINGLE, Bytes, Held, Offer, Room, second_order_bytes
from .pairs import fill_each

#: The most samples that a dual solver gathers into a matrix of their own; that it solves a linear system of by a factor
#: of the whole matrix; and that a step of second order in the weights looks at.
MAX_GATHERED, MAX_FACTORED, MAX_SECOND_ORDER = 5_000, 8_000, 2_000
#: Matrices up to this size are evaluated in one go.
SMALL_BYTES = 4 * 2**20
#: From this many columns of coefficients on, products are left to the BLAS.
MANY_COLUMNS = 16


@dataclass(frozen=True)
class Stack:
    """Matrices of one size, (m, n, n), or (m, d, d) where their terms tell only d samples apart."""

    matrices: np.ndarray
    distinct: Distinct | None = None

    def coef(self, coef: np.ndarray) -> np.ndarray:
        """Return coef (n, n_columns) as the matrices take it, (n_columns, n or d)."""
        return np.ascontiguousarray(coef.T) if self.distinct is None else self.distinct.sums(coef.T)

    def at(self, index: np.ndarray) -> np.ndarray:
        """Return where the matrices have these samples."""
        return index if self.distinct is None else self.distinct.which[index]

    def whole(self, K: np.ndarray) -> np.ndarray:
        """Return a matrix of the stack's size for all samples."""
        if self.distinct is None:
            return K
        from .._fast.dense import gather

        return gather(K, self.distinct.which, self.distinct.which, 1.0)


class DenseGram(Gram):
    """All K_m as matrices, in float64 or float32.

    Products are always summed in float64. The matrices lie in one or several stacks, so
    that loops over many small ones run in one go; a stored matrix (`Precomputed`) is a stack
    of its own, used where it lies. Terms that cannot tell many samples apart, as on a column of few values, have
    matrices of the distinct ones only: d² numbers to hold and to read, not n².

    Parameters
    ----------
    stacks : list of Stack, or of arrays of shape (m, n, n) or (n, n)
    places : array of shape (n_terms, 2)
        Stack and position of every term; in order where None.
    """

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        stacks: Sequence[np.ndarray | Stack],
        places: Sequence[tuple[int, int]] | np.ndarray | None = None,
        factors: np.ndarray | None = None,
    ) -> None:
        super().__init__(terms, X, factors)
        self.stacks = [stack if isinstance(stack, Stack) else _as_stack(stack) for stack in stacks]
        if places is None:
            places = [(s, p) for s, stack in enumerate(self.stacks) for p in range(len(stack.matrices))]
        self.places = np.array(places, dtype=np.int64).reshape(-1, 2)
        single = [stack.matrices.dtype == np.float32 for stack in self.stacks]
        rough = tuple(m for m, (s, _) in enumerate(self.places) if single[s])
        self.held = Held(single=rough, rough=rough)

    @classmethod
    def compute(
        cls,
        terms: Sequence[Kernel],
        X: Views,
        *,
        dtype: type = np.float64,
        directory: str | Path | None = None,
        n_jobs: int = 1,
    ) -> DenseGram:
        """Evaluate every term on X, in blocks of rows, on threads; into a file where a directory is given."""
        stacks: list[Stack] = []
        places = [(0, 0)] * len(terms)
        for m, term in enumerate(terms):
            if term.stored:
                K = term.compute(X, None)
                places[m] = len(stacks), 0  # symmetric: its numbers may lie in either order
                stacks.append(_as_stack(K.T if K.flags.f_contiguous else np.ascontiguousarray(K)))
        for distinct, group in _grouped(distinct_of(terms, X)):
            fresh = [m for m in group if not terms[m].stored]
            if fresh:
                for position, m in enumerate(fresh):
                    places[m] = len(stacks), position
                seen = X if distinct is None else X.rows(distinct.first)
                stacks.append(Stack(_evaluated([terms[m] for m in fresh], seen, dtype, directory, n_jobs), distinct))
        return cls(terms, X, stacks, places)

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        options: dict[str, Any] = {"directory": room.directory, "n_jobs": room.needs.n_jobs}
        whole = bytes_of_matrices(terms, X, room)
        if whole.peak <= room.budget or room.directory is not None:
            why, how, rank = "all of them fit", "matrices in double precision", DOUBLE
        else:
            whole = bytes_of_matrices(terms, X, room, each=4)
            why, how, rank = "twice as many bytes do not fit", "matrices in single precision", SINGLE
            options["dtype"] = np.float32
            if whole.peak > room.budget:
                return None
        rough = tuple(range(len(terms))) if rank == SINGLE else ()
        held = Held(single=rough, rough=rough)
        return Offer(tuple(terms), how, why, whole, held, partial(cls.compute, terms, X, **options), rank)

    @property
    def bytes(self) -> Bytes:
        used = np.unique(self.places[:, 0])
        return replace(super().bytes, held=float(sum(self.stacks[s].matrices.nbytes for s in used)))

    @cached_property
    def sizes(self) -> np.ndarray:
        return self.factors * self.diag_each().max(axis=1, initial=0.0)

    def matrix_of(self, m: int) -> np.ndarray:
        """Return K_m without its factor."""
        stack, position = self.places[m]
        return self.stacks[stack].whole(self.stacks[stack].matrices[position])

    def _by_stack(self, picked: np.ndarray) -> Iterator[tuple[Stack, np.ndarray, np.ndarray]]:
        """Yield (stack, positions, where in `picked`) for every stack that holds picked terms."""
        of, positions = self.places[picked].T
        for s in np.unique(of):
            where = np.flatnonzero(of == s)
            yield self.stacks[s], positions[where], where

    @cached_property
    def _all_stacks(self) -> list[tuple[Stack, np.ndarray, np.ndarray]]:
        return list(self._by_stack(np.arange(self.n_terms)))

    def rescaled(self, factors: np.ndarray) -> Gram:
        return DenseGram(self.terms, self.X, self.stacks, self.places, factors)

    def only(self, picked: Sequence[int]) -> Gram:
        index = np.asarray(picked, dtype=np.int64)
        return DenseGram([self.terms[m] for m in index], self.X, self.stacks, self.places[index], self.factors[index])

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        if at is not None:
            return super().apply(coef, weights, at)
        from .._fast.dense import rows_times

        columns, out = coef.reshape(self.n, -1), np.zeros((self.n, coef[:1].size))
        scaled = weights * self.factors
        used = np.flatnonzero(scaled)
        for stack, positions, where in self._by_stack(used):
            lines = stack.coef(columns)
            support, total = support_of(lines.T), np.zeros(lines.T.shape)
            for position, m in zip(positions, used[where], strict=True):
                K = stack.matrices[position]
                if 2 * len(support) < len(K):  # then reading their rows is all it takes
                    part = np.column_stack([rows_times(K, support, line[support]) for line in lines])
                else:
                    part = product(K, lines.T)
                total += scaled[m] * part
            out += total[stack.at(np.arange(self.n))]
        return out.reshape(coef.shape)

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        if at is not None:
            return apply_each_at(self, coef, at)
        if coef.ndim == 2 and coef.shape[1] >= MANY_COLUMNS:
            return np.array([self.only([m]).apply(coef, np.ones(1)) for m in range(self.n_terms)])
        if coef.ndim == 2:
            return np.stack([self.apply_each(column) for column in coef.T], axis=-1)
        return self.apply_some(np.arange(self.n_terms), np.arange(self.n), coef)

    def apply_some(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        from .._fast.dense import products, rows_times

        out = np.empty((len(picked), len(at)))
        for stack, positions, where in self._by_stack(picked):
            column, index = stack.coef(coef[:, None])[0], stack.at(at)
            support = np.flatnonzero(column)
            if 2 * len(support) < len(at):  # the rows of the support are fewer than those asked for
                out[where] = [rows_times(stack.matrices[p], support, column[support])[index] for p in positions]
            else:
                out[where] = products(stack.matrices, positions, index, column)
        return out * self.factors[picked][:, None]

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        from .._fast.dense import BURST, quads

        out = np.empty((self.n_terms, coef.shape[1]))
        for stack, positions, where in self._all_stacks:
            columns = stack.coef(coef)
            rows = support_of(columns.T)
            if len(columns) >= MANY_COLUMNS:
                products = (product(stack.matrices[position], columns.T) for position in positions)
                out[where] = [np.einsum("ic,ci->c", one, columns) for one in products]
                continue
            some = 4 * max(1, BURST // (4 * max(1, len(rows) ** 2 * len(columns))))  # quads takes four at a time
            for start in range(0, len(positions), some):
                out[where[start : start + some]] = quads(stack.matrices, positions[start : start + some], rows, columns)
        return out * self.factors[:, None]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        from .._fast.dense import gather

        cols = np.arange(self.n) if cols is None else cols
        out = np.zeros((len(rows), len(cols)))
        for m in np.flatnonzero(weights):
            s, position = self.places[m]
            stack = self.stacks[s]
            out += gather(stack.matrices[position], stack.at(rows), stack.at(cols), weights[m] * self.factors[m])
        return out

    def block_each(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        from .._fast.dense import gather

        out = np.empty((self.n_terms, len(rows), len(cols)))
        together = _in_a_row(rows) and _in_a_row(cols)
        for m, (s, position) in enumerate(self.places):
            stack = self.stacks[s]
            if together and stack.distinct is None:
                part = stack.matrices[position, rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
                np.multiply(part, self.factors[m], out=out[m])
            else:
                out[m] = gather(stack.matrices[position], stack.at(rows), stack.at(cols), self.factors[m])
        return out

    def diag_each(self) -> np.ndarray:
        out, every = np.empty((self.n_terms, self.n)), np.arange(self.n)
        for stack, positions, where in self._all_stacks:
            out[where] = np.diagonal(stack.matrices, axis1=1, axis2=2)[positions][:, stack.at(every)]
        return out

    def matrix(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        scaled = weights * self.factors
        used = np.flatnonzero(scaled)
        if len(used) == 1:  # nothing to add up, so nothing to copy
            return self.matrix_of(int(used[0])), float(scaled[used[0]])
        from .._fast.dense import BURST, add_mixed, mix, spread

        K = np.zeros((self.n, self.n))
        for stack, positions, where in self._by_stack(used):
            if stack.distinct is None:
                rows = 32 * max(1, BURST // (32 * self.n * len(positions)))  # whole tiles
                for start in range(0, self.n, rows):
                    stop = min(start + rows, self.n)
                    add_mixed(stack.matrices, positions, scaled[used[where]], K, start, stop)
            else:
                spread(mix(stack.matrices, positions, scaled[used[where]]), stack.distinct.which, K)
        return K, 1.0


def _grouped(distinct: Sequence[Distinct | None]) -> Iterator[tuple[Distinct | None, list[int]]]:
    """Yield each record of distinct samples with the terms that it is shared by."""
    groups: dict[int, list[int]] = {}
    for m, one in enumerate(distinct):
        groups.setdefault(id(one), []).append(m)
    return ((distinct[group[0]], group) for group in groups.values())


def _evaluated(terms: Sequence[Kernel], X: Views, dtype: type, directory: str | Path | None, n_jobs: int) -> np.ndarray:
    """Return the matrices of terms on X, (n_terms, n, n)."""
    n = len(X)
    stack = _allocate((len(terms), n, n), dtype, directory)
    others = fill_each(terms, X, stack, n_jobs)

    def fill(part: slice) -> None:
        whole = part.stop - part.start == n  # then kernels can use that the matrix is symmetric
        rows, cols = (X, None) if whole else (X.rows(np.arange(part.start, part.stop)), X)
        for m in others:
            stack[m, part] = finite(terms[m].compute(rows, cols), terms[m])

    if others:
        for_blocks(fill, n, min(n, block_rows(evaluation_bytes(terms, n), n)), n_jobs)
    return stack


def evaluation_bytes(terms: Sequence[Kernel], n: int) -> int:
    """Return the bytes of kernel values that one thread evaluates at a time: few, against the whole matrix.

    Only kernels on sequences gain by seeing the whole of a small matrix, half of which they mirror.
    """
    if any(term.reads == "sequences" for term in terms):
        return BLOCK_BYTES
    return min(BLOCK_BYTES, max(SMALL_BYTES, 8 * n * n // 16))


def bytes_of_matrices(terms: Sequence[Kernel], X: Views, room: Room, each: int = 8) -> Bytes:
    """Return the bytes of all matrices that are not there yet, with `each` for a number, and of what goes with them.

    Which samples repeat is looked at only where the budget is too small for whole matrices.
    """
    n, needs = len(X), room.needs
    block = min(evaluation_bytes(terms, n), 8 * n * n)
    # the values, and which are finite
    evaluating = int(1.2 * block * min(needs.n_jobs, -(-8 * n * n // max(1, block))))
    if needs.on_all:
        solving = 8 * n * n if n <= MAX_FACTORED else 0
        if len(terms) > 1 or needs.ridged:  # a step of second order in the weights is for all samples, too
            solving += second_order_bytes(n, 2, MAX_SECOND_ORDER, on_all=True)
    else:
        solving = int(8 * min(FREE_SHARE * n, MAX_GATHERED) ** 2)
    if each == 4:  # single precision ends with values that are evaluated anew
        solving = max(solving, evaluating)
    solving += 8 * n * n * (len(terms) > 1 or needs.ridged)  # the combined one
    fresh = n * n * sum(not term.stored for term in terms)
    whole = Bytes(each * fresh, evaluating, solving, per_pair=8.0 * (len(terms) + 1))
    if whole.peak <= room.budget:
        return whole
    sizes = [n if found is None else len(found) for found in distinct_of(terms, X)]
    fresh = sum(size**2 for term, size in zip(terms, sizes, strict=True) if not term.stored)
    return replace(whole, held=float(each * fresh))


def _as_stack(matrices: np.ndarray) -> Stack:
    matrices = np.asarray(matrices)
    return Stack(matrices if matrices.ndim == 3 else matrices[None])


def _in_a_row(index: np.ndarray) -> bool:
    return len(index) > 0 and bool((index == np.arange(index[0], index[0] + len(index))).all())


def _allocate(shape: tuple[int, ...], dtype: type, directory: str | Path | None) -> np.ndarray:
    if directory is None or 0 in shape:
        return np.empty(shape, dtype=dtype)
    # the file has no name once it is mapped, so nothing is left behind however the process ends
    with tempfile.TemporaryFile(dir=directory, prefix="kernelweave-") as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)
