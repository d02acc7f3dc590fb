"""Kernels on numbers, tile by tile: what the terms share of a pair of samples once, then every term from it.

Samples lie transposed, (d, n), so that loops run along the samples; d is even, by a column of zeros where it must be.
`kind` says what is shared: squared distances (0), distances (1) or products (2). A row of `forms` makes a term of it:
(gamma, coef0, degree, squares), which is exp(−gamma q) for degree 0, and (gamma q + coef0)^degree otherwise. Where
`squares` is not 0, exp(−gamma q) is that of the row before, squared so many times: gammas that double cost one product
each. Values are computed in the precision of the samples; sums of them are in double precision.
"""

import numpy as np

from . import jit_fastmath, jit_fused
from .exponential import exponential

#: Bytes of a row of a tile: as many as stay near the processor; and of a line of its cache.
WIDTH, LINE = 4096, 64
#: Rows that are compared with a tile at a time: what is read of the tile serves all of them.
ROWS = 4
#: Rows that are mirrored at a time where a matrix is symmetric.
MIRRORED = 32
#: How many times an exponential is squared before the next one is made anew, in single and in double precision: every
#: time doubles the error of its last bits.
SQUARES = (2, 6)
#: Says that there is no exponential to go on from; not a plain -1, which would be a type of its own, and compiled for.
AFRESH = np.int64(-1)


@jit_fused
def room_for(count, width, like):
    """(), (), any -> (count, width or more): memory whose rows begin where lines of the cache do, none a page apart.

    A vector that crosses a line costs two, and rows that are a page apart wait for each other.
    """
    size, line = like.itemsize, LINE // like.itemsize
    numbers = np.empty(count * (width + line) + line, like.dtype)
    begin = (LINE - numbers.ctypes.data % LINE) % LINE // size
    return numbers[begin : begin + count * (width + line)].reshape(count, width + line)


@jit_fused
def _take(cols, start, w, tile):
    """(d, m), (), (), (d, width) -> None: w samples from `start` on, into the tile."""
    for c in range(cols.shape[0]):
        some, to = cols[c][start : start + w], tile[c][:w]
        for j in range(w):
            to[j] = some[j]


@jit_fused
def _shared(kind, rows, i, last, tile, w, q):
    """() , (d, r), (), (), (d, width), (), (4, width) -> None: what is shared by rows i to i + 3 and w samples, into q.

    Rows from `last` on are not there: the one before is repeated. One step takes two columns, four rows and a vector.
    """
    r0, r1, r2, r3 = i, min(i + 1, last - 1), min(i + 2, last - 1), min(i + 3, last - 1)
    q0, q1, q2, q3 = q[0][:w], q[1][:w], q[2][:w], q[3][:w]
    q0[:], q1[:], q2[:], q3[:] = 0, 0, 0, 0
    for c in range(0, rows.shape[0] - 1, 2):
        x, y, above, below = tile[c][:w], tile[c + 1][:w], rows[c], rows[c + 1]
        a0, a1, a2, a3 = above[r0], above[r1], above[r2], above[r3]
        b0, b1, b2, b3 = below[r0], below[r1], below[r2], below[r3]
        if kind == 0:
            for j in range(w):
                q0[j] += (a0 - x[j]) * (a0 - x[j]) + (b0 - y[j]) * (b0 - y[j])
                q1[j] += (a1 - x[j]) * (a1 - x[j]) + (b1 - y[j]) * (b1 - y[j])
                q2[j] += (a2 - x[j]) * (a2 - x[j]) + (b2 - y[j]) * (b2 - y[j])
                q3[j] += (a3 - x[j]) * (a3 - x[j]) + (b3 - y[j]) * (b3 - y[j])
        elif kind == 1:
            for j in range(w):
                q0[j] += abs(a0 - x[j]) + abs(b0 - y[j])
                q1[j] += abs(a1 - x[j]) + abs(b1 - y[j])
                q2[j] += abs(a2 - x[j]) + abs(b2 - y[j])
                q3[j] += abs(a3 - x[j]) + abs(b3 - y[j])
        else:
            for j in range(w):
                q0[j] += a0 * x[j] + b0 * y[j]
                q1[j] += a1 * x[j] + b1 * y[j]
                q2[j] += a2 * x[j] + b2 * y[j]
                q3[j] += a3 * x[j] + b3 * y[j]


@jit_fused
def _power(q, form, weight, out):
    """(w,), (4,), (), (w,) -> None: weight · (gamma q + coef0)^degree, into out."""
    gamma, coef0, w = q.dtype.type(form[0]), q.dtype.type(form[1]), q.dtype.type(weight)
    for j in range(q.shape[0]):
        out[j] = w * (gamma * q[j] + coef0)
    for _ in range(1, int(form[2])):
        for j in range(q.shape[0]):
            out[j] *= gamma * q[j] + coef0


@jit_fused
def _value(q, form, squared, out):
    """(w,), (4,), (), (w,) -> (): the values of one term, into out, which has those of the one before.

    `squared` says how often the exponential in out was squared so far, and what is returned says so of the new one; it
    is −1 where there is none to go on from.
    """
    if form[2] != 0.0:
        _power(q, form, 1.0, out)
        return AFRESH
    squares = int(form[3])
    if squares > 0 and squared >= 0 and squared + squares <= SQUARES[q.itemsize // 8]:
        for _ in range(squares):
            for j in range(q.shape[0]):
                out[j] *= out[j]
        return squared + squares
    gamma = q.dtype.type(form[0])
    for j in range(q.shape[0]):
        out[j] = exponential(-gamma * q[j])
    return 0


@jit_fused
def _mix(q, forms, weights, values, out):
    """(w,), (p, 4), (p,), (w,), (w,) -> None: Σ_p weights_p · term p, into out; `values` is for what is in between."""
    out[:] = 0
    squared = AFRESH
    for p in range(forms.shape[0]):
        w = q.dtype.type(weights[p])
        if weights[p] == 0.0:
            squared = AFRESH
        elif forms[p, 2] != 0.0:
            squared = AFRESH
            _power(q, forms[p], weights[p], values)
            for j in range(q.shape[0]):
                out[j] += values[j]
        else:
            squared = _value(q, forms[p], squared, values)
            for j in range(q.shape[0]):
                out[j] += w * values[j]


@jit_fastmath
def _dot(values, coef):
    """(w,), (w,) -> (): their product, summed in double precision."""
    total = 0.0
    for j in range(values.shape[0]):
        total += np.float64(values[j]) * coef[j]
    return total


@jit_fused
def _add(values, scale, out):
    """(w,), (), (w,) -> None: out += scale · values."""
    for j in range(values.shape[0]):
        out[j] += scale * values[j]


@jit_fused
def _copy(values, scale, out):
    """(w,), (), (w,) -> None: out = scale · values, in the precision of out."""
    for j in range(values.shape[0]):
        out[j] = scale * values[j]


@jit_fused
def mixed(kind, rows, cols, forms, weights, out):
    """(), (d, r), (d, m), (p, 4), (p,), (r, m) -> None: out += Σ_p weights_p K_p."""
    r, m, width = rows.shape[1], cols.shape[1], WIDTH // rows.itemsize
    tile, q, room = room_for(len(cols), width, rows), room_for(ROWS, width, rows), room_for(2, width, rows)
    for start in range(0, m, width):
        w = min(width, m - start)
        _take(cols, start, w, tile)
        for i in range(0, r, ROWS):
            _shared(kind, rows, i, r, tile, w, q)
            for s in range(min(ROWS, r - i)):
                _mix(q[s][:w], forms, weights, room[0][:w], room[1][:w])
                _add(room[1][:w], rows.dtype.type(1.0), out[i + s][start : start + w])


@jit_fused
def mixed_upper(kind, data, forms, weights, first, last, fresh, out):
    """(), (d, n), (p, 4), (p,), (), (), (), (n, n) -> None: the same for rows first to last, from the diagonal on.

    Where `fresh`, out is written over instead of being added to. `mirror` does the rest.
    """
    n, width = data.shape[1], WIDTH // data.itemsize
    tile, q, room = room_for(len(data), width, data), room_for(ROWS, width, data), room_for(2, width, data)
    for top in range(first, last, MIRRORED):
        bottom = min(top + MIRRORED, last)
        for start in range(top, n, width):
            w = min(width, n - start)
            _take(data, start, w, tile)
            for i in range(top, bottom, ROWS):
                _shared(kind, data, i, bottom, tile, w, q)
                for s in range(min(ROWS, bottom - i)):
                    _mix(q[s][:w], forms, weights, room[0][:w], room[1][:w])
                    if fresh:
                        _copy(room[1][:w], data.dtype.type(1.0), out[i + s][start : start + w])
                    else:
                        _add(room[1][:w], data.dtype.type(1.0), out[i + s][start : start + w])


@jit_fused
def spread_upper(K, which, first, last, fresh, out):
    """(d, d), (n,), (), (), (), (n, n) -> None: K of the distinct samples that these are, as `mixed_upper` has it."""
    for i in range(first, last):
        row, to = K[which[i]], out[i]
        if fresh:
            for j in range(i, which.shape[0]):
                to[j] = row[which[j]]
        else:
            for j in range(i, which.shape[0]):
                to[j] += row[which[j]]


@jit_fused
def mirror(out, first, last):
    """(n, n), (), () -> None: rows first to last of the upper triangle are copied to below the diagonal."""
    for top in range(first, last, 4 * MIRRORED):
        _mirror(out, top, min(top + 4 * MIRRORED, last), top, out.shape[0])


@jit_fused
def _mirror(out, top, bottom, start, stop):
    """(n, n), () × 4 -> None: the same for the columns start to stop, of few rows."""
    for j in range(start, stop):
        to = out[j][top : min(bottom, j)]
        for i in range(to.shape[0]):
            to[i] = out[top + i, j]


@jit_fused
def each_symmetric(kind, data, forms, scales, terms, first, last, out):
    """(), (d, n), (p, 4), (p,), (p,), (), (), (t, n, n) -> None: out[terms_p] = scales_p K_p, rows first to last.

    And what mirrors them.
    """
    n, width = data.shape[1], WIDTH // data.itemsize
    tile, q, room = room_for(len(data), width, data), room_for(ROWS, width, data), room_for(1, width, data)[0]
    for top in range(first, last, MIRRORED):
        bottom = min(top + MIRRORED, last)
        for start in range(top, n, width):
            w = min(width, n - start)
            _take(data, start, w, tile)
            for i in range(top, bottom, ROWS):
                _shared(kind, data, i, bottom, tile, w, q)
                for s in range(min(ROWS, bottom - i)):
                    squared = AFRESH
                    for p in range(forms.shape[0]):
                        squared = _value(q[s][:w], forms[p], squared, room[:w])
                        _copy(room[:w], scales[p], out[terms[p], i + s][start : start + w])
            for p in range(forms.shape[0]):
                _mirror(out[terms[p]], top, bottom, start, start + w)


@jit_fused
def each(kind, rows, cols, forms, scales, terms, out):
    """(), (d, r), (d, m), (p, 4), (p,), (p,), (t, r, m) -> None: out[terms_p] += scales_p K_p."""
    r, m, width = rows.shape[1], cols.shape[1], WIDTH // rows.itemsize
    tile, q, room = room_for(len(cols), width, rows), room_for(ROWS, width, rows), room_for(1, width, rows)[0]
    for start in range(0, m, width):
        w = min(width, m - start)
        _take(cols, start, w, tile)
        for i in range(0, r, ROWS):
            _shared(kind, rows, i, r, tile, w, q)
            for s in range(min(ROWS, r - i)):
                squared = AFRESH
                for p in range(forms.shape[0]):
                    squared = _value(q[s][:w], forms[p], squared, room[:w])
                    _add(room[:w], scales[p], out[terms[p], i + s][start : start + w])


@jit_fused
def mixed_products(kind, rows, cols, forms, weights, coef, out):
    """(), (d, r), (d, m), (p, 4), (p,), (c, m), (r, c) -> None: out += Σ_p weights_p K_p coef'."""
    r, m, width = rows.shape[1], cols.shape[1], WIDTH // rows.itemsize
    tile, q, room = room_for(len(cols), width, rows), room_for(ROWS, width, rows), room_for(2, width, rows)
    for start in range(0, m, width):
        w = min(width, m - start)
        _take(cols, start, w, tile)
        for i in range(0, r, ROWS):
            _shared(kind, rows, i, r, tile, w, q)
            for s in range(min(ROWS, r - i)):
                _mix(q[s][:w], forms, weights, room[0][:w], room[1][:w])
                for c in range(coef.shape[0]):
                    out[i + s, c] += _dot(room[1][:w], coef[c][start : start + w])


@jit_fused
def each_products(kind, rows, cols, forms, scales, terms, coef, out):
    """(), (d, r), (d, m), (p, 4), (p,), (p,), (c, m), (t, r, c) -> None: out[terms_p] += scales_p K_p coef'."""
    r, m, width = rows.shape[1], cols.shape[1], WIDTH // rows.itemsize
    tile, q, room = room_for(len(cols), width, rows), room_for(ROWS, width, rows), room_for(1, width, rows)[0]
    for start in range(0, m, width):
        w = min(width, m - start)
        _take(cols, start, w, tile)
        for i in range(0, r, ROWS):
            _shared(kind, rows, i, r, tile, w, q)
            for s in range(min(ROWS, r - i)):
                squared = AFRESH
                for p in range(forms.shape[0]):
                    squared = _value(q[s][:w], forms[p], squared, room[:w])
                    for c in range(coef.shape[0]):
                        out[terms[p], i + s, c] += scales[p] * _dot(room[:w], coef[c][start : start + w])


@jit_fused
def each_quads(kind, data, forms, scales, terms, coef, first, last, out):
    """(), (d, n), (p, 4), (p,), (p,), (c, n), (), (), (t, c) -> None: out[terms_p] += scales_p coef'K_p coef.

    From the rows first to last of the upper triangle: each pair counts twice, and the diagonal once.
    """
    n, width = data.shape[1], WIDTH // data.itemsize
    tile, q, room = room_for(len(data), width, data), room_for(ROWS, width, data), room_for(1, width, data)[0]
    for top in range(first, last, MIRRORED):
        bottom = min(top + MIRRORED, last)
        for start in range(top, n, width):
            w = min(width, n - start)
            _take(data, start, w, tile)
            for i in range(top, bottom, ROWS):
                _shared(kind, data, i, bottom, tile, w, q)
                for s in range(min(ROWS, bottom - i)):
                    # what lies before the diagonal is there already
                    squared, after = AFRESH, i + s + 1 - start if start == top else 0
                    for p in range(forms.shape[0]):
                        squared = _value(q[s][:w], forms[p], squared, room[:w])
                        for c in range(coef.shape[0]):
                            if coef[c, i + s] != 0.0:
                                found = _dot(room[after:w], coef[c][start + after : start + w])
                                if after > 0:  # the diagonal counts once
                                    found += 0.5 * room[after - 1] * coef[c, i + s]
                                out[terms[p], c] += 2.0 * scales[p] * coef[c, i + s] * found
