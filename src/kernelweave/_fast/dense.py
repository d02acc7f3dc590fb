"""Rows and blocks of a dense matrix, without copies."""

import numpy as np

from . import jit_fastmath

#: Numbers that one call looks at, where calls are cut: a tenth of a second or so.
BURST = 10**8


@jit_fastmath
def rows_times(K, rows, coef):
    """(n, n), (q,), (q,) -> (n,): Σ_r coef_r K[rows_r], each row read once."""
    n = K.shape[1]
    out = np.zeros(n)
    q = rows.shape[0]
    r = 0
    while r + 4 <= q:  # four rows a turn, so that `out` is read and written a quarter as often
        a, b, c, d = K[rows[r]], K[rows[r + 1]], K[rows[r + 2]], K[rows[r + 3]]
        ca, cb, cc, cd = coef[r], coef[r + 1], coef[r + 2], coef[r + 3]
        for t in range(n):
            out[t] += ca * a[t] + cb * b[t] + cc * c[t] + cd * d[t]
        r += 4
    while r < q:
        a, ca = K[rows[r]], coef[r]
        for t in range(n):
            out[t] += ca * a[t]
        r += 1
    return out


@jit_fastmath
def gather(K, rows, cols, factor):
    """(n, n), (q,), (p,), () -> (q, p): factor · K[rows, cols] in float64."""
    out = np.empty((rows.shape[0], cols.shape[0]))
    for r in range(rows.shape[0]):
        row = K[rows[r]]
        for c in range(cols.shape[0]):
            out[r, c] = factor * row[cols[c]]
    return out


def quads(stack, picked, rows, coefs):
    """(m, n, n), (p,), (q,), (c, n) -> (p, c): coef' K_m coef for the picked m; rows are where any coef is not zero."""
    # two functions: who has fewer than four matrices does not wait until the long one is compiled
    out, n_four = np.zeros((len(picked), len(coefs))), len(picked) // 4 * 4
    if n_four:
        _add_four_quads(stack, picked[:n_four], rows, coefs, out)
    if n_four < len(picked):
        _add_quads(stack, picked[n_four:], rows, coefs, out[n_four:])
    return out


@jit_fastmath
def _add_four_quads(stack, picked, rows, coefs, out):
    """`quads`, four matrices side by side: memory delivers several streams sooner than one."""
    last = rows[-1] + 1 if rows.shape[0] else 0
    for p in range(0, picked.shape[0], 4):
        m0, m1, m2, m3 = picked[p], picked[p + 1], picked[p + 2], picked[p + 3]
        for i in rows:  # the upper triangle: each pair once, and the diagonal by halves
            k0, k1, k2, k3 = stack[m0, i, i:last], stack[m1, i, i:last], stack[m2, i, i:last], stack[m3, i, i:last]
            for c in range(coefs.shape[0]):
                rest = coefs[c, i:last]
                half = -0.5 * rest[0]
                s0, s1, s2, s3 = half * k0[0], half * k1[0], half * k2[0], half * k3[0]
                for j in range(rest.shape[0]):
                    s0 += rest[j] * k0[j]
                    s1 += rest[j] * k1[j]
                    s2 += rest[j] * k2[j]
                    s3 += rest[j] * k3[j]
                twice = 2.0 * rest[0]
                out[p, c] += twice * s0
                out[p + 1, c] += twice * s1
                out[p + 2, c] += twice * s2
                out[p + 3, c] += twice * s3


@jit_fastmath
def _add_quads(stack, picked, rows, coefs, out):
    """`quads`, one matrix after another."""
    last = rows[-1] + 1 if rows.shape[0] else 0
    for p in range(picked.shape[0]):
        for i in rows:
            row = stack[picked[p], i, i:last]
            for c in range(coefs.shape[0]):
                rest = coefs[c, i:last]
                half = -0.5 * rest[0] * row[0]
                for j in range(rest.shape[0]):
                    half += rest[j] * row[j]
                out[p, c] += 2.0 * rest[0] * half


@jit_fastmath
def products(stack, picked, at, coef):
    """(m, n, n), (p,), (f,), (n,) -> (p, f): K_m[at] coef for the picked m."""
    out = np.empty((picked.shape[0], at.shape[0]))
    for p in range(picked.shape[0]):
        for i in range(at.shape[0]):
            row = stack[picked[p], at[i]]
            total = 0.0
            for j in range(coef.shape[0]):
                total += coef[j] * row[j]
            out[p, i] = total
    return out


@jit_fastmath
def mix(stack, picked, weights):
    """(m, n, n), (p,), (p,) -> (n, n) float64: Σ_p weights_p K_p."""
    out = np.zeros(stack.shape[1:])
    add_mixed(stack, picked, weights, out, 0, len(out))
    return out


@jit_fastmath
def add_mixed(stack, picked, weights, out, first, last):
    """(m, n, n), (p,), (p,), (n, n) -> None: out += Σ_p weights_p K_p, from upper triangles; a row stays near.

    For the rows first to last, and the columns below the diagonal that mirror them.
    """
    n, n_terms = stack.shape[1], picked.shape[0]
    for i in range(first, last):
        to = out[i, i:]
        p = 0
        while p + 4 <= n_terms:  # four a turn, as in `quads`
            k0, k1 = stack[picked[p], i, i:], stack[picked[p + 1], i, i:]
            k2, k3 = stack[picked[p + 2], i, i:], stack[picked[p + 3], i, i:]
            w0, w1, w2, w3 = weights[p], weights[p + 1], weights[p + 2], weights[p + 3]
            for j in range(to.shape[0]):
                to[j] += w0 * k0[j] + w1 * k1[j] + w2 * k2[j] + w3 * k3[j]
            p += 4
        while p < n_terms:
            row, weight = stack[picked[p], i, i:], weights[p]
            for j in range(to.shape[0]):
                to[j] += weight * row[j]
            p += 1
    for start in range(first, last, 32):  # mirrored tile by tile: both sides of a tile stay near
        for other in range(start, n, 32):
            for i in range(start, min(start + 32, last)):
                for j in range(max(i + 1, other), min(other + 32, n)):
                    out[j, i] = out[i, j]


@jit_fastmath
def spread(K, which, out):
    """(d, d), (n,), (n, n) -> None: out_ij += K[which_i, which_j], in place."""
    n = which.shape[0]
    for i in range(n):
        row, to = K[which[i]], out[i]
        for j in range(n):
            to[j] += row[which[j]]


def size_and_skew(K):
    """(n, n) -> largest |K_ij| and |K_ij − K_ji|, some rows at a time; both infinite where K is not finite."""
    size = skew = 0.0
    for start in range(0, len(K), 64):
        rows, columns = K[start : start + 64, start:], K[start:, start : start + 64].T
        if not (np.isfinite(rows).all() and np.isfinite(columns).all()):
            return np.inf, np.inf
        size = max(size, rows.max(), -rows.min(), columns.max(), -columns.min())
        skew = max(skew, np.abs(rows - columns).max())
    return float(size), float(skew)
