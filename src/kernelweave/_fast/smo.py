"""Sequential minimal optimisation on one dense block."""

import numpy as np

from . import jit_fastmath, jit_rough
from .tiles import room_for

#: Stands for "this direction is closed"; finite, so that sums with it stay ordered.
CLOSED, CLOSED32 = 1e300, np.float32(1e30)
#: Numbers that `smo_single` works on at a time: all it needs of them stays next to the processor.
_PART = 512
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
def smo_single(K, ridge, l1, lower, upper, a, g, eps, max_iter):
    """(q, q), (q,), (), (q,) × 4, (), () -> iterations, violation: the same turns, chosen in single precision.

    K is in single precision. In the end g is made anew from what moved, in double precision, and the violation from it:
    it may be above eps where rounding misled the turns.
    """
    q, before = a.shape[0], a.copy()
    room = room_for(7, q, K)  # by number: what is unpacked is not known to be contiguous
    diag, up, down, climb, fall, gain, g32 = room[0], room[1], room[2], room[3], room[4], room[5], room[6]
    for t in range(q):
        diag[t], g32[t] = K[t, t] + ridge[t], g[t]
        up[t], down[t] = _doors(a[t], lower[t], upper[t], l1)
        up[t], down[t] = max(up[t], -CLOSED32), min(down[t], CLOSED32)
    size = np.float64(diag[:q].max())
    flat, flat32 = max(1e-12 * min(1.0, size), 1e-300), np.float32(max(1e-7 * size, 1e-30))
    i, turn = _climber(np.float32(0.0), K[0], K[0], up, g32, climb), 0
    while turn < max_iter:
        j, worst = _partner(up[i] - g32[i], K[i], diag[i], down, g32, diag, flat32, fall, gain)
        if worst <= eps or up[i] <= -CLOSED32 or j == i:
            break
        curve = max(K[i, i] + ridge[i] + K[j, j] + ridge[j] - 2.0 * np.float64(K[i, j]), flat)
        step = (np.float64(up[i]) - g32[i] - down[j] + g32[j]) / curve
        room_i = -a[i] if (l1 > 0.0 and a[i] < 0.0) else upper[i] - a[i]
        room_j = a[j] if (l1 > 0.0 and a[j] > 0.0) else a[j] - lower[j]
        step = min(step, room_i, room_j)
        if not step > 0.0:
            break
        a[i] = (0.0 if l1 > 0.0 and a[i] < 0.0 else upper[i]) if step == room_i else a[i] + step
        a[j] = (0.0 if l1 > 0.0 and a[j] > 0.0 else lower[j]) if step == room_j else a[j] - step
        for t in (i, j):
            above, below = _doors(a[t], lower[t], upper[t], l1)
            up[t], down[t] = max(above, -CLOSED32), min(below, CLOSED32)
        g32[i] += step * ridge[i]
        g32[j] -= step * ridge[j]
        i = _climber(np.float32(step), K[i], K[j], up, g32, climb)
        turn += 1
    add_moves(K, ridge, a - before, g)
    return turn, violation(l1, lower, upper, a, g)


@jit_rough
def _climber(step, Ki, Kj, up, g, climb):
    """(), (q,) × 2, (q or more,) × 3 -> (): g += step (K_i − K_j); and which sample then climbs steepest."""
    q, best, at = Ki.shape[0], np.int32(0), -1
    for start in range(0, q, _PART):
        stop = min(start + _PART, q)
        rise, sink, to, door, out = Ki[start:stop], Kj[start:stop], g[start:stop], up[start:stop], climb[start:stop]
        for t in range(to.shape[0]):
            to[t] += step * (rise[t] - sink[t])
        for t in range(to.shape[0]):
            out[t] = door[t] - to[t]
        top = _highest(out.view(np.int32))
        if at < 0 or top > best:
            best, at = top, start
    return at + _place(climb[at : min(at + _PART, q)].view(np.int32), best)


@jit_rough
def _partner(top, Ki, base, down, g, diag, flat, fall, gain):
    """(), (q,), (), (q or more,) × 3, (), (q or more,) × 2 -> which sample gains most beside i; the violation."""
    q, best, at, worst = Ki.shape[0], np.int32(-1), 0, np.int32(0)
    for start in range(0, q, _PART):
        stop = min(start + _PART, q)
        row, door, grad, size = Ki[start:stop], down[start:stop], g[start:stop], diag[start:stop]
        least, out = fall[start:stop], gain[start:stop]
        for t in range(row.shape[0]):
            least[t] = max(top - (door[t] - grad[t]), np.float32(0.0))
        for t in range(row.shape[0]):
            out[t] = least[t] * least[t] / max(base + size[t] - row[t] - row[t], flat)
        worst = max(worst, _highest(least.view(np.int32)))
        most = _highest(out.view(np.int32))
        if most > best:
            best, at = most, start
    j = at + _place(gain[at : min(at + _PART, q)].view(np.int32), best)
    fall[:1].view(np.int32)[0] = worst
    return j, np.float64(fall[0])


@jit_rough
def _highest(bits):
    """(q,) -> the largest of numbers in single precision, given and returned as integers of the same order."""
    top = np.int32(-0x7FFFFFFF)
    for t in range(bits.shape[0]):
        top = max(top, np.int32(bits[t] ^ np.int32(np.int32(bits[t] >> np.int32(31)) & np.int32(0x7FFFFFFF))))
    return top


@jit_rough
def _place(bits, found):
    """(q,), () -> where the number is that `_highest` found, first of equals."""
    sought = np.int32(found ^ np.int32(np.int32(found >> np.int32(31)) & np.int32(0x7FFFFFFF)))
    for start in range(0, bits.shape[0], _BLOCK):
        part, seen = bits[start : min(start + _BLOCK, bits.shape[0])], 0
        for t in range(part.shape[0]):
            seen |= part[t] == sought
        if seen:
            for t in range(part.shape[0]):
                if part[t] == sought:
                    return start + t
    return 0


@jit_fastmath
def add_moves(K, ridge, moves, g):
    """(q, q), (q,) × 3 -> None: g += (K + diag(ridge)) moves, four rows at a time."""
    q, moved = g.shape[0], np.flatnonzero(moves)
    for start in range(0, q, _PART):
        to = g[start : start + _PART]
        for first in range(0, len(moved), 4):
            some = moved[first : first + 4]
            m0, m1, m2, m3 = some[0], some[min(1, len(some) - 1)], some[min(2, len(some) - 1)], some[len(some) - 1]
            d0, d1 = moves[m0], moves[m1] if len(some) > 1 else 0.0
            d2, d3 = moves[m2] if len(some) > 2 else 0.0, moves[m3] if len(some) > 3 else 0.0
            k0, k1 = K[m0][start : start + _PART], K[m1][start : start + _PART]
            k2, k3 = K[m2][start : start + _PART], K[m3][start : start + _PART]
            for t in range(to.shape[0]):
                to[t] += (d0 * k0[t] + d1 * k1[t]) + (d2 * k2[t] + d3 * k3[t])
    for t in range(q):
        g[t] += ridge[t] * moves[t]


@jit_fastmath
def violation(l1, lower, upper, a, g):
    """(), (q,) × 4 -> by how much the steepest climb is above the least fall."""
    top, low = -CLOSED, CLOSED
    for t in range(a.shape[0]):
        up, down = _doors(a[t], lower[t], upper[t], l1)
        top, low = max(top, up - g[t]), min(low, down - g[t])
    return max(top - low, 0.0) if top > -0.5 * CLOSED and low < 0.5 * CLOSED else 0.0


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
