"""Scores of all windows of a long sequence under a weighted degree model, by rows of all places (see `word_trie`).

Words in lists are compared one by one. Values are whole numbers of 64 bits, in units so small that no sum can
overflow. Such sums do not depend on their order: a window has the same score wherever a sequence is cut.
"""

from collections import namedtuple

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import leading_zeros, prefetch
from kernelweave._fast.word_trie import (
    CHUNK,
    add_rows,
    fill_rows,
    grow_trie,
    lined_up,
    move_up,
    room_for,
    sum_turns,
    walk,
)

#: rows (nodes, width) int64
#: entries (words, 2) uint64: code, with place and kind in its lowest bits | slope
#: table (kinds, 33): what letters in common are worth; a kind is a row of weights and a number of known letters
#: unit: what 1 stands for
WordRows = namedtuple("WordRows", "trie rows entries table unit place_bits kind_bits")

#: Lists and entries that are fetched ahead of the ones in hand.
LISTS_AHEAD, ENTRIES_AHEAD = 32, 12


@jit
def _largest(rows):
    """The largest absolute value of every column, (width,)."""
    found = np.zeros(rows.shape[1])
    for node in range(len(rows)):
        for column in range(rows.shape[1]):
            found[column] = max(found[column], abs(rows[node, column]))
    return found


@jit
def _round_rows(rows, unit, whole):
    """Rows, float64, as whole numbers of units, which may lie in the same place."""
    for node in range(len(rows)):
        for column in range(rows.shape[1]):
            whole[node, column] = np.int64(np.rint(rows[node, column] / unit))


def build_rows(words, cap, most):
    """SortedWords -> WordRows, or None where codes leave no room for places; cap, most as in `grow_trie`."""
    kinds, table = _kinds(words)
    length, degree = len(words.sums), words.sums.shape[1] - 1
    place_bits, kind_bits = (max(1, int(size - 1).bit_length()) for size in (length, len(table)))
    low = np.uint64(place_bits + kind_bits)
    if 2 * degree + low > 64:
        return None
    trie = grow_trie(words, cap, most)
    rows = lined_up(len(trie.nodes), length, np.int64)
    fill_rows(trie, words, rows.view(np.float64))
    # a place adds one row and one list at most
    listed = int((trie.lists[:, 1] >> 8).max()) * np.abs(words.coef).max() * np.abs(words.sums).max()
    bound = 2.0 * float(_largest(rows.view(np.float64)).sum() + length * listed)
    unit = 2.0 ** (np.ceil(np.log2(bound)) - 62) if bound > 0.0 else 1.0
    _round_rows(rows.view(np.float64), unit, rows)
    entries = np.empty((len(words.codes), 2), np.uint64)
    entries[:, 0] = words.codes >> low << low | words.places << np.uint64(kind_bits) | kinds
    entries.view(np.float64)[:, 1] = words.coef / unit
    return WordRows(trie, rows, entries, table, unit, place_bits, kind_bits)


def _kinds(words):
    """Kinds (n,) of words, and what letters in common are worth to each kind, (kinds, 33)."""
    size = words.sums.shape[1]
    alike, which = np.unique(words.sums, axis=0, return_inverse=True)
    numbers = which.ravel()[words.places.astype(np.int64)] * size + words.known
    used = np.flatnonzero(np.bincount(numbers, minlength=len(alike) * size))
    new = np.zeros(len(alike) * size, np.uint64)
    new[used] = np.arange(len(used))
    depths = np.minimum(np.arange(33), (used % size)[:, None])
    return new[numbers], np.ascontiguousarray(alike[(used // size)[:, None], depths])


@jit
def _add_entries(words, codes, lists, width, plain):
    """What the entries of every code's list add, to plain[p + width - 1 - place]."""
    values, table, n = words.entries.view(np.float64), words.table, len(codes)
    kind_bits, ranges = np.uint64(words.kind_bits), words.trie.lists
    kind_mask, place_mask = np.uint64((1 << words.kind_bits) - 1), np.uint64((1 << words.place_bits) - 1)
    for p in range(n):
        prefetch(ranges, np.int64(lists[min(p + LISTS_AHEAD, n - 1)]))
        ahead = lists[min(p + ENTRIES_AHEAD, n - 1)]
        start, size = np.int64(ranges[ahead, 0]), np.int64(ranges[ahead, 1]) >> 8
        for line in range(start, start + size + 3, 4):
            prefetch(words.entries, line)
        code, here = codes[p], np.uint64(p + width - 1)
        first, sized = np.uint64(ranges[lists[p], 0]), np.uint64(ranges[lists[p], 1])
        depth = sized & np.uint64(255)
        for t in range(first, first + (sized >> np.uint64(8))):
            entry = words.entries[t, 0]
            place, kind = (entry >> kind_bits) & place_mask, entry & kind_mask
            same = np.uint64(leading_zeros(code ^ entry)) >> np.uint64(1)
            plain[here - place] += np.int64(values[t, 1] * (table[kind, same] - table[kind, depth]))


@jit
def _slide(words, places, first, turns, plain, out):
    """What `slide_run` does; turns (T, .), plain (.): room, all zero, for CHUNK letters and a row."""
    width, n_windows = words.rows.shape[1], len(out)
    nodes, lists, pending = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
    # sum number s of all chunks is of the window from first + s - lead on
    lead, n = width - 1, min(n_windows + width - 1, len(places) - first)
    for start in range(0, n_windows + lead, CHUNK):
        codes = places[first + start : first + min(start + CHUNK, max(n, start))]
        size = len(codes)
        walk(words.trie, codes, nodes[:size], lists[:size], pending)
        add_rows(words.rows, nodes[:size], turns)
        _add_entries(words, codes, lists[:size], width, plain)
        skipped = max(0, lead - start)
        low, high = max(0, start - lead), max(0, min(n_windows, start + CHUNK - lead))
        total = plain[skipped : skipped + high - low]
        sum_turns(turns, skipped if high > low else 0, total)
        for s in range(len(total)):
            out[low + s] += words.unit * total[s]
        move_up(plain)


def slide_run(words, places, first, out):
    """WordRows, places of a sequence (`pack_places`): out (n,) += scores of the windows from first, first + 1, ..."""
    turns = room_for(words.rows)
    _slide(words, places, first, turns, np.zeros(turns.shape[1], np.int64), out)
