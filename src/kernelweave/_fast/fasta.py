"""Whole FASTA records to letters and spans, one pass over the bytes."""

import numpy as np

from . import jit


@jit
def split_records(block, ends, text, offsets, heads):
    """Split whole records: letters to text, offsets (n + 1,), header spans heads (n, 2); returns the records found.

    ends (lines,) holds the positions of the line ends, the last of them the size of block; n may be larger than needed.
    Blanks and tabs around a sequence line are dropped, empty lines too; bytes before the first header are ignored.
    """
    after, filled, record = 0, 0, -1
    for line in range(ends.size):
        start, stop = after, ends[line]
        after = stop + 1
        if start == stop:
            continue
        if block[start] == 62:
            record += 1
            offsets[record] = filled
            heads[record, 0] = start + 1
            heads[record, 1] = stop
        elif record >= 0:
            while start < stop and (block[start] == 32 or block[start] == 9):
                start += 1
            while stop > start and (block[stop - 1] == 32 or block[stop - 1] == 9):
                stop -= 1
            source, target = block[start:stop], text[filled : filled + stop - start]
            for j in range(stop - start):  # an index known to be positive: the compiler makes this a block copy
                target[j] = source[j]
            filled += stop - start
    offsets[record + 1] = filled
    return record + 1


@jit
def hash_ids(block, heads):
    """64-bit FNV-1a of every header's first word; heads (n, 2) spans into block; returns (n,) uint64."""
    out = np.empty(heads.shape[0], np.uint64)
    for r in range(heads.shape[0]):
        value = np.uint64(14695981039346656037)
        start = heads[r, 0]
        while start < heads[r, 1] and (block[start] == 32 or block[start] == 9):
            start += 1
        for i in range(start, heads[r, 1]):
            byte = block[i]
            if byte == 32 or byte == 9:
                break
            value = (value ^ np.uint64(byte)) * np.uint64(1099511628211)
        out[r] = value
    return out


@jit
def join_heads(block, heads, first_word, out):
    """Write the headers (or their first words), blanks around them dropped, each followed by LF; returns the bytes."""
    at = 0
    for r in range(heads.shape[0]):
        start, stop = heads[r, 0], heads[r, 1]
        while start < stop and (block[start] == 32 or block[start] == 9):
            start += 1
        while stop > start and (block[stop - 1] == 32 or block[stop - 1] == 9):
            stop -= 1
        for i in range(start, stop):
            if first_word and (block[i] == 32 or block[i] == 9):
                break
            out[at] = block[i]
            at += 1
        out[at] = 10
        at += 1
    return at
