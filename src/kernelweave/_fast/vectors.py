"""Distances between rows of numbers."""

import numpy as np

from . import jit


@jit
def squared_distances(A, BT):
    """(n, d), (d, m) -> (n, m): ‖A_i − B_j‖², summed directly; the inner loop runs over j to use vector units."""
    n, m = A.shape[0], BT.shape[1]
    out = np.zeros((n, m))
    for i in range(n):
        row = out[i]
        for c in range(A.shape[1]):
            a = A[i, c]
            column = BT[c]
            for j in range(m):
                diff = a - column[j]
                row[j] += diff * diff
    return out


@jit
def absolute_distances(A, BT):
    """(n, d), (d, m) -> (n, m): Σ_c |A_ic − B_jc|."""
    n, m = A.shape[0], BT.shape[1]
    out = np.zeros((n, m))
    for i in range(n):
        row = out[i]
        for c in range(A.shape[1]):
            a = A[i, c]
            column = BT[c]
            for j in range(m):
                row[j] += abs(a - column[j])
    return out
