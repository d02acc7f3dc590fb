"""A trie of all words of the support, whatever their place, and rows of values over all places for its nodes.

A window from s on has the word from p = s + i on at its place i, so the word from p on adds

    value[i](word) = sum_q coef[q] * sums[i, letters from i on that support q shares with the word]

to the window from p - i on, for all places i at once. The node at the end of the word's way down the trie keeps these
values in a *row*: one read in order instead of one at random for every place. Words that no more than `cap` others
share their beginning with have no nodes of their own; they form the *lists* below the last node.
"""

from collections import namedtuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from kernelweave._fast import jit
from kernelweave._fast.bits import prefetch
from kernelweave._fast.lanes import intrinsic

#: All words in sorted order: codes, known letters, places, coef, all (n,); sums (places, degree + 1) of weights.
SortedWords = namedtuple("SortedWords", "codes known places coef sums")

#: nodes (., 3) int64: first and last word, depth; parents first
#: children (nodes, 4) int32: node, or -1 - list
#: lists (., 2) int32: first word | number of words << 8 and depth of the node above; list 0 is empty
#: jump (4^top, 2) int32: node and list of every beginning of `top` letters; list -1: goes on below the node
Trie = namedtuple("Trie", "nodes children lists jump top")

#: Letters that pass at a time, and rows that are fetched ahead of the one in hand.
CHUNK, AHEAD = 1024, 3
#: Bytes of a line of the cache. Rows are whole lines.
LINE = 64
#: Letters that the table of beginnings covers, at most.
TOP = 8


@intrinsic
def _add_line(typingctx, target, at, source, row, column):
    """target[at : ...] += source[row, column : ...], whole numbers that fill a line; nothing is checked."""

    def codegen(context, builder, signature, args):
        bits, pointers = signature.args[0].dtype.bitwidth, []
        line = ir.VectorType(ir.IntType(bits), LINE * 8 // bits)
        for number, index in ((0, [args[1]]), (2, [args[3], args[4]])):
            array_type = signature.args[number]
            struct = context.make_array(array_type)(context, builder, args[number])
            address = cgutils.get_item_pointer(context, builder, array_type, struct, index, wraparound=False)
            pointers.append(builder.bitcast(address, line.as_pointer()))
        there, here = (builder.load(pointer, align=bits // 8) for pointer in pointers)
        builder.store(builder.add(there, here), pointers[0], align=bits // 8)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp, types.intp), codegen


def lined_up(n_rows, width, dtype):
    """Zeros (n_rows, width rounded up to whole lines), every row on the border of a line."""
    size = np.dtype(dtype).itemsize
    width = -(-width * size // LINE) * LINE // size
    raw = np.zeros((n_rows * width + LINE // size) * size, np.uint8)
    skip = -raw.ctypes.data % LINE
    return raw[skip : skip + n_rows * width * size].view(dtype).reshape(n_rows, width)


@jit
def _support_words(letters, degree):
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


def sort_words(letters, coef, beta):
    """Letters (L, Q) uint8 of the support, coef (Q,), beta (L, degree) -> SortedWords."""
    length, n = letters.shape
    codes, known = _support_words(letters, beta.shape[1])
    order = np.argsort(codes, axis=None, kind="stable")
    sums = np.zeros((length, beta.shape[1] + 1))
    np.cumsum(beta, axis=1, out=sums[:, 1:])
    places, coef = (order // n).astype(np.uint64), np.ascontiguousarray(coef, np.float64)[order % n]
    return SortedWords(codes.ravel()[order], known.ravel()[order], places, coef, sums)


@jit
def _grow(codes, cap, degree, nodes, children, lists):
    """Nodes and lists; returns how many of both, and whether there was room for all. A node has more than cap words."""
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


def grow_trie(words, cap, most):
    """SortedWords -> Trie; cap: words that stay a list, made larger until rows take at most about `most` numbers."""
    degree, room = words.sums.shape[1] - 1, max(8, most // len(words.sums))
    whole = False
    while not whole:
        nodes, children = np.empty((room, 3), np.int64), np.empty((room, 4), np.int32)
        lists = np.zeros((4 * room + 1, 2), np.int32)
        n_nodes, n_lists, whole = _grow(words.codes, cap, degree, nodes, children, lists)
        cap *= 2
    top = min(degree, TOP)
    jump = np.empty((4**top, 2), np.int32)
    _fill_jump(children, top, jump)
    return Trie(nodes[:n_nodes].copy(), children[:n_nodes].copy(), lists[:n_lists].copy(), jump, top)


@jit
def fill_rows(trie, words, rows):
    """The row (width,) of every node, float64, place i in column width - 1 - i.

    It is that of its parent, and what the letter more of its words is worth.
    """
    width, sums = rows.shape[1], words.sums
    weights = np.zeros(width)
    for node in range(len(trie.nodes)):
        for letter in range(4):
            child = trie.children[node, letter]
            if child < 0:
                continue
            first, last, depth = trie.nodes[child]
            weights[:] = 0.0
            for t in range(first, last):
                if words.known[t] >= depth:
                    weights[words.places[t]] += words.coef[t]
            for column in range(width):  # an array at once would compile for a second: Numba words its complaints
                rows[child, column] = rows[node, column]
            for i in range(len(sums)):
                rows[child, width - 1 - i] += weights[i] * (sums[i, depth] - sums[i, depth - 1])


@jit
def walk(trie, codes, nodes, lists, pending):
    """Node and list of every code of a chunk; level by level, so that no branch has to be guessed."""
    shift, n = np.uint64(64 - 2 * trie.top), np.uint64(0)
    for p in range(len(codes)):
        word = codes[p] >> shift
        nodes[p], lists[p] = trie.jump[word, 0], trie.jump[word, 1]
        pending[n] = p
        n += np.uint64(trie.jump[word, 1] < 0)
    depth = trie.top
    while n > 0:
        kept, shift = np.uint64(0), np.uint64(62 - 2 * min(depth, 31))
        for t in range(n):
            p = pending[t]
            below = trie.children[nodes[p], (codes[p] >> shift) & np.uint64(3)]
            nodes[p] = below if below >= 0 else nodes[p]
            lists[p] = -1 - below
            pending[kept] = p
            kept += np.uint64(below >= 0)
        n = kept
        depth += 1


@jit
def add_rows(rows, nodes, turns):
    """What the row of every code's node adds, to turns[turn, p - turn + column + T], T = len(turns), turn = p mod T.

    Letters take turns with T accumulators, T numbers a line: so they always add from the border of a line on.
    """
    n, width, n_turns = len(nodes), rows.shape[1], len(turns)
    lines = rows.reshape(-1, n_turns)
    for p in range(n):
        ahead = np.int64(nodes[min(p + AHEAD, n - 1)]) * (width // n_turns)
        for line in range(width // n_turns):
            prefetch(lines, ahead + line)
        turn = p & (n_turns - 1)
        target, start, node = turns[turn], p - turn + n_turns, np.int64(nodes[p])
        for column in range(0, width, n_turns):
            _add_line(target, start + column, rows, node, column)


@jit
def sum_turns(turns, skipped, total):
    """Total (n,) += the sums from `skipped` on; then those of the next chunk come to the front."""
    for turn in range(len(turns)):
        source = turns[turn, len(turns) - turn + skipped :]
        for s in range(len(total)):
            total[s] += source[s]
        move_up(turns[turn])


@jit
def move_up(sums):
    """Drop the first CHUNK numbers; what is new at the end is 0."""
    rest = len(sums) - CHUNK
    for s in range(rest):
        sums[s] = sums[s + CHUNK]
    for s in range(rest, len(sums)):
        sums[s] = 0


def room_for(rows):
    """Accumulators for CHUNK letters and a row: as many as there are numbers in a line, all zero."""
    turns = LINE // rows.itemsize
    return lined_up(turns, CHUNK + rows.shape[1] + 2 * turns, rows.dtype)
