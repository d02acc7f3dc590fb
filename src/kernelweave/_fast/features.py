"""Features of many sequences as numbers: with repeats, row by row (`*_keys`), then counted and numbered.

Sequences lie one after the other in codes (N,) uint8: sequence r is codes[offsets[r] : offsets[r + 1]], offsets[0] = 0.
A code below `size` is a letter of `bits` bits; any other is unknown, and words that hold one are left out. All
`*_keys` return keys (M,) uint64 and starts (n + 1,) int64: row r has keys[starts[r] : starts[r + 1]].
"""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.tables import FREE, enlarged, find


@jit
def spectrum_keys(codes, offsets, k, bits, size):
    """All k-mers, the first letter on top."""
    n = len(offsets) - 1
    keys, starts = np.empty(len(codes), np.uint64), np.zeros(n + 1, np.int64)
    step, mask = np.uint64(bits), np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - k * bits)
    m = 0
    for r in range(n):
        run, key = 0, np.uint64(0)
        for i in range(offsets[r], offsets[r + 1]):
            key = ((key << step) | np.uint64(codes[i])) & mask
            run = run + 1 if codes[i] < size else 0
            if run >= k:
                keys[m] = key
                m += 1
        starts[r + 1] = m
    return keys[:m], starts


@jit
def canonical_keys(codes, offsets, k, bits, size, complement):
    """All k-mers, each as itself or as its reverse complement, whichever is the smaller number; complement (256,)."""
    n = len(offsets) - 1
    keys, starts = np.empty(len(codes), np.uint64), np.zeros(n + 1, np.int64)
    step, top = np.uint64(bits), np.uint64(bits * (k - 1))
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - k * bits)
    m = 0
    for r in range(n):
        run, key, other = 0, np.uint64(0), np.uint64(0)
        for i in range(offsets[r], offsets[r + 1]):
            if codes[i] >= size:
                run = 0
                continue
            key = ((key << step) | np.uint64(codes[i])) & mask
            other = (other >> step) | (np.uint64(complement[codes[i]]) << top)
            run += 1
            if run >= k:
                keys[m] = min(key, other)
                m += 1
        starts[r + 1] = m
    return keys[:m], starts


@jit
def mismatch_keys(codes, offsets, k, bits, size, places, changes):
    """All neighbours of all k-mers; places, changes (P, m): neighbour p moves letter places[p, j] by changes[p, j]."""
    kmers, first = spectrum_keys(codes, offsets, k, bits, size)
    n_neighbours, letter = len(places), np.uint64((1 << bits) - 1)
    keys = np.empty(len(kmers) * n_neighbours, np.uint64)
    m = 0
    for i in range(len(kmers)):
        for p in range(n_neighbours):
            key = kmers[i]
            for j in range(places.shape[1]):
                shift = np.uint64(bits * (k - 1 - places[p, j]))
                old = (kmers[i] >> shift) & letter
                new = old + np.uint64(changes[p, j])
                if new >= np.uint64(size):
                    new -= np.uint64(size)
                key ^= (old ^ new) << shift
            keys[m] = key
            m += 1
    return keys, first * n_neighbours


@jit
def gapped_keys(codes, offsets, length, columns, bits, size, complement, both):
    """The letters at some columns of every word; of its reverse complement, too, where `both`."""
    n = len(offsets) - 1
    keys, starts = np.empty((1 + both) * len(codes), np.uint64), np.zeros(n + 1, np.int64)
    step, m = np.uint64(bits), 0
    for r in range(n):
        run = 0
        for i in range(offsets[r], offsets[r + 1]):
            run = run + 1 if codes[i] < size else 0
            if run >= length:
                first, key = i - length + 1, np.uint64(0)
                for c in columns:
                    key = (key << step) | np.uint64(codes[first + c])
                keys[m] = key
                m += 1
                if both:
                    key = np.uint64(0)
                    for c in columns:
                        key = (key << step) | np.uint64(complement[codes[i - c]])
                    keys[m] = key
                    m += 1
        starts[r + 1] = m
    return keys[:m], starts


@jit
def count_table(keys, starts, scratch, ids, counts, at):
    """Count every row's keys, which are below len(scratch), into ids and counts from `at` on -> new starts (n + 1,).

    `scratch` is all zero before and after.
    """
    new_starts = np.empty(len(starts), np.int64)
    new_starts[0] = m = at
    for r in range(len(starts) - 1):
        for i in range(starts[r], starts[r + 1]):
            key = np.int64(keys[i])
            if scratch[key] == 0:
                ids[m] = key
                m += 1
            scratch[key] += 1
        for e in range(new_starts[r], m):
            counts[e] = scratch[ids[e]]
            scratch[ids[e]] = 0
        new_starts[r + 1] = m
    return new_starts


@jit
def number(keys, entries, n_entries, features, ids):
    """ids[i] = the number of features[i], new ones counted on -> keys, entries, n_entries (arrays may have grown)."""
    for i in range(len(features)):
        if FREE * n_entries >= len(keys):
            keys, entries = enlarged(keys, entries)
        slot = find(keys, entries, features[i])
        if entries[slot] < 0:
            keys[slot], entries[slot] = features[i], n_entries
            n_entries += 1
        ids[i] = entries[slot]
    return keys, entries, n_entries


@jit
def known_only(keys, entries, features, values, starts, ids, counts):
    """Keep of every row the features that have a number -> new starts (n + 1,); ids and counts are filled."""
    new_starts = np.zeros(len(starts), np.int64)
    m = 0
    for r in range(len(starts) - 1):
        for i in range(starts[r], starts[r + 1]):
            entry = entries[find(keys, entries, features[i])]
            if entry >= 0:
                ids[m], counts[m] = entry, values[i]
                m += 1
        new_starts[r + 1] = m
    return new_starts


@jit
def power_sums(values, starts):
    """(3, n) float64: sums of values[starts[r] : starts[r + 1]] to the powers 0, 1 and 2."""
    out = np.zeros((3, len(starts) - 1))
    for r in range(out.shape[1]):
        for e in range(starts[r], starts[r + 1]):
            value = np.float64(values[e])
            out[1, r] += value
            out[2, r] += value * value
        out[0, r] = starts[r + 1] - starts[r]
    return out
