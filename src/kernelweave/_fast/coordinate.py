"""Coordinate descent in feature space: a visit reads f of a sample off the normal, moves its coefficient, adds that.

Samples are read through one or several `Space`s, whose parts of the normal add up: a tuple of them, one for every
family of words, every list of features and the matrix of all else. Each keeps its normal in up to four parts, of which
any may be empty:

* `top`, read off packed DNA: per position, the words of orders 2j - 1 and 2j as one number per word of 2j letters, so
  that a read is one number and an update four neighbours;
* `nodes`, tries below it: per position, the words that several sequences share. A stretch of a trie without a branch is
  one node, whose sequences and hence whose weight are the same at all its depths; `leaf` says where a sequence ends up,
  and every node leads to the one above it;
* `rows`, listed features with counts;
* `f`, where there is a matrix instead of features: what the normal would say of every sample.

What only one sample has is never stored: it adds to the diagonal alone.
"""

from collections import namedtuple

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import leading_zeros
from kernelweave._fast.forest import common_letters, sort_by_letter, unsorted

#: words (n, W + 1) uint64, two bits a letter; top (L, 16 + 256 + ...); beta (L, 2 pairs): the weight of every order
#: leaf (n, L) int32, -1 where no word is shared; nodes (m, 2): weight times scale, scale; above (m,) int32, -1: none
#: starts (n + 1,), slots, counts: listed features; normal (u, 2): weight times scale, scale
#: roots (n,): what the features of every sample are multiplied with; K (n, n) and f (n,), both empty without a matrix
Space = namedtuple("Space", "words top beta leaf nodes above starts slots counts normal roots K f")


def nothing(n):
    """Return the space of n samples without features."""
    listed = np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros((0, 2))
    leaf, nodes, above = np.zeros((n, 0), np.int32), np.zeros((0, 2)), np.zeros(0, np.int32)
    return Space(
        np.zeros((n, 1), np.uint64), np.zeros((0, 0)), np.zeros((0, 0)), leaf, nodes, above, *listed,
        np.ones(n), np.zeros((0, 0)), np.zeros(0),
    )  # fmt: skip


_ONE = np.uint64(1)


@jit
def _code(row, p):
    """The 32 letters from position p on, row (W + 1,)."""
    shift = np.uint64(2 * (p % 32))
    return (row[p // 32] << shift) | ((row[p // 32 + 1] >> _ONE) >> (np.uint64(63) - shift))


@jit
def read(space, i):
    """Return f of sample i, but for the part that is not stored."""
    total = 0.0
    n_pairs, top, row = space.beta.shape[1] // 2, space.top, space.words[i]
    for p in range(len(top)):
        code = _code(row, p)
        offset, size, shift = np.uint64(0), np.uint64(16), np.uint64(60)
        for _ in range(n_pairs):
            total += top[p, offset + (code >> shift)]
            offset += size
            size <<= np.uint64(4)
            shift -= np.uint64(4)
    nodes, above, leaf = space.nodes, space.above, space.leaf[i]
    for p in range(len(leaf)):
        node = leaf[p]
        while node >= 0:
            total += nodes[node, 0]
            node = above[node]
    for e in range(space.starts[i], space.starts[i + 1]):
        total += space.counts[e] * space.normal[space.slots[e], 0]
    total *= space.roots[i]
    return total + space.f[i] if len(space.f) else total


@jit
def add(space, i, change):
    """Add change * sample i to the normal."""
    step = change * space.roots[i]
    n_pairs, top, row, beta = space.beta.shape[1] // 2, space.top, space.words[i], space.beta
    for p in range(len(top)):
        code = _code(row, p)
        offset, size, shift = np.int64(0), 16, np.uint64(60)
        for j in range(n_pairs):
            place = offset + np.int64(code >> shift)
            first = place - place % 4  # every part of `top` starts at a multiple of four
            odd = step * beta[p, 2 * j]
            for c in range(4):
                top[p, first + c] += odd
            top[p, place] += step * beta[p, 2 * j + 1]
            offset += size
            size *= 16
            shift -= np.uint64(4)
    nodes, above, leaf = space.nodes, space.above, space.leaf[i]
    for p in range(len(leaf)):
        node = leaf[p]
        while node >= 0:
            nodes[node, 0] += step * nodes[node, 1]
            node = above[node]
    normal = space.normal
    for e in range(space.starts[i], space.starts[i + 1]):
        slot = space.slots[e]
        normal[slot, 0] += step * space.counts[e] * normal[slot, 1]
    f = space.f
    if len(f):
        line = space.K[i]
        for j in range(len(f)):
            f[j] += change * line[j]


@jit
def rebuild(spaces, a, first, last):
    """Set the normal to sum_i a[i] * sample i: what samples first to last add, and the one with first = 0 clears it."""
    for space in spaces:
        if first == 0:
            space.top[:] = 0.0
            space.nodes[:, 0] = 0.0
            space.normal[:, 0] = 0.0
            space.f[:] = 0.0
        for i in range(first, last):
            if a[i] != 0.0:
                add(space, i, a[i])


@jit
def read_all(spaces, alone, a, first, last, out):
    """Write f of samples first to last to out (n,); alone (n,) is the part of the diagonal that is not stored."""
    for i in range(first, last):
        out[i] = alone[i] * a[i]
    for space in spaces:
        for i in range(first, last):
            out[i] += read(space, i)


@jit
def stored(space, first, last, out):
    """Write the part of the diagonal that is stored, of samples first to last, to out (n,)."""
    whole = 0.0
    for p in range(space.beta.shape[0]):  # by hand: sum() of a matrix takes seconds to compile
        for k in range(space.beta.shape[1]):
            whole += space.beta[p, k]
    for i in range(first, last):
        total = whole
        for p in range(space.leaf.shape[1]):
            node = space.leaf[i, p]
            while node >= 0:
                total += space.nodes[node, 1]
                node = space.above[node]
        for e in range(space.starts[i], space.starts[i + 1]):
            total += space.counts[e] ** 2 * space.normal[space.slots[e], 1]
        total *= space.roots[i] ** 2
        out[i] = total + space.K[i, i] if len(space.f) else total


@jit
def visit(spaces, alone, diag, linear, ridge, l1, lower, upper, a, samples, b, rho, off, limit):
    """One visit to each of some samples (m,) -> how many are not held at a bound, sum(a) - total, worst violation.

    Minimises 1/2 a'(K + diag(ridge)) a + linear'a + l1 |a|_1 + b (sum(a) - total) + rho/2 (sum(a) - total)^2 over
    lower <= a <= upper, one a[i] at a time; off = sum(a) - total. A sample that rests at a bound, held there by more
    than `limit`, is moved behind the others. a, samples and the normal are updated in place.
    """
    m, k, worst = len(samples), 0, 0.0
    first = spaces[0]  # by name: taking a space out of the tuple costs a tenth of a visit
    while k < m:
        i = samples[k]
        g = read(first, i) + (alone[i] + ridge[i]) * a[i] + linear[i] + b + rho * off
        for s in range(1, len(spaces)):
            g += read(spaces[s], i)
        h = max(diag[i] + ridge[i] + rho, 1e-300)
        z = a[i] - g / h
        target = max(z - l1 / h, 0.0) + min(z + l1 / h, 0.0)
        x = min(max(target, lower[i]), upper[i])
        change = x - a[i]
        if change == 0.0:
            held = 0.0
            if x == lower[i] or x == upper[i]:
                held = abs(target - x)
            elif x == 0.0:
                held = l1 / h - abs(z)
            if held * h > limit:
                m -= 1
                samples[k] = samples[m]
                samples[m] = i
                continue
        else:
            a[i] = x
            off += change
            add(first, i, change)
            for s in range(1, len(spaces)):
                add(spaces[s], i, change)
            worst = max(worst, abs(change) * h)
        k += 1
    return m, off, worst


@jit
def _link(leaf, position, now, exact64, letters, limit, short, base, depths, spans, stack):
    """The tries of one position, from its sorted sequences -> number of nodes; depths (n,) and stack (n,) are scratch.

    Row t of spans (n, 3) is (from, to, above): node t covers the depths from + 1 .. to, below node `above` (-1: none).
    leaf (n, L) gets base + the deepest node of each sequence.
    """
    order, codes, lengths, _ = now
    n, n_nodes, top = len(order), 0, 0
    for r in range(n):  # depths[r]: letters that the sequences of rank r and r + 1 share
        depths[r] = 0
        if r + 1 < n:
            most = min(limit, lengths[r], lengths[r + 1])
            if exact64:
                depths[r] = min(most, leading_zeros(codes[r] ^ codes[r + 1]) >> 1)
            else:
                depths[r] = common_letters(letters, order[r], order[r + 1], position, most)
    for r in range(n):  # a node opens where the depth rises and closes where it falls
        here = depths[r]
        if here > short and here > (depths[r - 1] if r > 0 else 0):
            spans[n_nodes, 0] = short if top == 0 else spans[stack[top - 1], 1]
            spans[n_nodes, 1], spans[n_nodes, 2] = here, -1 if top == 0 else stack[top - 1]
            stack[top] = n_nodes
            top += 1
            n_nodes += 1
        leaf[order[r], position] = -1 if top == 0 else base + stack[top - 1]
        while top > 0 and spans[stack[top - 1], 1] > here:
            node = stack[top - 1]
            top -= 1
            if here > (short if top == 0 else spans[stack[top - 1], 1]):
                # what goes on beyond this rank becomes a node of its own, above the one that ends
                spans[n_nodes, 0], spans[n_nodes, 1], spans[n_nodes, 2] = spans[node, 0], here, spans[node, 2]
                spans[node, 0], spans[node, 2] = here, n_nodes
                stack[top] = n_nodes
                top += 1
                n_nodes += 1
    return n_nodes


def shared_words(codes, degree, short, n_letters, exact64, look=None):
    """Codes (n, L) uint8 -> leaf (n, L) int32, spans (m, 3) int32 and positions (m,) int32 of the nodes.

    Only words longer than `short` that at least two sequences have at the same position; exact64 needs n_letters = 4
    and degree <= 32. look() is called before every position, and may raise.
    """
    n, length = codes.shape
    letters = np.ascontiguousarray(codes.T)
    leaf = np.empty((n, length), np.int32)
    now, then = unsorted(n), unsorted(n)
    depths, stack, scratch = np.empty(n, np.int32), np.empty(n, np.int32), np.empty((n, 3), np.int32)
    parts, sizes, base = [], np.zeros(length, np.int64), 0
    for i in range(length - 1, -1, -1):
        if look is not None:
            look()
        sort_by_letter(letters[i], n_letters, now, then)
        now, then = then, now
        limit = min(degree, length - i)
        count = _link(leaf, i, now, exact64, letters, limit, short, base, depths, scratch, stack)
        part = scratch[:count].copy()
        part[part[:, 2] >= 0, 2] += base
        parts.append(part)
        sizes[i] = count
        base += count
    spans = np.concatenate(parts) if parts else np.empty((0, 3), np.int32)
    return leaf, spans, np.repeat(np.arange(length - 1, -1, -1, dtype=np.int32), sizes[::-1])
