"""Kernels that compare words by how near they stand, and windows by how much of them agrees."""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import AMBIGUOUS


@jit
def placed_words(codes, offsets, k, bits):
    """Codes (N,), offsets (n + 1,) -> words (M,) uint64, places (M,) int64, starts (n + 1,): by word, then place.

    A letter takes `bits` bits, k * bits <= 64; words with ambiguous letters are left out.
    """
    n = len(offsets) - 1
    starts = np.zeros(n + 1, np.int64)
    words, places = np.empty(len(codes), np.uint64), np.empty(len(codes), np.int64)
    step, mask = np.uint64(bits), np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - k * bits)
    m = 0
    for r in range(n):
        first, run, word = m, 0, np.uint64(0)
        for i in range(offsets[r], offsets[r + 1]):
            word = ((word << step) | np.uint64(codes[i])) & mask
            run = run + 1 if codes[i] != AMBIGUOUS else 0
            if run >= k:
                words[m], places[m] = word, i - offsets[r]
                m += 1
        order = np.argsort(words[first:m], kind="mergesort")
        words[first:m] = words[first:m][order]
        places[first:m] = places[first:m][order]
        starts[r + 1] = m
    return words[:m].copy(), places[:m].copy(), starts


@jit
def _near_words(words_a, places_a, words_b, places_b, nearness):
    """Sum of nearness[distance] over all pairs of equal words that are nearer than len(nearness)."""
    total, i, j = 0.0, 0, 0
    reach = len(nearness)
    while i < len(words_a) and j < len(words_b):
        if words_a[i] < words_b[j]:
            i += 1
        elif words_a[i] > words_b[j]:
            j += 1
        else:
            word, first = words_a[i], j
            while i < len(words_a) and words_a[i] == word:
                while first < len(words_b) and words_b[first] == word and places_b[first] <= places_a[i] - reach:
                    first += 1
                t = first
                while t < len(words_b) and words_b[t] == word and places_b[t] < places_a[i] + reach:
                    total += nearness[abs(places_a[i] - places_b[t])]
                    t += 1
                i += 1
            while j < len(words_b) and words_b[j] == word:
                j += 1
    return total


@jit
def oligo_block(a, b, nearness, out):
    """a, b from `placed_words`, nearness (D,) by distance -> out (na, nb)."""
    words_a, places_a, starts_a = a
    words_b, places_b, starts_b = b
    for i in range(out.shape[0]):
        rows = slice(starts_a[i], starts_a[i + 1])
        for j in range(out.shape[1]):
            others = slice(starts_b[j], starts_b[j + 1])
            out[i, j] = _near_words(words_a[rows], places_a[rows], words_b[others], places_b[others], nearness)


@jit
def oligo_diagonal(a, nearness, out):
    """As `oligo_block`, of every sequence with itself -> out (n,)."""
    words, places, starts = a
    for i in range(len(out)):
        rows = slice(starts[i], starts[i + 1])
        out[i] = _near_words(words[rows], places[rows], words[rows], places[rows], nearness)


@jit
def _locality(x, y, window, inner, agree):
    """Sum over positions of (weighted agreement around the position)^inner; agree (L + 2 reach,) is scratch."""
    length, reach = len(x), len(window) // 2
    for i in range(length):
        agree[reach + i] = 1.0 if x[i] == y[i] and x[i] != AMBIGUOUS else 0.0
    total = 0.0
    for i in range(length):
        near = 0.0
        for j in range(len(window)):
            near += window[j] * agree[i + j]
        total += near**inner
    return total


@jit
def locality_block(codes_a, codes_b, window, inner, outer, out):
    """Codes (na, L), (nb, L), window (2 reach + 1,) -> out (na, nb): (sum over positions of near^inner)^outer."""
    agree = np.zeros(codes_a.shape[1] + len(window) - 1)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = _locality(codes_a[i], codes_b[j], window, inner, agree) ** outer


@jit
def locality_diagonal(codes, window, inner, outer, out):
    """As `locality_block`, of every sequence with itself -> out (n,)."""
    agree = np.zeros(codes.shape[1] + len(window) - 1)
    for i in range(len(out)):
        out[i] = _locality(codes[i], codes[i], window, inner, agree) ** outer
