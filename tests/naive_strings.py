"""Slow twins of the string code: the definitions, in a few obvious lines each. Code 255 matches nothing."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

AMBIGUOUS = 255


def beta_default(degree):
    """The usual degree weights: beta_k = 2 (d - k + 1) / (d (d + 1))."""
    return np.array([2 * (degree - k + 1) / (degree * (degree + 1)) for k in range(1, degree + 1)])


def same_word(x, y, i, j, k):
    """The k letters of x from i on are those of y from j on, and none is ambiguous."""
    if i + k > len(x) or j + k > len(y):
        return False
    return all(a == b != AMBIGUOUS for a, b in zip(x[i : i + k], y[j : j + k], strict=True))


def wd_terms(x, y, degree):
    """(L, degree): 1 where the k-mers at a position agree."""
    return np.array([[float(same_word(x, y, i, i, k)) for k in range(1, degree + 1)] for i in range(len(x))])


def wd(x, y, beta):
    """Weighted degree kernel; beta (degree,) or (L, degree)."""
    beta = np.asarray(beta)
    return float((wd_terms(x, y, beta.shape[-1]) * beta).sum())


def wd_shift(x, y, beta, delta, limits):
    """Weighted degree kernel with shifts: both directions, delta_s per shift, a largest shift per position."""
    total = 0.0
    for k, weight in enumerate(beta, 1):
        for i in range(len(x)):
            for s in range(min(len(delta) - 1, limits[i]) + 1):
                total += weight * delta[s] * (same_word(x, y, i + s, i, k) + same_word(x, y, i, i + s, k))
    return total


def kmers(row, k):
    """All k-mers without ambiguous letters, in order, as tuples."""
    words = [tuple(int(c) for c in row[i : i + k]) for i in range(len(row) - k + 1)]
    return [word for word in words if AMBIGUOUS not in word]


def number(word, bits):
    """A k-mer as a number, the first letter on top."""
    value = 0
    for letter in word:
        value = (value << bits) | letter
    return value


def spectrum(x, y, k):
    a, b = Counter(kmers(x, k)), Counter(kmers(y, k))
    return float(sum(count * b[word] for word, count in a.items()))


def vector(rows, coef, k):
    """The sparse vector sum_r coef[r] * (counts of row r), as a dict of k-mers."""
    total = Counter()
    for row, c in zip(rows, coef, strict=True):
        for word in kmers(row, k):
            total[word] += c
    return total


def longest_match(query, i, texts):
    """Longest prefix of query[i:] that occurs in any of the texts."""
    best = 0
    for text in texts:
        for j in range(len(text)):
            k = 0
            while same_word(query, text, i, j, k + 1):
                k += 1
            best = max(best, k)
    return best


def letters(text, alphabet="ACGT"):
    """Codes of a string; unknown letters are ambiguous."""
    return np.array([alphabet.index(c) if c in alphabet else AMBIGUOUS for c in text], np.uint8)


def join(rows):
    """Rows of codes -> (codes, offsets)."""
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    return np.concatenate([np.zeros(0, np.uint8), *rows]).astype(np.uint8), offsets


def oracle():
    """Kernel matrices computed by other software; skips the test where they are not at hand."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("KERNELWEAVE_ORACLES", root.parent / "shared" / "oracles"))
    path = folder / "string_kernels.json.gz"
    if not path.exists():
        pytest.skip(f"no reference matrices at {path}; set KERNELWEAVE_ORACLES to their folder")
    with gzip.open(path, "rt") as file:
        return json.load(file)


def wd_moved(x, y, beta, delta, starts):
    """Weighted degree kernel with shifts and position weights: sqrt(p_i p_j) for words at i in x and j in y."""
    total = 0.0
    for k, weight in enumerate(beta, 1):
        for i in range(len(x)):
            for j in range(len(y)):
                if abs(i - j) < len(delta) and same_word(x, y, i, j, k):
                    total += weight * delta[abs(i - j)] * (2 if i == j else 1) * np.sqrt(starts[i] * starts[j])
    return total


def oligo(x, y, k, width):
    """Equal words, by how near they stand."""
    places = [(i, j) for i in range(len(x)) for j in range(len(y)) if same_word(x, y, i, j, k)]
    return float(sum(np.exp(-((i - j) ** 2) / width) for i, j in places))


def agreement(x, y, i):
    return float(0 <= i < len(x) and x[i] == y[i] != AMBIGUOUS)


def locality(x, y, reach, inner, outer):
    """Windows around every position, by how much of them agrees, weighted like a roof that sums to 1."""
    total = 0.0
    for i in range(len(x)):
        near = sum((reach + 1 - abs(j)) * agreement(x, y, i + j) for j in range(-reach, reach + 1))
        total += (near / (reach + 1) ** 2) ** inner
    return total**outer


def locality_elsewhere(x, y, reach, inner, outer):
    """The same as other software counts it.

    Powers one higher, weights that sum to (l + 1) / (2 l + 1), no windows around the first l positions, and of a
    window that reaches beyond the end only the part that has both its sides.
    """
    total = 0.0
    for centre in range(reach, len(x)):
        near = (reach + 1) * agreement(x, y, centre)
        for j in range(reach):
            if centre + j + 1 < len(x):
                near += (j + 1) * agreement(x, y, centre - reach + j) + (reach - j) * agreement(x, y, centre + j + 1)
        total += (near / ((2 * reach + 1) * (reach + 1))) ** (inner + 1)
    return total ** (outer + 1)


def markov_log_odds(sequences, y, query, order, pseudocount, letters="ACGT"):
    """Log-odds of two positional Markov chains and the classes' shares, letter by letter."""
    odds = np.log(np.sum(y)) - np.log(len(y) - np.sum(y))
    for i in range(len(query)):
        low = max(0, i - order)
        word = query[low : i + 1]
        if any(c not in letters for c in word):
            continue
        for sign, label in ((1, 1), (-1, 0)):
            mine = [s[low : i + 1] for s, c in zip(sequences, y, strict=True) if c == label]
            known = [w for w in mine if all(c in letters for c in w)]
            before = sum(w[:-1] == word[:-1] for w in known)
            odds += sign * np.log((known.count(word) + pseudocount) / (before + pseudocount * len(letters)))
    return odds
