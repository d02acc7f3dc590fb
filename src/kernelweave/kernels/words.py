"""The bag of words: which words a text contains, in whatever order."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .. import clock
from ..errors import InputError
from ..views import Views
from .base import Kernel
from .explicit import ExplicitKernel, check_values
from .strings import whole_number
from .vocabulary import Vocabulary
from .word_vocabulary import WordVocabulary

if TYPE_CHECKING:
    from ..sequences import Alphabet

#: White space and punctuation; letters, digits, "_" and "'" make words.
DELIMITERS = ' \t\n\r\f\v\xa0!"#$%&()*+,-./:;<=>?@[\\]^`{|}~¡¿«»‹›“”„…–—'


#: Words in a row that are features, at the most.
MAX_WORDS = 10


@dataclass(frozen=True)
class WordCounts:
    """In how many of n texts every word occurs, but for words that occur in one of them."""

    n: float
    texts: dict[str, float]

    def worth(self, word: str) -> float:
        """Return 1 + ln((1 + n) / (1 + texts with the word)); a word that no text has counts as if one had it."""
        return 1.0 + math.log((1.0 + self.n) / (1.0 + self.texts.get(word, 1.0)))


@dataclass(eq=False, repr=False)
class BagOfWords(ExplicitKernel):
    """k(x, y) = Σ_w φ_w(x) φ_w(y) over the words w; the words themselves are compared, so none are confused.

    Parameters
    ----------
    delimiters : str
        The characters that end a word; by default white space and punctuation.
    values : {"count", "binary", "frequency"}
        φ_w: how often, whether, or in which share of the words of the text w occurs.
    lower : bool
        Upper and lower case are the same.
    alphabet : str or Alphabet
        "text", or "bytes" for bytes that are not UTF-8; "categories" for text that may be missing, which is then
        unlike everything.
    ngrams : int
        Up to so many words in a row are features as well, "new york" beside "new" and "york".
    idf : bool
        Rare words count more: φ_w is multiplied by 1 + ln((1 + n) / (1 + n_w)), for n training texts of which n_w have
        w. An estimator counts them; the fitted model and its file keep the counts. A word that no training text has
        counts as one of a single text.

    Examples
    --------
    >>> from kernelweave import BagOfWords
    >>> BagOfWords()(["To be, or not to be.", "to be", "Not now!"])
    array([[10.,  4.,  1.],
           [ 4.,  2.,  0.],
           [ 1.,  0.,  2.]])
    """

    delimiters: str = DELIMITERS
    values: str = "count"
    lower: bool = True
    alphabet: str | Alphabet = "text"
    ngrams: int = 1
    idf: bool = False
    definite = True

    def __post_init__(self) -> None:
        #: What was counted in the training texts; None before a fit.
        self.counts: WordCounts | None = None

    def __sklearn_clone__(self) -> BagOfWords:
        return self.at(self.counts)

    @property
    def keeps(self) -> str | None:  # type: ignore[override]
        """The counts of words, where they matter."""
        return "words" if self.idf else None

    def at(self, counts: WordCounts | None) -> BagOfWords:
        """Return the same kernel with these counts of words."""
        twin = replace(self)
        twin.counts = counts
        return twin

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        if not self.idf or self.counts is not None:
            return self
        self._check()
        share = np.ones(len(X)) if share is None else share
        texts: Counter[str] = Counter()
        for number, (text, weight) in enumerate(zip(self.sequences(X), share.tolist(), strict=True)):
            if number % 1000 == 0:
                clock.check()
            texts.update(dict.fromkeys(self.cut(text), weight))
        return self.at(WordCounts(float(share.sum()), {word: n for word, n in texts.items() if n != 1.0}))

    @property
    def known(self) -> WordCounts:
        """The counts of words, or an error that says where they come from."""
        if self.counts is None:
            raise InputError(
                f"{self!r} does not know yet what is rare: an estimator counts the words of its training texts. To try "
                "it on texts, use kernel.learned(as_views(X))."
            )
        return self.counts

    def _check(self) -> None:
        check_values(self)
        whole_number(self, "ngrams", most=MAX_WORDS)
        if not isinstance(self.delimiters, str) or not self.delimiters:
            raise InputError(f"BagOfWords needs a string of delimiters such as ' ,.'; got {self.delimiters!r}.")

    def parts(self, alphabet: Alphabet, degree: int | None = None) -> list[tuple[float, Vocabulary]]:
        self._check()
        return [(1.0, WordVocabulary(self.cut, self.spans, self.ngrams, self.known.worth if self.idf else None))]

    def cut(self, text: str) -> list[str]:
        """Return the words of a text, in order; then the pairs of words, and so on."""
        text = text.lower() if self.lower else text
        words = [word for word in re.split(f"[{re.escape(self.delimiters)}]", text) if word]
        return [self._joined(words[i : i + n]) for n, i in self._runs(len(words))]

    def _runs(self, n_words: int) -> Iterator[tuple[int, int]]:
        """Yield how many words a feature has, and which is its first."""
        return ((n, i) for n in range(1, int(self.ngrams) + 1) for i in range(n_words - n + 1))

    def _joined(self, words: list[str]) -> str:
        return self.delimiters[0].join(words)  # which no word contains

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Return (start, stop, word as the kernel knows it) of the words of a text, in characters."""
        lowered, origin = text, list(range(len(text) + 1))
        if self.lower:  # some capitals have a small form of two characters
            lowered = text.lower()
            origin = [i for i, character in enumerate(text) for _ in character.lower()]
        found = list(re.finditer(f"[^{re.escape(self.delimiters)}]+", lowered))
        return [
            (
                origin[found[i].start()],
                origin[found[i + n - 1].end() - 1] + 1,
                self._joined([match.group() for match in found[i : i + n]]),
            )
            for n, i in self._runs(len(found))
        ]

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        found = self.cut(sequence)
        for word in set(found) if self.values == "binary" else found:
            value = 1.0 / len(found) if self.values == "frequency" else 1.0
            yield 0, word, value * (self.known.worth(word) if self.idf else 1.0)
