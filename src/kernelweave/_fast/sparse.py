"""Products of sparse rows: ids (E,) int32, counts (E,), starts (n + 1,); row r has starts[r] : starts[r + 1]."""

import numpy as np

from kernelweave._fast import jit


@jit
def scatter(ids, counts, starts, rows, coef, normal):
    """normal[ids] += coef_r * counts, for the rows (q,) with coef (q,): the papers' add."""
    for q in range(len(rows)):
        for e in range(starts[rows[q]], starts[rows[q] + 1]):
            normal[ids[e]] += coef[q] * counts[e]


@jit
def gather(ids, counts, starts, normal, first, out):
    """out[i] = inner product of row first + i with normal, out (m,): the papers' lookup."""
    for i in range(len(out)):
        total = 0.0
        for e in range(starts[first + i], starts[first + i + 1]):
            total += counts[e] * normal[ids[e]]
        out[i] = total


@jit
def few_rows(ids, counts, starts, rows, cols, scratch, out):
    """Inner products of some rows with some others -> out (q, p); scratch (V,) is all zero before and after."""
    for q in range(len(rows)):
        low, high = starts[rows[q]], starts[rows[q] + 1]
        for e in range(low, high):
            scratch[ids[e]] = counts[e]
        for p in range(len(cols)):
            total = 0.0
            for e in range(starts[cols[p]], starts[cols[p] + 1]):
                total += counts[e] * scratch[ids[e]]
            out[q, p] = total
        for e in range(low, high):
            scratch[ids[e]] = 0.0


@jit
def take(ids, counts, starts, rows):
    """The same for some rows only -> ids, counts, starts."""
    new_starts = np.zeros(len(rows) + 1, np.int64)
    for q in range(len(rows)):
        new_starts[q + 1] = new_starts[q] + starts[rows[q] + 1] - starts[rows[q]]
    new_ids, new_counts = np.empty(new_starts[-1], ids.dtype), np.empty(new_starts[-1], counts.dtype)
    for q in range(len(rows)):
        shift = starts[rows[q]] - new_starts[q]
        for e in range(new_starts[q], new_starts[q + 1]):
            new_ids[e], new_counts[e] = ids[e + shift], counts[e + shift]
    return new_ids, new_counts, new_starts


@jit
def transpose(ids, counts, starts, n_columns):
    """By feature -> rows (E,) int32, values (E,), starts (V + 1,): which rows have feature u, and how often."""
    new_starts = np.zeros(n_columns + 2, np.int64)
    for e in range(starts[0], starts[-1]):
        new_starts[ids[e] + 2] += 1
    for u in range(n_columns):
        new_starts[u + 2] += new_starts[u + 1]
    rows, values = np.empty(starts[-1] - starts[0], np.int32), np.empty(starts[-1] - starts[0], counts.dtype)
    for r in range(len(starts) - 1):
        for e in range(starts[r], starts[r + 1]):
            place = new_starts[ids[e] + 1]
            rows[place], values[place] = r, counts[e]
            new_starts[ids[e] + 1] = place + 1
    return rows, values, new_starts[:-1]


@jit
def inverted_block(ids, counts, starts, first, rows, values, by_feature, out):
    """Inner products of rows first, first + 1, ... with transposed ones, added to out (m, p): shared features only."""
    for i in range(len(out)):
        row = out[i]
        for e in range(starts[first + i], starts[first + i + 1]):
            weight = np.float64(counts[e])
            for t in range(by_feature[ids[e]], by_feature[ids[e] + 1]):
                row[rows[t]] += weight * values[t]


@jit
def inverted_square(ids, counts, starts, rows, values, by_feature, reached, first, last, out):
    """The same for rows first to last of all pairs of one set, out (n, n): each pair once, below the diagonal.

    Rows of a feature are in order; `reached` (V + 1,) says how far the rows before `first` go: by_feature at first.
    """
    for i in range(first, last):
        row = out[i]
        for e in range(starts[i], starts[i + 1]):
            weight = np.float64(counts[e])
            reached[ids[e]] += 1
            for t in range(by_feature[ids[e]], reached[ids[e]]):
                row[rows[t]] += weight * values[t]


@jit
def mirror(out):
    """Out (n, n): what is below the diagonal is written above it, too."""
    for i in range(len(out)):
        for j in range(i):
            out[j, i] = out[i, j]


@jit
def spread(ids, counts, starts, first, out):
    """Rows first, first + 1, ... as a dense matrix -> out (m, V), zero before."""
    for i in range(len(out)):
        for e in range(starts[first + i], starts[first + i + 1]):
            out[i, ids[e]] = counts[e]
