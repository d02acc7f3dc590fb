"""Rows of numbers, in single or double precision, times vectors in double: table (N, d)."""

from kernelweave._fast import jit_fastmath


@jit_fastmath
def table_times(table, rows, vectors, out):
    """Rows (m,), vectors (c, d), out (m, c): out[i, c] = table[rows[i]] · vectors[c]; each row is read once."""
    for i in range(rows.shape[0]):
        row = table[rows[i]]
        for c in range(vectors.shape[0]):
            v = vectors[c]
            total = 0.0
            for u in range(v.shape[0]):
                total += row[u] * v[u]
            out[i, c] = total


@jit_fastmath
def table_sums(table, rows, coef, out):
    """Rows (q,), coef (q, c), out (c, d): out[c] += coef[q, c] · table[rows[q]]; each row is read once."""
    for q in range(rows.shape[0]):
        row = table[rows[q]]
        for c in range(out.shape[0]):
            to, a = out[c], coef[q, c]
            if a != 0.0:
                for u in range(to.shape[0]):
                    to[u] += a * row[u]


@jit_fastmath
def table_squares(table, first, centre, starts, out):
    """Centre (d,), starts (t + 1,), out (t, m): out[t, i] = the sum of (table[first + i] + centre)² in columns of t."""
    for i in range(out.shape[1]):
        row = table[first + i]
        for t in range(out.shape[0]):
            total = 0.0
            for u in range(starts[t], starts[t + 1]):
                value = row[u] + centre[u]
                total += value * value
            out[t, i] = total
