"""The gap-weighted subsequence kernel, by dynamic programming."""

import numpy as np

from kernelweave._fast import jit


@jit
def subsequence_pair(x, y, k, decay, size):
    """Codes (p,), (q,) uint8 -> Σ decay^(spans) over common subsequences of k letters; codes >= size match nothing."""
    p, q = len(x), len(y)
    before = np.ones((p + 1, q + 1))  # of one letter less: all gaps up to here are counted
    total = 0.0
    for length in range(1, k + 1):
        here = np.zeros((p + 1, q + 1))
        total = 0.0
        for i in range(1, p + 1):
            run = 0.0
            for j in range(1, q + 1):
                run *= decay
                if x[i - 1] == y[j - 1] and x[i - 1] < size:
                    found = decay * decay * before[i - 1, j - 1]
                    run += found
                    total += found
                here[i, j] = decay * here[i - 1, j] + run
        before = here
        if length < k and total == 0.0:
            return 0.0
    return total


@jit
def subsequence_block(a, starts_a, b, starts_b, k, decay, size, out):
    """Codes (N,), starts (n + 1,), codes (M,), starts (m + 1,) -> out (n, m), all pairs."""
    for i in range(len(starts_a) - 1):
        x = a[starts_a[i] : starts_a[i + 1]]
        for j in range(len(starts_b) - 1):
            out[i, j] = subsequence_pair(x, b[starts_b[j] : starts_b[j + 1]], k, decay, size)


@jit
def subsequence_diagonal(a, starts_a, k, decay, size, out):
    """Codes (N,), starts (n + 1,) -> out (n,), every sequence with itself."""
    for i in range(len(starts_a) - 1):
        x = a[starts_a[i] : starts_a[i + 1]]
        out[i] = subsequence_pair(x, x, k, decay, size)
