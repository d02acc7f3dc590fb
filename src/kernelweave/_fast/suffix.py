"""Suffix arrays of many texts, and where another text matches them.

Letters are integers 0, 1, 2, ... of any number; -1 ends a text or stands for an ambiguous letter: it matches nothing,
and no match runs across it. A suffix ends at the next -1, so equal suffixes are possible and stay neighbours.
"""

import numpy as np

from kernelweave._fast import jit


@jit
def suffix_ends(text):
    """The next -1 at or after every place (n if none): text (n,) int64 -> ends (n,)."""
    ends = np.empty(len(text), np.int64)
    end = len(text)
    for i in range(len(text) - 1, -1, -1):
        if text[i] < 0:
            end = i
        ends[i] = end
    return ends


def suffix_array(text, limit):
    """Starts of all suffixes in order: text (n,) int64, limit >= 1 letters to sort by -> suffixes (n,) int64.

    Ranks by one letter, then by 2, 4, 8 ...: a suffix is a pair of ranks already known.
    """
    n = len(text)
    ends = suffix_ends(text)
    ranks = np.unique(text, return_inverse=True)[1].astype(np.int64) if n else np.zeros(0, np.int64)
    order = np.argsort(ranks, kind="stable")
    length = 1
    while length < limit and n:
        later = np.minimum(np.arange(n) + length, n - 1)
        # Nothing comes before everything: 0 is a suffix that has ended, and -1 has no second half either.
        second = np.where(np.arange(n) + length < ends, ranks[later] + 1, 0)
        pairs = ranks * (n + 1) + second
        order = np.argsort(pairs, kind="stable")
        ordered = pairs[order]
        new = np.concatenate(([0], np.cumsum(ordered[1:] != ordered[:-1])))
        if new[-1] == ranks.max():
            break
        ranks[order] = new
        length *= 2
    return order


@jit
def common_lengths(text, ends, suffixes, limit):
    """Letters that suffix r shares with suffix r - 1 in the order, at most limit -> lengths (n,), lengths[0] = 0."""
    lengths = np.zeros(len(suffixes), np.int64)
    for r in range(1, len(suffixes)):
        a, b = suffixes[r - 1], suffixes[r]
        most = min(limit, ends[a] - a, ends[b] - b)
        k = 0
        while k < most and text[a + k] == text[b + k]:
            k += 1
        lengths[r] = k
    return lengths


@jit
def _compare(text, ends, start, query, i, stop, limit):
    """Letters that text[start:] and query[i:stop] share, at most limit, and whether the query comes after the text."""
    most = min(limit, ends[start] - start, stop - i)
    k = 0
    while k < most and text[start + k] == query[i + k]:
        k += 1
    if k == limit or i + k == stop:
        return k, False
    return k, start + k >= ends[start] or text[start + k] < query[i + k]


@jit
def _first_not_before(text, ends, suffixes, query, i, stop, limit, guess):
    """Rank of the first suffix that the query does not come after; gallops from a guess."""
    n = len(suffixes)
    low, high, step = guess, guess, 1
    if _compare(text, ends, suffixes[guess], query, i, stop, limit)[1]:
        low = guess + 1
        high = low
        while high < n and _compare(text, ends, suffixes[high], query, i, stop, limit)[1]:
            low, high, step = high + 1, min(n, high + step), 2 * step
    else:
        while low > 0 and not _compare(text, ends, suffixes[low - 1], query, i, stop, limit)[1]:
            high, low, step = low - 1, max(0, low - step), 2 * step
    while low < high:
        middle = (low + high) // 2
        if _compare(text, ends, suffixes[middle], query, i, stop, limit)[1]:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def matching_statistics(text, ends, suffixes, places, query, limit, lengths, ranks):
    """Longest match of query[i:], (m,) int64, with any suffix, at most limit -> lengths[i], and ranks[i] of one such.

    places (n,) is the inverse of suffixes: the match at i, less its first letter, is where the search at i + 1 starts.
    """
    stops = suffix_ends(query)
    guess = 0
    for i in range(len(query)):
        lengths[i], ranks[i] = 0, 0
        if stops[i] == i or len(suffixes) == 0:
            continue
        rank = _first_not_before(text, ends, suffixes, query, i, stops[i], limit, guess)
        for neighbour in range(max(0, rank - 1), min(len(suffixes), rank + 1)):
            k = _compare(text, ends, suffixes[neighbour], query, i, stops[i], limit)[0]
            if k > lengths[i] or (neighbour == rank and k == lengths[i]):
                lengths[i], ranks[i] = k, neighbour
        start = suffixes[ranks[i]]
        guess = places[start + 1] if start + 1 < len(text) else 0


@jit
def group_sums(lengths, suffixes, ends, weights, k):
    """Sum weights (n,) (by place) over suffixes that share their first k letters -> sums (n,) by rank.

    Suffixes shorter than k have 0.
    """
    n = len(suffixes)
    sums = np.zeros(n)
    start = 0
    while start < n:
        stop, total = start, 0.0
        while stop < n and (stop == start or lengths[stop] >= k):
            if ends[suffixes[stop]] - suffixes[stop] >= k:
                total += weights[suffixes[stop]]
            stop += 1
        for r in range(start, stop):
            if ends[suffixes[r]] - suffixes[r] >= k:
                sums[r] = total
        start = stop
    return sums
