"""Words of text as features: each gets a number, and perhaps a worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from .. import clock
from .sparse_rows import Rows
from .vocabulary import Found, Vocabulary

if TYPE_CHECKING:
    from ..sequences import SequenceSet

#: For estimates: letters of a word and what ends it, and a · √n different words in n words of text (Heaps' law).
WORD_LETTERS, DIFFERENT_WORDS = 6.0, 44.0


class WordVocabulary(Vocabulary):
    """Words of text.

    Parameters
    ----------
    words : callable
        Cuts a text into words.
    spans : callable or None
        Returns (start, stop, word) of every word of a text, in characters; None where words have no places.
    ngrams : int
        Features of a word, for estimates.
    worth : callable or None
        What a word counts; None where all count 1.
    """

    def __init__(
        self,
        words: Callable[[str], list[str]],
        spans: Callable[[str], list[tuple[int, int, str]]] | None = None,
        ngrams: int = 1,
        worth: Callable[[str], float] | None = None,
    ) -> None:
        self.words, self.spans, self.ngrams, self.worth = words, spans, ngrams, worth
        #: The number of every word.
        self.numbers: dict[str, int] = {}

    def expected(self, sequences: SequenceSet) -> tuple[float, float, float]:
        words = self.ngrams * sequences.n_letters / WORD_LETTERS
        # counts in double precision are half as much again, and words that are strings take three times the room
        return 1.5 * words, 3.0 * min(words, DIFFERENT_WORDS * words**0.5), words

    def fit(self, sequences: SequenceSet) -> Rows:
        self.numbers = {}
        return self._count(sequences, lambda word: self.numbers.setdefault(word, len(self.numbers)))

    def map(self, sequences: SequenceSet) -> Rows:
        return self._count(sequences, lambda word: self.numbers.get(word, -1))

    def _count(self, sequences: SequenceSet, number: Callable[[str], int]) -> Rows:
        ids, counts, starts, powers = [], [], [0], []
        for number_of, text in enumerate(sequences):
            if number_of % 1000 == 0:
                clock.check()
            found = Counter(self.words(text))
            row = np.fromiter(map(number, found), np.int32, len(found))
            values = np.fromiter(found.values(), np.float64, len(found))
            ids.append(row[row >= 0])
            counts.append(values[row >= 0])
            starts.append(starts[-1] + len(ids[-1]))
            powers.append((len(values), values.sum(), values @ values, *self._worthy(found, values)))
        flat = (np.concatenate([np.zeros(0, np.int32), *ids]), np.concatenate([np.zeros(0), *counts]))
        sums = np.array(powers, dtype=np.float64).reshape(len(powers), -1 if powers else 5).T
        return Rows(*flat, np.array(starts), len(self.numbers), sums, worth=self.worths())

    def _worthy(self, found: Counter[str], values: np.ndarray) -> tuple[float, ...]:
        """Return Σ (worth · count)² and Σ worth² of the words of a text, where words have a worth."""
        if self.worth is None:
            return ()
        worth = np.fromiter(map(self.worth, found), np.float64, len(found))
        return float(np.square(worth * values).sum()), float(worth @ worth)

    def worths(self) -> np.ndarray | None:
        return None if self.worth is None else np.fromiter(map(self.worth, self.numbers), np.float64, len(self.numbers))

    def places(self, sequences: SequenceSet) -> Iterable[Found] | None:
        if self.spans is None:
            return None
        found: dict[int, list[tuple[int, int]]] = {}
        for first, text in zip(sequences.offsets, sequences, strict=False):
            sizes = [len(c.encode(sequences.alphabet.encoding, "surrogateescape")) for c in text]
            byte = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            for start, stop, word in self.spans(text):
                place = (int(first + byte[start]), self.numbers.get(word, -1))
                found.setdefault(int(byte[stop] - byte[start]), []).append(place)
        tables = [(size, np.array(places, np.int64)) for size, places in found.items()]
        return [(table[:, 0], np.arange(size)[None], table[:, 1:]) for size, table in tables]

    def texts(self, features: np.ndarray, known: SequenceSet) -> list[str]:
        words = list(self.numbers)
        return [words[feature] for feature in features]
