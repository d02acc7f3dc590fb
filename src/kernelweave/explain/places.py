"""Free words as text, and where they stand: the way back from the number of a feature to letters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.vocabulary import KeyVocabulary, LongVocabulary
from ..sequences import SequenceSet
from .normals import FreeWords


@dataclass(frozen=True)
class Shape:
    """How the words of a group look: letters in all, and which of them each of its readings compares."""

    span: int
    #: (readings, letters compared): a gapped word is read on one strand or on both.
    columns: np.ndarray
    #: Features of one place: all neighbours for the mismatch kernel, else one per reading.
    growth: int


def shape_of(part: FreeWords) -> Shape:
    """Return how the words of a group look; not for words of text, which have any length."""
    vocabulary: Any = part.group.vocabulary
    if isinstance(vocabulary, LongVocabulary):
        return Shape(vocabulary.k, np.arange(vocabulary.k)[None], 1)
    given = vocabulary.keys.keywords
    if "columns" in given:
        columns, span = given["columns"], given["length"]
        readings = [columns, span - 1 - columns] if given["both"] else [columns]
        return Shape(span, np.array(readings), len(readings))
    return Shape(given["k"], np.arange(given["k"])[None], vocabulary.growth)


def is_text(part: FreeWords) -> bool:
    """Whether the words are those of a text, cut at delimiters."""
    return not isinstance(part.group.vocabulary, (KeyVocabulary, LongVocabulary))


def find_places(part: FreeWords, sequences: SequenceSet) -> tuple[np.ndarray, np.ndarray]:
    """Return where words start in all letters, (M,), and their features, (M, growth), −1 for those that are new."""
    shape, vocabulary = shape_of(part), part.group.vocabulary
    codes, offsets = sequences.flat_codes(), sequences.offsets
    if isinstance(vocabulary, LongVocabulary):
        from .._fast.kmers import _long_ids

        ids = _long_ids(*vocabulary._letters(sequences), vocabulary.dictionaries)[0]
        starts = np.flatnonzero(ids >= 0)
        return starts, ids[starts, None]
    assert isinstance(vocabulary, KeyVocabulary)
    unknown = np.concatenate([[0], np.cumsum(codes >= sequences.alphabet.size)])
    fits = np.arange(len(codes)) + shape.span <= np.repeat(offsets[1:], np.diff(offsets))
    starts = np.flatnonzero(fits)
    starts = starts[unknown[starts + shape.span] == unknown[starts]]
    keys = vocabulary.keys(codes, offsets)[0].reshape(len(starts), shape.growth)
    return starts, _numbers(vocabulary, keys)


def _numbers(vocabulary: KeyVocabulary, keys: np.ndarray) -> np.ndarray:
    """Return the numbers of features, −1 for those that were not seen on fitting."""
    if vocabulary.dictionary is None:
        return keys.astype(np.int64)
    if not len(vocabulary.dictionary):
        return np.full(keys.shape, -1)
    found = np.minimum(np.searchsorted(vocabulary.dictionary, keys), len(vocabulary.dictionary) - 1)
    return np.where(vocabulary.dictionary[found] == keys, found, -1)


def feature_letters(part: FreeWords, features: np.ndarray) -> np.ndarray:
    """Return the letters that features compare, (features, letters) uint8."""
    vocabulary, n_columns = part.group.vocabulary, shape_of(part).columns.shape[1]
    if isinstance(vocabulary, LongVocabulary):
        starts, ids = find_places(part, part.support)
        first = np.zeros(part.rows.n_columns, np.int64)
        first[ids[::-1, 0]] = starts[::-1]
        return part.support.flat_codes()[first[features][:, None] + np.arange(n_columns)]
    assert isinstance(vocabulary, KeyVocabulary)
    keys = features.astype(np.uint64) if vocabulary.dictionary is None else vocabulary.dictionary[features]
    bits = part.group.alphabet.bits
    shifts = np.arange(n_columns - 1, -1, -1, dtype=np.uint64) * np.uint64(bits)
    return ((keys[:, None] >> shifts) & np.uint64((1 << bits) - 1)).astype(np.uint8)


def feature_texts(part: FreeWords, features: np.ndarray) -> list[str]:
    """Return features as text, with a dot for every letter that is not compared."""
    if is_text(part):
        words = list(part.group.vocabulary.numbers)  # type: ignore[attr-defined]
        return [words[u] for u in features]
    shape, alphabet = shape_of(part), part.group.alphabet
    letters = feature_letters(part, features)
    if shape.columns.shape[1] == shape.span:
        return [alphabet.decode(row) for row in letters]
    return [with_gaps(alphabet.decode(row), shape.columns[0], shape.span) for row in letters]


def with_gaps(letters: str, columns: np.ndarray, span: int) -> str:
    """Return letters at their columns, and dots elsewhere."""
    text = ["."] * span
    for letter, column in zip(letters, columns, strict=True):
        text[column] = letter
    return "".join(text)


def words_of_text(kernel: Any, text: str) -> list[tuple[int, int, str]]:
    """Return (start, stop, word as the kernel knows it) of the words of a text, in characters."""
    if not kernel.lower:
        lowered, origin = text, np.arange(len(text) + 1)
    else:
        lowered = text.lower()  # may be longer: some capitals have a small form of two characters
        sizes = [len(character.lower()) for character in text]
        origin = np.append(np.repeat(np.arange(len(text)), sizes), len(text))
    pattern = f"[^{re.escape(kernel.delimiters)}]+"
    return [
        (int(origin[match.start()]), int(origin[match.end() - 1]) + 1, match.group())
        for match in re.finditer(pattern, lowered)
    ]
