"""The spectrum kernel: which k-mers occur, and how often, wherever they lie."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..views import Views
from .explicit import ExplicitKernel, check_key, check_values, flipped
from .strings import whole_number
from .values import real_numbers, shown
from .vocabulary import KeyVocabulary, LongVocabulary, Shape, Vocabulary

if TYPE_CHECKING:
    from ..sequences import Alphabet


@dataclass(eq=False, repr=False)
class Spectrum(ExplicitKernel):
    """k(x, y) = Σ_d weights[d] Σ_u n_u(x) n_u(y) over the words u of d letters, d = min_k, ..., k.

    n_u(x) is how often u occurs in x. On text this is the n-gram kernel. Sequences may differ in length; k-mers that
    hold an unknown letter are skipped, and a sequence shorter than k has no features.

    Parameters
    ----------
    k : int
        Letters of a word, from 1 to 10,000.
    values : {"count", "binary", "frequency"}
        n_u: how often, whether, or in which share of its words of that length u occurs.
    min_k : int or None
        Shortest words; None for k alone. `split("degree")` then makes one term per length.
    weights : sequence of float or None
        One number ≥ 0 per length, from min_k to k; None for 1 each.
    reverse_complement : bool
        A word and its reverse complement are one feature.
    alphabet : str or Alphabet
        "auto" guesses it from the data.

    Examples
    --------
    >>> from kernelweave import Spectrum
    >>> Spectrum(k=2)(["GATTACA", "ATTA", "GG"])
    array([[6., 3., 0.],
           [3., 3., 0.],
           [0., 0., 1.]])
    """

    k: int = 6
    values: str = "count"
    min_k: int | None = None
    weights: Sequence[float] | None = None
    reverse_complement: bool = False
    alphabet: str | Alphabet = "auto"
    splits = ("degree",)
    definite = True
    always_shown = ("k",)

    def lengths(self) -> dict[int, float]:
        """Return the weight of every length of words."""
        check_values(self)
        longest = whole_number(self, "k")
        shortest = longest if self.min_k is None else whole_number(self, "min_k")
        if shortest > longest:
            raise InputError(f"Spectrum needs min_k ≤ k; got min_k={shortest} and k={longest}.")
        n = longest - shortest + 1
        weights = np.ones(n) if self.weights is None else real_numbers(self.weights)
        if weights.shape != (n,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise InputError(
                f"Spectrum has words of {shortest} to {longest} letters, so weights must be {n} finite numbers ≥ 0; "
                f"got {shown(self.weights)}."
            )
        return {shortest + i: float(weight) for i, weight in enumerate(weights)}

    def shortest_word(self) -> int:
        return min(self.lengths())

    def parts(self, alphabet: Alphabet, degree: int | None = None) -> list[tuple[float, Vocabulary]]:
        lengths = self.lengths()
        if degree is not None:
            if degree not in lengths:
                raise InputError(f"{self!r} has words of {min(lengths)} to {max(lengths)} letters, not of {degree}.")
            lengths = {degree: lengths[degree]}
        return [(weight, self._vocabulary(d, alphabet)) for d, weight in lengths.items() if weight > 0]

    def _vocabulary(self, d: int, alphabet: Alphabet) -> Vocabulary:
        from .._fast.features import canonical_keys, spectrum_keys

        given = {"k": d, "bits": alphabet.bits, "size": alphabet.size}
        if self.reverse_complement:
            bits = check_key(self, d, alphabet, "with reverse_complement=True")
            keys = partial(canonical_keys, complement=alphabet.complement_table, **given)
            return KeyVocabulary(keys, bits, shape=Shape.run(d, both_strands=True))
        if d * alphabet.bits > 64:
            return LongVocabulary(d, alphabet.bits, alphabet.size)
        return KeyVocabulary(partial(spectrum_keys, **given), d * alphabet.bits, shape=Shape.run(d))

    def choices(self, X: Views, by: tuple[str, ...]) -> Iterator[dict[str, int]]:
        return ({"degree": d} for d in self.lengths())

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        from ..sequences import as_sequences

        alphabet = as_sequences([sequence], self.alphabet).alphabet
        for term, (d, weight) in enumerate(self.lengths().items()):
            found = [word for _, word in self.words(sequence, d)]
            if self.reverse_complement:
                found = [min(word, flipped(word, alphabet)) for word in found]
            once = set(found) if self.values == "binary" else found
            for word in once:
                yield term, word, np.sqrt(weight) / (len(found) if self.values == "frequency" else 1)
