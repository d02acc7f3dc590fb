"""The weighted degree kernel of pairs: value = sum_k beta[k-1] sum_i [x and y agree on the k letters from i].

Two ways of counting. *Bits*: mask of agreeing positions, narrowed by one letter a level, counted by popcount,
sixteen sequences at once. *Runs*: one walk from the end, for kernels with a weight for each position and degree.
"""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.bits import AMBIGUOUS, empty_planes
from kernelweave._fast.lanes import (
    LANES,
    add_differences,
    add_scaled,
    agreements,
    any_set,
    count_bits,
    count_bits_within,
    narrow,
    no_masks,
    no_sums,
    store,
)

#: Columns that stay in the first-level cache while all rows pass by.
TILE = 256
#: Words that one call compares: a tenth of a second or so.
BURST = 10**8
#: Levels that are counted without asking whether anything agrees: nearly always something does, and a branch that is
#: guessed wrong takes as long as two of them.
SURE = 7


@jit
def _wd_block(planes_a, first, planes_b, beta, out, tail, words):
    """`wd_block` with the number of words as a type: words is a tuple of W numbers; tail (1, LANES) is room.

    The rows are those of planes_a from `first` on.
    """
    na, nb = out.shape
    last, sure = planes_a.shape[0] - 1, min(SURE, len(beta))
    for start in range(0, nb, TILE):
        for i in range(na):
            for j in range(start, min(nb, start + TILE), LANES):
                wrong = no_masks(words)
                for p in range(last):
                    wrong = add_differences(wrong, planes_a, p, first + i, planes_b, p, j)
                mask = agreements(wrong, planes_a, last, first + i, planes_b, last, j)
                total = no_sums(out)
                for k in range(sure):
                    total = add_scaled(total, beta[k], count_bits(mask))
                    mask = narrow(mask)
                for k in range(sure, len(beta)):
                    counts = count_bits(mask)
                    if not any_set(counts):
                        break
                    total = add_scaled(total, beta[k], counts)
                    mask = narrow(mask)
                if j + LANES <= nb:
                    store(out, (i, j), total)
                else:
                    store(tail, (0, 0), total)
                    for t in range(nb - j):
                        out[i, j + t] = tail[0, t]


def wd_block(planes_a, planes_b, beta, out):
    """Planes (P, W, >= na), (P, W, >= nb), beta (degree,) -> out (na, nb) float64 or float32, rows contiguous."""
    n_words, tail = planes_a.shape[1], np.empty((1, LANES), out.dtype)
    rows = max(1, BURST // max(1, out.shape[1] * n_words))
    for first in range(0, len(out), rows):
        _wd_block(planes_a, first, planes_b, beta, out[first : first + rows], tail, (0,) * n_words)


@jit
def _wd_block_degrees(planes_a, planes_b, out, tail, words):
    """`wd_block_degrees` with the number of words as a type; out is all zero, tail (1, LANES) is room."""
    degree, na, nb = out.shape
    last = planes_a.shape[0] - 1
    for i in range(na):
        for j in range(0, nb, LANES):
            wrong = no_masks(words)
            for p in range(last):
                wrong = add_differences(wrong, planes_a, p, i, planes_b, p, j)
            mask = agreements(wrong, planes_a, last, i, planes_b, last, j)
            for k in range(degree):
                counts = count_bits(mask)
                if not any_set(counts):
                    break
                if j + LANES <= nb:
                    store(out, (k, i, j), add_scaled(no_sums(out), 1.0, counts))
                else:
                    store(tail, (0, 0), add_scaled(no_sums(tail), 1.0, counts))
                    for t in range(nb - j):
                        out[k, i, j + t] = tail[0, t]
                mask = narrow(mask)


def wd_block_degrees(planes_a, planes_b, out):
    """Planes as in `wd_block` -> out (degree, na, nb): matching k-mers per degree, weights left out."""
    out[:] = 0.0
    _wd_block_degrees(planes_a, planes_b, out, np.empty((1, LANES)), (0,) * planes_a.shape[1])


@jit
def _move_planes(planes, shift, moved):
    """Planes of the same sequences without their first `shift` letters, into zeros of the same shape."""
    n_planes, n_words, n = planes.shape
    for p in range(n_planes):
        for w in range(n_words):
            distance = (w + shift) // n_words
            if distance < 32:
                bits = np.uint32(distance)
                source, target = planes[p, (w + shift) % n_words], moved[p, w]
                for j in range(n):
                    target[j] = np.uint32(source[j] >> bits)


def moved_planes(planes, shift):
    """Planes (P, W, n) -> (P (shift + 1), W, n): of the sequences without their first 0, 1, ..., shift letters."""
    n_planes, n_words, n = planes.shape
    moved = empty_planes((shift + 1) * n_planes, n_words, n)
    for s in range(shift + 1):
        _move_planes(planes, s, moved[s * n_planes : (s + 1) * n_planes])
    return moved


@jit
def _wd_shift_block(moved_a, first, moved_b, moves, beta, out, tail, words):
    """`wd_shift_block` on moved planes; moves (m, 2): planes to begin with in a and b, beta (m, degree) for each.

    The rows are those of moved_a from `first` on.
    """
    na, nb = out.shape
    last, sure = moved_a.shape[0] * 2 // (len(moves) + 1) - 1, min(SURE, beta.shape[1])
    for start in range(0, nb, TILE):
        for i in range(na):
            for j in range(start, min(nb, start + TILE), LANES):
                total = no_sums(out)
                for m in range(len(moves)):
                    a, b = moves[m, 0], moves[m, 1]
                    wrong = no_masks(words)
                    for p in range(last):
                        wrong = add_differences(wrong, moved_a, a + p, first + i, moved_b, b + p, j)
                    mask = agreements(wrong, moved_a, a + last, first + i, moved_b, b + last, j)
                    for k in range(sure):
                        total = add_scaled(total, beta[m, k], count_bits(mask))
                        mask = narrow(mask)
                    for k in range(sure, beta.shape[1]):
                        counts = count_bits(mask)
                        if not any_set(counts):
                            break
                        total = add_scaled(total, beta[m, k], counts)
                        mask = narrow(mask)
                if j + LANES <= nb:
                    store(out, (i, j), total)
                else:
                    store(tail, (0, 0), total)
                    for t in range(nb - j):
                        out[i, j + t] = tail[0, t]


def wd_shift_rows(moved_a, moved_b, beta, delta, out):
    """Planes from `moved_planes`, beta (degree,), delta (S + 1,) -> out (na, nb), as `wd_shift_block` has it."""
    shifts, size = np.arange(len(delta)), len(moved_a) // len(delta)
    there, back = np.zeros((len(delta), 2), np.int64), np.zeros((len(delta) - 1, 2), np.int64)
    there[:, 0], back[:, 1] = shifts * size, shifts[1:] * size
    weights = np.where(shifts == 0, 2.0, 1.0) * delta  # in place both directions are one
    moves, scaled = np.concatenate([there, back]), np.outer(np.concatenate([weights, delta[1:]]), beta)
    tail, words = np.empty((1, LANES), out.dtype), (0,) * moved_a.shape[1]
    rows = max(1, BURST // max(1, out.shape[1] * len(moves) * moved_a.shape[1]))
    for first in range(0, len(out), rows):
        _wd_shift_block(moved_a, first, moved_b, moves, scaled, out[first : first + rows], tail, words)


def wd_shift_block(planes_a, planes_b, beta, delta, out):
    """Planes as in `wd_block`, delta (S + 1,) -> out (na, nb), the kernel with shifts.

    sum_k beta_k sum_i sum_s delta_s ([x at i + s = y at i] + [x at i = y at i + s]), k letters each.
    """
    moved = moved_planes(planes_a, len(delta) - 1)
    wd_shift_rows(moved, moved if planes_a is planes_b else moved_planes(planes_b, len(delta) - 1), beta, delta, out)


@jit
def _add_allowed(planes_a, planes_b, beta, allowed, scale, out, words):
    """Out += scale * (weighted degree kernel of the planes, counting only k-mers that start at allowed positions)."""
    na, nb = out.shape
    last = planes_a.shape[0] - 1
    row = np.empty((1, TILE))
    for start in range(0, nb, TILE):
        stop = min(nb, start + TILE)
        for i in range(na):
            for j in range(start, stop, LANES):
                wrong = no_masks(words)
                for p in range(last):
                    wrong = add_differences(wrong, planes_a, p, i, planes_b, p, j)
                mask = agreements(wrong, planes_a, last, i, planes_b, last, j)
                total = no_sums(row)
                for k in range(len(beta)):
                    counts = count_bits_within(mask, allowed)
                    total = add_scaled(total, beta[k], counts)
                    mask = narrow(mask)
                    if not any_set(count_bits(mask)):
                        break
                store(row, (0, j - start), total)
            for j in range(start, stop):
                out[i, j] += scale * row[0, j - start]


def wd_position_block(planes_a, planes_b, beta, position, out):
    """As `wd_block`, counting only k-mers that start at one position."""
    n_words = planes_a.shape[1]
    allowed = np.zeros(n_words, np.uint32)
    allowed[position % n_words] = 1 << (position // n_words)
    out[:] = 0.0
    _add_allowed(planes_a, planes_b, beta, allowed, 1.0, out, (0,) * n_words)


def cumulative(beta):
    """Beta (L, degree), a weight per position and degree -> sums (L, degree + 1), sums[i, k] = sum beta[i, :k]."""
    sums = np.zeros((beta.shape[0], beta.shape[1] + 1))
    np.cumsum(beta, axis=1, out=sums[:, 1:])
    return sums


@jit
def wd_weighted_block(codes_a, codes_b, sums, out):
    """Codes (na, L), (nb, L), sums from `cumulative` -> out (na, nb) with a weight per position and degree."""
    length, degree = sums.shape[0], sums.shape[1] - 1
    # position by position for all of b at a time, so that the inner loop has no branch
    letters, run = np.ascontiguousarray(codes_b.T), np.empty(len(codes_b), np.int32)
    for i in range(len(codes_a)):
        row = out[i]
        row[:] = 0.0
        run[:] = 0
        for p in range(length - 1, -1, -1):
            x, y, values = codes_a[i, p], letters[p], sums[p]
            if x == AMBIGUOUS:
                run[:] = 0
                continue
            for j in range(len(run)):
                r = min(run[j] + 1, degree) * np.int32(y[j] == x)
                run[j] = r
                row[j] += values[r]


@jit
def wd_pairs(codes_a, codes_b, sums, out):
    """Codes (n, L), (n, L), sums from `cumulative` -> out (n,): the kernel of row i of one with row i of the other."""
    length, degree = sums.shape[0], sums.shape[1] - 1
    for i in range(len(codes_a)):
        total, run = 0.0, 0
        for p in range(length - 1, -1, -1):
            agree = codes_a[i, p] == codes_b[i, p] and codes_a[i, p] != AMBIGUOUS
            run = min(run + 1, degree) if agree else 0
            total += sums[p, run]
        out[i] = total
