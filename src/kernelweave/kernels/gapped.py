"""The gapped k-mer kernel: words of which only some columns need to agree."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .explicit import check_key, flipped, single_letters
from .kinds import ONLY_PAIRS, PAIRS
from .pair_rules import MAX_TABLE, PairRule
from .profiles import Profile, estimated_profile, gapped_profile
from .strings import whole_number
from .values import many, real_number, shown
from .vocabulary import KeyVocabulary, Shape, Vocabulary
from .word_pairs import WordPairKernel

if TYPE_CHECKING:
    from ..sequences import Alphabet

#: Choices of columns beyond which listing them is hopeless.
MAX_CHOICES = 20_000
#: Choices of columns up to which features are listed sooner than tables of all words are made.
FEW_CHOICES = 40
FILTERS = ("gapped", "full", "truncated")


@dataclass(eq=False, repr=False)
class GappedKmer(WordPairKernel):
    """k(x, y) = Σ_{u in x, v in y} C(length − d(u, v), k) over words of `length` letters that differ at d(u, v) places.

    The same as counting, for every choice of k columns out of `length`, the words that agree there; each choice is a
    group of features. With `reverse_complement`, v runs over the words of y and of its other strand. Words that hold
    an unknown letter are skipped.

    With the other filters, a pair counts as it does in the product of two estimates of how often every word of `length`
    letters is to be expected, given the gapped words (Ghandi et al. 2014): with small weights for words that differ
    much, which are less of a noise. `GappedKmer(11, 7, True, filter="truncated", max_mismatches=3).normalized()` is
    the gkm kernel of LS-GKM; with center_weight=50 it is its wgkm, the default there.

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
    filter : {"gapped", "full", "truncated"}
        What a pair counts: C(length − d, k), or the product of two estimates, the second of which lets a word count
        only while it does not count less than nothing.
    max_mismatches : int or None
        Pairs that differ in more letters count 0; None for no such limit. Quicker, but with less than all that the
        filter gives weight to no kernel by construction: each fit then checks it on its samples.
    center_weight, half_life : int or None, float
        Words count more in the middle of a sequence: a word whose start is D letters from the middle one weighs
        min(M, ⌊M 2^(−D / half_life) + 1⌋), M = center_weight. None for 1 each.

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
    filter: str = field(default="gapped", kw_only=True)
    max_mismatches: int | None = field(default=None, kw_only=True)
    center_weight: int | None = field(default=None, kw_only=True)
    half_life: float = field(default=50.0, kw_only=True)
    always_shown = ("length", "k")

    @property
    def definite(self) -> bool:  # type: ignore[override]
        if self.max_mismatches is None:
            return True
        return self.filter == "gapped" and self.max_mismatches >= self.length - self.k

    @property
    def is_listed(self) -> bool:
        """Whether the kernel is the product of counts of gapped words."""
        return self.filter == "gapped" and self.definite and self.center_weight is None

    @property
    def by_whole_words(self) -> bool:
        """Whether explanations weigh whole words: gapped ones would count for and against each other."""
        return not self.is_listed

    @property
    def gram_kind(self) -> str:  # type: ignore[override]
        if not self.is_listed:
            return ONLY_PAIRS
        return "features" if comb(self.length, self.k) <= FEW_CHOICES else PAIRS

    @property
    def weighs_places(self) -> bool:  # type: ignore[override]
        return self.center_weight is not None

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

    def profile(self, size: int) -> Profile:
        length, k = self._sizes()
        if self.filter not in FILTERS:
            raise InputError(f"GappedKmer has filter={shown(self.filter)}; choose one of {', '.join(FILTERS)}.")
        if self.filter == "gapped":
            found = gapped_profile(length, k)
        else:
            found = estimated_profile(length, k, size, truncated=self.filter == "truncated")
        most = length if self.max_mismatches is None else whole_number(self, "max_mismatches", 0)
        return [value if d <= most else 0 for d, value in enumerate(found)]

    def place_weights(self, places: np.ndarray, n_places: np.ndarray) -> np.ndarray | None:
        if self.center_weight is None:
            return None
        most, half_life = whole_number(self, "center_weight"), real_number(self.half_life)
        if not 0 < half_life < np.inf:
            raise InputError(f"GappedKmer needs a finite half_life > 0; got {shown(self.half_life)}.")
        found: np.ndarray = np.floor(most * np.exp2(-np.abs(n_places // 2 - places) / half_life) + 1.0)
        return np.minimum(found, most)

    def rule(self, alphabet: Alphabet) -> PairRule:
        found = super().rule(alphabet)
        if self.center_weight is not None and not found.fits:
            raise InputError(
                f"GappedKmer with center_weight takes words of which there are at most {MAX_TABLE:,}; "
                f"{many(found.n_words)} different ones have {self.length} letters of the {alphabet.name} alphabet."
            )
        return found

    def parts(self, alphabet: Alphabet, degree: int | None = None) -> list[tuple[float, Vocabulary]]:
        rule = self.rule(alphabet)
        if self.weighs_places:
            raise InputError(f"{self!r} has no gapped words to list: they weigh more in the middle of a sequence.")
        if rule.n_choices > MAX_CHOICES:
            raise InputError(
                f"{self!r} has {many(rule.n_choices)} choices of columns; at most {MAX_CHOICES:,} are listed. "
                "Take a smaller length, or fewer max_mismatches."
            )
        choices = list(rule.choices())
        widest = max((len(columns) for _, columns in choices), default=1)
        check_key(self, widest, alphabet, "compares letters as numbers: it")
        return [(weight, self._vocabulary(columns, alphabet)) for weight, columns in choices]

    def _vocabulary(self, columns: tuple[int, ...], alphabet: Alphabet) -> Vocabulary:
        from .._fast.features import gapped_keys

        both = bool(self.reverse_complement)
        given = {
            "length": self.length,
            "columns": np.array(columns, dtype=np.int64),
            "bits": alphabet.bits,
            "size": alphabet.size,
            "complement": alphabet.complement_table if both else np.zeros(256, np.uint8),
            "both": both,
        }
        mirrored = [self.length - 1 - c for c in columns]
        shape = Shape(self.length, np.array([columns, mirrored] if both else [columns], dtype=np.int64))
        return KeyVocabulary(partial(gapped_keys, **given), len(columns) * alphabet.bits, 1 + both, shape)

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        from ..sequences import as_sequences

        if not self.is_listed:
            raise InputError(f"{self!r} compares words in pairs; only with filter='gapped' alone are there features.")
        alphabet = as_sequences([sequence], self.alphabet).alphabet
        length, k = self._sizes()
        for _, word in self.words(sequence, length):
            word = single_letters(word, alphabet)
            strands = (word, flipped(word, alphabet)) if self.reverse_complement else (word,)
            for strand in strands:
                for columns in combinations(range(length), k):
                    yield 0, (columns, *(strand[c] for c in columns)), np.sqrt(1 / len(strands))
