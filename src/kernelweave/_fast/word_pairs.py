"""Pairs of words by the number of letters in which they differ.

A word of `length` letters of an alphabet of `size` is a number below size^length, the first letter on top. Sequence r
has the words numbers[starts[r] : starts[r + 1]].
"""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import trailing_zeros

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def word_numbers(codes, offsets, length, size):
    """Words without unknown letters -> numbers (M,) int32, places (M,) int32 in their sequence, starts (n + 1,)."""
    numbers, places = np.empty(len(codes), np.int32), np.empty(len(codes), np.int32)
    starts = np.zeros(len(offsets), np.int64)
    _number_words(codes, offsets, length, size, numbers, places, starts)
    return numbers[: starts[-1]], places[: starts[-1]], starts


@jit
def _number_words(codes, offsets, length, size, numbers, places, starts):
    top, m = size ** (length - 1), 0
    for r in range(len(offsets) - 1):
        run, number = 0, 0
        for i in range(offsets[r], offsets[r + 1]):
            if codes[i] >= size:
                run, number = 0, 0
                continue
            number = (number % top) * size + codes[i]
            run += 1
            if run >= length:
                numbers[m], places[m] = number, i - length + 1 - offsets[r]
                m += 1
        starts[r + 1] = m


@jit
def add_words(numbers, starts, weights, rows, coef, table):
    """table[words of rows[q]] += coef[q] * weights; weights (M,), or (0,) for 1 each."""
    for q in range(len(rows)):
        low, high = starts[rows[q]], starts[rows[q] + 1]
        for i in range(low, high):
            table[numbers[i]] += coef[q] * weights[i] if len(weights) else coef[q]


@jit
def look_up_words(numbers, starts, weights, table, first, out):
    """out[i] = sum of table at the words of sequence first + i, each times its weight; out (m,)."""
    for r in range(len(out)):
        total = 0.0
        for i in range(starts[first + r], starts[first + r + 1]):
            total += table[numbers[i]] * weights[i] if len(weights) else table[numbers[i]]
        out[r] = total


@jit
def reflect(block, size):
    """Reflect columns of block (size^a, m) along each of the a letters that number its rows: constants go to letter 0.

    Along a letter, x -> x - 2 v (v'x) / v'v with v = e_0 - 1 / sqrt(size): symmetric, and its own inverse.
    """
    u, step = size**-0.5, 1
    n, width = block.shape
    moves = np.empty(width)
    while step < n:
        for i in range(n):
            if i // step % size:
                continue
            for j in range(width):
                moves[j] = block[i, j]
            for c in range(1, size):
                for j in range(width):
                    moves[j] += block[i + c * step, j]
            for j in range(width):
                head = block[i, j]
                block[i, j] = u * moves[j]
                moves[j] = u * (head - block[i, j]) / (1.0 - u)
            for c in range(1, size):
                for j in range(width):
                    block[i + c * step, j] += moves[j]
        step *= size


def bucket_rows(high, low, upper, lower, starts, weights, n_keys):
    """Which sequences show every key -> rows (M,) int32, sums (M,) or (0,), buckets (n_keys + 1,) int32, repeats.

    The key of a word is upper[its upper letters] + lower[its lower letters]. Rows of a key are in order; a sequence
    that shows it twice is there twice, and `repeats` says how often that is so. Sums are the weights of the words.
    """
    rows, sums = np.empty(len(high), np.int32), np.empty(len(weights), np.float32)
    buckets = np.zeros(n_keys + 2, np.int32)
    repeats = _fill_buckets(high, low, upper, lower, starts, weights, rows, sums, buckets)
    return rows, sums, buckets[:-1], repeats


@jit
def _fill_buckets(high, low, upper, lower, starts, weights, rows, sums, buckets):
    for i in range(len(high)):
        buckets[upper[high[i]] + lower[low[i]] + 2] += 1
    for key in range(2, len(buckets)):
        buckets[key] += buckets[key - 1]
    for r in range(len(starts) - 1):
        for i in range(starts[r], starts[r + 1]):
            key = upper[high[i]] + lower[low[i]] + 1
            rows[buckets[key]] = r
            if len(weights):
                sums[buckets[key]] = weights[i]
            buckets[key] += 1
    repeats = 0
    for i in range(1, len(rows)):
        repeats += rows[i] == rows[i - 1]
    return repeats


@jit
def merge_rows(rows, sums, buckets):
    """The same with every sequence once for a key, and sums for all -> rows, sums, buckets."""
    new_rows, new_sums = np.empty(len(rows), np.int32), np.empty(len(rows), np.float32)
    new_buckets, m = np.zeros(len(buckets), np.int32), 0
    for key in range(len(buckets) - 1):
        for i in range(buckets[key], buckets[key + 1]):
            weight = sums[i] if len(sums) else np.float32(1.0)
            if m > new_buckets[key] and new_rows[m - 1] == rows[i]:
                new_sums[m - 1] += weight
            else:
                new_rows[m], new_sums[m] = rows[i], weight
                m += 1
        new_buckets[key + 1] = m
    return new_rows[:m], new_sums[:m], new_buckets


@jit
def add_pairs(high, low, upper, lower, starts, weights, first, rows, sums, buckets, triangle, factor, out):
    """out[i, r] += factor * shared keys of sequences first + i and r; only r <= first + i where `triangle`.

    Returns a number that means nothing: what it is made of brings the rows of all words near before they are needed.
    """
    longest = 0
    for i in range(len(out)):
        longest = max(longest, starts[first + i + 1] - starts[first + i])
    begins, ends, touched = np.empty(longest, np.int32), np.empty(longest, np.int32), 0
    for i in range(len(out)):
        row = out[i]
        limit = first + i + 1 if triangle else out.shape[1]
        begin, n_words = starts[first + i], starts[first + i + 1] - starts[first + i]
        for w in range(n_words):
            key = upper[high[begin + w]] + lower[low[begin + w]]
            begins[w], ends[w] = buckets[key], buckets[key + 1]
        for w in range(n_words):
            if begins[w] < ends[w]:
                touched ^= rows[begins[w]]
        for w in range(n_words):
            weight = factor * weights[begin + w] if len(weights) else factor
            for e in range(begins[w], ends[w]):
                if rows[e] >= limit:
                    break
                row[rows[e]] += weight * sums[e] if len(sums) else weight
    return touched


@jit
def spread_words(high, low, upper, lower, starts, weights, out):
    """out[r, key] += weights of the words of sequence r that have the key; out (n, n_keys)."""
    for r in range(len(out)):
        for i in range(starts[r], starts[r + 1]):
            out[r, upper[high[i]] + lower[low[i]]] += weights[i] if len(weights) else 1.0


def own_values(codes, offsets, weights, length, n_bits, profile, complement, both):
    """Sum of profile[letters that differ] over all pairs of words of every sequence -> (n,).

    Where `both`, the second word is also read on the other strand; weights (N,): those of the words from every place,
    0 where one holds an unknown letter. Letters are laid out bit by bit, so that 64 side by side are compared at once.
    """
    planes, out = np.zeros((2, n_bits, len(codes) // 64 + 2), np.uint64), np.empty(len(offsets) - 1)
    for strand, letters in enumerate((codes, complement[codes[::-1]])):
        for b in range(n_bits):
            packed = np.packbits(letters >> b & 1, bitorder="little")
            planes[strand, b].view(np.uint8)[: len(packed)] = packed
    _add_own_pairs(planes, offsets, weights, length, profile, both, out)
    return out


@jit
def _add_own_pairs(planes, offsets, weights, length, profile, both, out):
    """The same; planes (strand, bit, N // 64 + 2): the other strand begins with the last sequence."""
    for r in range(len(out)):
        n, total = offsets[r + 1] - offsets[r] - length + 1, 0.0
        mine = weights[offsets[r] : offsets[r + 1]]
        for strand in range(2 if both and n > 0 else 1):
            begin = len(weights) - offsets[r + 1] if strand else offsets[r]
            for shift in range((1 - n) * strand, n):
                value = _side_by_side(planes, offsets[r], strand, begin, shift, mine, n, length, profile)
                total += 2.0 * value if strand or shift else value
        out[r] = total


@jit
def _side_by_side(planes, own, strand, begin, shift, weights, n, length, profile):
    """Sum over the pairs of words at places that are `shift` apart, of n words each from letters `own` and `begin` on.

    The other strand is the sequence turned around, so that its pairs read the same from either end: half of the sum is
    returned, with half of the pair in the middle.
    """
    i, j, total = max(0, -shift), max(0, shift), 0.0
    n_pairs, middle = n - abs(shift), -1
    if strand:
        middle = n_pairs // 2 if n_pairs % 2 else -1
        n_pairs = (n_pairs + 1) // 2
    at_once = 65 - length
    for first in range(0, n_pairs, at_once):
        differ = np.uint64(0)
        for b in range(planes.shape[1]):
            mine = _letters_from(planes[0, b], own + i + first)
            differ |= mine ^ _letters_from(planes[strand, b], begin + j + first)
        c0, c1, c2, c3, c4 = differ, np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
        for t in range(1, length):  # counts of 64 words, one bit of them in each of five numbers
            carry = differ >> np.uint64(t)
            c0, carry = c0 ^ carry, c0 & carry
            c1, carry = c1 ^ carry, c1 & carry
            c2, carry = c2 ^ carry, c2 & carry
            c3, c4 = c3 ^ carry, c4 ^ (c3 & carry)
        some = ALL >> np.uint64(64 - min(at_once, n_pairs - first))
        for d in range(len(profile)):
            hits = some & (c0 ^ np.uint64((d & 1) - 1)) & (c1 ^ np.uint64((d >> 1 & 1) - 1))
            hits &= (c2 ^ np.uint64((d >> 2 & 1) - 1)) & (c3 ^ np.uint64((d >> 3 & 1) - 1))
            hits &= c4 ^ np.uint64((d >> 4 & 1) - 1)
            while hits:
                t = first + trailing_zeros(hits)
                other = n - 1 - j - t if strand else j + t
                value = profile[d] * weights[i + t] * weights[other]
                total += 0.5 * value if t == middle else value
                hits &= hits - np.uint64(1)
    return total


@jit
def _letters_from(plane, i):
    """64 letters of a plane from place i on, the first in the lowest bit."""
    at = np.uint64(i & 63)
    return plane[i >> 6] >> at | (plane[(i >> 6) + 1] << np.uint64(1)) << (np.uint64(63) - at)
