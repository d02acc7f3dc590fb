"""Chunking: the worst violators are optimised at a time, all else is one pass over the samples."""

from __future__ import annotations

from ..engines import engine_kind
from ..gram import Combined
from ..losses import BoxQP
from .base import UNLIMITED, DualState, Effort
from .smo import SMO


class Chunking(SMO):
    """Working sets of Q samples with one pass over all samples after each (Sonnenburg et al. 2007, algorithm 4.2).

    Each step picks the Q samples that violate the optimality conditions most, half of them from either side, optimises
    them by SMO on their own small matrix, and adds what changed to f of all samples: K[:, W] Δcoef, which string
    kernels compute by adding up words ("linadd") on threads (algorithm 4.3). A large Q means fewer, dearer passes.

    Parameters
    ----------
    working_set : int
        Q.
    store : {"auto", "table", "hash", "sorted", "trie", "suffix"}
        What keeps the words of the changed samples while the words of all samples are looked up (section 4.3.1 of the
        paper): a number for every possible word, a hash table, a sorted array, a trie, or a suffix array. All give the
        same machine. "auto" is the quickest, and alone counts in `memory`: a table may take 2 GB.
    """

    name = "chunking"
    matrix_free = True

    def __init__(self, working_set: int = 512, store: str = "auto") -> None:
        super().__init__(working_set)
        if store != "auto":
            engine_kind(store)
        self.store = store

    def advance(self, qp: BoxQP, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        return super().advance(qp, K.kept_in(self.store), state, effort)

    def _in_sets(self, K: Combined) -> bool:
        return True

    def __repr__(self) -> str:
        store = "" if self.store == "auto" else f", store={self.store!r}"
        return f"Chunking(working_set={self.working_set}{store})"
