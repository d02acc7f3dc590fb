"""Slow twins of kernels that compare words in pairs: the definitions, on Python strings and on small whole matrices."""

from itertools import combinations, product
from math import comb, floor

import numpy as np

from naive_kmers import differ, flipped, letters_of


def gapped_counts(length, k, size):
    """The matrix that takes counts of all words to counts of all gapped words: one row for each of those."""
    every = list(product(range(size), repeat=length))
    rows = [
        [float(all(word[c] == letter for c, letter in zip(columns, letters, strict=True))) for word in every]
        for columns in combinations(range(length), k)
        for letters in product(range(size), repeat=k)
    ]
    return np.array(rows), every


def estimate(length, k, size, truncated):
    """The matrix that takes counts of all words to the counts that their gapped words let one expect."""
    A, every = gapped_counts(length, k, size)
    G = np.linalg.pinv(A, rcond=1e-10) @ A
    if truncated:
        apart = np.array([[differ(u, v) for v in every] for u in every])
        by_distance = [G[0, np.argmax(apart[0] == d)] for d in range(length + 1)]
        end = next((d for d, value in enumerate(by_distance) if value < 1e-12), length + 1)
        G = np.where(apart < end, G, 0.0)
    return G, every


def filtered_profile(length, k, size, filter, max_mismatches=None):
    """What a pair of words counts, by the number of letters in which they differ."""
    if filter == "gapped":
        found = [float(comb(length - d, k)) for d in range(length + 1)]
    else:
        G, every = estimate(length, k, size, filter == "truncated")
        values = (G @ G)[0]
        found = [
            next(v for v, w in zip(values, every, strict=True) if differ(every[0], w) == d) for d in range(length + 1)
        ]
    most = length if max_mismatches is None else max_mismatches
    return [value if d <= most else 0.0 for d, value in enumerate(found)]


def center_weight(place, n_places, most, half_life):
    return min(most, floor(most * 2.0 ** (-abs(n_places // 2 - place) / half_life) + 1))


def placed_words(sequence, length, alphabet, center=None):
    """(word, weight) of all words of known letters."""
    letters = letters_of(sequence, alphabet)
    n = len(letters) - length + 1
    weights = [1.0 if center is None else float(center_weight(i, n, *center)) for i in range(n)]
    found = [(tuple(letters[i : i + length]), weights[i]) for i in range(n)]
    return [(word, weight) for word, weight in found if None not in word]


def pair_kernel(x, y, alphabet, profile, both=False, center=None):
    """Σ over words u of x and v of y of their weights and profile[letters in which they differ]."""
    length = len(profile) - 1
    mine, theirs = (placed_words(s, length, alphabet, center) for s in (x, y))
    if both:
        theirs = theirs + [(flipped(word), weight) for word, weight in theirs]
    return sum(a * b * profile[differ(u, v)] for u, a in mine for v, b in theirs)


def matrix(X, Y, *given):
    return np.array([[pair_kernel(x, y, *given) for y in Y] for x in X])


def cosine(X, Y, *given):
    """The matrix of the normalised kernel."""
    K = matrix(X, Y, *given)
    a, b = (np.array([pair_kernel(x, x, *given) for x in Z]) for Z in (X, Y))
    norms = np.sqrt(np.outer(a, b))
    return np.divide(K, norms, out=np.zeros_like(K), where=norms > 0)
