"""Sequential minimal optimisation on one dense block."""

import numpy as np

from . import jit_fastmath

#: Stands for "this direction is closed"; finite, so that sums with it stay ordered.
CLOSED = 1e300
#: Numbers per block of `_argmax`.
_BLOCK = 64
_MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)


@jit_fastmath
def smo(K, ridge, l1, lower, upper, a, g, eps, max_iter):
    """(q, q), (q,), (), (q,) × 4, (), () -> iterations, violation; a and its gradient g are updated in place.

    Minimises ½ a'(K + diag(ridge)) a + linear'a + l1‖a‖₁ over lower ≤ a ≤ upper at constant Σ a. Each turn
    moves the pair (i, j) by (+d, −d): i climbs steepest, j gives the largest second-order gain. The kink of
    l1 at zero is a bound that opens again on the next turn.
    """
    q = a.shape[0]
    diag = np.empty(q)
    up = np.empty(q)  # −l1·sign for a step up, or closed
    down = np.empty(q)  # the same for a step down
    climb = np.empty(q)
    fall = np.empty(q)
    gain = np.empty(q)
    largest = 0.0
    for t in range(q):
        diag[t] = K[t, t] + ridge[t]
        up[t], down[t] = _doors(a[t], lower[t], upper[t], l1)
        climb[t] = up[t] - g[t]
        largest = max(largest, diag[t])
    # two samples that are the same have no curvature between them, but for rounding
    flat = max(1e-12 * min(1.0, largest), 1e-300)
    violation = 0.0
    for turn in range(max_iter):
        i = _argmax(climb)
        top = climb[i]
        Ki = K[i]
        base = diag[i]
        # one store per loop: with more, the compiler cannot rule out overlaps and goes scalar
        for t in range(q):
            fall[t] = max(top - down[t] + g[t], 0.0)
        for t in range(q):
            gain[t] = fall[t] * fall[t] / max(base + diag[t] - 2.0 * Ki[t], flat)
        violation = fall[_argmax(fall)]
        if violation <= eps or top <= -0.5 * CLOSED:
            return turn, violation if top > -0.5 * CLOSED else 0.0
        j = _argmax(gain)
        Kj = K[j]
        step = fall[j] / max(base + diag[j] - 2.0 * Ki[j], flat)
        room_i = -a[i] if (l1 > 0.0 and a[i] < 0.0) else upper[i] - a[i]
        room_j = a[j] if (l1 > 0.0 and a[j] > 0.0) else a[j] - lower[j]
        step = min(step, room_i, room_j)
        if j == i or not step > 0.0:
            return turn, violation
        # a bound that is reached is reached to the last bit
        a[i] = (0.0 if l1 > 0.0 and a[i] < 0.0 else upper[i]) if step == room_i else a[i] + step
        a[j] = (0.0 if l1 > 0.0 and a[j] > 0.0 else lower[j]) if step == room_j else a[j] - step
        up[i], down[i] = _doors(a[i], lower[i], upper[i], l1)
        up[j], down[j] = _doors(a[j], lower[j], upper[j], l1)
        g[i] += step * ridge[i]
        g[j] -= step * ridge[j]
        for t in range(q):
            g[t] += step * (Ki[t] - Kj[t])
        for t in range(q):
            climb[t] = up[t] - g[t]
    return max_iter, violation


@jit_fastmath
def _doors(a, lower, upper, l1):
    """Scalars -> what a step up and a step down cost beside the gradient."""
    up = -CLOSED if a >= upper else (-l1 if a >= 0.0 else l1)
    down = CLOSED if a <= lower else (-l1 if a > 0.0 else l1)
    return up, down


@jit_fastmath
def _argmax(x):
    """(q,) -> where x is largest, first of equals.

    Compares the numbers as integers of the same order: the compiler uses vector units for those only.
    """
    bits = x.view(np.int64)
    q = bits.shape[0]
    best, at = -_MAGNITUDE - 1, 0
    for start in range(0, q, _BLOCK):
        part = bits[start : min(start + _BLOCK, q)]  # a slice: its indices are known not to be negative
        top = -_MAGNITUDE - 1
        for t in range(part.shape[0]):
            top = max(top, part[t] ^ ((part[t] >> 63) & _MAGNITUDE))
        if top > best:
            best, at = top, start
    part = bits[at : min(at + _BLOCK, q)]
    for t in range(part.shape[0]):
        if part[t] ^ ((part[t] >> 63) & _MAGNITUDE) == best:
            return at + t
    return at
