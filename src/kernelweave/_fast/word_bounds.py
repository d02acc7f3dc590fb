"""Which windows of a long sequence may reach a threshold: upper bounds of all scores, by rows of all places.

As in `word_rows`, with one difference: what a list may add at most is part of the row, so nothing is compared. Bounds
are rounded up to whole numbers of 16 bits. A row of 141 places takes five lines of the cache, and most windows of a
genome need nothing else.
"""

from collections import namedtuple

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.word_trie import CHUNK, add_rows, fill_rows, grow_trie, lined_up, room_for, sum_turns, walk

#: rows (nodes, width) uint16; a window scores at most base + unit * sum of its places' values
WordBounds = namedtuple("WordBounds", "trie rows base unit")

#: Largest sum of the values of all places.
MOST = 65535


@jit
def _add_lists(trie, words, rows):
    """Add to every row, float64, what the lists below its node may add at most to every place."""
    width, sums = rows.shape[1], words.sums
    one, most = np.zeros(width), np.zeros(width)
    for node in range(len(trie.nodes)):
        depth = trie.nodes[node, 2]
        most[:] = 0.0
        for letter in range(4):
            below = trie.children[node, letter]
            if below >= -1:
                continue
            first, size = trie.lists[-1 - below, 0], trie.lists[-1 - below, 1] >> 8
            one[:] = 0.0
            for t in range(first, first + size):
                place, gain = words.places[t], 0.0
                for k in range(depth + 1, words.known[t] + 1):
                    gain = max(gain, words.coef[t] * (sums[place, k] - sums[place, depth]))
                one[place] += gain
            for i in range(width):
                most[i] = max(most[i], one[i])
        for i in range(width):
            rows[node, width - 1 - i] += most[i]


@jit
def _round_up(bounds, lowest, unit, rows):
    """Bounds (nodes, width) above the lowest of their column, as whole numbers of units that are not below them."""
    for node in range(len(bounds)):
        for column in range(bounds.shape[1]):
            rows[node, column] = np.uint16(np.ceil((bounds[node, column] - lowest[column]) / unit))


def build_bounds(words, cap, most):
    """SortedWords -> WordBounds; cap, most as in `grow_trie`."""
    trie = grow_trie(words, cap, most)
    length = len(words.sums)
    rows = lined_up(len(trie.nodes), length, np.uint16)
    bounds = np.zeros(rows.shape)
    fill_rows(trie, words, bounds)
    _add_lists(trie, words, bounds)
    lowest, highest = bounds.min(axis=0), bounds.max(axis=0)
    # every place may be rounded up by one, and once more for the rounding of the sums themselves
    unit = float((highest - lowest).sum()) / (MOST - 2 * length)
    unit = unit if unit > 0.0 else 1.0
    _round_up(bounds, lowest, unit, rows)
    return WordBounds(trie, rows, float(lowest.sum()) + length * unit, unit)


@jit
def _find(words, places, first, least, turns, may):
    """What `may_reach` does; turns (T, .): room, all zero, for CHUNK letters and a row."""
    width, n_windows = words.rows.shape[1], len(may)
    nodes, lists, pending = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
    total = np.empty(CHUNK, np.uint16)
    lead, n = width - 1, min(n_windows + width - 1, len(places) - first)
    for start in range(0, n_windows + lead, CHUNK):
        codes = places[first + start : first + min(start + CHUNK, max(n, start))]
        size = len(codes)
        walk(words.trie, codes, nodes[:size], lists[:size], pending)
        add_rows(words.rows, nodes[:size], turns)
        low, high = max(0, start - lead), max(0, min(n_windows, start + CHUNK - lead))
        total[:] = 0
        sum_turns(turns, max(0, lead - start) if high > low else 0, total[: max(0, high - low)])
        for s in range(high - low):
            may[low + s] = total[s] >= least


def may_reach(words, places, first, threshold, may):
    """WordBounds, places of a sequence: may (n,) = whether the windows from first, first + 1, ... may reach it."""
    least = np.ceil((threshold - words.base) / words.unit) - 1.0
    _find(words, places, first, np.int64(np.clip(least, 0, MOST + 1)), room_for(words.rows), may)
