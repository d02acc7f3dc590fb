"""Grams of very many terms: matrices are made, used and let go."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from ..kernels import Kernel
from ..parallel import for_blocks
from ..views import Views
from .base import Gram, apply_each_at, finite, support_of
from .dense import DenseGram
from .looks import TermQuads, look_engine, term_quads, terms_quads
from .offer import STREAMED, Bytes, Held, Offer, Room

#: Matrices beside those that are held and those on every thread: the sum of the active terms, and a part of it.
STREAMED_MATRICES = 2
#: Terms that must fit as matrices where the others are streamed.
MIN_HELD_TERMS = 60
#: Terms that one thread works through before it asks for more.
TERM_BLOCK = 16


class StreamedGram(Gram):
    """K_m of one term after another, on threads; what `only` picks is held.

    A pass over all terms evaluates every kernel once on the support samples. Solvers that look
    at few terms (`ActiveTerms`) make a handful of passes.

    Parameters
    ----------
    cache_bytes : int
        How much memory the matrices of picked terms may take; of more than that, none is held.
    """

    def __init__(
        self,
        terms: Sequence[Kernel],
        X: Views,
        cache_bytes: int = 2**28,
        n_jobs: int = 1,
        factors: np.ndarray | None = None,
        look: TermQuads | None = None,
    ) -> None:
        super().__init__(terms, X, factors)
        self.cache_bytes = cache_bytes
        self.n_jobs = n_jobs
        #: The task of a look at all terms; one for all grams of the same terms, since it travels once.
        self.look = TermQuads(X, self.terms) if look is None else look
        #: Whether an engine may look at them: not at a few that are looked at often, nor at matrices, which are large.
        self.whole = not any(term.stored for term in self.terms)
        self._held: OrderedDict[int, np.ndarray] = OrderedDict()

    held = Held(coordinates=frozenset(), streams=True)

    @classmethod
    def offer(cls, terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
        square = 8 * len(X) ** 2
        if len(terms) <= MIN_HELD_TERMS or 2 * square * MIN_HELD_TERMS > room.budget:
            return None
        n_jobs = room.needs.n_jobs
        gram = cls(terms, X, room.budget - square * (STREAMED_MATRICES + n_jobs), n_jobs)
        how = "as many matrices of active terms as fit"
        return Offer.of(gram, how, f"{len(terms):,} matrices do not fit, and few terms will matter", STREAMED)

    @property
    def bytes(self) -> Bytes:
        # what is held between looks, the sum of the active terms, and a matrix on every thread
        held = max(self.cache_bytes // (8 * self.n**2), 1)
        return Bytes(8.0 * self.n**2 * (min(held, self.n_terms) + STREAMED_MATRICES + self.n_jobs))

    def rescaled(self, factors: np.ndarray) -> Gram:
        return self._like(self.terms, factors, self.look)

    def _like(self, terms: Sequence[Kernel], factors: np.ndarray, look: TermQuads | None = None) -> StreamedGram:
        made = StreamedGram(terms, self.X, self.cache_bytes, self.n_jobs, factors, look)
        made.whole &= self.whole and 2 * len(terms) > self.n_terms
        return made

    def only(self, picked: Sequence[int]) -> Gram:
        if 8 * self.n**2 * len(picked) > self.cache_bytes:
            return self._like([self.terms[m] for m in picked], self.factors[list(picked)])
        for m in picked:
            if m in self._held:
                self._held.move_to_end(m)
        for m in picked:
            if m not in self._held:
                while 8 * self.n**2 * (len(self._held) + 1) > self.cache_bytes:  # room first
                    self._held.popitem(last=False)
                self._held[m] = finite(self.terms[m].compute(self.X, None), self.terms[m])
        matrices = [self._held[m] for m in picked]
        return DenseGram([self.terms[m] for m in picked], self.X, matrices, factors=self.factors[list(picked)])

    def apply_each(self, coef: np.ndarray, at: Views | None = None) -> np.ndarray:
        if at is not None:
            return apply_each_at(self, coef, at)
        out = np.empty((self.n_terms, *coef.shape))

        def block(part: slice) -> None:
            for m in range(part.start, part.stop):
                K = finite(self.terms[m].compute(self.X, None), self.terms[m])
                out[m] = self.factors[m] * (K @ coef)

        for_blocks(block, self.n_terms, TERM_BLOCK, self.n_jobs)
        return out

    def _quad_columns(self, coef: np.ndarray) -> np.ndarray:
        engine = look_engine(self.n_terms, coef) if self.whole else None
        if engine is not None:
            return self.factors[:, None] * terms_quads(self.look, coef, engine)
        support, out = support_of(coef), np.zeros((self.n_terms, coef.shape[1]))
        seen, some = self.X.rows(support), coef[support]

        def block(part: slice) -> None:
            out[part] = term_quads(self.terms[part], seen, some)

        for_blocks(block, self.n_terms, TERM_BLOCK, self.n_jobs)
        return out * self.factors[:, None]

    def block(self, rows: np.ndarray, cols: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        K, factor = self.matrix(weights)
        return factor * (K[rows] if cols is None else K[np.ix_(rows, cols)])

    def matrix(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        scaled, total = weights * self.factors, np.zeros((self.n, self.n))
        for m in np.flatnonzero(scaled):  # one after another: threads would need a sum each
            total += scaled[m] * finite(self.terms[m].compute(self.X, None), self.terms[m])
        return total, 1.0
