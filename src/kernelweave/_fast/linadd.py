"""Scores from a forest: score(x) = sum over positions of what x's letters from there on are worth (see `forest`).

Queries pass position by position in large chunks, so that the table and tries of one position stay in the cache.
`out` has one row, or one row per position of the forest; every function adds to it.
"""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import leading_zeros, popcount
from kernelweave._fast.forest import level_offset, window

#: Queries per pass: their codes and sums fill a part of the second-level cache.
CHUNK = 8192

_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_HALF = np.uint64(32)


@jit
def _windows(words, i, start, codes):
    """codes[j] = the 32 letters from position i on of query start + j."""
    shift = np.uint64(2 * (i % 32))
    high, low = words[i // 32], words[i // 32 + 1]
    for j in range(len(codes)):
        # Two shifts, because a shift by 64 is undefined.
        codes[j] = (high[start + j] << shift) | ((low[start + j] >> _ONE) >> (np.uint64(63) - shift))


@jit
def _follow(code, limit, path, paths, path_values, segments, segment_values, sums):
    """Value of a query along the paths of one position, from a root on; limit: letters that may be compared."""
    while True:
        tail = paths[path, 3]
        ends = tail & _LOW
        end = 64 - leading_zeros(ends)
        depth = min(leading_zeros(code ^ paths[path, 0]) >> 1, end, limit)
        passed = ends & ((_ONE << np.uint64(depth - 1)) - _ONE)
        base, slope = path_values[path, 1], path_values[path, 2]
        segment = np.int64(tail >> _HALF) + popcount(passed)
        if passed != 0:
            base, slope = segment_values[segment, 0], segment_values[segment, 1]
        # A light path may leave where a segment ends.
        if depth < end and depth < limit and (ends >> np.uint64(depth - 1)) & _ONE:
            children = segments[segment, 2]
            side = (children & _LOW) >> ((code >> np.uint64(62 - 2 * depth)) & np.uint64(3))
            if side & _ONE:
                path = np.int64(children >> _HALF) + popcount(side >> _ONE)
                continue
        return base + slope * sums[depth]


@jit
def lookup(forest, words, out):
    """Exact64 forest, words of n queries without ambiguous letters (`pack_words`), out (1 or positions, n)."""
    n = out.shape[1]
    path_values, segment_values = forest.paths.view(np.float64), forest.segments.view(np.float64)
    width, short_shift = level_offset(4, forest.short), np.uint64(64 - 2 * forest.short)
    codes = np.empty(CHUNK, np.uint64)
    step = 1 if out.shape[0] > 1 else 0
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        for p in range(len(forest.roots)):
            i = forest.first + p
            _windows(words, i, start, codes[:size])
            roots, values, sums = forest.roots[p], forest.levels[p, width:], forest.sums[i]
            a, b = forest.path_start[p], forest.segment_start[p]
            paths, path_floats = forest.paths[a:], path_values[a:]
            segments, segment_floats = forest.segments[b:], segment_values[b:]
            target = out[p * step, start : start + size]
            for j in range(size):
                code = codes[j]
                prefix = np.int64(code >> short_shift)
                root = np.int64(roots[prefix])
                if root < 0:
                    target[j] += values[prefix]
                else:
                    target[j] += _follow(code, 32, root, paths, path_floats, segments, segment_floats, sums)


@jit
def lookup_limited(forest, words, rows, runs, out):
    """As `lookup`, only for the queries `rows` (m,), which hold ambiguous letters: runs (L, m) from `valid_runs`."""
    path_values, segment_values = forest.paths.view(np.float64), forest.segments.view(np.float64)
    step = 1 if out.shape[0] > 1 else 0
    for p in range(len(forest.roots)):
        i = forest.first + p
        a, b = forest.path_start[p], forest.segment_start[p]
        for r in range(len(rows)):
            code, limit = window(words, i, rows[r]), runs[i, r]
            k = min(limit, forest.short)
            if k == 0:
                continue
            prefix = np.int64(code >> np.uint64(64 - 2 * k))
            root = np.int64(forest.roots[p, prefix]) if limit > forest.short else -1
            if root < 0:
                out[p * step, rows[r]] += forest.levels[p, level_offset(4, k) + prefix]
            else:
                out[p * step, rows[r]] += _follow(
                    code, limit, root, forest.paths[a:], path_values[a:], forest.segments[b:], segment_values[b:],
                    forest.sums[i],
                )  # fmt: skip


@jit
def _follow_degrees(code, limit, path, start, paths, path_values, segments, segment_values, out, row, j):
    """out[row + k - 1, j] += weight of the query's k-mer, for every k > start on its way."""
    while True:
        tail = paths[path, 3]
        ends, first = tail & _LOW, np.int64(tail >> _HALF)
        end = 64 - leading_zeros(ends)
        depth = min(leading_zeros(code ^ paths[path, 0]) >> 1, end, limit)
        for k in range(start, depth):
            passed = popcount(ends & ((_ONE << np.uint64(k)) - _ONE))
            out[row + k, j] += segment_values[first + passed, 1] if passed > 0 else path_values[path, 2]
        if depth == end or depth == limit or not (ends >> np.uint64(depth - 1)) & _ONE:
            return
        children = segments[first + popcount(ends & ((_ONE << np.uint64(depth - 1)) - _ONE)), 2]
        side = (children & _LOW) >> ((code >> np.uint64(62 - 2 * depth)) & np.uint64(3))
        if not side & _ONE:
            return
        path, start = np.int64(children >> _HALF) + popcount(side >> _ONE), depth


@jit
def lookup_degrees(forest, words, rows, runs, out):
    """Exact64 forest with plain levels; rows (m,), runs (L, m) as in `lookup_limited`; runs (0, 0): all are clean.

    out (degree or positions * degree, n): the part of every degree (and position), degree fastest, beta left out.
    """
    path_values, segment_values = forest.paths.view(np.float64), forest.segments.view(np.float64)
    degree = forest.sums.shape[1] - 1
    step = degree if out.shape[0] > degree else 0
    clean = runs.size == 0
    for begin in range(0, len(rows), CHUNK):
        for p in range(len(forest.roots)):
            i, a, b = forest.first + p, forest.path_start[p], forest.segment_start[p]
            for r in range(begin, min(len(rows), begin + CHUNK)):
                j, code = rows[r], window(words, i, rows[r])
                limit = np.int64(len(forest.sums) - i if clean else runs[i, r])
                for k in range(min(limit, forest.short, degree)):
                    kmer = np.int64(code >> np.uint64(62 - 2 * k))
                    out[p * step + k, j] += forest.levels[p, level_offset(4, k + 1) + kmer]
                if limit > forest.short:
                    root = np.int64(forest.roots[p, np.int64(code >> np.uint64(64 - 2 * forest.short))])
                    if root >= 0:
                        _follow_degrees(
                            code, limit, root, forest.short, forest.paths[a:], path_values[a:], forest.segments[b:],
                            segment_values[b:], out, p * step, j,
                        )  # fmt: skip


@jit
def _letters_root(forest, query, p, limit):
    """Depth, rank of the table entry and root path (-1: none) of a query row at a position, letter by letter."""
    k = rank = 0
    while k < min(limit, forest.short) and query[k] < forest.n_letters:
        rank = rank * forest.n_letters + query[k]
        k += 1
    root = np.int64(forest.roots[p, rank]) if k == forest.short and k < limit else np.int64(-1)
    return k, rank, root


@jit
def _letters_side(forest, paths, children, i, depth, letter):
    """Path of the light child that continues with `letter`, or -1; children are sorted by falling letter."""
    low = np.int64(children >> _HALF)
    high = low + np.int64(children & _LOW) - 1
    while low <= high:
        middle = (low + high) // 2
        found = forest.letters[i + depth, np.int64(paths[middle, 0])]
        if found == letter:
            return middle
        if found > letter:
            low = middle + 1
        else:
            high = middle - 1
    return np.int64(-1)


@jit
def _letters_segment(segments, first, count, depth):
    """The segment that holds `depth`: the first one that ends there or beyond."""
    low, high = first, first + count - 1
    while low < high:
        middle = (low + high) // 2
        if np.int64(segments[middle, 3]) < depth:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def lookup_letters(forest, codes, out, each):
    """Any forest that is not exact64, codes (n, L) uint8 -> as `lookup`, or as `lookup_degrees` if `each`."""
    n, length = codes.shape
    degree = forest.sums.shape[1] - 1
    segment_values = forest.segments.view(np.float64)
    rows_each = degree if each else 1
    step = rows_each if out.shape[0] > rows_each else 0
    for p in range(len(forest.roots)):
        i = forest.first + p
        limit = min(degree, length - i)
        paths, segments = forest.paths[forest.path_start[p] :], forest.segments[forest.segment_start[p] :]
        values = segment_values[forest.segment_start[p] :]
        row = p * step
        for j in range(n):
            query = codes[j, i:]
            depth, rank, path = _letters_root(forest, query, p, limit)
            if each:
                for k in range(depth, 0, -1):
                    out[row + k - 1, j] += forest.levels[p, level_offset(forest.n_letters, k) + rank]
                    rank //= forest.n_letters
            elif path < 0 and depth > 0:
                out[row, j] += forest.levels[p, level_offset(forest.n_letters, depth) + rank]
            while path >= 0:
                support = np.int64(paths[path, 0])
                first, count = np.int64(paths[path, 3] >> _HALF), np.int64(paths[path, 3] & _LOW)
                begin, end = depth, np.int64(segments[first + count - 1, 3])
                while depth < end and query[depth] == forest.letters[i + depth, support]:
                    depth += 1
                segment = _letters_segment(segments, first, count, depth)
                if each:
                    for k in range(begin, depth):
                        out[row + k, j] += values[_letters_segment(segments, first, count, k + 1), 1]
                path = np.int64(-1)
                if depth < end and depth == np.int64(segments[segment, 3]):
                    path = _letters_side(forest, paths, segments[segment, 2], i, depth, query[depth])
                if path < 0 and not each:
                    out[row, j] += values[segment, 0] + values[segment, 1] * forest.sums[i, depth]
