"""k-mers of many sequences as numbers, sorted and counted.

Sequences lie one after the other in codes (N,) uint8: sequence r is codes[offsets[r] : offsets[r + 1]], and offsets[0]
is 0. A letter takes `bits` bits, its code must be below 2^bits; 255 is ambiguous and so is every k-mer that holds it:
those are left out. k * bits <= 64 gives the k-mer itself as a number; longer k-mers get exact identities by doubling
(`fit_long`).
"""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import AMBIGUOUS

#: Places that are numbered between two looks at the clock.
LONG_BLOCK = 1 << 20


@jit
def kmers(codes, offsets, k, bits):
    """All k-mers in order -> values (M,) uint64, starts (n + 1,) int64: row r is values[starts[r] : starts[r + 1]]."""
    n = len(offsets) - 1
    starts = np.zeros(n + 1, np.int64)
    values = np.empty(len(codes), np.uint64)
    step = np.uint64(bits)
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - k * bits)
    m = 0
    for r in range(n):
        run, value = 0, np.uint64(0)
        for i in range(offsets[r], offsets[r + 1]):
            value = ((value << step) | np.uint64(codes[i])) & mask
            run = run + 1 if codes[i] != AMBIGUOUS else 0
            if run >= k:
                values[m] = value
                m += 1
        starts[r + 1] = m
    return values[:m].copy(), starts


@jit
def sort_numbers(values, spare):
    """Sort values (n,) uint64 in place; spare (n,) is scratch. Insertion for few, bytes from the lowest on for many."""
    n = len(values)
    if n <= 32:
        for i in range(1, n):
            value, j = values[i], i
            while j > 0 and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
        return
    common, seen = values[0], np.uint64(0)
    for i in range(n):
        seen |= values[i] ^ common
    counts = np.empty(257, np.int64)
    for shift in range(0, 64, 8):
        digit = np.uint64(shift)
        if (seen >> digit) & np.uint64(255) == 0:
            continue  # all numbers agree in this byte
        counts[:] = 0
        for i in range(n):
            counts[np.int64((values[i] >> digit) & np.uint64(255)) + 1] += 1
        for c in range(256):
            counts[c + 1] += counts[c]
        for i in range(n):
            byte = np.int64((values[i] >> digit) & np.uint64(255))
            spare[counts[byte]] = values[i]
            counts[byte] += 1
        for i in range(n):
            values[i] = spare[i]


@jit
def count_kmers(values, starts):
    """From `kmers` -> features (U,) uint64, counts (U,) float64, starts (n + 1,): sorted, each once per sequence."""
    n = len(starts) - 1
    features, counts = np.empty(len(values), np.uint64), np.empty(len(values))
    new_starts = np.zeros(n + 1, np.int64)
    longest = 0
    for r in range(n):
        longest = max(longest, starts[r + 1] - starts[r])
    row, spare = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    m = 0
    for r in range(n):
        size = starts[r + 1] - starts[r]
        for i in range(size):
            row[i] = values[starts[r] + i]
        sort_numbers(row[:size], spare[:size])
        for i in range(size):
            if i > 0 and row[i] == row[i - 1]:
                counts[m - 1] += 1.0
            else:
                features[m], counts[m] = row[i], 1.0
                m += 1
        new_starts[r + 1] = m
    return features[:m].copy(), counts[:m].copy(), new_starts


@jit
def sum_rows(values, starts, out):
    """out[r] += sum of values[starts[r] : starts[r + 1]]; out (n,)."""
    for r in range(len(starts) - 1):
        total = 0.0
        for i in range(starts[r], starts[r + 1]):
            total += values[i]
        out[r] += total


@jit
def _windows(codes, offsets, k, bits):
    """The k-mer that starts at every place: values (N,) uint64, valid (N,) bool."""
    values, valid = np.zeros(len(codes), np.uint64), np.zeros(len(codes), np.bool_)
    step = np.uint64(bits)
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - k * bits)
    for r in range(len(offsets) - 1):
        run, value = 0, np.uint64(0)
        for i in range(offsets[r], offsets[r + 1]):
            value = ((value << step) | np.uint64(codes[i])) & mask
            run = run + 1 if codes[i] != AMBIGUOUS else 0
            if run >= k:
                values[i - k + 1], valid[i - k + 1] = value, True
    return values, valid


def _doublings(k, bits):
    """Lengths from the longest that fits 64 bits up to k, each at most twice the one before."""
    length = min(k, 64 // bits)
    lengths = [length]
    while length < k:
        length = min(k, 2 * length)
        lengths.append(length)
    return lengths


def _parts(n, look):
    """Yield slices of LONG_BLOCK places; look() is called before each."""
    for start in range(0, n, LONG_BLOCK):
        if look is not None:
            look()
        yield slice(start, min(n, start + LONG_BLOCK))


def long_ids(codes, offsets, k, bits, known, look=None):
    """Identities (N,) int64 of the k-mers that start at every place, -1 for none, and the dictionary of each doubling.

    `known` is None to collect the dictionaries, or those of an earlier call: k-mers outside them have no identity.
    look() is called before every block of places, and may raise.
    """
    ends = np.repeat(offsets[1:], np.diff(offsets))
    ids, second, dictionaries, before = None, None, [], 0
    for level, length in enumerate(_doublings(k, bits)):
        if ids is None:
            values, valid = _windows(codes, offsets, length, bits)
        else:
            gap = length - before
            second = np.full(len(ids), -1)
            second[: max(0, len(ids) - gap)] = ids[gap:]
            valid = (ids >= 0) & (second >= 0) & (np.arange(len(ids)) + length <= ends)
            values = (ids.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)
        numbers = values[valid]
        parts = _parts(len(numbers), look)
        if known is None:
            dictionary = np.unique(np.concatenate([numbers[:0], *(np.unique(numbers[part]) for part in parts)]))
        else:
            dictionary = known[level]
        found = np.full(len(numbers), -1)
        for part in _parts(len(numbers), look) if len(dictionary) else ():
            place = np.minimum(np.searchsorted(dictionary, numbers[part]), len(dictionary) - 1)
            found[part] = np.where(dictionary[place] == numbers[part], place, -1)
        ids = np.full(len(codes), -1)
        ids[valid] = found
        del values, valid, numbers, found, second  # before the next ones are made
        dictionaries.append(dictionary)
        before = length
    return ids, dictionaries


def _by_row(ids, offsets):
    """Identities per place -> (values, starts) as from `kmers`."""
    present = ids >= 0
    starts = np.concatenate(([0], np.cumsum(present)))[offsets].astype(np.int64)
    return ids[present].astype(np.uint64), starts


def fit_long(codes, offsets, k, bits, look=None):
    """k-mers of any length -> (values, starts) as from `kmers`, and dictionaries for `map_long`.

    Values are dense numbers, equal exactly where the k-mers are equal: a k-mer is a pair of shorter ones, which have
    numbers already. No hashing.
    """
    ids, dictionaries = long_ids(codes, offsets, k, bits, None, look)
    return *_by_row(ids, offsets), dictionaries


def map_long(codes, offsets, k, bits, dictionaries, look=None):
    """The same numbers for other sequences: (values, starts); k-mers that `fit_long` did not see are left out."""
    ids, _ = long_ids(codes, offsets, k, bits, dictionaries, look)
    return _by_row(ids, offsets)
