"""Distances between rows of numbers."""

import numpy as np

from . import jit


@jit
def _add_squares(A, BT, out):
    """out[i, j] += (A_ic − B_jc)² for every c; the inner loop runs over j to use vector units."""
    for i in range(A.shape[0]):
        row = out[i]
        for c in range(A.shape[1]):
            a = A[i, c]
            column = BT[c]
            for j in range(row.shape[0]):
                diff = a - column[j]
                row[j] += diff * diff


def squared_distances(A, BT):
    """(n, d), (d, m) -> (n, m): ‖A_i − B_j‖², summed directly."""
    out = np.zeros((A.shape[0], BT.shape[1]))
    _add_squares(A, BT, out)
    return out


@jit
def _add_distances(A, BT, out):
    """out[i, j] += |A_ic − B_jc| for every c."""
    for i in range(A.shape[0]):
        row = out[i]
        for c in range(A.shape[1]):
            a = A[i, c]
            column = BT[c]
            for j in range(row.shape[0]):
                row[j] += abs(a - column[j])


def absolute_distances(A, BT):
    """(n, d), (d, m) -> (n, m): Σ_c |A_ic − B_jc|."""
    out = np.zeros((A.shape[0], BT.shape[1]))
    _add_distances(A, BT, out)
    return out
