"""`LowRank`: a kernel seen through a few landmarks, which are chosen among the training samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..parallel import blocks
from ..views import Views
from .base import Kernel, Wrapper
from .landmarks import Landmarks, choose_landmarks
from .values import MAX_TERMS, shown, typed

#: Similarities to landmarks that are computed at a time, in bytes.
BLOCK_BYTES = 16 * 2**20


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
    ['LowRank(RBF(gamma=0.5), rank=20) has 20 landmarks, trace error 0.2 %']
    """

    kernel: Kernel
    rank: int = 500
    random_state: int = 0

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

    def learned(self, X: Views) -> LowRank:
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
                "fitted model have them. To try it on samples, use kernel.learned(as_views(X))."
            )
        return self.landmarks

    @property
    def note(self) -> str:
        """How many landmarks there are, and what they lose."""
        lost = self.known.lost
        error = "" if lost is None else f", trace error {100.0 * lost:.2g} %"
        return f"{self!r} has {len(self.known)} landmarks{error}"

    def embedding_size(self, X: Views) -> int | None:
        return int(self.rank) if self.landmarks is None else len(self.landmarks)

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


def with_landmarks(term: Kernel, X: Views, choose: Callable[[LowRank, Views], LowRank] | None = None) -> Kernel:
    """Return a term with every `LowRank` in it turned into what `choose` makes of it and of the samples it sees.

    By default, its landmarks are chosen among these samples. A term without any is returned as it is.
    """
    if isinstance(term, LowRank):
        return term.learned(X) if choose is None else choose(term, X)
    seen = term.seen(X)
    inside = tuple(with_landmarks(part, seen, choose) for part in term.inside)
    return term if all(new is old for new, old in zip(inside, term.inside, strict=True)) else term.made_of(inside)


def low_ranks(term: Kernel) -> Iterator[LowRank]:
    """Yield every `LowRank` of an expression, from left to right."""
    if isinstance(term, LowRank):
        yield term
    else:
        for part in term.inside:
            yield from low_ranks(part)
