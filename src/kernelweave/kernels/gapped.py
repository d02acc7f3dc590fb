"""The gapped k-mer kernel: words of which only some columns need to agree."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .explicit import ExplicitKernel, check_key, flipped, single_letters
from .strings import whole_number
from .values import many
from .vocabulary import KeyVocabulary, Shape, Vocabulary

if TYPE_CHECKING:
    from ..sequences import Alphabet

#: Choices of columns beyond which listing them is hopeless.
MAX_CHOICES = 20_000


@dataclass(eq=False, repr=False)
class GappedKmer(ExplicitKernel):
    """k(x, y) = Σ_{u in x, v in y} C(length − d(u, v), k) over words of `length` letters that differ at d(u, v) places.

    The same as counting, for every choice of k columns out of `length`, the words that agree there; each choice is a
    group of features. With `reverse_complement`, v runs over the words of y and of its other strand. Words that hold
    an unknown letter are skipped.

    Parameters
    ----------
    length : int
        Letters of a word.
    k : int
        Columns that must agree, at least 1 and at most `length`.
    reverse_complement : bool
        Read both strands.
    alphabet : str or Alphabet
        "auto" guesses it from the data.

    Examples
    --------
    >>> from kernelweave import GappedKmer
    >>> GappedKmer(length=4, k=2)(["ACGT", "ACCT", "TTTT"])
    array([[6., 3., 0.],
           [3., 6., 0.],
           [0., 0., 6.]])
    """

    length: int = 10
    k: int = 6
    reverse_complement: bool = False
    alphabet: str | Alphabet = "auto"
    definite = True
    always_shown = ("length", "k")

    def _sizes(self) -> tuple[int, int]:
        length, k = whole_number(self, "length"), whole_number(self, "k")
        if k > length:
            raise InputError(f"GappedKmer chooses k columns of a word: k ≤ length; got k={k} and length={length}.")
        if (choices := comb(length, k)) > MAX_CHOICES:
            raise InputError(
                f"{self!r} has {many(choices)} choices of columns; at most {MAX_CHOICES:,} are listed. "
                "Take a smaller length, or k nearer to it."
            )
        return length, k

    def shortest_word(self) -> int:
        return whole_number(self, "length")

    def parts(self, alphabet: Alphabet, degree: int | None = None) -> list[tuple[float, Vocabulary]]:
        length, k = self._sizes()
        bits = check_key(self, k, alphabet, "compares letters as numbers: it")
        if not self.reverse_complement:
            return [(1.0, self._vocabulary(columns, alphabet, bits)) for columns in combinations(range(length), k)]
        found = []
        for columns in combinations(range(length), k):
            mirror = tuple(length - 1 - c for c in reversed(columns))
            if columns <= mirror:  # read from the other strand, a choice of columns is its mirror image
                found.append((0.5 if columns == mirror else 1.0, self._vocabulary(columns, alphabet, bits)))
        return found

    def _vocabulary(self, columns: tuple[int, ...], alphabet: Alphabet, bits: int) -> Vocabulary:
        from .._fast.features import gapped_keys

        both = bool(self.reverse_complement)
        given = {
            "length": self.length,
            "columns": np.array(columns),
            "bits": alphabet.bits,
            "size": alphabet.size,
            "complement": alphabet.complement_table if both else np.zeros(256, np.uint8),
            "both": both,
        }
        mirrored = [self.length - 1 - c for c in columns]
        shape = Shape(self.length, np.array([columns, mirrored] if both else [columns]))
        return KeyVocabulary(partial(gapped_keys, **given), bits, 1 + both, shape)

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        from ..sequences import as_sequences

        alphabet = as_sequences([sequence], self.alphabet).alphabet
        length, k = self._sizes()
        for _, word in self.words(sequence, length):
            word = single_letters(word, alphabet)
            strands = (word, flipped(word, alphabet)) if self.reverse_complement else (word,)
            for strand in strands:
                for columns in combinations(range(length), k):
                    yield 0, (columns, *(strand[c] for c in columns)), np.sqrt(1 / len(strands))
