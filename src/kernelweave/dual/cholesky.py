"""Cholesky factors of large matrices, block by block, so that Ctrl-C is heard between two blocks."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

#: Columns of a block: of 8,000 samples, one takes a third of a second.
BLOCK = 256
#: Up to this many samples LAPACK takes less than a tenth of a second.
MAX_WHOLE = 2000


def factored(A: np.ndarray, block: int | None = None) -> np.ndarray | None:
    """Return the upper factor R of A = R'R, made in the place of A; None where A has none.

    LAPACK does not look up until it is done, which for 8,000 samples takes some seconds. Here A is taken in block
    columns from the left: each loses what those before it explain, L_jj L_jj' is its own part on the diagonal, and
    L_ij = A_ij L_jj'⁻¹ the part below.

    Parameters
    ----------
    A : array of shape (n, n), C-contiguous
        Symmetric; what is above its diagonal afterwards is of no use.
    block : int, optional
        Columns of a block; by default all of a small matrix.
    """
    n = len(A)
    block = block or (n if n <= MAX_WHOLE else BLOCK)
    for start in range(0, n, block):
        end = min(start + block, n)
        A[start:, start:end] -= A[start:, :start] @ A[start:end, :start].T
        L, failed = lapack.dpotrf(A[start:end, start:end], lower=1)
        if failed:
            return None
        A[start:end, start:end] = L
        if end < n:
            A[end:, start:end] = blas.dtrsm(1.0, L, A[end:, start:end].T, lower=1).T
    return A.T
