"""Values of pairs, made ready to be multiplied."""

import numpy as np

from . import jit_fastmath


@jit_fastmath
def pair_values(K, start, left, right, roots):
    """(m, r, n), first column, (m, r), (m, c), (r, c) -> (m, r · c): (K_mr,start+c − left_mr − right_mc) · roots_rc."""
    n_terms, n_rows, n_cols = left.shape[0], left.shape[1], right.shape[1]
    out = np.empty((n_terms, n_rows * n_cols))
    for m in range(n_terms):
        across = right[m]
        for r in range(n_rows):
            to, row, root, down = out[m, r * n_cols :], K[m, r, start:], roots[r], left[m, r]
            for c in range(n_cols):
                to[c] = (row[c] - down - across[c]) * root[c]
    return out
