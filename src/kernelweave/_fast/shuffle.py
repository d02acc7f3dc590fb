"""Letters in a random order that keeps how often every pair of neighbours occurs (Altschul and Erickson 1985).

A sequence is a walk over the graph of its letters, one edge a pair. Every other walk over the same edges has the same
pairs. Such a walk is drawn evenly: from a random tree of the edges by which every letter is left for the last time
(Wilson 1996), and random orders of all other edges.
"""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.hashing import mixed

#: Letters that are shuffled together: what is local, such as the share of G and C, stays where it is.
STRETCH = 10_000

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@jit
def _below(state, n):
    """A random whole number from 0 to n - 1; state (1,) uint64 is that of the generator (splitmix64)."""
    state[0] += _GOLDEN
    return np.int64(np.float64(mixed(state[0]) >> np.uint64(11)) / 9007199254740992.0 * n)


@jit
def _last_edges(starts, edges, final, state, last):
    """For every letter that is left, the edge by which it is left for the last time: a tree that ends in `final`."""
    n = len(last)
    settled = np.zeros(n, np.bool_)
    settled[final] = True
    for letter in range(n):
        at = letter
        while not settled[at] and starts[at + 1] > starts[at]:
            last[at] = starts[at] + _below(state, starts[at + 1] - starts[at])
            at = edges[last[at]]
        at = letter
        while not settled[at] and starts[at + 1] > starts[at]:
            settled[at] = True
            at = edges[last[at]]


@jit
def _shuffle_stretch(codes, n_letters, state):
    """Codes (n,), all below n_letters, in a new order in place; the first and the last stay."""
    n = len(codes) - 1
    starts = np.zeros(n_letters + 1, np.int64)
    for p in range(n):
        starts[codes[p] + 1] += 1
    for letter in range(n_letters):
        starts[letter + 1] += starts[letter]
    edges, filled = np.empty(n, np.uint8), starts.copy()
    for p in range(n):
        edges[filled[codes[p]]] = codes[p + 1]
        filled[codes[p]] += 1
    last = np.zeros(n_letters, np.int64)
    _last_edges(starts, edges, codes[n], state, last)
    for letter in range(n_letters):
        first, end = starts[letter], starts[letter + 1]
        if end == first:
            continue
        if letter != codes[n]:  # its tree edge goes to the end, and stays there
            end -= 1
            edges[last[letter]], edges[end] = edges[end], edges[last[letter]]
        for t in range(end - 1, first, -1):
            other = first + _below(state, t - first + 1)
            edges[t], edges[other] = edges[other], edges[t]
    filled[:] = starts
    for p in range(n):
        letter = codes[p]
        codes[p + 1] = edges[filled[letter]]
        filled[letter] += 1


@jit
def shuffle_pairs(codes, n_letters, seed):
    """Codes (n,) uint8 in a new order in place, stretch by stretch; codes from n_letters on stay where they are."""
    state, start = np.array([seed], np.uint64), 0
    while start < len(codes):
        end = start
        while end < len(codes) and end - start < STRETCH and codes[end] < n_letters:
            end += 1
        if end - start > 2:
            _shuffle_stretch(codes[start:end], n_letters, state)
        start = max(end, start + 1)


@jit
def local_maxima(starts, scores, width):
    """Starts (n,) rising, scores (n,) -> which have no higher score nearer than width; of equal ones the first."""
    n = len(starts)
    found = np.ones(n, np.bool_)
    for t in range(n):
        other = t - 1
        while found[t] and other >= 0 and starts[t] - starts[other] < width:
            found[t] = scores[other] < scores[t]
            other -= 1
        other = t + 1
        while found[t] and other < n and starts[other] - starts[t] < width:
            found[t] = scores[other] <= scores[t]
            other += 1
    return found
