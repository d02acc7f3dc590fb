"""`LowRank`: a kernel seen through a few landmarks, which are chosen among the training samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..parallel import blocks
from ..views import Views
from .base import Kernel, Wrapper, add_all
from .landmarks import Landmarks, choose_landmarks
from .states import rebuilt
from .values import MAX_TERMS, shown, typed

#: Terms with landmarks of which each gets a note of its own.
MAX_NOTES = 5
#: Similarities to landmarks that are computed at a time, in bytes.
BLOCK_BYTES = 4 * 2**20


@dataclass(eq=False, repr=False)
class LowRank(Wrapper):
    """k(x, L) k(L, L)⁻¹ k(L, y): a kernel k seen through `rank` landmarks L, with φ written out (Nyström).

    A fit chooses the landmarks among its training samples, and the fitted model keeps them. A sample then costs
    `rank` values of k, on training and on prediction, however many samples there are. What is solved, and certified,
    is the machine of this kernel, which is positive semi-definite; `notes_` say how much of the trace of k it loses.

    Parameters
    ----------
    kernel : Kernel
        Any: on numbers, on sequences, sums, products.
    rank : int
        Landmarks at the most; fewer where those span all training samples.
    random_state : int
        Landmarks are drawn at random; the same number draws the same ones.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import RBF, LowRank, MKLClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = MKLClassifier(LowRank(RBF(0.5), rank=20)).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> model.notes_
    ['LowRank(RBF(gamma=0.5), rank=20) has 20 landmarks, trace error 3.8 %']
    """

    kernel: Kernel
    rank: int = 500
    random_state: int = 0
    gram_kind = "vectors"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("rank", 1), ("random_state", 0)):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or not least <= value <= MAX_TERMS:
                raise InputError(
                    f"LowRank needs a whole number {name} from {least} to {MAX_TERMS:,}; got {shown(value)}."
                )
        #: What was taken from the training samples; None before a fit.
        self.landmarks: Landmarks | None = None

    def spanning(self, X: Views) -> LowRank:
        """Return the same kernel with landmarks chosen among these samples."""
        return self.at(choose_landmarks(self.kernel, X, int(self.rank), int(self.random_state)))

    def at(self, landmarks: Landmarks) -> LowRank:
        """Return the same kernel with these landmarks."""
        twin = replace(self)
        twin.landmarks = landmarks
        return twin

    @property
    def known(self) -> Landmarks:
        """The landmarks, or an error that says where they come from."""
        if self.landmarks is None:
            raise InputError(
                f"{self!r} has no landmarks yet: a fit chooses them among the training samples, and the terms of the "
                "fitted model have them. To try it on samples, use kernel.spanning(as_views(X))."
            )
        return self.landmarks

    def embedding_size(self, X: Views) -> int | None:
        return min(int(self.rank), len(X)) if self.landmarks is None else len(self.landmarks)

    def embed(self, X: Views) -> np.ndarray:
        out = np.empty((len(X), len(self.known)))
        for part, K in self._similarities(X):
            out[part] = self.known.embed(K)
        return out

    def embedded_sum(self, X: Views, coef: np.ndarray) -> np.ndarray:
        total = np.zeros((len(self.known), coef.shape[1]))
        for part, K in self._similarities(X):
            total += K.T @ coef[part]
        return self.known.embed(total.T).T if len(total) else total

    def embedded_values(self, X: Views, normal: np.ndarray) -> np.ndarray:
        out = np.zeros((len(X), normal.shape[1]))
        spread = self.known.spread(normal) if len(normal) else normal
        for part, K in self._similarities(X):
            out[part] = K @ spread
        return out

    def _similarities(self, X: Views) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield k(x, landmarks), a block of samples at a time; nothing where there is no landmark."""
        known = self.known
        if not len(known):
            return
        size = max(1, BLOCK_BYTES // (8 * len(known)))
        for part in blocks(len(X), size):
            some = X if len(X) <= size else X.rows(np.arange(part.start, part.stop))
            yield part, np.asarray(self.kernel.compute(some, known.views), dtype=np.float64)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        A = self.embed(X)
        return A @ (A if Y is None else self.embed(Y)).T

    def compute_diag(self, X: Views) -> np.ndarray:
        A = self.embed(X)
        return np.einsum("ij,ij->i", A, A)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        seed = f", random_state={typed(self.random_state)}" if self.random_state else ""
        return f"LowRank({self.kernel!r}, rank={typed(self.rank)}{seed})"


def with_landmarks(kernel: Kernel, X: Views) -> Kernel:
    """Return a kernel whose `LowRank`s have chosen their landmarks among X, term by term; itself where it has none."""
    if next(low_ranks(kernel), None) is None:
        return kernel
    return add_all([replaced(term, X, LowRank.spanning) for term in kernel.terms(X)])


def replaced(term: Kernel, X: Views | None, make: Callable[[LowRank, Any], Kernel]) -> Kernel:
    """Return a term with every `LowRank`, from left to right, replaced by make(it, the samples that it sees)."""
    if isinstance(term, LowRank):
        return make(term, X)
    seen = None if X is None else term.seen(X)
    inside = tuple(replaced(part, seen, make) for part in term.inside)
    if all(new is old for new, old in zip(inside, term.inside, strict=True)):
        return term
    return rebuilt(term, inside)


def low_ranks(term: Kernel) -> Iterator[LowRank]:
    """Yield every `LowRank` of an expression, from left to right."""
    if isinstance(term, LowRank):
        yield term
    else:
        for part in term.inside:
            yield from low_ranks(part)


def notes_of(terms: Iterable[Kernel]) -> list[str]:
    """Return what is to be said of the landmarks of some terms: of each, or of many together."""
    found = [(term, one.known) for term in terms for one in low_ranks(term)]
    if len(found) <= MAX_NOTES:
        return [f"{term!r} has {len(known)} landmarks{_error(known.lost)}" for term, known in found]
    sizes, lost = [len(known) for _, known in found], [known.lost or 0.0 for _, known in found]
    return [
        f"{len(found)} terms have {min(sizes)} to {max(sizes)} landmarks, trace errors {100.0 * min(lost):.2g} to "
        f"{100.0 * max(lost):.2g} %"
    ]


def _error(lost: float | None) -> str:
    return "" if lost is None else f", trace error {100.0 * lost:.2g} %"
