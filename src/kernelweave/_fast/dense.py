"""Rows and blocks of a dense matrix, without copies."""

import numpy as np

from . import jit_fastmath


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
