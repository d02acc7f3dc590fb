"""Subsequences: letters in the same order, with gaps that cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..parallel import blocks
from ..views import Views
from .strings import StringKernel, whole_number
from .values import real_number, shown

if TYPE_CHECKING:
    from ..sequences import Alphabet

#: Steps of the tables that one call of compiled code takes at the most, but for a single row.
BURST = 5e7


@dataclass(eq=False, repr=False)
class Subsequence(StringKernel):
    """k(x, y) = Σ_u φ_u(x) φ_u(y), φ_u(x) = Σ decay^(letters from first to last) over places of u in x, with gaps.

    u are all texts of k letters (Lodhi et al. 2002). A product of feature vectors, hence positive semi-definite. Long
    sequences have large values, so use `.normalized()`. A pair takes k · len(x) · len(y) steps: for short texts.

    Parameters
    ----------
    k : int
        Letters of a subsequence.
    decay : float
        What every letter that is passed costs, above 0 and up to 1.
    alphabet : str or Alphabet
        "dna", "rna", "protein", "bytes", "text", or "auto" to guess it from the data.

    Examples
    --------
    >>> from kernelweave import Subsequence
    >>> Subsequence(k=2, decay=0.5, alphabet="text")(["cat", "car", "cart"])
    array([[0.140625  , 0.0625    , 0.1015625 ],
           [0.0625    , 0.140625  , 0.140625  ],
           [0.1015625 , 0.140625  , 0.22265625]])
    """

    k: int = 3
    decay: float = 0.5
    alphabet: str | Alphabet = "auto"
    definite = True
    always_shown = ("k", "decay")

    def shortest_word(self) -> int:
        return whole_number(self, "k")

    def check(self, X: Views) -> None:
        self._checked()
        self.sequences(X)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        from .._fast.subsequence import subsequence_block

        a, b = self.pair(X, Y)
        (k, decay), size = self._checked(), b.alphabet.size
        out, known = np.empty((len(a), len(b))), (b.flat_codes(), b.offsets)
        codes, longest = a.flat_codes(), int(a.lengths.max(initial=1))
        rows = max(1, int(BURST / max(1.0, float(k * longest * b.n_letters))))
        for part in blocks(len(a), rows):
            subsequence_block(codes, a.offsets[part.start : part.stop + 1], *known, k, decay, size, out[part])
        return out

    def compute_diag(self, X: Views) -> np.ndarray:
        from .._fast.subsequence import subsequence_diagonal

        found, (k, decay) = self.sequences(X), self._checked()
        codes, out, longest = found.flat_codes(), np.empty(len(found)), int(found.lengths.max(initial=1))
        for part in blocks(len(found), max(1, int(BURST / max(1.0, float(k * longest**2))))):
            starts = found.offsets[part.start : part.stop + 1]
            subsequence_diagonal(codes, starts, k, decay, found.alphabet.size, out[part])
        return out

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        k, decay = self._checked()
        codes, alphabet = self.letters(sequence)
        for places in combinations(range(len(codes)), k):
            chosen = codes[list(places)]
            if (chosen < alphabet.size).all():
                yield 0, chosen.tobytes(), decay ** (places[-1] - places[0] + 1)

    def _checked(self) -> tuple[int, float]:
        decay = real_number(self.decay)
        if not 0 < decay <= 1:
            raise InputError(f"Subsequence needs a decay above 0 and up to 1; got {shown(self.decay)}.")
        return whole_number(self, "k"), decay
