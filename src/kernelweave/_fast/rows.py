"""Rows of a kernel matrix that are kept: their products with what changed."""

from kernelweave._fast import jit_fastmath

#: Columns that stay in the first-level cache while all rows pass by.
TILE = 1024


@jit_fastmath
def add_rows(kept, slots, change, first, last, f):
    """Kept (s, n), slots (q,), change (q,): f[first:last] += sum_r change[r] * kept[slots[r], first:last]."""
    for start in range(first, last, TILE):
        stop = min(last, start + TILE)
        target = f[start:stop]
        for r in range(len(slots)):
            row, step = kept[slots[r], start:stop], change[r]
            for j in range(len(target)):
                target[j] += step * row[j]
