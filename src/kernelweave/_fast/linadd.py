"""Scores from a forest: score(x) = sum over positions of what x's letters from there on are worth (see `forest`).

Queries pass position by position in large chunks, so that the table and tries of one position stay in the cache.
`out` has one row, or one row per position of the forest; every function adds to it.
"""

from collections import namedtuple

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import ambiguous_rows, leading_zeros, pack_words, popcount, prefetch, valid_runs
from kernelweave._fast.forest import level_offset

#: Queries per pass, at least.
SMALL_CHUNK = 4096

#: Queries as an exact64 forest reads them: words (`pack_words`), rows with ambiguous letters, their `valid_runs`.
Packed = namedtuple("Packed", "words doubtful runs")

#: Paths to fetch ahead of the one in hand.
AHEAD = 16

_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_HALF = np.uint64(32)


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
        heads[n_pending] = roots[prefix] >> 4
        n_pending += (np.uint64(roots[prefix]) >> ((code >> (short - _TWO)) & _THREE)) & _ONE
    return np.int64(n_pending)


@jit
def _read_paths(rows, offset, sums, target, pending, codes, heads, n_pending):
    """One path for every pending query; returns how many of them go on to a lighter path.

    rows: the paths of a position from row 0 on, its segments from row `offset` on. Rows are chosen, not branched to.
    """
    values = rows.view(np.float64)
    kept = np.uint64(0)
    for t in range(n_pending):
        prefetch(rows, np.int64(heads[min(t + AHEAD, n_pending - 1)]))
        path, code = np.uint64(heads[t]), codes[t]
        tail = rows[path, 3]
        ends = tail & _LOW
        end = 64 - leading_zeros(ends)
        depth = np.uint64(min(leading_zeros(code ^ rows[path, 0]) >> 1, end))
        passed = ends & ((_ONE << (depth - _ONE)) - _ONE)
        segment = offset + (tail >> _HALF) + np.uint64(popcount(passed))
        row = segment if passed != 0 else path
        value = values[row, 1] + values[row, 2] * sums[depth]
        # A lighter path may leave where a segment ends, except at the end of the whole path.
        branches = (ends >> (depth - _ONE)) & _ONE & np.uint64(depth < end)
        children = rows[segment if branches != 0 else path, 0]
        side = (children & _LOW) >> ((code << (_TWO * min(depth, np.uint64(31)))) >> np.uint64(62))
        leaves = side & branches
        j = pending[t]
        target[j] += value if leaves == 0 else 0.0
        pending[kept] = j
        codes[kept] = code
        heads[kept] = np.int32(children >> _HALF) + np.int32(popcount(side >> _ONE))
        kept += leaves
    return np.int64(kept)


@jit
def lookup(forest, words, out):
    """Exact64 forest, words of n queries without ambiguous letters (`pack_words`), out (1 or positions, n)."""
    n = out.shape[1]
    width, short = level_offset(np.int64(4), forest.short), np.uint64(64 - 2 * forest.short)
    # The larger a table, the more queries must share it while it is in the cache.
    chunk = max(1, min(n, max(SMALL_CHUNK, 4 * forest.roots.shape[1])))
    codes, pending, heads = np.empty(chunk, np.uint64), np.empty(chunk, np.int32), np.empty(chunk, np.int32)
    step = 1 if out.shape[0] > 1 else 0
    for start in range(0, n, chunk):
        stop = min(n, start + chunk)
        for p in range(len(forest.roots)):
            i, a = forest.first + p, forest.path_start[p]
            target = out[p * step, start:stop]
            high, low = words[i // 32, start:stop], words[i // 32 + 1, start:stop]
            n_pending = _read_table(
                high, low, np.uint64(2 * (i % 32)), short, forest.levels[p, width:], forest.roots[p], target, pending,
                codes, heads,
            )  # fmt: skip
            offset = np.uint64(forest.segment_start[p] - a)
            while n_pending > 0:
                n_pending = _read_paths(
                    forest.rows[a:], offset, forest.sums[i], target, pending, codes, heads, n_pending
                )


@jit
def pack_places(codes):
    """DNA codes (N,) uint8 -> places (N,) uint64: 32 letters from every place on, unknown and missing ones as 0."""
    places = np.empty(len(codes), np.uint64)
    code = np.uint64(0)
    for i in range(len(codes) - 1, -1, -1):
        letter = np.uint64(codes[i]) if codes[i] < 4 else np.uint64(0)
        code = (code >> _TWO) | (letter << np.uint64(62))
        places[i] = code
    return places


@jit
def slide(forest, places, starts, out):
    """Exact64 forest, places of a sequence (`pack_places`): out (n,) += scores of the windows from starts (n,) on.

    A window reads the same places as its neighbour, one further on: no window is ever cut out.
    """
    n = len(starts)
    width, short = level_offset(np.int64(4), forest.short), np.uint64(64 - 2 * forest.short)
    chunk = max(1, min(n, max(SMALL_CHUNK, 4 * forest.roots.shape[1])))
    codes, pending, heads = np.empty(chunk, np.uint64), np.empty(chunk, np.int32), np.empty(chunk, np.int32)
    high = np.empty(chunk, np.uint64)
    for start in range(0, n, chunk):
        stop = min(n, start + chunk)
        target, letters = out[start:stop], high[: stop - start]
        for p in range(len(forest.roots)):
            i, a = forest.first + p, forest.path_start[p]
            for j in range(stop - start):
                letters[j] = places[starts[start + j] + i]
            n_pending = _read_table(
                letters, letters, np.uint64(0), short, forest.levels[p, width:], forest.roots[p], target, pending,
                codes, heads,
            )  # fmt: skip
            offset = np.uint64(forest.segment_start[p] - a)
            while n_pending > 0:
                n_pending = _read_paths(
                    forest.rows[a:], offset, forest.sums[i], target, pending, codes, heads, n_pending
                )


@jit
def _window(words, i, j):
    """The 32 letters from position i on of query j."""
    shift = np.uint64(2 * (i % 32))
    return (words[i // 32, j] << shift) | ((words[i // 32 + 1, j] >> _ONE) >> (np.uint64(63) - shift))


@jit
def _follow(code, limit, path, start, rows, offset, each, out, row, j):
    """The way of one query along the paths from a root on, at depth start; limit: letters that may be compared.

    Returns the row of its last segment and its last depth. If each, out[row + k - 1, j] += weight of its k-mer for
    every k > start on the way.
    """
    values = rows.view(np.float64)
    while True:
        tail = rows[path, 3]
        ends, first = tail & _LOW, np.int64(tail >> _HALF) + offset
        end = 64 - leading_zeros(ends)
        depth = min(leading_zeros(code ^ rows[path, 0]) >> 1, end, limit)
        if each:
            for k in range(start, depth):
                passed = popcount(ends & ((_ONE << np.uint64(k)) - _ONE))
                out[row + k, j] += values[first + passed if passed > 0 else path, 2]
        passed = popcount(ends & ((_ONE << np.uint64(depth - 1)) - _ONE))
        here = first + passed if passed > 0 else path
        if depth >= min(end, limit) or not (ends >> np.uint64(depth - 1)) & _ONE:
            return here, depth
        children = rows[first + passed, 0]
        side = (children & _LOW) >> ((code >> np.uint64(62 - 2 * depth)) & _THREE)
        if not side & _ONE:
            return here, depth
        path, start = np.int64(children >> _HALF) + popcount(side >> _ONE), depth


@jit
def lookup_limited(forest, words, queries, runs, out):
    """As `lookup`, only for the rows `queries` (m,), which hold ambiguous letters: runs (L, m) from `valid_runs`."""
    values = forest.rows.view(np.float64)
    step = 1 if out.shape[0] > 1 else 0
    for p in range(len(forest.roots)):
        i, a = forest.first + p, forest.path_start[p]
        for r in range(len(queries)):
            j, limit = queries[r], np.int64(runs[i, r])
            k = min(limit, forest.short)
            if k == 0:
                continue
            code = _window(words, i, j)
            prefix = np.int64(code >> np.uint64(64 - 2 * k))
            out[p * step, j] += forest.levels[p, level_offset(np.int64(4), k) + prefix]
            root = np.int64(forest.roots[p, prefix]) if limit > k else 0
            if root > 0:
                offset = forest.segment_start[p] - a
                row, depth = _follow(code, limit, root >> 4, k, forest.rows[a:], offset, False, out, 0, j)
                out[p * step, j] += values[a + row, 1] + values[a + row, 2] * forest.sums[i, depth]


@jit
def lookup_degrees(forest, words, queries, runs, out):
    """Exact64 forest with plain levels; queries (m,), runs (L, m) as in `lookup_limited`; runs (0, 0): all are clean.

    out (degree or positions * degree, n): the part of every degree (and position), degree fastest, beta left out.
    """
    degree, short = forest.sums.shape[1] - 1, forest.short
    step = degree if out.shape[0] > degree else 0
    clean = runs.size == 0
    for begin in range(0, len(queries), SMALL_CHUNK):
        for p in range(len(forest.roots)):
            i, a = forest.first + p, forest.path_start[p]
            for r in range(begin, min(len(queries), begin + SMALL_CHUNK)):
                j = queries[r]
                code = _window(words, i, j)
                limit = np.int64(len(forest.sums) - i if clean else runs[i, r])
                for k in range(min(limit, short, degree)):
                    kmer = np.int64(code >> np.uint64(62 - 2 * k))
                    out[p * step + k, j] += forest.levels[p, level_offset(np.int64(4), k + 1) + kmer]
                root = np.int64(forest.roots[p, np.int64(code >> np.uint64(64 - 2 * short))]) if limit > short else 0
                if root > 0:
                    offset = forest.segment_start[p] - a
                    _follow(code, limit, root >> 4, short, forest.rows[a:], offset, True, out, p * step, j)


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
def _letters_side(forest, rows, children, i, depth, letter):
    """Path of the light child that continues with `letter`, or -1; children are sorted by falling letter."""
    low = np.int64(children >> _HALF)
    high = low + np.int64(children & _LOW) - 1
    while low <= high:
        middle = (low + high) // 2
        found = forest.letters[i + depth, np.int64(rows[middle, 0])]
        if found == letter:
            return middle
        if found > letter:
            low = middle + 1
        else:
            high = middle - 1
    return np.int64(-1)


@jit
def _letters_segment(rows, first, count, depth):
    """Row of the segment that holds `depth`: the first one that ends there or beyond."""
    low, high = first, first + count - 1
    while low < high:
        middle = (low + high) // 2
        if np.int64(rows[middle, 3]) < depth:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def lookup_letters(forest, codes, out, each):
    """Any forest that is not exact64, codes (n, L) uint8 -> as `lookup`, or as `lookup_degrees` if `each`."""
    n, length = codes.shape
    degree = forest.sums.shape[1] - 1
    all_values = forest.rows.view(np.float64)
    rows_each = degree if each else 1
    step = rows_each if out.shape[0] > rows_each else 0
    for p in range(len(forest.roots)):
        i = forest.first + p
        limit = min(degree, length - i)
        a, offset = forest.path_start[p], forest.segment_start[p] - forest.path_start[p]
        rows, values = forest.rows[a:], all_values[a:]
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
                support = np.int64(rows[path, 0])
                first, count = np.int64(rows[path, 3] >> _HALF) + offset, np.int64(rows[path, 3] & _LOW)
                begin, end = depth, np.int64(rows[first + count - 1, 3])
                while depth < end and query[depth] == forest.letters[i + depth, support]:
                    depth += 1
                segment = _letters_segment(rows, first, count, depth)
                if each:
                    for k in range(begin, depth):
                        out[row + k, j] += values[_letters_segment(rows, first, count, k + 1), 2]
                path = np.int64(-1)
                if depth < end and depth == np.int64(rows[segment, 3]):
                    path = _letters_side(forest, rows, rows[segment, 0], i, depth, query[depth])
                if path < 0 and not each:
                    out[row, j] += values[segment, 1] + values[segment, 2] * forest.sums[i, depth]


def pack_queries(codes):
    """DNA codes (n, L) uint8 -> what an exact64 forest looks up."""
    doubtful = ambiguous_rows(codes, 4)
    return Packed(pack_words(codes), doubtful, valid_runs(codes, doubtful, 4))


def pack_rows(rows, length):
    """Packed DNA (n, bytes), four letters a byte -> words (ceil(length / 32) + 1, n), as `pack_words` has them."""
    words = np.zeros((len(rows), 8 * ((length + 31) // 32 + 1)), np.uint8)
    words[:, : rows.shape[1]] = rows
    return np.ascontiguousarray(words.view(">u8").T, np.uint64)


def take_queries(packed, start, stop):
    """The queries start .. stop - 1 of a `Packed`."""
    low, high = np.searchsorted(packed.doubtful, (start, stop))
    words, runs = packed.words[:, start:stop].copy(), packed.runs[:, low:high].copy()
    return Packed(words, packed.doubtful[low:high] - start, runs)


def add_scores(forest, queries, out):
    """Any forest with summed levels, queries codes (n, L) uint8 or `Packed`: out (1 or positions, n) += scores."""
    if not forest.exact64:
        lookup_letters(forest, queries, out, False)
        return
    words, doubtful, runs = queries if isinstance(queries, Packed) else pack_queries(queries)
    before = out[:, doubtful]
    lookup(forest, words, out)
    if len(doubtful):
        out[:, doubtful] = before
        lookup_limited(forest, words, doubtful, runs, out)


def add_degree_scores(forest, queries, out):
    """As `add_scores`, plain levels: out (degree or positions * degree, n) += the part of every degree."""
    if not forest.exact64:
        lookup_letters(forest, queries, out, True)
        return
    words, doubtful, runs = queries if isinstance(queries, Packed) else pack_queries(queries)
    clean = np.setdiff1d(np.arange(words.shape[1]), doubtful, assume_unique=True)
    lookup_degrees(forest, words, clean, np.zeros((0, 0), np.int32), out)
    if len(doubtful):
        lookup_degrees(forest, words, doubtful, runs, out)
