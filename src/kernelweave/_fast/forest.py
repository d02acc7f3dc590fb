"""Weighted sums of weighted degree kernels without the kernel: score(x) = sum_q coef[q] k(support[q], x).

Per position, a table holds the weights of all k-mers up to `short` letters, summed along prefixes: one read gives
them all. Support sequences that agree on the first `short` letters form a compact trie below their table entry. The
trie is cut into *heavy paths* (from each node on into its most populous child): a query is compared with a whole path
at once, and may leave it for a lighter one at most log2(Q) times, whatever the data. A path is a row of *segments*,
stretches between branchings along which the set of agreeing sequences, hence the slope, is constant:

    value at depth l = base + slope * sums[i, l],    sums[i, l] = beta[i, 0] + ... + beta[i, l - 1].

DNA up to degree 32 compares 64-bit words ("exact64"); other alphabets and degrees compare letters.
"""

from collections import namedtuple

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import leading_zeros

#: Tables and tries of the positions first, first + 1, ...; paths and segments are numbered per position.
#:   levels (p, n_letters + ... + n_letters^short) float64
#:   roots (p, n_letters^short) int32: 16 * path + letters that follow as bits (or 1); 0 where nothing follows
#:   rows (., 4) uint64, per position first its paths, then its segments:
#:     path: 64-bit code (or support row) | base | slope | segment ends as bits (or their number), first segment << 32
#:     segment: letters (or number) of light children, first child path << 32 | base | slope | depth of its end
#:   path_start, segment_start (p,) int64 into rows, sums (L, degree + 1), letters (L, Q) uint8 of the support
#: Values in rows come on top of the table's; in an exact64 forest a path of one segment has no row as a segment.
Forest = namedtuple("Forest", "first short n_letters exact64 levels roots rows path_start segment_start sums letters")

# Columns of the scratch table of trie nodes, one row a node; `floats` has the two real columns WEIGHT and VALUE.
DEPTH, COUNT, PARENT, HEAVY, CHILDREN, LETTERS, ENDS, SEGMENTS, RANK, FIRST, SLOT = range(11)
WEIGHT, VALUE = range(2)

_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW = 0xFFFFFFFF


@jit
def level_offset(n_letters, k):
    """Where the k-mers start in a row of `levels`: n_letters + ... + n_letters^(k - 1)."""
    offset, size = 0, 1
    for _ in range(k - 1):
        size *= n_letters
        offset += size
    return offset


@jit
def _word(code, letters, q, i, k, n_letters, exact64):
    """Number of the k letters of support sequence q from position i on among all k-mers; its code begins with them."""
    if exact64:
        return np.int64(code >> np.uint64(64 - 2 * k))
    number = np.int64(0)
    for p in range(i, i + k):
        number = number * n_letters + letters[p, q]
    return number


@jit
def common_letters(letters, a, b, i, limit):
    """Length of the common prefix of support sequences a and b from position i on, at most limit."""
    k = np.int64(0)
    while k < limit and letters[i + k, a] == letters[i + k, b]:
        k += 1
    return k


@jit
def sort_by_letter(letters, n_letters, now, then):
    """Sequences sorted from position i + 1 on (now) become sorted from i on (then); letters (Q,) is row i.

    now, then: (order int32, codes uint64, lengths int64, coef float64), all (Q,) and in sorted order, so that
    whatever follows reads memory in order.
    """
    order, codes, lengths, coef = now
    new_order, new_codes, new_lengths, new_coef = then
    starts = np.zeros(n_letters + 2, np.int64)
    for q in range(len(letters)):
        starts[min(letters[q], n_letters) + 1] += 1
    for c in range(n_letters + 1):
        starts[c + 1] += starts[c]
    for r in range(len(order)):
        letter = np.int64(min(letters[order[r]], n_letters))
        target = starts[letter]
        starts[letter] = target + 1
        new_order[target] = order[r]
        new_codes[target] = (np.uint64(letter) << np.uint64(62)) | (codes[r] >> np.uint64(2))
        new_lengths[target] = lengths[r] + 1 if letter < n_letters else 0
        new_coef[target] = coef[r]


@jit
def _fill_levels(row, letters, now, exact64, n_letters, short, i, limit):
    """row[k-mer] = summed coef of the support sequences that show it at position i, for all k <= short."""
    order, codes, lengths, coef = now
    for u in range(len(row)):
        row[u] = 0.0
    whole = min(short, limit)
    offset = level_offset(n_letters, whole)
    for r in range(len(order)):
        k = min(whole, lengths[r])
        if k == 0:
            continue
        number = _word(codes[r], letters, order[r], i, k, n_letters, exact64)
        row[(offset if k == whole else level_offset(n_letters, k)) + number] += coef[r]
    for k in range(short - 1, 0, -1):
        here, below = level_offset(n_letters, k), level_offset(n_letters, k + 1)
        for u in range(below - here):
            total = row[here + u]
            for child in range(below + u * n_letters, below + u * n_letters + n_letters):
                total += row[child]
            row[here + u] = total


@jit
def _sum_levels(row, n_letters, short, beta):
    """Turn the weights of k-mers into weighted sums along their prefixes, in place; beta (degree,)."""
    for k in range(1, short + 1):
        here, above = level_offset(n_letters, k), level_offset(n_letters, k - 1)
        scale = beta[k - 1] if k <= len(beta) else 0.0
        for parent in range(max(1, here - above)):
            start = row[above + parent] if k > 1 else 0.0
            for u in range(here + parent * n_letters, here + parent * n_letters + n_letters):
                row[u] = start + scale * row[u]


@jit
def _open(nodes, floats, c, depth, rank, weight, count):
    """A new node at `depth` on the way of the sequence of that rank."""
    nodes[c, DEPTH], nodes[c, RANK], nodes[c, COUNT] = depth, rank, count
    nodes[c, HEAVY] = -1
    nodes[c, CHILDREN] = nodes[c, LETTERS] = 0
    floats[c, WEIGHT] = weight


@jit
def _close(nodes, floats, c, parent, letter):
    """Node c is complete: settle its heavy path and hand its sums to the parent (-1: top of a bucket)."""
    heavy = nodes[c, HEAVY]
    # Ends are bits where depths stay below 33; elsewhere they are not read.
    nodes[c, ENDS] = 1 << (min(32, nodes[c, DEPTH]) - 1)
    nodes[c, SEGMENTS] = 1
    if heavy >= 0:
        nodes[c, ENDS] |= nodes[heavy, ENDS]
        nodes[c, SEGMENTS] += nodes[heavy, SEGMENTS]
        nodes[c, RANK] = nodes[heavy, RANK]
    nodes[c, PARENT] = parent
    if parent >= 0:
        floats[parent, WEIGHT] += floats[c, WEIGHT]
        nodes[parent, COUNT] += nodes[c, COUNT]
        nodes[parent, CHILDREN] += 1
        nodes[parent, LETTERS] |= 1 << (letter & 31)
        if nodes[parent, HEAVY] < 0 or nodes[c, COUNT] > nodes[nodes[parent, HEAVY], COUNT]:
            nodes[parent, HEAVY] = c


@jit
def _following(code, short):
    """The letter after the first `short` ones, as a bit."""
    return 1 << np.int64((code >> np.uint64(62 - 2 * short)) & np.uint64(3))


@jit
def _write_leaf(paths, path, code, short, depth, slope, sums):
    """A path of one segment from depth `short` to `depth`."""
    values = paths.view(np.float64)
    paths[path, 0] = code
    values[path, 1], values[path, 2] = -slope * sums[short], slope
    paths[path, 3] = _ONE << np.uint64(depth - 1)


@jit
def _grow_tries(nodes, floats, closed, stack, letters, now, exact64, n_letters, short, i, limit, sums, roots, paths):
    """Compact tries of all buckets at position i, by one walk over the sorted sequences.

    Returns the number of nodes closed, of paths already written (a bucket of one leaf is a path of its own), and of
    all paths.
    """
    order, codes, lengths, coef = now
    n_nodes = n_closed = n_paths = n_more = top = np.int64(0)
    previous = bucket = np.int64(-1)
    n = len(order)
    for r in range(n + 1):
        size = min(limit, lengths[r]) if r < n else np.int64(0)
        if r < n and size <= short:
            continue
        common = np.int64(-1)
        if previous >= 0 and r < n:
            most = min(size, lengths[previous])
            if exact64:
                common = min(most, leading_zeros(codes[previous] ^ codes[r]) >> 1)
            else:
                common = common_letters(letters, order[previous], order[r], i, most)
            if common < short:
                common = np.int64(-1)
        while top > 0 and nodes[stack[top - 1], DEPTH] > common:
            top -= 1
            c = stack[top]
            if common > (nodes[stack[top - 1], DEPTH] if top > 0 else -1):
                _open(nodes, floats, n_nodes, common, np.int64(nodes[c, RANK]), 0.0, np.int64(0))
                stack[top] = n_nodes
                top += 1
                n_nodes += 1
            parent, letter = np.int64(-1), np.int64(0)
            if top > 0:
                parent = stack[top - 1]
                if exact64:
                    shift = np.uint64(62 - 2 * nodes[parent, DEPTH])
                    letter = np.int64((codes[nodes[c, RANK]] >> shift) & np.uint64(3))
            elif exact64 and nodes[c, HEAVY] < 0:
                _write_leaf(paths, n_paths, codes[nodes[c, RANK]], short, nodes[c, DEPTH], floats[c, WEIGHT], sums)
                roots[bucket] = 16 * n_paths + _following(codes[nodes[c, RANK]], short)
                n_paths += 1
                n_nodes = c
                continue
            else:
                nodes[c, SLOT] = bucket
            _close(nodes, floats, c, parent, letter)
            # The first child of a node goes on with its path, every other one starts a path.
            n_more += parent < 0 or nodes[parent, CHILDREN] > 1
            closed[n_closed] = c
            n_closed += 1
        if r == n:
            break
        if common < 0:
            bucket = _word(codes[r], letters, order[r], i, short, n_letters, exact64)
        if size > common:
            _open(nodes, floats, n_nodes, size, r, coef[r], np.int64(1))
            stack[top] = n_nodes
            top += 1
            n_nodes += 1
        else:
            floats[stack[top - 1], WEIGHT] += coef[r]
            nodes[stack[top - 1], COUNT] += 1
        previous = np.int64(r)
    return n_closed, n_paths, n_paths + n_more


@jit
def _light_letters(nodes, c, codes, exact64):
    """Light children of node c: as bits of their letters (exact64), else how many."""
    light = max(0, nodes[c, CHILDREN] - 1)
    if exact64 and light > 0:
        heavy = (codes[nodes[c, RANK]] >> np.uint64(62 - 2 * nodes[c, DEPTH])) & np.uint64(3)
        light = nodes[c, LETTERS] ^ (1 << np.int64(heavy))
    return np.uint64(light)


@jit
def _emit(nodes, floats, closed, n_closed, n_paths, now, exact64, short, sums, roots, paths, segments):
    """Number the heavy paths, parents first, and write them after the first n_paths; returns how many segments."""
    order, codes = now[0], now[1]
    path_values, segment_values = paths.view(np.float64), segments.view(np.float64)
    n_segments = np.int64(0)
    for t in range(n_closed - 1, -1, -1):
        c = closed[t]
        parent = nodes[c, PARENT]
        start, value, path = np.int64(short), 0.0, np.int64(-1)
        rank, depth = nodes[c, RANK], nodes[c, DEPTH]
        if parent < 0:
            path = n_paths
            n_paths += 1
            follow = np.int64(1)
            if exact64:
                follow = np.int64(nodes[c, LETTERS]) if depth == short else _following(codes[rank], short)
            roots[nodes[c, SLOT]] = 16 * path + follow
        else:
            start, value = np.int64(nodes[parent, DEPTH]), floats[parent, VALUE]
            if nodes[parent, HEAVY] == c:
                nodes[c, SLOT] = nodes[parent, SLOT] + 1
            else:
                # Children close by rising letter, so they come here, and are numbered, by falling letter.
                path = np.int64(nodes[parent, FIRST] + nodes[parent, COUNT])
                nodes[parent, COUNT] += 1
        slope = floats[c, WEIGHT]
        base = value - slope * sums[start]
        floats[c, VALUE] = base + slope * sums[depth]
        nodes[c, FIRST], nodes[c, COUNT] = n_paths, 0
        n_paths += max(0, nodes[c, CHILDREN] - 1)
        spelled = path < 0 or nodes[c, SEGMENTS] > 1 or not exact64
        if path >= 0:
            nodes[c, SLOT] = n_segments
            n_segments += nodes[c, SEGMENTS] if spelled else 0
            paths[path, 0] = codes[rank] if exact64 else np.uint64(order[rank])
            path_values[path, 1], path_values[path, 2] = base, slope
            ends = nodes[c, ENDS] if exact64 else nodes[c, SEGMENTS]
            paths[path, 3] = np.uint64(np.int64(ends) & _LOW) | (np.uint64(nodes[c, SLOT]) << _HALF)
        if spelled:
            target = nodes[c, SLOT]
            segment_values[target, 1], segment_values[target, 2] = base, slope
            segments[target, 0] = _light_letters(nodes, c, codes, exact64) | (np.uint64(nodes[c, FIRST]) << _HALF)
            segments[target, 3] = np.uint64(depth)
    return n_segments


def unsorted(n):
    """Room for (order, codes, lengths, coef) of n sequences."""
    return np.arange(n, dtype=np.int32), np.zeros(n, np.uint64), np.zeros(n, np.int64), np.zeros(n)


def build_forest(letters, coef, beta, first, last, short, n_letters, exact64, summed):
    """Letters (L, Q) uint8 of the support, coef (Q,), beta (L, degree) -> Forest of the positions first .. last - 1.

    exact64 needs n_letters = 4 and degree <= 32. With summed = False `levels` keeps plain weights, which is what
    values per degree need. Not jitted as a whole: that would compile all its parts twice to save 30 us a position.
    """
    length, n_support = letters.shape
    beta = np.ascontiguousarray(beta, np.float64)
    degree = beta.shape[1]
    sums = np.zeros((length, degree + 1))
    np.cumsum(beta, axis=1, out=sums[:, 1:])
    levels = np.empty((last - first, level_offset(n_letters, short + 1)))
    roots = np.zeros((last - first, n_letters**short), np.int32)
    starts = np.zeros((2, last - first), np.int64)
    now, then = unsorted(n_support), unsorted(n_support)
    now[3][:] = coef
    # Q sequences make at most 2 Q nodes, so 2 Q segments, and Q paths; in practice 1.5 Q rows in all.
    n, most = 2 * n_support + 1, 3 * n_support + 1
    nodes, floats = np.empty((n, 11), np.int32), np.empty((n, 2))
    closed, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    rows, at = np.empty((most + (last - first) * 7 * n_support // 4, 4), np.uint64), 0
    # Sorting starts `degree` letters early: beyond them nothing is compared.
    for i in range(min(length, last + degree) - 1, first - 1, -1):
        sort_by_letter(letters[i], n_letters, now, then)
        now, then = then, now
        if i >= last:
            continue
        p, limit = i - first, min(degree, length - i)
        _fill_levels(levels[p], letters, now, exact64, n_letters, short, i, limit)
        if summed:
            _sum_levels(levels[p], n_letters, short, beta[i])
        n_all = n_segments = 0
        if limit > short:
            if at + most > len(rows):
                rows = np.concatenate((rows[:at], np.empty((most + at, 4), np.uint64)))
            paths = rows[at:]
            n_closed, n_paths, n_all = _grow_tries(
                nodes, floats, closed, stack, letters, now, exact64, n_letters, short, i, limit, sums[i], roots[p],
                paths,
            )  # fmt: skip
            n_segments = _emit(
                nodes, floats, closed, n_closed, n_paths, now, exact64, short, sums[i], roots[p], paths, paths[n_all:]
            )
        starts[:, p] = at, at + n_all
        at += n_all + n_segments
    rows.resize((at, 4), refcheck=False)  # gives back what was never touched; nothing moves
    return Forest(first, short, n_letters, exact64, levels, roots, rows, starts[0], starts[1], sums, letters)


def table_depth(n_support, n_letters, degree):
    """Letters that the table of a forest should cover: about 2.5 entries per support sequence, at most 2^18 in all."""
    depth = 1
    while depth < degree and n_letters**depth < 2.5 * n_support and n_letters ** (depth + 1) <= 1 << 18:
        depth += 1
    return depth
