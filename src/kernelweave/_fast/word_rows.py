"""Every window of a long sequence scored by a weighted degree model: what each letter adds to all windows that hold it.

A window from s on has the word from p = s + i on at its place i, so word p adds

    value[i](word) = sum_q coef[q] * sums[i, letters from i on that support q shares with the word]

to the window from p - i on, for all places i at once. A trie of all words of the support, whatever their place, keeps
for each of its nodes the *row* of these values over all places, as far as the letters down to the node decide them:
one read in order instead of one at random for every place. Words that fewer than `cap` others share their beginning
with have no nodes of their own. They stay *entries* in a list, and are compared one by one.

Values are whole numbers of 64 bits, in units so small that no sum can overflow. Such sums do not depend on their
order, so a window has the same score wherever a sequence is cut.
"""

from collections import namedtuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from kernelweave._fast import jit
from kernelweave._fast.bits import leading_zeros, prefetch
from kernelweave._fast.lanes import LANES, intrinsic

#: rows (nodes, width) int64: place i in column width - 1 - i; width: places rounded up to lanes
#: jump (4^top, 2) int32: node and list of every word of `top` letters; list -1: goes on below the node
#: children (nodes, 4) int32: node, or -1 - list
#: lists (., 2) int32: first entry | number of entries << 8 and depth of the node above; list 0 is empty
#: entries (., 2) uint64: code, with place and kind in its lowest bits | slope
#: sums (kinds, 33): what letters in common are worth; a kind is a row of weights and a number of known letters
#: unit: what 1 stands for
WordRows = namedtuple("WordRows", "rows jump children lists entries sums unit top place_bits kind_bits")

#: Letters that pass at a time.
CHUNK = 1024
#: Accumulators side by side: a letter adds to every place of one of them, and always on a border of the cache's lines.
TURNS = 8
#: Words and rows that are fetched ahead of the one in hand.
AHEAD = 3
LISTS_AHEAD, ENTRIES_AHEAD = 32, 12

_VECTOR = ir.VectorType(ir.IntType(64), LANES)


@intrinsic
def _add_lanes(typingctx, target, at, source, row, column):
    """target[at : at + 16] += source[row, column : column + 16], of int64; nothing is checked."""

    def codegen(context, builder, signature, args):
        pointers = []
        for number, index in ((0, [args[1]]), (2, [args[3], args[4]])):
            array_type = signature.args[number]
            struct = context.make_array(array_type)(context, builder, args[number])
            address = cgutils.get_item_pointer(context, builder, array_type, struct, index, wraparound=False)
            pointers.append(builder.bitcast(address, _VECTOR.as_pointer()))
        there, here = (builder.load(pointer, align=8) for pointer in pointers)
        builder.store(builder.add(there, here), pointers[0], align=8)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp, types.intp), codegen


def lined_up(n_rows, width):
    """Zeros (n_rows, width) int64 on a border of the cache's lines, for widths of whole lines."""
    raw = np.zeros(n_rows * width + 8, np.int64)
    skip = -raw.ctypes.data % 64 // 8
    return raw[skip : skip + n_rows * width].reshape(n_rows, width)


@jit
def support_words(letters, degree):
    """Letters (L, Q) uint8 -> codes (L, Q) uint64 of the words from every place on, known (L, Q): their letters."""
    length, n = letters.shape
    codes, known = np.empty((length, n), np.uint64), np.empty((length, n), np.uint8)
    for q in range(n):
        code, run = np.uint64(0), 0
        for i in range(length - 1, -1, -1):
            letter = letters[i, q]
            run = run + 1 if letter < 4 else 0
            code = (code >> np.uint64(2)) | (np.uint64(letter if letter < 4 else 0) << np.uint64(62))
            codes[i, q], known[i, q] = code, min(run, degree)
    return codes, known


@jit
def _grow(codes, cap, degree, nodes, children, lists):
    """Nodes and lists of sorted codes, parents first; returns how many of both, also where there is no room for them.

    nodes (., 3): first and last word, depth. A node has more than cap words.
    """
    n_nodes, n_lists, node = 1, 1, 0
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, len(codes), 0
    while node < n_nodes and n_nodes + 4 <= len(nodes):
        at, last, depth = nodes[node]
        shift = np.uint64(62 - 2 * min(depth, 31))
        for letter in range(4):
            first = at
            while depth < degree and at < last and (codes[at] >> shift) & np.uint64(3) == np.uint64(letter):
                at += 1
            if at - first > cap:
                children[node, letter] = n_nodes
                nodes[n_nodes, 0], nodes[n_nodes, 1], nodes[n_nodes, 2] = first, at, depth + 1
                n_nodes += 1
            elif at > first:
                children[node, letter] = -1 - n_lists
                lists[n_lists, 0], lists[n_lists, 1] = first, (at - first) << 8 | depth
                n_lists += 1
            else:
                children[node, letter] = -1
        node += 1
    return n_nodes, n_lists, node == n_nodes


@jit
def _fill_rows(nodes, children, places, known, coef, sums, rows):
    """The row of every node, float64: that of its parent, and what the letter more of its words is worth."""
    width = rows.shape[1]
    weights = np.zeros(width)
    for node in range(len(nodes)):
        for letter in range(4):
            child = children[node, letter]
            if child < 0:
                continue
            depth = nodes[child, 2]
            weights[:] = 0.0
            for t in range(nodes[child, 0], nodes[child, 1]):
                if known[t] >= depth:
                    weights[places[t]] += coef[t]
            rows[child] = rows[node]
            for i in range(len(sums)):
                rows[child, width - 1 - i] += weights[i] * (sums[i, depth] - sums[i, depth - 1])


@jit
def _round_rows(rows, unit, whole):
    """Rows, float64, as whole numbers of units, which may lie in the same place."""
    for node in range(len(rows)):
        for column in range(rows.shape[1]):
            whole[node, column] = np.int64(np.rint(rows[node, column] / unit))


@jit
def _largest(rows):
    """The largest absolute value of every column, (width,)."""
    found = np.zeros(rows.shape[1])
    for node in range(len(rows)):
        for column in range(rows.shape[1]):
            found[column] = max(found[column], abs(rows[node, column]))
    return found


@jit
def _fill_jump(children, top, jump):
    """Where every word of `top` letters leads."""
    for word in range(len(jump)):
        node, below, depth = 0, np.int32(0), 0
        while depth < top:
            below = children[node, (word >> (2 * (top - 1 - depth))) & 3]
            if below < 0:
                break
            node = below
            depth += 1
        jump[word, 0], jump[word, 1] = node, -1 - below if below < 0 else -1


def build_rows(letters, coef, beta, cap, most):
    """Letters (L, Q) uint8 of the support, coef (Q,), beta (L, degree) -> WordRows, or None where codes have no room.

    cap: words that stay a list, made larger until rows take at most `most` numbers.
    """
    length, n = letters.shape
    degree = beta.shape[1]
    codes, known = support_words(letters, degree)
    sums = np.zeros((length, degree + 1))
    np.cumsum(beta, axis=1, out=sums[:, 1:])
    kinds, table = _kinds(sums, known)
    place_bits, kind_bits = (max(1, int(size - 1).bit_length()) for size in (length, len(table)))
    low = place_bits + kind_bits
    if 2 * degree + low > 64:
        return None
    order = np.argsort(codes, axis=None, kind="stable")
    codes, known, kinds = codes.ravel()[order], known.ravel()[order], kinds.ravel()[order]
    places, coef = (order // n).astype(np.uint64), np.ascontiguousarray(coef, np.float64)[order % n]
    width = -(-length // LANES) * LANES
    nodes, children, lists = _trie(codes, cap, degree, max(8, most // width))
    rows = lined_up(len(nodes), width)
    _fill_rows(nodes, children, places, known, coef, sums, rows.view(np.float64))
    # a place adds one row and one list at most
    listed = int((lists[:, 1] >> 8).max()) * np.abs(coef).max() * np.abs(sums).max()
    bound = 2.0 * float(_largest(rows.view(np.float64)).sum() + length * listed)
    unit = 2.0 ** (np.ceil(np.log2(bound)) - 62) if bound > 0.0 else 1.0
    _round_rows(rows.view(np.float64), unit, rows)
    top = min(degree, 8)
    jump = np.empty((4**top, 2), np.int32)
    _fill_jump(children, top, jump)
    entries = np.empty((len(codes), 2), np.uint64)
    entries[:, 0] = codes >> np.uint64(low) << np.uint64(low) | places << np.uint64(kind_bits) | kinds
    entries.view(np.float64)[:, 1] = coef / unit
    return WordRows(rows, jump, children, lists, entries, table, unit, top, place_bits, kind_bits)


def _kinds(sums, known):
    """Kinds (L, Q) of words, and what letters in common are worth to each kind, (kinds, 33)."""
    length, degree = len(sums), sums.shape[1] - 1
    alike, which = np.unique(sums, axis=0, return_inverse=True)
    numbers = which.reshape(length, 1) * (degree + 1) + known
    used = np.flatnonzero(np.bincount(numbers.ravel(), minlength=len(alike) * (degree + 1)))
    new = np.zeros(len(alike) * (degree + 1), np.uint64)
    new[used] = np.arange(len(used))
    depths = np.minimum(np.arange(33), (used % (degree + 1))[:, None])
    return new[numbers], np.ascontiguousarray(alike[(used // (degree + 1))[:, None], depths])


def _trie(codes, cap, degree, room):
    """Nodes, children and lists of sorted codes, with a cap at which there are at most about `room` nodes."""
    while True:
        nodes, children = np.empty((room, 3), np.int64), np.empty((room, 4), np.int32)
        lists = np.zeros((4 * room + 1, 2), np.int32)
        n_nodes, n_lists, whole = _grow(codes, cap, degree, nodes, children, lists)
        if whole:
            return nodes[:n_nodes], children[:n_nodes].copy(), lists[:n_lists].copy()
        cap *= 2


@jit
def _walk(words, codes, nodes, lists, pending):
    """Node and list of every code of a chunk; level by level, so that no branch has to be guessed."""
    shift, n = np.uint64(64 - 2 * words.top), np.uint64(0)
    for p in range(len(codes)):
        word = codes[p] >> shift
        nodes[p], lists[p] = words.jump[word, 0], words.jump[word, 1]
        pending[n] = p
        n += np.uint64(words.jump[word, 1] < 0)
    depth = words.top
    while n > 0:
        kept, shift = np.uint64(0), np.uint64(62 - 2 * min(depth, 31))
        for t in range(n):
            p = pending[t]
            below = words.children[nodes[p], (codes[p] >> shift) & np.uint64(3)]
            nodes[p] = below if below >= 0 else nodes[p]
            lists[p] = -1 - below
            pending[kept] = p
            kept += np.uint64(below >= 0)
        n = kept
        depth += 1


@jit
def _add_entries(words, codes, lists, width, plain):
    """What the entries of every code's list add, to plain[p + width - 1 - place]."""
    values, sums, n = words.entries.view(np.float64), words.sums, len(codes)
    kind_bits = np.uint64(words.kind_bits)
    kind_mask, place_mask = np.uint64((1 << words.kind_bits) - 1), np.uint64((1 << words.place_bits) - 1)
    for p in range(n):
        prefetch(words.lists, np.int64(lists[min(p + LISTS_AHEAD, n - 1)]))
        ahead = lists[min(p + ENTRIES_AHEAD, n - 1)]
        start, end = np.int64(words.lists[ahead, 0]), np.int64(words.lists[ahead, 1]) >> 8
        for line in range(start, start + end + 3, 4):
            prefetch(words.entries, line)
        code, here = codes[p], np.uint64(p + width - 1)
        first, size = np.uint64(words.lists[lists[p], 0]), np.uint64(words.lists[lists[p], 1])
        depth = size & np.uint64(255)
        for t in range(first, first + (size >> np.uint64(8))):
            entry = words.entries[t, 0]
            place, kind = (entry >> kind_bits) & place_mask, entry & kind_mask
            same = np.uint64(leading_zeros(code ^ entry)) >> np.uint64(1)
            plain[here - place] += np.int64(values[t, 1] * (sums[kind, same] - sums[kind, depth]))


@jit
def _add_rows(rows, nodes, turns):
    """What the row of every code's node adds, to turns[p mod TURNS, TURNS + p - p mod TURNS + column]."""
    n, width = len(nodes), rows.shape[1]
    lines = rows.reshape(-1, 8)
    for p in range(n):
        ahead = np.int64(nodes[min(p + AHEAD, n - 1)]) * (width // 8)
        for line in range(width // 8):
            prefetch(lines, ahead + line)
        turn = p & (TURNS - 1)
        target, start, node = turns[turn], p - turn + TURNS, np.int64(nodes[p])
        for column in range(0, width, LANES):
            _add_lanes(target, start + column, rows, node, column)


@jit
def _hand_over(turns, plain, skipped, unit, out):
    """Sums from `skipped` on to out (n,); then those of the next chunk come to the front."""
    for turn in range(TURNS):
        source = turns[turn, TURNS - turn + skipped :]
        total = plain[skipped:]
        for s in range(len(out)):
            total[s] += source[s]
    for s in range(len(out)):
        out[s] += unit * plain[skipped + s]
    for turn in range(TURNS):
        _move_up(turns[turn])
    _move_up(plain)


@jit
def _move_up(sums):
    """Drop the first CHUNK numbers; what is new at the end is 0."""
    rest = len(sums) - CHUNK
    for s in range(rest):
        sums[s] = sums[s + CHUNK]
    for s in range(rest, len(sums)):
        sums[s] = 0


@jit
def _slide(words, places, first, turns, plain, out):
    """What `slide_run` does; turns (TURNS, .), plain (.): room, all zero, for CHUNK letters and a row."""
    width, n_windows = words.rows.shape[1], len(out)
    nodes, lists, pending = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
    # sum number s of all chunks is of the window from first + s - (width - 1) on
    lead, n = width - 1, min(n_windows + width - 1, len(places) - first)
    nothing = np.empty(0)
    for start in range(0, n_windows + lead, CHUNK):
        codes = places[first + start : first + min(start + CHUNK, max(n, start))]
        size = len(codes)
        _walk(words, codes, nodes[:size], lists[:size], pending)
        _add_rows(words.rows, nodes[:size], turns)
        _add_entries(words, codes, lists[:size], width, plain)
        low, high = max(0, start - lead), max(0, min(n_windows, start + CHUNK - lead))
        skipped = low + lead - start if high > low else 0
        target = out[low:high] if high > low else nothing
        _hand_over(turns, plain, skipped, words.unit, target)


def slide_run(words, places, first, out):
    """WordRows, places of a sequence (`pack_places`): out (n,) += scores of the windows from first, first + 1, ..."""
    size = CHUNK + words.rows.shape[1] + 2 * TURNS
    _slide(words, places, first, lined_up(TURNS, size), np.zeros(size, np.int64), out)
