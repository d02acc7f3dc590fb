"""Chunking: the worst violators are optimised at a time, all else is one pass over the samples."""

from __future__ import annotations

from ..gram import Combined
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
    """

    name = "chunking"
    matrix_free = True

    def _in_sets(self, K: Combined) -> bool:
        return True
