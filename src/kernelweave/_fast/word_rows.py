"""Scores of all windows of a long sequence under a weighted degree model, by values of all places (see `word_trie`).

The words of a chunk of the sequence are sorted, so that equal ones come together. What their first letters are worth is
put together once for all of them (`word_levels`), what one letter more adds comes with every word, and the few words of
the support that share even more letters are compared one by one. Where those are many, they have a trie of their own.

Values are whole numbers of 64 bits, in units so small that no score can overflow. Such sums do not depend on their
order: a window has the same score wherever a sequence is cut. Each place is rounded once, and
each word that is compared.
"""

from collections import namedtuple

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import leading_zeros, popcount, prefetch
from kernelweave._fast.word_levels import (
    LINE,
    STEPS,
    add_spread,
    build_levels,
    header,
    row_depth,
    set_spread,
    short_values,
)
from kernelweave._fast.word_trie import fill_rows, grow_trie, lined_up

#: levels: what the first letters are worth (`Levels`)
#: first (4^(depth + 4) + 1,) int32: where the words that begin so start in `entries`
#: entries (words, 2) uint64: code, with place and kind in its lowest bits | slope
#: table (kinds, 33): what letters in common are worth beyond those of `levels`; a kind is a row of weights and a number
#:   of known letters
#: trie, rows (nodes, width) int64, crowd: the words that too many share, as nodes and as entries of its lists
#: unit: what 1 stands for
WordRows = namedtuple("WordRows", "levels first entries table trie rows crowd place_bits kind_bits unit")

#: Letters that are sorted at a time, and bits of a sorted word that say where it stood.
CHUNK, PLACE = (1 << 19) + (1 << 12), 24
#: Words whose sums, lists and nodes are fetched ahead of the one in hand.
SUMS_AHEAD, NODES_AHEAD, LISTS_AHEAD = 6, 8, 20
#: Sorted words that pass at a time, few enough that their sums stay in the cache.
BATCH = 64
#: What of a number of `first` says where words start; the sign says that the trie knows them.
START = np.int32(0x7FFFFFFF)

THREE = np.uint64(3)


def _clipped(words, depth):
    """The words with what they add beyond `depth` letters."""
    sums = words.sums - words.sums[:, [min(depth, words.sums.shape[1] - 1)]]
    sums[:, : depth + 1] = 0.0
    return words._replace(sums=np.ascontiguousarray(sums))


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
def _largest_gains(words, depth, most):
    """The most that words which share depth + 1 letters add beyond `depth`, for every place; most (places,): zeros."""
    n, shift, gains, t = len(words.codes), np.uint64(62 - 2 * depth), np.zeros(len(most)), 0
    while t < n:
        word = words.codes[t] >> shift
        gains[:] = 0.0
        while t < n and words.codes[t] >> shift == word:
            i, gain = words.places[t], 0.0
            for k in range(depth + 1, words.known[t] + 1):
                gain = max(gain, abs(words.sums[i, k] - words.sums[i, depth]))
            gains[i] += abs(words.coef[t]) * gain
            t += 1
        for i in range(len(most)):
            most[i] = max(most[i], gains[i])


def _unit(words, values, depth):
    """What 1 stands for, so that no score takes more than 62 bits; values as `short_values` has them."""
    gains = np.zeros(len(words.sums))
    _largest_gains(words, depth, gains)
    bound = float(np.abs(values).max(axis=0).sum() + gains.sum())
    return 2.0 ** (np.ceil(np.log2(bound)) - 62) if bound > 0.0 else 1.0


def _grow(words, cap, most, unit, width):
    """Trie of words that too many share, and its rows (nodes, width)."""
    trie = grow_trie(words, cap, most)
    values = np.zeros((len(trie.nodes), width))
    fill_rows(trie, words, values)
    return trie, np.rint(values / unit).astype(np.int64)


def build_rows(words, cap, most):
    """SortedWords -> WordRows, or None where codes leave no room for places; cap, most as in `grow_trie`."""
    length, degree = len(words.sums), words.sums.shape[1] - 1
    width = -(-length // LINE) * LINE
    values = short_values(words, width)
    depth = row_depth(len(words.codes), degree)
    last = depth + STEPS
    later = _clipped(words, last)
    kinds, table = _kinds(later)
    place_bits, kind_bits = (max(1, int(size - 1).bit_length()) for size in (length, len(table)))
    low = np.uint64(place_bits + kind_bits)
    if 2 * degree + low > 64:
        return None
    unit = _unit(words, values, depth)
    levels = build_levels(words, values, lined_up(len(values), width, np.int64), unit)
    entries = np.empty((len(words.codes), 2), np.uint64)
    entries[:, 0] = words.codes >> low << low | words.places << np.uint64(kind_bits) | kinds
    entries.view(np.float64)[:, 1] = words.coef / unit
    begins, compared = (words.codes >> np.uint64(62 - 2 * last)).astype(np.int64), words.known > last
    counts = np.bincount(begins[compared], minlength=4 ** (last + 1))
    crowds = np.flatnonzero(counts > cap)
    listed, crowded = compared & (counts <= cap)[begins], compared & (counts > cap)[begins]
    counts[crowds] = 0
    first = np.append(0, np.cumsum(counts)).astype(np.int32)
    first[crowds] |= ~START
    some = later._replace(**{name: getattr(later, name)[crowded] for name in ("codes", "known", "places", "coef")})
    trie, rows = _grow(some, cap, most, unit, width)
    return WordRows(levels, first, entries[listed], table, trie, rows, entries[crowded], place_bits, kind_bits, unit)


@jit
def _sort_words(places, low, high, counts, room, order):
    """The words of a chunk by their first letters, each with its place: low and high bits, one pass for each.

    counts (2, .), room (n,), order (n + .,): room. The rest of `order` repeats its last word.
    """
    n = len(places)
    shift = np.uint64(64 - low - high)
    middle, mask = np.uint64(64 - high), np.uint64((1 << low) - 1)
    counts[:] = 0
    for p in range(n):
        counts[0, (places[p] >> shift) & mask] += 1
        counts[1, places[p] >> middle] += 1
    for row in range(2):
        total = np.int32(0)
        for u in range(counts.shape[1]):
            counts[row, u], total = total, np.int32(total + counts[row, u])
    keep = np.uint64(PLACE)
    for p in range(n):
        u = (places[p] >> shift) & mask
        room[counts[0, u]] = (places[p] >> keep << keep) | np.uint64(p)
        counts[0, u] += 1
    for t in range(n):
        u = room[t] >> middle
        order[counts[1, u]] = room[t]
        counts[1, u] += 1
    for t in range(n, len(order)):
        order[t] = order[n - 1]


@jit
def _put_node(target, source, start, numbers, masks, at):
    """Target (width,) = source[start : ...] and what the node from `at` on adds."""
    lines = len(target) // LINE
    value = at + header(len(target))
    for line in range(lines):
        mask = masks[np.uint64(8 * at + line)]
        set_spread(target, LINE * line, source, start + LINE * line, numbers, value, mask)
        value += popcount(np.uint64(mask))


@jit
def _add_nodes(levels, order, first, last, one_row, two_row, sums):
    """What the sorted words first .. last - 1 add by their first letters, to sums[p + width - 1 - place].

    one_row, two_row (width,): values of the words of one letter and two letters more than a row, of the word before.
    """
    rows, whole, width = levels.rows.reshape(-1), np.uint64((1 << PLACE) - 1), len(one_row)
    start_one, start_two, start_three = levels.starts
    one, two, three = levels.numbers
    masks_one, masks_two, masks_three = one.view(np.uint8), two.view(np.uint8), three.view(np.uint8)
    lines = width // LINE
    shift_one, shift_two = np.uint64(62 - 2 * levels.depth), np.uint64(60 - 2 * levels.depth)
    shift_three = np.uint64(58 - 2 * levels.depth)
    lined_sums, lined_three, lined_starts = sums.reshape(-1, 1), three.reshape(-1, 1), start_three.reshape(-1, 1)
    before = order[max(first - 1, 0)] if first > 0 else ~order[0]
    for t in range(first, last):
        code = order[t]
        prefetch(lined_starts, np.int64(order[t + LISTS_AHEAD] >> shift_three))
        prefetch(lined_three, np.int64(start_three[order[t + NODES_AHEAD] >> shift_three]))
        soon = np.int64(order[t + SUMS_AHEAD] & whole)
        for line in range(0, width + 8, 8):
            prefetch(lined_sums, soon + line)
        if (code ^ before) >> shift_two != 0:
            word = code >> shift_one
            if word != before >> shift_one:
                _put_node(
                    one_row, rows, np.int64(word >> np.uint64(2)) * width, one, masks_one, np.int64(start_one[word])
                )
            _put_node(two_row, one_row, 0, two, masks_two, np.int64(start_two[code >> shift_two]))
        before = code
        to, at = np.int64(code & whole), np.int64(start_three[code >> shift_three])
        value = at + header(width)
        for line in range(lines):
            mask = masks_three[np.uint64(8 * at + line)]
            add_spread(sums, to + LINE * line, two_row, LINE * line, three, value, mask)
            value += popcount(np.uint64(mask))


@jit
def _compare(words, places, order, begin, end, lead, sums, crowded):
    """What entries with the first letters of the sorted words begin .. end - 1 add, to sums[p + lead - place].

    Returns how many of the words the trie knows; crowded (end - begin,): which.
    """
    starts, entries, table, shift = words.first, words.entries, words.table, np.uint64(56 - 2 * words.levels.depth)
    lined, values, whole = starts.reshape(-1, 1), entries.view(np.float64), np.uint64((1 << PLACE) - 1)
    kind_bits, lead, n_crowded = np.uint64(words.kind_bits), np.uint64(lead), np.uint64(0)
    kind_mask, place_mask = np.uint64((1 << words.kind_bits) - 1), np.uint64((1 << words.place_bits) - 1)
    for r in range(begin, end):
        prefetch(lined, np.int64(order[r + LISTS_AHEAD] >> shift))
        prefetch(entries, np.int64(starts[order[r + NODES_AHEAD] >> shift] & START))
        word = order[r]
        start, stop = starts[word >> shift], starts[(word >> shift) + np.uint64(1)] & START
        crowded[n_crowded] = r
        n_crowded += np.uint64(start < 0)
        for t in range(np.uint64(start & START), np.uint64(stop)):
            entry, p = entries[t, 0], word & whole
            same = np.uint64(leading_zeros(word ^ entry)) >> np.uint64(1)
            if same >= np.uint64(32 - PLACE // 2):
                same = np.uint64(leading_zeros(places[p] ^ entry)) >> np.uint64(1)
            value = values[t, 1] * table[entry & kind_mask, same]
            sums[p + lead - ((entry >> kind_bits) & place_mask)] += np.int64(np.rint(value))
    return np.int64(n_crowded)


@jit
def _add_crowds(words, places, order, crowded, lead, sums):
    """What the words that too many share add to the sums of the sorted words `crowded`, by their trie."""
    trie, rows, entries, table, width = words.trie, words.rows, words.crowd, words.table, words.rows.shape[1]
    nodes, children, lists, jump, values = trie.nodes, trie.children, trie.lists, trie.jump, entries.view(np.float64)
    top, kind_bits = np.uint64(64 - 2 * trie.top), np.uint64(words.kind_bits)
    kind_mask, place_mask = np.uint64((1 << words.kind_bits) - 1), np.uint64((1 << words.place_bits) - 1)
    for r in crowded:
        p = np.int64(order[r] & np.uint64((1 << PLACE) - 1))
        code = places[p]
        node, below = np.int64(jump[code >> top, 0]), np.int64(-1 - jump[code >> top, 1])
        while below >= 0:
            below = np.int64(children[node, np.int64((code >> np.uint64(62 - 2 * min(31, nodes[node, 2]))) & THREE)])
            node = below if below >= 0 else node
        for column in range(width):
            sums[p + column] += rows[node, column]
        first, sized, here = np.int64(lists[-1 - below, 0]), np.int64(lists[-1 - below, 1]), np.uint64(p + lead)
        for t in range(first, first + (sized >> 8)):
            entry = entries[t, 0]
            kind, same = entry & kind_mask, leading_zeros(code ^ entry) >> 1
            value = values[t, 1] * (table[kind, same] - table[kind, sized & 255])
            sums[here - ((entry >> kind_bits) & place_mask)] += np.int64(np.rint(value))


@jit
def _add_words(words, places, order, sums):
    """What all words of a chunk add, to sums[p + width - 1 - place]; order as `_sort_words` leaves it."""
    n, width = len(places), words.levels.rows.shape[1]
    one_row, two_row, crowded = np.empty(width, np.int64), np.empty(width, np.int64), np.empty(BATCH, np.int64)
    for first in range(0, n, BATCH):
        last = min(n, first + BATCH)
        _add_nodes(words.levels, order, first, last, one_row, two_row, sums)
        n_crowded = _compare(words, places, order, first, last, width - 1, sums, crowded)
        _add_crowds(words, places, order, crowded[:n_crowded], width - 1, sums)


@jit
def _slide(words, places, first, chunk, out):
    """What `slide_run` does, `chunk` letters at a time."""
    width, n_windows = words.levels.rows.shape[1], len(out)
    bits = 2 * (words.levels.depth + STEPS)
    low, high = bits // 2, bits - bits // 2
    counts, room = np.empty((2, 1 << high), np.int32), np.empty(chunk, np.uint64)
    order, sums = np.empty(chunk + LISTS_AHEAD, np.uint64), np.zeros(chunk + width + 2 * LINE, np.int64)
    # sum number s of all chunks is of the window from first + s - lead on
    lead, n = width - 1, min(n_windows + width - 1, len(places) - first)
    for start in range(0, n_windows + lead, chunk):
        codes = places[first + start : first + min(start + chunk, max(n, start))]
        if len(codes) > 0:
            _sort_words(codes, low, high, counts, room, order[: len(codes) + LISTS_AHEAD])
            _add_words(words, codes, order, sums)
        skipped, done = max(0, lead - start), max(0, start - lead)
        for s in range(max(0, min(n_windows, start + chunk - lead) - done)):
            out[done + s] += words.unit * sums[skipped + s]
        sums[: len(sums) - chunk] = sums[chunk:]
        sums[len(sums) - chunk :] = 0


def slide_run(words, places, first, out):
    """WordRows, places of a sequence (`pack_places`): out (n,) += scores of the windows from first, first + 1, ..."""
    _slide(words, places, first, min(CHUNK, len(out) + words.levels.rows.shape[1]), out)
