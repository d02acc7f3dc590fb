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
from kernelweave._fast.bits import leading_zeros, pack_words

#: Tables and tries of the positions first, first + 1, ...; indices into paths and segments are per position.
#:   levels (p, n_letters + ... + n_letters^short) float64, roots (p, n_letters^short) int32 path or -1
#:   paths (., 4) uint64: 64-bit code (or support row) | base | slope | segment ends as bits (or count), first << 32
#:   segments (., 4) uint64: base | slope | letters (or number) of light children, first child path << 32 | depth
#:   path_start, segment_start (p + 1,) int64, sums (L, degree + 1), letters (L, Q) uint8 of the support
Forest = namedtuple(
    "Forest", "first short n_letters exact64 levels roots paths segments path_start segment_start sums letters"
)
_Nodes = namedtuple("_Nodes", "depth weight count parent heavy children letters ends segments row first taken slot value")


@jit
def level_offset(n_letters, k):
    """Where the k-mers start in a row of `levels`: n_letters + ... + n_letters^(k - 1)."""
    offset, size = 0, 1
    for _ in range(k - 1):
        size *= n_letters
        offset += size
    return offset


@jit
def window(words, i, j):
    """words from `pack_words` -> the 32 letters of sequence j from position i on, as one uint64."""
    shift = np.uint64(2 * (i % 32))
    high = words[i // 32, j] << shift
    if shift == 0:
        return high
    return high | (words[i // 32 + 1, j] >> (np.uint64(64) - shift))


@jit
def _prefix(letters, words, exact64, n_letters, i, q, k):
    """Rank of the first k letters from position i on among all k-mers."""
    if exact64:
        return np.int64(window(words, i, q) >> np.uint64(64 - 2 * k)) if k > 0 else 0
    rank = 0
    for p in range(i, i + k):
        rank = rank * n_letters + letters[p, q]
    return rank


@jit
def _common(letters, words, exact64, i, a, b, limit):
    """Length of the common prefix of support sequences a and b from position i on, at most limit."""
    if exact64:
        return min(limit, leading_zeros(window(words, i, a) ^ window(words, i, b)) >> 1)
    k = 0
    while k < limit and letters[i + k, a] == letters[i + k, b]:
        k += 1
    return k


@jit
def _sort_by_letter(letters, n_letters, order, spare, lengths):
    """Refine: sequences sorted from position i + 1 on become sorted from i on. letters (Q,) is row i."""
    starts = np.zeros(n_letters + 2, np.int64)
    for q in range(len(letters)):
        lengths[q] = lengths[q] + 1 if letters[q] < n_letters else 0
        starts[min(letters[q], n_letters) + 1] += 1
    for c in range(n_letters + 1):
        starts[c + 1] += starts[c]
    for r in range(len(order)):
        c = min(letters[order[r]], n_letters)
        spare[starts[c]] = order[r]
        starts[c] += 1
    order[:] = spare


@jit
def _fill_levels(row, letters, words, exact64, n_letters, short, i, order, lengths, limit, coef):
    """row[k-mer] = summed coef of the support sequences that show it at position i, for all k <= short."""
    row[:] = 0.0
    for r in range(len(order)):
        q = order[r]
        k = min(short, limit, lengths[q])
        if k > 0:
            row[level_offset(n_letters, k) + _prefix(letters, words, exact64, n_letters, i, q, k)] += coef[q]
    for k in range(short - 1, 0, -1):
        here, below = level_offset(n_letters, k), level_offset(n_letters, k + 1)
        for u in range(below - here):
            for c in range(n_letters):
                row[here + u] += row[below + u * n_letters + c]


@jit
def _sum_levels(row, n_letters, short, beta):
    """Turn the weights of k-mers into weighted sums along their prefixes, in place; beta (degree,)."""
    for k in range(1, short + 1):
        here, above = level_offset(n_letters, k), level_offset(n_letters, k - 1)
        scale = beta[k - 1] if k <= len(beta) else 0.0
        for u in range(level_offset(n_letters, k + 1) - here):
            row[here + u] *= scale
            if k > 1:
                row[here + u] += row[above + u // n_letters]


@jit
def _open(nodes, c, depth, row, weight, count):
    nodes.depth[c] = depth
    nodes.row[c] = row
    nodes.weight[c] = weight
    nodes.count[c] = count
    nodes.parent[c] = nodes.heavy[c] = -1
    nodes.children[c] = nodes.taken[c] = 0
    nodes.letters[c] = 0


@jit
def _close(nodes, c, parent, letter):
    """Node c is complete: settle its heavy path and hand its sums to the parent (-1: top of a bucket)."""
    heavy = nodes.heavy[c]
    nodes.ends[c] = np.uint64(1) << np.uint64(min(64, nodes.depth[c]) - 1)
    nodes.segments[c] = 1
    if heavy >= 0:
        nodes.ends[c] |= nodes.ends[heavy]
        nodes.segments[c] += nodes.segments[heavy]
        nodes.row[c] = nodes.row[heavy]
    nodes.parent[c] = parent
    if parent >= 0:
        nodes.weight[parent] += nodes.weight[c]
        nodes.count[parent] += nodes.count[c]
        nodes.children[parent] += 1
        nodes.letters[parent] |= np.uint64(1) << np.uint64(letter & 63)
        if nodes.heavy[parent] < 0 or nodes.count[c] > nodes.count[nodes.heavy[parent]]:
            nodes.heavy[parent] = c


@jit
def _grow_tries(nodes, closed, stack, letters, words, exact64, n_letters, short, i, order, lengths, limit, coef):
    """Compact tries of all buckets at position i, by one walk over the sorted sequences; returns the nodes closed."""
    n_nodes = n_closed = top = 0
    previous = bucket = -1
    for r in range(len(order) + 1):
        q = order[r] if r < len(order) else np.int32(-1)
        if r < len(order) and min(limit, lengths[q]) <= short:
            continue
        size = min(limit, lengths[q]) if q >= 0 else 0
        common = -1
        if previous >= 0 and q >= 0:
            common = _common(letters, words, exact64, i, previous, q, min(size, limit, lengths[previous]))
            common = common if common >= short else -1
        while top > 0 and nodes.depth[stack[top - 1]] > common:
            c = stack[top - 1]
            top -= 1
            below = nodes.depth[stack[top - 1]] if top > 0 else -1
            if common > below:
                _open(nodes, n_nodes, common, nodes.row[c], 0.0, 0)
                stack[top] = n_nodes
                top += 1
                n_nodes += 1
            parent = stack[top - 1] if top > 0 else -1
            _close(nodes, c, parent, letters[i + nodes.depth[parent], nodes.row[c]] if parent >= 0 else 0)
            if parent < 0:
                nodes.slot[c] = bucket
            closed[n_closed] = c
            n_closed += 1
        if q < 0:
            break
        if common < 0:
            bucket = _prefix(letters, words, exact64, n_letters, i, q, short)
        if size > common:
            _open(nodes, n_nodes, size, q, coef[q], 1)
            stack[top] = n_nodes
            top += 1
            n_nodes += 1
        else:
            nodes.weight[stack[top - 1]] += coef[q]
            nodes.count[stack[top - 1]] += 1
        previous = q
    return n_closed


@jit
def _emit(nodes, closed, n_closed, letters, words, exact64, short, i, sums, top_values, roots, paths, segments):
    """Number the heavy paths, parents first, and write them; returns how many paths and segments were written."""
    path_base, path_slope = paths.view(np.float64)[:, 1], paths.view(np.float64)[:, 2]
    segment_values = segments.view(np.float64)
    n_paths = n_segments = 0
    for t in range(n_closed - 1, -1, -1):
        c = closed[t]
        parent = nodes.parent[c]
        start, value, path = short, 0.0, -1
        if parent < 0:
            value = top_values[nodes.slot[c]]
            roots[nodes.slot[c]] = path = n_paths
            n_paths += 1
        else:
            start, value = nodes.depth[parent], nodes.value[parent]
            if nodes.heavy[parent] == c:
                nodes.slot[c] = nodes.slot[parent] + 1
            else:
                path = nodes.first[parent] + nodes.taken[parent]
                nodes.taken[parent] += 1
        slope = nodes.weight[c]
        base = value - slope * sums[start]
        nodes.value[c] = base + slope * sums[nodes.depth[c]]
        nodes.first[c] = n_paths
        n_light = max(0, nodes.children[c] - 1)
        n_paths += n_light
        if path >= 0:
            nodes.slot[c] = n_segments
            # A path of one segment says it all itself, unless lengths must be read from segments.
            if nodes.segments[c] > 1 or not exact64:
                n_segments += nodes.segments[c]
            row = nodes.row[c]
            paths[path, 0] = window(words, i, row) if exact64 else np.uint64(row)
            path_base[path], path_slope[path] = base, slope
            ends = nodes.ends[c] if exact64 else np.uint64(nodes.segments[c])
            paths[path, 3] = ends | (np.uint64(nodes.slot[c]) << np.uint64(32))
        if path < 0 or nodes.segments[c] > 1 or not exact64:
            s = nodes.slot[c]
            segment_values[s, 0], segment_values[s, 1] = base, slope
            light = np.uint64(n_light)
            if exact64:
                light = nodes.letters[c]
                if n_light > 0:
                    light ^= np.uint64(1) << np.uint64(letters[i + nodes.depth[c], nodes.row[c]])
                else:
                    light = np.uint64(0)
            segments[s, 2] = light | (np.uint64(nodes.first[c]) << np.uint64(32))
            segments[s, 3] = np.uint64(nodes.depth[c])
    return n_paths, n_segments


@jit
def _room(rows, used, more):
    """rows (n, 4) with space for `more` rows after the first `used` ones."""
    if used + more <= len(rows):
        return rows
    larger = np.empty((max(used + more, 2 * used), 4), np.uint64)
    larger[:used] = rows[:used]
    return larger


@jit
def build_forest(letters, words, coef, beta, first, last, short, n_letters, exact64, summed):
    """letters (L, Q) uint8 of the support, words from `pack_words` (any if not exact64), coef (Q,), beta (L, degree)

    -> Forest of the positions first .. last - 1. With summed = False `levels` keeps plain weights (for single degrees).
    """
    length, n_support = letters.shape
    degree = beta.shape[1]
    sums = np.zeros((length, degree + 1))
    for i in range(length):
        for k in range(degree):
            sums[i, k + 1] = sums[i, k] + beta[i, k]
    n_positions, width = last - first, level_offset(n_letters, short)
    levels = np.empty((n_positions, level_offset(n_letters, short + 1)))
    roots = np.full((n_positions, levels.shape[1] - width), np.int32(-1))
    paths, segments = np.empty((0, 4), np.uint64), np.empty((0, 4), np.uint64)
    path_start, segment_start = np.zeros(n_positions + 1, np.int64), np.zeros(n_positions + 1, np.int64)
    order, spare = np.arange(n_support).astype(np.int32), np.empty(n_support, np.int32)
    lengths = np.zeros(n_support, np.int64)
    n = 2 * n_support + 1
    ints = np.empty((9, n), np.int64)
    masks = np.empty((2, n), np.uint64)
    floats = np.empty((2, n))
    nodes = _Nodes(
        ints[0], floats[0], ints[1], ints[2], ints[3], ints[4], masks[0], masks[1], ints[5], ints[6], ints[7], ints[8],
        np.empty(n, np.int64), floats[1],
    )  # fmt: skip
    closed, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    # Sorting starts `degree` letters early: beyond them nothing is compared.
    for i in range(min(length, last + degree) - 1, first - 1, -1):
        _sort_by_letter(letters[i], n_letters, order, spare, lengths)
        if i >= last:
            continue
        p, limit = i - first, min(degree, length - i)
        _fill_levels(levels[p], letters, words, exact64, n_letters, short, i, order, lengths, limit, coef)
        if summed:
            _sum_levels(levels[p], n_letters, short, beta[i])
        n_closed = 0
        if limit > short:
            n_closed = _grow_tries(
                nodes, closed, stack, letters, words, exact64, n_letters, short, i, order, lengths, limit, coef
            )
        # Positions are built from the last to the first, so their places are noted from the end and turned below.
        used_paths, used_segments = path_start[p + 1], segment_start[p + 1]
        paths, segments = _room(paths, used_paths, n_closed), _room(segments, used_segments, n_closed)
        n_paths, n_segments = _emit(
            nodes, closed, n_closed, letters, words, exact64, short, i, sums[i], levels[p, width:], roots[p],
            paths[used_paths:], segments[used_segments:],
        )  # fmt: skip
        path_start[p], segment_start[p] = used_paths + n_paths, used_segments + n_segments
    # path_start[p + 1] is where position p begins.
    paths, segments = paths[: path_start[0]].copy(), segments[: segment_start[0]].copy()
    return Forest(
        first, short, n_letters, exact64, levels, roots, paths, segments, path_start[1:], segment_start[1:], sums, letters
    )
