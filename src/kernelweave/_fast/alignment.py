"""Values of pairs, made ready to be multiplied."""

import numpy as np

from . import jit_fastmath


@jit_fastmath
def pair_values(K, left, right, roots):
    """(m, r, c), (m, r), (m, c), (r, c) -> (m, r · c): (K_mrc − left_mr − right_mc) · roots_rc."""
    n_terms, n_rows, n_cols = K.shape
    out = np.empty((n_terms, n_rows * n_cols))
    for m in range(n_terms):
        for r in range(n_rows):
            to, row, root, across, down = out[m, r * n_cols : (r + 1) * n_cols], K[m, r], roots[r], right[m], left[m, r]
            for c in range(n_cols):
                to[c] = (row[c] - down - across[c]) * root[c]
    return out
