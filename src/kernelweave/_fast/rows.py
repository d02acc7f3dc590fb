"""Rows of a kernel matrix that are kept: their products with what changed."""

from kernelweave._fast import jit, jit_fastmath

#: Columns that stay in the first-level cache while all rows pass by.
TILE = 1024


@jit_fastmath
def add_rows(kept, slots, change, first, last, f):
    """Kept (s, n), slots (q,), change (q,): f[first:last] += sum_r change[r] * kept[slots[r], first:last]."""
    for start in range(first, last, TILE):
        stop = min(last, start + TILE)
        target = f[start:stop]
        whole = len(slots) - len(slots) % 4
        for r in range(0, whole, 4):  # four at a time: sums are read and written a quarter as often
            row0, row1 = kept[slots[r], start:stop], kept[slots[r + 1], start:stop]
            row2, row3 = kept[slots[r + 2], start:stop], kept[slots[r + 3], start:stop]
            step0, step1, step2, step3 = change[r], change[r + 1], change[r + 2], change[r + 3]
            for j in range(len(target)):
                target[j] += (step0 * row0[j] + step1 * row1[j]) + (step2 * row2[j] + step3 * row3[j])
        for r in range(whole, len(slots)):
            row, step = kept[slots[r], start:stop], change[r]
            for j in range(len(target)):
                target[j] += step * row[j]


@jit
def put_columns(block, slots, cols, kept):
    """Block (r, c): kept[slots[i], cols[j]] = block[i, j]."""
    for i in range(len(slots)):
        row, values = kept[slots[i]], block[i]
        for j in range(len(cols)):
            row[cols[j]] = values[j]
