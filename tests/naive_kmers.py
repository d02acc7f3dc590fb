"""Slow twins of the kernels on k-mers and words: the definitions on Python strings, a few obvious lines each."""

from collections import Counter
from itertools import combinations, product
from math import comb

import numpy as np

COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A", "U": "A"}


def letters_of(sequence, alphabet):
    """Text as its letters; None where a letter is unknown. The letters of Unicode text are the bytes of its UTF-8."""
    encoded = sequence.encode("utf-8" if alphabet.name == "text" else "latin-1")
    return [chr(b) if chr(b) in alphabet.letters else None for b in encoded]


def words(sequence, k, alphabet):
    """All words of k known letters, in order."""
    letters = letters_of(sequence, alphabet)
    found = [tuple(letters[i : i + k]) for i in range(len(letters) - k + 1)]
    return [word for word in found if None not in word]


def flipped(word):
    return tuple(COMPLEMENT[letter] for letter in reversed(word))


def differ(u, v):
    return sum(a != b for a, b in zip(u, v, strict=True))


def valued(found, values):
    """Features as a sparse vector: counts, presence or shares."""
    counts = Counter(found)
    if values == "binary":
        return dict.fromkeys(counts, 1.0)
    return {u: n / (len(found) if values == "frequency" else 1) for u, n in counts.items()}


def dot(a, b):
    return sum(value * b.get(u, 0.0) for u, value in a.items())


def spectrum(x, y, alphabet, k, values="count", reverse_complement=False):
    vectors = []
    for sequence in (x, y):
        found = words(sequence, k, alphabet)
        vectors.append(valued([min(w, flipped(w)) for w in found] if reverse_complement else found, values))
    return dot(*vectors)


def mismatch(x, y, alphabet, k, m):
    def near(sequence):
        found = words(sequence, k, alphabet)
        return {u: sum(differ(u, w) <= m for w in found) for u in product(alphabet.letters, repeat=k)}

    return dot(near(x), near(y))


def gapped(x, y, alphabet, length, k, reverse_complement=False):
    """By its definition on pairs of words, not on features."""
    others = words(y, length, alphabet)
    others = others + [flipped(v) for v in others] if reverse_complement else others
    return sum(comb(length - differ(u, v), k) for u in words(x, length, alphabet) for v in others)


def gapped_features(x, y, alphabet, length, k):
    """The same kernel by its features: the letters at every choice of columns."""

    def vector(sequence):
        choices = list(combinations(range(length), k))
        return Counter((c, tuple(w[i] for i in c)) for w in words(sequence, length, alphabet) for c in choices)

    return dot(vector(x), vector(y))


def bag(x, y, delimiters=" .,", values="count", lower=True):
    vectors = []
    for text in (x, y):
        for mark in delimiters:
            text = text.replace(mark, "\0")
        vectors.append(valued([w for w in (text.lower() if lower else text).split("\0") if w], values))
    return dot(*vectors)


def matrix(function, X, Y, *args, **kwargs):
    return np.array([[function(x, y, *args, **kwargs) for y in Y] for x in X], dtype=float).reshape(len(X), len(Y))


def cosine(K, diag_x, diag_y):
    scale = np.sqrt(np.outer(diag_x, diag_y))
    return np.divide(K, scale, out=np.zeros_like(K), where=scale > 0)


def vector_of(kernel, sequence):
    """The readable definition of a kernel as a sparse vector."""
    out = Counter()
    for term, feature, value in kernel.features(sequence):
        out[term, feature] += value
    return out
