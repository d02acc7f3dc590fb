"""Slow twins of `kernelweave.explain`: weights of words from their definitions, in a few obvious lines each."""

from collections import defaultdict
from itertools import product

import numpy as np

LETTERS = "ACGT"


def placed_weights(sequences, coef, beta, delta=(0.5,), starts=None):
    """{(position, word): weight} of a weighted degree machine: what the word adds where it stands there."""
    starts = np.ones(len(sequences[0])) if starts is None else starts
    weights = defaultdict(float)
    for x, c in zip(sequences, coef, strict=True):
        for i in range(len(x)):
            for j in range(len(x)):
                if abs(i - j) < len(delta):
                    near = delta[abs(i - j)] * (2 if i == j else 1) * np.sqrt(starts[i] * starts[j])
                    for k, weight in enumerate(beta, 1):
                        word = x[j : j + k]
                        if len(word) == k and i + k <= len(x) and set(word) <= set(LETTERS):
                            weights[i, word] += c * weight * near
    return weights


def free_weights(sequences, coef, lengths):
    """{word: weight} of a spectrum machine; lengths {k: weight}."""
    weights = defaultdict(float)
    for x, c in zip(sequences, coef, strict=True):
        for k, weight in lengths.items():
            for i in range(len(x) - k + 1):
                if set(x[i : i + k]) <= set(LETTERS):
                    weights[x[i : i + k]] += c * weight
    return weights


def overlap_share(word, i, u, p, chance):
    """Probability of the letters of a word at i that are outside u at p; 0 where both disagree or do not overlap."""
    if i + len(word) <= p or p + len(u) <= i:
        return 0.0
    share = 1.0
    for j, letter in enumerate(word, i):
        if p <= j < p + len(u):
            share *= letter == u[j - p]
        else:
            share *= chance[j][LETTERS.index(letter)]
    return share


def placed_scores(weights, order, length, chance):
    """(4^order, positions): all words against all that overlap them."""
    return np.array(
        [
            [
                sum(w * overlap_share(word, i, u, p, chance) for (i, word), w in weights.items())
                for p in range(length - order + 1)
            ]
            for u in product(LETTERS, repeat=order)
        ]
    )


def free_scores(weights, order, chance):
    """(4^order,): the same for words that count anywhere."""
    anywhere = defaultdict(lambda: chance)
    return np.array(
        [
            sum(
                w * overlap_share(word, i, u, 0, anywhere)
                for word, w in weights.items()
                for i in range(1 - len(word), order)
            )
            for u in product(LETTERS, repeat=order)
        ]
    )


def poim(decide, order, length, chance):
    """E[f | u at p] − E[f] over all sequences that there are; decide: list of sequences -> values."""
    sequences = ["".join(word) for word in product(LETTERS, repeat=length)]
    f = np.array(decide(sequences))
    codes = np.array([[LETTERS.index(c) for c in x] for x in sequences])
    each = chance[np.arange(length), codes]
    mean = each.prod(axis=1) @ f
    out = np.zeros((4**order, length - order + 1))
    for row, u in enumerate(product(range(4), repeat=order)):
        for p in range(length - order + 1):
            here = (codes[:, p : p + order] == u).all(axis=1)
            others = np.delete(each[here], np.arange(p, p + order), axis=1)
            out[row, p] = others.prod(axis=1) @ f[here] - mean
    return out


def letter_shares(weights, x):
    """What every letter of x gets: a word's weight goes to its letters in equal parts."""
    out = np.zeros(len(x))
    for (i, word), w in weights.items():
        if x[i : i + len(word)] == word:
            out[i : i + len(word)] += w / len(word)
    return out
