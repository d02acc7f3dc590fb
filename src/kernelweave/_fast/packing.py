"""Letters to codes, codes to two bits, and back. Rows are byte aligned, the first letter in the highest bits."""

import numpy as np

from . import jit


@jit
def _count(text, parts):
    """Add the count of every byte value of text (N,) uint8 to parts (4, 256), whose sum it is."""
    n = text.size // 4 * 4
    for i in range(0, n, 4):
        parts[0, text[i]] += 1
        parts[1, text[i + 1]] += 1
        parts[2, text[i + 2]] += 1
        parts[3, text[i + 3]] += 1
    for i in range(n, text.size):
        parts[0, text[i]] += 1


def histogram(text):
    """Count every byte value of text (N,) uint8; returns (256,) int64."""
    # Four tables: a run of one letter would otherwise wait for its own last store.
    parts = np.zeros((4, 256), np.int64)
    _count(text, parts)
    return parts.sum(axis=0)


@jit
def translate(text, table, out):
    """out[i] = table[text[i]]; text and out (N,) uint8, table (256,) uint8."""
    for i in range(text.size):
        out[i] = table[text[i]]


@jit
def pack(text, table, offsets, out, starts):
    """Pack row r = table[text[offsets[r]:offsets[r + 1]]] into out[starts[r]:starts[r + 1]], codes taken mod 4."""
    for r in range(offsets.size - 1):
        o, byte, room = starts[r], 0, 4
        for i in range(offsets[r], offsets[r + 1]):
            byte = byte << 2 | (table[text[i]] & 3)
            room -= 1
            if room == 0:
                out[o] = byte
                o, byte, room = o + 1, 0, 4
        if room < 4:
            out[o] = byte << 2 * room


@jit
def unpack(packed, starts, offsets, out):
    """Inverse of `pack`: row r of packed, from byte starts[r], into the codes out[offsets[r]:offsets[r + 1]]."""
    for r in range(offsets.size - 1):
        first, o = offsets[r], starts[r]
        for i in range(offsets[r + 1] - first):
            out[first + i] = (packed[o + (i >> 2)] >> (6 - 2 * (i & 3))) & 3


@jit
def gather(source, begins, out, offsets):
    """Copy row r, source[begins[r]:...], into out[offsets[r]:offsets[r + 1]]."""
    for r in range(offsets.size - 1):
        size = offsets[r + 1] - offsets[r]
        row, target = source[begins[r] : begins[r] + size], out[offsets[r] : offsets[r + 1]]
        for i in range(size):  # an index known to be positive: the compiler makes this a block copy
            target[i] = row[i]


@jit
def reverse_rows(codes, table, offsets, out):
    """Write every row of codes backwards and through table (256,) uint8 into out."""
    for r in range(offsets.size - 1):
        mirror = offsets[r] + offsets[r + 1] - 1
        for i in range(offsets[r], offsets[r + 1]):
            out[i] = table[codes[mirror - i]]
