"""Kernels between the strict and the loose: equal words that stand near each other, windows that mostly agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..parallel import blocks
from ..views import Views
from .strings import StringKernel, whole_number
from .values import MAX_POWER, real_number, shown
from .weighted_degree import code_matrix, same_length

if TYPE_CHECKING:
    from ..sequences import Alphabet, SequenceSet

#: Words so far apart that they count less than this do not count.
NEGLIGIBLE = 1e-20
#: Pairs of a row and a letter, and of letters in windows, that one compiled call takes: a tenth of a second or so.
OLIGO_BURST, LOCALITY_BURST = 7e6, 2e8
#: Rows of a diagonal that it takes.
DIAGONAL_ROWS = 10_000


@dataclass(eq=False, repr=False)
class Oligo(StringKernel):
    """k(x, y) = Σ over equal words of k letters, at p in x and at q in y, of exp(−(p − q)² / width).

    A small width is strict about places, as `WeightedDegree`; a large one forgets them, as `Spectrum`.

    Parameters
    ----------
    k : int
        Letters of a word.
    width : float
        Square of the distance at which a pair counts 1/e.
    alphabet : str or Alphabet
        "dna", "rna", "protein", "bytes", "text", or "auto" to guess it from the data.

    Examples
    --------
    >>> from kernelweave import Oligo
    >>> Oligo(k=3, width=2.0)(["ACGTT", "AACGT"]).round(3)
    array([[3.   , 1.213],
           [1.213, 3.   ]])
    """

    k: int = 3
    width: float = 2.0
    alphabet: str | Alphabet = "auto"
    definite = True
    always_shown = ("k", "width")

    def shortest_word(self) -> int:
        return whole_number(self, "k")

    def check(self, X: Views) -> None:
        sequences = self.sequences(X)
        self._words(sequences)
        self._nearness(sequences)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        from .._fast.oligo import oligo_block

        a, b = self.pair(X, Y)
        out = np.empty((len(a), len(b)))
        (words, places, starts), others, nearness = self._words(a), self._words(b), self._nearness(a, b)
        for part in blocks(len(a), _rows_of(OLIGO_BURST, b.n_letters)):
            oligo_block((words, places, starts[part.start : part.stop + 1]), others, nearness, out[part])
        return out

    def compute_diag(self, X: Views) -> np.ndarray:
        from .._fast.oligo import oligo_diagonal

        sequences = self.sequences(X)
        out = np.empty(len(sequences))
        (words, places, starts), nearness = self._words(sequences), self._nearness(sequences)
        for part in blocks(len(sequences), DIAGONAL_ROWS):
            oligo_diagonal((words, places, starts[part.start : part.stop + 1]), nearness, out[part])
        return out

    def _nearness(self, *found: SequenceSet) -> np.ndarray:
        """Return what a pair of words counts at every distance that occurs in these sequences."""
        width = real_number(self.width)
        if not 0 < width < np.inf:
            raise InputError(f"Oligo needs a finite width > 0; got {shown(self.width)}.")
        longest = max(int(sequences.lengths.max(initial=1)) for sequences in found)
        reach = int(min(np.sqrt(-np.log(NEGLIGIBLE)) * np.sqrt(width) + 1.0, longest))
        return np.exp(-(np.arange(reach) ** 2) / width)

    def _words(self, sequences: SequenceSet) -> Any:
        from .._fast.oligo import placed_words

        k, bits = whole_number(self, "k"), sequences.alphabet.bits
        if k * bits > 64:
            raise InputError(f"Oligo takes words of up to {64 // bits} letters of {sequences.alphabet!r}; got k={k}.")
        if sequences.alphabet.size == 256 and (sequences.flat_codes() == 255).any():
            raise InputError("Byte 255 stands for an unknown letter here, but it occurs in the sequences; replace it.")
        return sequences.derived(
            f"words of {k}", lambda found: placed_words(found.flat_codes(), found.offsets, k, bits)
        )


@dataclass(eq=False, repr=False)
class LocalityImproved(StringKernel):
    """k(x, y) = (Σ_i (Σ_j window[j] · [x and y agree at i + j])^inner_degree)^outer_degree.

    The window reaches `length` letters to either side, with weights that fall off like a roof and sum to 1. Powers
    count correlations within a window, and between windows. Sequences must be equally long.

    Parameters
    ----------
    length : int
        Letters to either side of a position.
    inner_degree : int
        Power of the agreement within a window.
    outer_degree : int
        Power of the sum over all windows.
    alphabet : str or Alphabet
        "dna", "rna", "protein", "bytes", "text", or "auto" to guess it from the data.

    Examples
    --------
    >>> from kernelweave import LocalityImproved
    >>> LocalityImproved(length=1, inner_degree=2, outer_degree=1)(["ACGT", "ACCT"])
    array([[3.125, 1.625],
           [1.625, 3.125]])
    """

    length: int = 3
    inner_degree: int = 3
    outer_degree: int = 1
    alphabet: str | Alphabet = "auto"
    definite = True
    always_shown = ("length", "inner_degree", "outer_degree")

    def check(self, X: Views) -> None:
        code_matrix(self.sequences(X))
        self.window(), self._powers()

    def window(self) -> np.ndarray:
        """Return the weights of a window, (2 length + 1,)."""
        reach = whole_number(self, "length", 0)
        return (reach + 1 - np.abs(np.arange(-reach, reach + 1))) / (reach + 1) ** 2

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        from .._fast.oligo import locality_block

        a, b = self.pair(X, Y)
        same_length(a, b)
        codes_a, codes_b = code_matrix(a), code_matrix(b)
        out = np.empty((len(codes_a), len(codes_b)))
        window, powers = self._window(codes_a.shape[1]), self._powers()
        for part in blocks(len(codes_a), _rows_of(LOCALITY_BURST, codes_b.size * len(window))):
            locality_block(codes_a[part], codes_b, window, *powers, out[part])
        return out

    def compute_diag(self, X: Views) -> np.ndarray:
        from .._fast.oligo import locality_diagonal

        codes = code_matrix(self.sequences(X))
        out = np.empty(len(codes))
        window, powers = self._window(codes.shape[1]), self._powers()
        for part in blocks(len(codes), DIAGONAL_ROWS):
            locality_diagonal(codes[part], window, *powers, out[part])
        return out

    def _window(self, length: int) -> np.ndarray:
        """Return the part of a window that can lie within sequences of `length` letters."""
        window = self.window()
        outside = max(0, len(window) // 2 - max(0, length - 1))
        return window[outside : len(window) - outside]

    def _powers(self) -> tuple[int, int]:
        return whole_number(self, "inner_degree", 1, MAX_POWER), whole_number(self, "outer_degree", 1, MAX_POWER)


def _rows_of(burst: float, work: int) -> int:
    """Return how many rows a compiled call takes, where each is so much work."""
    return max(1, int(burst / max(1, work)))
