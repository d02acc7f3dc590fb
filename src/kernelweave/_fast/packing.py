"""Letters to codes, codes to two bits, and back. Rows are byte aligned, the first letter in the highest bits."""

import numpy as np

from . import jit


@jit
def histogram(text):
    """Count every byte value of text (N,) uint8; returns (256,) int64."""
    # Four tables: a run of one letter would otherwise wait for its own last store.
    parts = np.zeros((4, 256), np.int64)
    n = text.size // 4 * 4
    for i in range(0, n, 4):
        parts[0, text[i]] += 1
        parts[1, text[i + 1]] += 1
        parts[2, text[i + 2]] += 1
        parts[3, text[i + 3]] += 1
    for i in range(n, text.size):
        parts[0, text[i]] += 1
    for value in range(256):  # by hand: parts.sum(axis=0) takes seconds to compile
        parts[0, value] += parts[1, value] + parts[2, value] + parts[3, value]
    return parts[0]


@jit
def translate(text, table, out):
    """out[i] = table[text[i]]; text and out (N,) uint8, table (256,) uint8."""
    for i in range(text.size):
        out[i] = table[text[i]]


@jit
def pack(text, table, offsets, out, starts):
    """Pack row r = table[text[offsets[r]:offsets[r + 1]]] into out[starts[r]:starts[r + 1]], codes taken mod 4."""
    for r in range(offsets.size - 1):
        i, stop, o = offsets[r], offsets[r + 1], starts[r]
        while i + 4 <= stop:
            out[o] = (
                (table[text[i]] & 3) << 6
                | (table[text[i + 1]] & 3) << 4
                | (table[text[i + 2]] & 3) << 2
                | (table[text[i + 3]] & 3)
            )
            i += 4
            o += 1
        if i < stop:
            byte, shift = 0, 6
            while i < stop:
                byte |= (table[text[i]] & 3) << shift
                shift -= 2
                i += 1
            out[o] = byte


@jit
def unpack(packed, starts, offsets, out):
    """Inverse of `pack`: row r of packed, from byte starts[r], into the codes out[offsets[r]:offsets[r + 1]]."""
    for r in range(offsets.size - 1):
        i, stop, o = offsets[r], offsets[r + 1], starts[r]
        while i + 4 <= stop:
            byte = packed[o]
            out[i] = byte >> 6
            out[i + 1] = (byte >> 4) & 3
            out[i + 2] = (byte >> 2) & 3
            out[i + 3] = byte & 3
            i += 4
            o += 1
        shift = 6
        while i < stop:
            out[i] = (packed[o] >> shift) & 3
            shift -= 2
            i += 1


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
