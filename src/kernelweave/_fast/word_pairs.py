"""Pairs of words by the number of letters in which they differ.

A word of `length` letters of an alphabet of `size` is a number below size^length, the first letter on top. Sequence r
has the words numbers[starts[r] : starts[r + 1]].
"""

import numpy as np

from kernelweave._fast import jit


@jit
def word_numbers(codes, offsets, length, size):
    """Words without unknown letters -> numbers (M,) int32, places (M,) int32 in their sequence, starts (n + 1,)."""
    n = len(offsets) - 1
    numbers, places = np.empty(len(codes), np.int32), np.empty(len(codes), np.int32)
    starts = np.zeros(n + 1, np.int64)
    top, m = size ** (length - 1), 0
    for r in range(n):
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
    return numbers[:m].copy(), places[:m].copy(), starts


@jit
def flip_words(numbers, length, size, complement):
    """The reverse complements of words -> (M,) int32; complement (256,) uint8."""
    out = np.empty(len(numbers), np.int32)
    for i in range(len(numbers)):
        number, other = numbers[i], 0
        for _ in range(length):
            other = other * size + complement[number % size]
            number //= size
        out[i] = other
    return out


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
def reflect_rows(table, size, first, last):
    """Reflect rows first to last of table (rows, size^a) along each of their a letters: constants go to letter 0.

    Along a letter, x -> x - 2 v (v'x) / v'v with v = e_0 - 1 / sqrt(size): symmetric, and its own inverse.
    """
    u = size**-0.5
    for r in range(first, last):
        row = table[r]
        step = 1
        while step < len(row):
            for low in range(0, len(row), step * size):
                for i in range(low, low + step):
                    _reflect(row, i, step, size, u)
            step *= size


@jit
def reflect_columns(table, size, first, last):
    """The same for columns first to last of table (size^a, columns), along the a letters of the rows."""
    u = size**-0.5
    step = 1
    sums, moves = np.empty(last - first), np.empty(last - first)
    while step < len(table):
        for low in range(0, len(table), step * size):
            for i in range(low, low + step):
                head = table[i, first:last]
                sums[:] = head
                for c in range(1, size):
                    other = table[i + c * step, first:last]
                    for j in range(len(sums)):
                        sums[j] += other[j]
                for j in range(len(sums)):
                    moves[j] = u * (head[j] - u * sums[j]) / (1.0 - u)
                    head[j] = u * sums[j]
                for c in range(1, size):
                    other = table[i + c * step, first:last]
                    for j in range(len(sums)):
                        other[j] += moves[j]
        step *= size


@jit
def _reflect(row, i, step, size, u):
    total = row[i]
    for c in range(1, size):
        total += row[i + c * step]
    move = u * (row[i] - u * total) / (1.0 - u)
    row[i] = u * total
    for c in range(1, size):
        row[i + c * step] += move


@jit
def scale_levels(table, size, values, first, last):
    """Multiply rows first to last of table (size^a, size^b) by values[letters that are not 0]; values (a + b + 1,)."""
    below = np.zeros(table.shape[1], np.int64)
    for i in range(len(below)):
        below[i] = below[i // size] + (i % size != 0)
    for r in range(first, last):
        above, number = 0, r
        while number:
            above += number % size != 0
            number //= size
        row = table[r]
        for i in range(len(row)):
            row[i] *= values[above + below[i]]


@jit
def split_words(numbers, low_size):
    """Numbers (M,) as their upper and lower letters -> two arrays (M,) int32."""
    high, low = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
    for i in range(len(numbers)):
        high[i] = numbers[i] // low_size
        low[i] = numbers[i] - high[i] * low_size
    return high, low


@jit
def bucket_rows(high, low, upper, lower, starts, weights, n_keys):
    """Which sequences show every key -> rows (M,) int32, sums (M,) or (0,), buckets (n_keys + 1,) int32, repeats.

    The key of a word is upper[its upper letters] + lower[its lower letters]. Rows of a key are in order; a sequence
    that shows it twice is there twice, and `repeats` says how often that is so. Sums are the weights of the words.
    """
    buckets = np.zeros(n_keys + 2, np.int32)
    for i in range(len(high)):
        buckets[upper[high[i]] + lower[low[i]] + 2] += 1
    for key in range(n_keys):
        buckets[key + 2] += buckets[key + 1]
    rows, sums = np.empty(len(high), np.int32), np.empty(len(weights), np.float32)
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
    return rows, sums, buckets[: n_keys + 1], repeats


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


@jit
def own_values(codes, offsets, weights, length, size, profile, complement, both, out):
    """out[r] = sum of profile[letters that differ] over all pairs of words of sequence r; out (n,).

    Where `both`, the second word is also read on the other strand; weights: those of the words from every place, (N,)
    or (0,) for 1 each. Pairs at one distance share letters, so that each is one letter more and one less.
    """
    for r in range(len(out)):
        begin, end = offsets[r], offsets[r + 1]
        own, mine = codes[begin:end], weights[begin:end]
        n = len(own) - length + 1
        total = 0.0
        for shift in range(n):
            value = _diagonal(own, mine, 0, own, mine, shift, n - shift, length, size, profile)
            total += 2.0 * value if shift else value
        if both:
            other, theirs = _other_strand(own, mine, length, size, complement)
            total += _crossed(own, mine, other, theirs, n, length, size, profile)
        out[r] = total


@jit
def _diagonal(a, a_weights, i, b, b_weights, j, n_pairs, length, size, profile):
    """Sum over the pairs of words at i + t of a and j + t of b, t < n_pairs."""
    total, differ, known = 0.0, 0, 0
    for t in range(n_pairs + length - 1 if n_pairs else 0):
        x, y = a[i + t], b[j + t]
        if x >= size or y >= size:
            known, differ = 0, 0
            continue
        known += 1
        differ += x != y
        if known > length:
            known = length
            differ -= a[i + t - length] != b[j + t - length]
        if known == length and differ < len(profile):
            value = profile[differ]
            if len(a_weights):
                value *= a_weights[i + t - length + 1] * b_weights[j + t - length + 1]
            total += value
    return total


@jit
def _other_strand(own, mine, length, size, complement):
    """The reverse complement of a sequence, and the weights of its words."""
    n = len(own)
    other, theirs = np.empty(n, np.uint8), np.zeros(len(mine), mine.dtype)
    for i in range(n):
        code = own[n - 1 - i]
        other[i] = complement[code] if code < size else code
    for i in range(n - length + 1 if len(mine) else 0):
        theirs[i] = mine[n - length - i]
    return other, theirs


@jit
def _crossed(own, mine, other, theirs, n, length, size, profile):
    """Sum over all pairs of a word of own and a word of other, n words each; other is own, turned around.

    So every run of pairs at one distance reads the same from either end: half of it is enough.
    """
    total = 0.0
    for shift in range(n):
        half, odd = (n - shift) // 2, (n - shift) % 2
        for side in range(2 if shift else 1):
            i, j = (0, shift) if side == 0 else (shift, 0)
            total += 2.0 * _diagonal(own, mine, i, other, theirs, j, half, length, size, profile)
            if odd:
                total += _diagonal(own, mine, i + half, other, theirs, j + half, 1, length, size, profile)
    return total
