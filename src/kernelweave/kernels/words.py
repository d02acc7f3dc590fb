"""The bag of words: which words a text contains, in whatever order."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from .explicit import ExplicitKernel, check_values
from .vocabulary import Vocabulary, WordVocabulary

if TYPE_CHECKING:
    from ..sequences import Alphabet

#: White space and punctuation; letters, digits, "_" and "'" make words.
DELIMITERS = ' \t\n\r\f\v\xa0!"#$%&()*+,-./:;<=>?@[\\]^`{|}~¡¿«»‹›“”„…–—'


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
    definite = True

    def parts(self, alphabet: Alphabet, degree: int | None = None) -> list[tuple[float, Vocabulary]]:
        check_values(self)
        if not isinstance(self.delimiters, str) or not self.delimiters:
            raise InputError(f"BagOfWords needs a string of delimiters such as ' ,.'; got {self.delimiters!r}.")
        return [(1.0, WordVocabulary(self.cut, self.spans))]

    def cut(self, text: str) -> list[str]:
        """Return the words of a text, in order."""
        text = text.lower() if self.lower else text
        return [word for word in re.split(f"[{re.escape(self.delimiters)}]", text) if word]

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Return (start, stop, word as the kernel knows it) of the words of a text, in characters."""
        lowered, origin = text, list(range(len(text) + 1))
        if self.lower:  # some capitals have a small form of two characters
            lowered = text.lower()
            origin = [i for i, character in enumerate(text) for _ in character.lower()]
        found = re.finditer(f"[^{re.escape(self.delimiters)}]+", lowered)
        return [(origin[match.start()], origin[match.end() - 1] + 1, match.group()) for match in found]

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        found = self.cut(sequence)
        for word in set(found) if self.values == "binary" else found:
            yield 0, word, 1.0 / len(found) if self.values == "frequency" else 1.0
