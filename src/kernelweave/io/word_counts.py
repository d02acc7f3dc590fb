"""Counts of words of a model file: back to the terms that were fitted with them, checked before they are believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels import BagOfWords, Kernel
from ..kernels.states import keepers, with_kept
from ..kernels.words import WordCounts
from .plain import damaged, fields
from .support import Packer, Unpacker

#: What ends a word in the file: no text has it inside of a word.
END = "\0"


def pack_counts(terms: Sequence[Kernel], used: Iterable[int], packer: Packer) -> list[dict[str, Any]]:
    """Return the counts of the used terms, in the order in which the terms have them."""
    return [
        {
            "term": int(m),
            "texts": known.n,
            "words": packer.keep(_letters(list(known.texts))),
            "counts": packer.keep(_small(np.fromiter(known.texts.values(), np.float64, len(known.texts)))),
        }
        for m in used
        for one in keepers(terms[m], "words")
        for known in [one.known]
    ]


def _letters(words: list[str]) -> np.ndarray:
    """Return words one after another, as bytes."""
    if any(END in word for word in words):
        raise InputError("A word has a NUL inside, which a model file cannot keep; add it to the delimiters.")
    return np.frombuffer(END.join(words).encode("utf-8", "surrogateescape"), np.uint8)


def _small(counts: np.ndarray) -> np.ndarray:
    """Return whole counts in as few bytes as hold them."""
    whole = counts.astype(np.uint32)
    return whole.astype(np.min_scalar_type(int(whole.max(initial=0)))) if (whole == counts).all() else counts


def kept_counts(nodes: Any, unpacker: Unpacker) -> list[tuple[int, WordCounts]]:
    """Return what the file keeps, with the numbers of the terms."""
    if not isinstance(nodes, list):
        raise damaged("its counts of words are not a list")
    found = []
    for node in nodes:
        term, n, words, counts = fields(
            node, "the counts of words", term=int, texts=(float, int), words=str, counts=str
        )
        letters, numbers = unpacker.take(words, "u", None), unpacker.take(counts, "uf", None)
        texts = bytes(letters.astype(np.uint8)).decode("utf-8", "surrogateescape")
        listed = texts.split(END) if texts else []
        if letters.dtype != np.uint8 or len(listed) != len(numbers) or len(set(listed)) < len(listed):
            raise damaged("its counts of words are not one for every word")
        if not 0 < n < np.inf or (numbers < 0).any() or (numbers > n * (1 + 1e-9)).any():
            raise damaged("a word occurs in fewer texts than none, or in more than there are")
        found.append((term, WordCounts(float(n), dict(zip(listed, map(float, numbers), strict=True)))))
    return found


def terms_counting(
    terms: Sequence[Kernel], used: Iterable[int], kept: Sequence[tuple[int, WordCounts]]
) -> tuple[Kernel, ...]:
    """Return the terms, those in use with their counts of words."""
    left, out = list(kept), list(terms)

    def make(one: BagOfWords) -> Kernel:
        if not left or left[0][0] != number:
            raise damaged(f"it has no counts of words for its term {number}")
        return one.at(left.pop(0)[1])

    for number in used:
        out[number] = with_kept(out[number], "words", make)
    if left:
        raise damaged(f"it has counts of words for its term {left[0][0]}, which has no use for them")
    return tuple(out)
