"""Scores from a forest: score(x) = sum over positions of what x's letters from there on are worth (see `forest`).

Queries pass position by position in large chunks, so that the table and tries of one position stay in the cache.
`out` has one row, or one row per position of the forest; every function adds to it.
"""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import leading_zeros, popcount, prefetch
from kernelweave._fast.forest import level_offset

#: Queries per pass, at least.
SMALL_CHUNK = 4096

#: Paths to fetch ahead of the one in hand.
AHEAD = 16

_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_HALF = np.uint64(32)


@jit
def _follow(code, limit, path, paths, path_values, segments, segment_values, sums):
    """Value of a query beyond the table, along the paths from a root on; limit: letters that may be compared."""
    path = np.uint64(path)  # unsigned: an index that may be negative costs a test at every read
    while True:
        tail = paths[path, 3]
        ends = tail & _LOW
        end = 64 - leading_zeros(ends)
        depth = np.uint64(min(leading_zeros(code ^ paths[path, 0]) >> 1, end, limit))
        passed = ends & ((_ONE << (depth - _ONE)) - _ONE)
        base, slope = path_values[path, 1], path_values[path, 2]
        segment = (tail >> _HALF) + np.uint64(popcount(passed))
        if passed != 0:
            base, slope = segment_values[segment, 0], segment_values[segment, 1]
        # A light path may leave where a segment ends.
        if (ends >> (depth - _ONE)) & _ONE and depth < end and depth < limit:
            children = segments[segment, 2]
            side = (children & _LOW) >> ((code >> (np.uint64(62) - _TWO * depth)) & _THREE)
            if side & _ONE:
                path = (children >> _HALF) + np.uint64(popcount(side >> _ONE))
                continue
        return base + slope * sums[depth]


@jit
def _read_table(high, low, shift, short, values, roots, target, pending, codes, heads):
    """Table values of one position into target (n,); returns how many queries go on below the table.

    high, low (n,) hold the letters, which start `shift` bits below the top. pending, codes: those that go on. Whether
    one goes on is added, not asked: a branch here would be guessed wrong too often.
    """
    n_pending = np.uint64(0)
    rest = np.uint64(63) - shift
    for j in range(len(target)):
        # Two shifts, because a shift by 64 is undefined.
        code = (high[j] << shift) | ((low[j] >> _ONE) >> rest)
        prefix = code >> short
        target[j] += values[prefix]
        pending[n_pending] = j
        codes[n_pending] = code
        heads[n_pending] = roots[prefix]
        n_pending += (np.uint64(roots[prefix]) >> ((code >> (short - _TWO)) & _THREE)) & _ONE
    return np.int64(n_pending)


@jit
def lookup(forest, words, out):
    """Exact64 forest, words of n queries without ambiguous letters (`pack_words`), out (1 or positions, n)."""
    n = out.shape[1]
    path_values, segment_values = forest.paths.view(np.float64), forest.segments.view(np.float64)
    width, short = level_offset(4, forest.short), np.uint64(64 - 2 * forest.short)
    # The larger a table, the more queries must share it while it is in the cache.
    chunk = min(n, max(SMALL_CHUNK, 4 * forest.roots.shape[1]))
    codes, pending, heads = np.empty(chunk, np.uint64), np.empty(chunk, np.int32), np.empty(chunk, np.int32)
    step = 1 if out.shape[0] > 1 else 0
    for start in range(0, n, chunk):
        stop = min(n, start + chunk)
        for p in range(len(forest.roots)):
            i = forest.first + p
            roots, sums = forest.roots[p], forest.sums[i]
            a, b = forest.path_start[p], forest.segment_start[p]
            target = out[p * step, start:stop]
            high, low = words[i // 32, start:stop], words[i // 32 + 1, start:stop]
            n_pending = _read_table(
                high,
                low,
                np.uint64(2 * (i % 32)),
                short,
                forest.levels[p, width:],
                roots,
                target,
                pending,
                codes,
                heads,
            )
            paths = forest.paths[a:]
            for t in range(n_pending):
                prefetch(paths, np.int64(heads[min(t + AHEAD, n_pending - 1)] >> 4))
                target[pending[t]] += _follow(
                    codes[t],
                    32,
                    np.uint64(heads[t]) >> np.uint64(4),
                    paths,
                    path_values[a:],
                    forest.segments[b:],
                    segment_values[b:],
                    sums,
                )


@jit
def _window(words, i, j):
    """The 32 letters from position i on of query j."""
    shift = np.uint64(2 * (i % 32))
    return (words[i // 32, j] << shift) | ((words[i // 32 + 1, j] >> _ONE) >> (np.uint64(63) - shift))


@jit
def lookup_limited(forest, words, rows, runs, out):
    """As `lookup`, only for the queries `rows` (m,), which hold ambiguous letters: runs (L, m) from `valid_runs`."""
    path_values, segment_values = forest.paths.view(np.float64), forest.segments.view(np.float64)
    step = 1 if out.shape[0] > 1 else 0
    for p in range(len(forest.roots)):
        i = forest.first + p
        a, b = forest.path_start[p], forest.segment_start[p]
        for r in range(len(rows)):
            code, limit = _window(words, i, rows[r]), runs[i, r]
            k = min(limit, forest.short)
            if k == 0:
                continue
            prefix = np.int64(code >> np.uint64(64 - 2 * k))
            out[p * step, rows[r]] += forest.levels[p, level_offset(4, k) + prefix]
            root = forest.roots[p, prefix] if limit > forest.short else 0
            if root > 0:
                out[p * step, rows[r]] += _follow(
                    code, limit, root >> 4, forest.paths[a:], path_values[a:], forest.segments[b:], segment_values[b:],
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
        side = (children & _LOW) >> ((code >> np.uint64(62 - 2 * depth)) & _THREE)
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
    for begin in range(0, len(rows), SMALL_CHUNK):
        for p in range(len(forest.roots)):
            i, a, b = forest.first + p, forest.path_start[p], forest.segment_start[p]
            for r in range(begin, min(len(rows), begin + SMALL_CHUNK)):
                j, code = rows[r], _window(words, i, rows[r])
                limit = np.int64(len(forest.sums) - i if clean else runs[i, r])
                for k in range(min(limit, forest.short, degree)):
                    kmer = np.int64(code >> np.uint64(62 - 2 * k))
                    out[p * step + k, j] += forest.levels[p, level_offset(4, k + 1) + kmer]
                if limit > forest.short:
                    root = forest.roots[p, np.int64(code >> np.uint64(64 - 2 * forest.short))]
                    if root > 0:
                        _follow_degrees(
                            code, limit, root >> 4, forest.short, forest.paths[a:], path_values[a:], forest.segments[b:],
                            segment_values[b:], out, p * step, j,
                        )  # fmt: skip


@jit
def _letters_root(forest, query, p, limit):
    """Depth, number of the table entry and root path (-1: none) of a query at a position, letter by letter."""
    k = rank = 0
    while k < min(limit, forest.short) and query[k] < forest.n_letters:
        rank = rank * forest.n_letters + query[k]
        k += 1
    root = forest.roots[p, rank] if k == forest.short and k < limit else 0
    return k, rank, np.int64(root >> 4 if root > 0 else -1)


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
            elif depth > 0:
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
