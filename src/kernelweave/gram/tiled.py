"""Grams of kernels on numbers that hold the samples, and at most one matrix: the weighted sum of the terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.forms import Formed
from ..parallel import for_blocks
from ..views import Views
from .base import SIZE_SAMPLES, Gram, finite, support_of
from .coordinates import Coordinates, TiledCoordinates
from .dense import MAX_FACTORED, MAX_GATHERED, MAX_SECOND_ORDER, bytes_of_matrices
from .distinct import FEW, mostly_repeat
from .looks import FamilyQuads, families_quads, family_quads, look_engine, support_in
from .offer import FREE_SHARE, SECOND_ORDER, SPARE_BYTES, TILED, Bytes, Held, Needs, Offer, Room
from .pair_rows import PairPart
from .pairs import NumberPairs, PairFamily, Samples, families_of_pairs, formed, in_bursts, some_of
from .scratch import Scratch

#: Up to so many samples values are in double precision: machines are solved to the last digits there. And matrices of
#: all terms are at hand sooner, up to so many values: fresh memory for more costs more than making them again.
MIN_SAMPLES, MIN_VALUES = 1000, 5 * 10**6
#: With more samples than this, matrices are made of those that matter only.
HELD_SAMPLES = 3000
#: Gaps below this are not for single precision.
SINGLE_TOL = 1e-5
#: The part of the samples that a step of second order in the weights rests on at the most (`mkl.Hessian`).
SECOND_ORDER_SHARE = 0.6
#: Where no matrix is held, so many of them for each sample of the gram, and so many at the most.
SECOND_ORDER_OF, MAX_TILED_ORDER = 0.1, 4000
#: The part of the samples that a set has (`dual.Sets`) with one term and with several; and the most of them.
SET_SHARES, MAX_SET = (0.6, 0.75), 24_000
#: Vector operations of a value from which on it is read sooner than evaluated, of so few samples that matrices fit.
WIDE = 8.0
#: How long a vector operation of a pair takes beside a visit of descent to one of the two (measured: 0.3 ns).
OPERATION = 0.3 / 2400
#: More terms than this, with more values than this, are not all looked at in every step.
MANY_TERMS, MANY_VALUES = 300, 2 * 10**8
#: Rows of the matrix that are made at a time: what all families add to them stays near the processor.
MATRIX_ROWS = 128


class TiledGram(Gram):
    """K_m of kernels on numbers, evaluated whenever they are needed, all terms of a family at once.

    Held are the samples, in single precision say, and where it fits one matrix, Σ_m weights[m] K_m at the latest
    weights. Products are summed in double precision. `quad` evaluates the kernels in double precision always, on the
    support only, and `in_double` all the rest: so are the bounds that are reported.

    Parameters
    ----------
    parts : list of list of Formed
        Every term as the sum of its pieces.
    dtype : float32 or float64
        What the matrix, and products with all samples, are evaluated in.
    holds : bool
        Whether the matrix fits.
    needs : Needs
        What the machines need: threads, and memory beside this.
    most_bytes : float
        Bytes of the matrix of a set of samples, at the most.
    whole : bool
        Whether these are all terms of a problem, which an engine may look at, or a few that are looked at often.
    """

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        parts: Sequence[Sequence[Formed]],
        *,
        dtype: Any = np.float32,
        holds: bool = True,
        needs: Needs | None = None,
        most_bytes: float = np.inf,
        factors: np.ndarray | None = None,
        samples: Samples | None = None,
        scratch: Scratch | None = None,
        look: FamilyQuads | None = None,
        whole: bool = True,
    ) -> None:
        super().__init__(terms, X, factors)
        single = tuple(range(len(terms))) if np.dtype(dtype) == np.float32 else ()
        size = float(np.dtype(dtype).itemsize)
        streams = len(terms) > MANY_TERMS and len(terms) * self.n**2 > MANY_VALUES
        # the longer machines take to solve, the better is a step of second order to be
        order = max(SECOND_ORDER, int(min(SECOND_ORDER_OF * self.n, MAX_TILED_ORDER, (0.05 * most_bytes) ** 0.5)))
        self.held = Held(
            single=single, streams=streams, set_bytes=size * (not holds), most_set=most_bytes, second_order=order
        )
        self.parts, self.dtype, self.holds, self.needs = parts, np.dtype(dtype), holds, needs or Needs()
        self.n_jobs = self.needs.n_jobs
        self.most_bytes = most_bytes
        #: The task of a look at all terms; one for all grams of the same terms, since it travels once.
        self.look = FamilyQuads(X, tuple(families_of_pairs(parts))) if look is None else look
        self.families, self.whole = self.look.families, whole
        self.samples = Samples(X) if samples is None else samples
        self.scratch = Scratch() if scratch is None else scratch

    @classmethod
    def of(cls, terms: Sequence[Kernel], X: Views, **options: Any) -> TiledGram | None:
        """Return the gram of terms that all are sums of kernels on numbers; None where one is not."""
        parts = [part for part in formed(terms, X) if part is not None]
        return cls(terms, X, parts, **options) if len(parts) == len(terms) else None

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        n, needs = len(X), room.needs
        few = n <= MIN_SAMPLES
        if room.directory is not None or (few and len(terms) * n**2 < MIN_VALUES) or mostly_repeat(terms, X, few):
            return None
        single = needs.tol >= SINGLE_TOL and not (needs.on_all or needs.ridged or few)
        dtype, most = np.float32 if single else np.float64, max(room.budget // 2, SPARE_BYTES // 2)
        gram = cls.of(terms, X, dtype=dtype, needs=needs, most_bytes=most)
        if gram is None or (n <= HELD_SAMPLES and gram.wide and bytes_of_matrices(terms, X, room).peak <= room.budget):
            return None
        if (
            gram.bytes.peak > room.budget
            or needs.no_matrix
            or (n > HELD_SAMPLES and not (needs.on_all or needs.ridged))
        ):
            gram = gram.unheld()
        matrix = f"one matrix in {'single' if single else 'double'} precision" if gram.holds else "no matrix"
        if gram.bytes.peak > max(room.budget, SPARE_BYTES):
            return None
        return Offer.of(gram, f"tiles, {matrix}", "kernels on numbers are evaluated sooner than read", TILED)

    @classmethod
    def offer_rows(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        needs = room.needs
        single = needs.tol >= SINGLE_TOL and not (needs.on_all or needs.ridged)
        gram = cls.of(terms, X, dtype=np.float32 if single else np.float64, holds=False, needs=needs)
        return None if gram is None else Offer.of(gram, "tiles, no matrix", "products are all that is asked for", TILED)

    @cached_property
    def widths(self) -> list[int]:
        """How many columns every family sees."""
        one = self.X.rows(np.arange(1))
        return [one.through(family.seen.path).matrix().shape[1] for family in self.families]

    @property
    def wide(self) -> bool:
        """Whether the terms have so many columns, and share them so little, that values are dear."""
        cost = sum(family.cost(width) for family, width in zip(self.families, self.widths, strict=True))
        return self.n_terms > 1 and cost > WIDE * self.n_terms

    def _like(self, picked: Sequence[int], factors: np.ndarray, **changed: Any) -> TiledGram:
        same: dict[str, Any] = {"dtype": self.dtype, "holds": self.holds, "needs": self.needs, "whole": self.whole}
        same |= {"most_bytes": self.most_bytes, "samples": self.samples, "scratch": self.scratch}
        if isinstance(picked, range):  # all of them
            return TiledGram(self.terms, self.X, self.parts, factors=factors, look=self.look, **(same | changed))
        same["whole"] &= 2 * len(picked) > self.n_terms
        terms, parts = [self.terms[m] for m in picked], [self.parts[m] for m in picked]
        return TiledGram(terms, self.X, parts, factors=factors, **(same | changed))

    def rescaled(self, factors: np.ndarray) -> Gram:
        return self._like(range(self.n_terms), factors)

    def only(self, picked: Sequence[int]) -> Gram:
        return self._like(picked, self.factors[list(picked)])

    def unheld(self) -> TiledGram:
        """Return the same without a matrix."""
        return self._like(range(self.n_terms), self.factors, holds=False)

    def in_double(self, budget: float = 0.0) -> Gram:
        holds = self.holds and 8.0 * self.n**2 <= budget
        return self._like(range(self.n_terms), self.factors, dtype=np.float64, holds=holds, scratch=Scratch())

    def sampled(self, rows: np.ndarray) -> Gram | None:
        holds = self.holds or len(rows) <= HELD_SAMPLES
        options: dict[str, Any] = {"dtype": self.dtype, "holds": holds, "needs": self.needs}
        return TiledGram(self.terms, self.X.rows(rows), self.parts, most_bytes=self.most_bytes, **options)

    def _over_rows(self, work: Callable[[PairFamily, np.ndarray, np.ndarray, slice], None], at: Any, cols: Any) -> None:
        """Call work(family, rows, columns, which rows) for blocks of the rows `at` against `cols`, on threads.

        `at` are new samples, or places of the gram's own, all where None; so is `cols`.
        """
        for family in self.families:
            own = self.samples.seen(family.seen, self.dtype)
            data = self.samples.others(family.seen, at, self.dtype) if isinstance(at, Views) else some_of(own, at)
            against = some_of(own, cols)

            def block(part: slice, family: PairFamily = family, data: Any = data, against: Any = against) -> None:
                work(family, np.ascontiguousarray(data[:, part]), against, part)

            cost = against.shape[1] * family.cost(len(data))
            in_bursts(block, data.shape[1], cost, self.needs.n_jobs)

    def apply(self, coef: np.ndarray, weights: np.ndarray, at: Views | None = None) -> np.ndarray:
        support = support_of(coef)
        return self._times(at, support, coef[support], weights)

    def rows_times(self, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self._times(None, rows, coef, weights)

    def some_times(self, at: np.ndarray, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self._times(at, rows, coef, weights)

    def _times(
        self, at: Views | np.ndarray | None, rows: np.ndarray, coef: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return Σ_m weights[m] K_m[at, rows] @ coef; `at` as in `_over_rows`."""
        from .._fast.tiles import mixed_products

        scaled = weights * self.factors
        lines = np.ascontiguousarray((coef if coef.ndim == 2 else coef[:, None]).T)
        out = np.zeros((self.n if at is None else len(at), len(lines)))

        def work(family: PairFamily, some: np.ndarray, cols: np.ndarray, part: slice) -> None:
            mixed_products(family.kind, some, cols, family.forms, family.weights(scaled), lines, out[part])

        self._over_rows(work, at, rows)
        return out.reshape(len(out), *coef.shape[1:])

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        return self._each_products(coef, at)

    def applysome_of(self, picked: np.ndarray, at: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return self._like(picked.tolist(), self.factors[picked])._each_products(coef, at)

    def _each_products(self, coef: np.ndarray, at: Views | np.ndarray | None) -> np.ndarray:
        from .._fast.tiles import each_products

        columns = coef.reshape(self.n, -1)
        out = np.zeros((self.n_terms, self.n if at is None else len(at), columns.shape[1]))
        for family in self.families:
            told, support, lines = support_in(family, self.samples, columns)
            own, back = self.samples.seen(family.seen, self.dtype), None
            if isinstance(at, Views):
                data = self.samples.others(family.seen, at, self.dtype)
            elif told is None:
                data = some_of(own, at)
            else:  # every distinct sample once
                rows, back = np.unique(told.which if at is None else told.which[at], return_inverse=True)
                data = some_of(own, told.first[rows])
            cols, scales = some_of(own, support), family.weights(self.factors)
            found = np.zeros((len(family.terms), data.shape[1], len(lines)))

            def block(
                part: slice, family: PairFamily = family, given: Any = (data, cols, lines, found, scales)
            ) -> None:
                some, against, line, into, scale = given
                some, into = np.ascontiguousarray(some[:, part]), into[:, part]
                each_products(family.kind, some, against, family.forms, scale, family.places, line, into)

            in_bursts(block, data.shape[1], cols.shape[1] * family.cost(len(data)), self.needs.n_jobs)
            if back is not None:
                found = found[:, back]
            if family.once:
                out[family.terms] += found
            else:
                np.add.at(out, family.terms, found)
        return out.reshape(*out.shape[:2], *coef.shape[1:])

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        engine = look_engine(self.n_terms, coef) if self.whole else None
        if engine is not None:
            found = families_quads(self.look, coef, self.n_terms, engine)
        else:
            found = np.zeros((self.n_terms, coef.shape[1]))
            for family in self.families:
                np.add.at(found, family.terms, family_quads(family, self.samples, coef, self.needs.n_jobs))
        return self.factors[:, None] * found

    def pair_time(self, weights: np.ndarray) -> float:
        scaled = weights * self.factors
        used = [family for family in self.families if family.weights(scaled).any()]
        return OPERATION * sum(family.cost(len(self.samples.seen(family.seen, self.dtype))) for family in used)

    def pair_parts(self, rows: np.ndarray, weights: np.ndarray) -> list[PairPart]:
        return [NumberPairs(self.families, self.samples, rows, weights * self.factors)]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        from .._fast.tiles import mixed

        out, scaled = np.zeros((len(rows), self.n if cols is None else len(cols))), weights * self.factors

        def work(family: PairFamily, some: np.ndarray, others: np.ndarray, part: slice) -> None:
            mixed(family.kind, some, others, family.forms, family.weights(scaled), out[part])

        self._over_rows(work, rows, cols)
        return out

    def block_each(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        from .._fast.tiles import each

        out = np.zeros((self.n_terms, len(rows), len(cols)))

        def work(family: PairFamily, some: np.ndarray, others: np.ndarray, part: slice) -> None:
            scales = family.weights(self.factors)
            each(family.kind, some, others, family.forms, scales, family.terms, out[:, part])

        self._over_rows(work, rows, cols)
        return out

    def diag_each(self) -> np.ndarray:
        out = np.zeros((self.n_terms, self.n))
        for family in self.families:
            np.add.at(out, family.terms, family.diag(self.samples.seen(family.seen, np.float64)))
        for m in np.flatnonzero(~np.isfinite(out.max(axis=1, initial=0.0))):  # powers may be too large for numbers
            finite(out[m], self.terms[m])
        return out

    @cached_property
    def sizes(self) -> np.ndarray:
        some = np.unique(np.linspace(0, self.n - 1, min(self.n, SIZE_SAMPLES)).astype(np.int64))
        out = np.zeros((self.n_terms, len(some)))
        for family in self.families:
            np.add.at(out, family.terms, family.diag(some_of(self.samples.seen(family.seen, np.float64), some)))
        return self.factors * out.max(axis=1)

    def submatrix(self, rows: np.ndarray | None, weights: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Put Σ_m weights[m] K_m of some samples, all where None, into out."""
        from .._fast.tiles import mirror, mixed_upper, spread_upper

        scaled, used = weights * self.factors, []
        for family in self.families:
            counts = family.weights(scaled)
            if counts.any():
                told, own = self.samples.told(family.seen), self.samples.seen(family.seen, self.dtype)
                if told is not None and len(told) < FEW * len(out):
                    small = np.empty((len(told), len(told)), self.dtype)
                    data = some_of(own, told.first)
                    mixed_upper(family.kind, data, family.forms, counts, 0, len(told), True, small)
                    mirror(small, 0, len(told))
                    used.append((family, counts, small, told.which if rows is None else told.which[rows]))
                else:
                    used.append((family, counts, some_of(own, rows), None))

        def block(part: slice) -> None:
            first, last = part.start, part.stop
            for number, (family, counts, data, which) in enumerate(used):  # all of them while the rows are near
                if which is None:
                    mixed_upper(family.kind, data, family.forms, counts, first, last, number == 0, out)
                else:
                    spread_upper(data, which, first, last, number == 0, out)
            mirror(out, first, last)

        if used:
            for_blocks(block, len(out), MATRIX_ROWS, self.needs.n_jobs)
        else:
            out[:] = 0.0
        return out

    def square(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self.submatrix(rows, weights, self.scratch.matrix(len(rows), self.dtype))

    def matrix(self, weights: np.ndarray) -> tuple[np.ndarray, float] | None:
        return (self.submatrix(None, weights, self.scratch.matrix(self.n, self.dtype)), 1.0) if self.holds else None

    def _coordinates(self, rows: np.ndarray) -> Coordinates:
        return TiledCoordinates(self, rows)

    @property
    def bytes(self) -> Bytes:
        # samples as they are seen, in both precisions
        samples = self.n * (8.0 + self.dtype.itemsize) * sum(width + 2 for width in self.widths)
        matrix = self.dtype.itemsize * self.n**2 if self.holds else 0.0
        return Bytes(held=samples + matrix, solving=self._solving_bytes(), per_pair=8.0)

    def _solving_bytes(self) -> float:
        # what is gathered from the matrix, or a set of samples that matter
        solving = 8.0 * min(FREE_SHARE * self.n, MAX_GATHERED) ** 2
        if not self.holds:
            share = SET_SHARES[self.n_terms > 1]
            solving = min(self.dtype.itemsize * min(share * self.n, MAX_SET) ** 2, self.most_bytes)
        if self.needs.on_all:
            solving = 8.0 * self.n**2 if self.n <= MAX_FACTORED else 0.0
        if self.n_terms > 1:  # a step of second order in the weights
            most = MAX_SECOND_ORDER if self.holds else self.held.second_order
            solving += 10.0 * min(SECOND_ORDER_SHARE * self.n, most) ** 2
        return solving + 8.0 * self.n**2 * self.needs.ridged  # the sum with a diagonal
