"""The last digits: exact values of the samples strictly between their bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from ..gram import Combined
from ..losses import BoxQP
from .base import DualState

#: More free samples than this are left to SMO: the linear systems would cost more than they gain.
MAX_FREE = 2500
#: Multiplications, times three, that one call may spend where it needs several systems.
WORK = 3e8


def free_set(qp: BoxQP, coef: np.ndarray) -> np.ndarray:
    """Return the samples strictly between their bounds, and off the kink of l1."""
    free = (coef > qp.lower) & (coef < qp.upper)
    return np.flatnonzero(free & (coef != 0) if qp.l1 > 0 else free)


def polish(qp: BoxQP, K: Combined, state: DualState) -> DualState:
    """Minimise the BoxQP over its free samples alone, exactly.

    One linear system gives the minimum; where a bound lies before it, walk to the bound,
    take the sample out and solve again. Every walk goes downhill, so it can only help.
    """
    coef, moved = state.coef.copy(), False
    g = state.f + qp.ridge * coef + qp.linear + qp.l1 * np.sign(coef)
    n_free = len(free_set(qp, coef))
    for _ in range(int(np.clip(WORK / max(1, n_free) ** 3, 1, 10))):
        F = free_set(qp, coef)
        if not 2 <= len(F) <= MAX_FREE:
            break
        H = K.block(F, F)
        H.flat[:: len(F) + 1] += qp.ridge[F]
        d = newton_direction(H, g[F])
        if d is None or np.abs(d).max() <= 1e-15 * np.abs(coef[F]).max():
            break
        length, reached = _walk_to_bound(coef[F], d, *_box_of_free(qp, coef[F], F))
        if not length > 0:
            break
        change = reached - coef[F]
        if not change @ (g[F] + 0.5 * (H @ change)) < 0.0:  # rounding is all that is left
            break
        coef[F], moved = reached, True
        if length == 1.0:
            break
        g += K.rows_times(F, change)
        g[F] += qp.ridge[F] * change
    if not moved:
        return state
    coef = _with_exact_sum(qp, coef)
    return replace(state, coef=coef, f=K.apply(coef))


def newton_direction(H: np.ndarray, g: np.ndarray) -> np.ndarray | None:
    """Return argmin over Σ d = 0 of ½ d'H d + g'd, for H positive semi-definite; None where H is not."""
    n = len(g)
    # all that Σ d = 0 leaves of H is P H P with P = I − 11'/n: regular where H itself may not be
    means = H.mean(axis=0)
    for jitter in (1e-14, 1e-11, 1e-8):
        centred = H - means  # worked on in place: one copy of H is all that fits beside a large kernel
        centred -= means[:, None]
        centred += means.mean()
        size = centred.trace() / n
        centred += size / n
        centred.flat[:: n + 1] += jitter * size
        factor, failed = lapack.dpotrf(centred.T, lower=0, clean=0, overwrite_a=1)
        if not failed:
            break
    else:
        return None
    d = -lapack.dpotrs(factor, g - g.mean(), lower=0)[0]
    # one more pass takes the jitter back out where H allows it
    rest = g + H @ d
    d -= lapack.dpotrs(factor, rest - rest.mean(), lower=0)[0]
    return d - d.mean() if np.isfinite(d).all() else None


def _box_of_free(qp: BoxQP, a: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the free samples; the kink of l1 at zero is one of them."""
    lower, upper = qp.lower[F], qp.upper[F]
    if qp.l1 > 0:
        lower, upper = np.where(a > 0, np.maximum(lower, 0.0), lower), np.where(a < 0, np.minimum(upper, 0.0), upper)
    return lower, upper


def _walk_to_bound(a: np.ndarray, d: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[float, np.ndarray]:
    """Return how far along d the box allows to go (1 at most), and where that leads."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(d > 0, (upper - a) / d, np.where(d < 0, (lower - a) / d, np.inf))
    length = min(1.0, float(room.min()))
    reached = np.clip(a + length * d, lower, upper)
    if length < 1.0:
        hit = room <= length * (1 + 1e-12)
        reached[hit] = np.where(d[hit] > 0, upper[hit], lower[hit])
    return length, reached


def _with_exact_sum(qp: BoxQP, coef: np.ndarray) -> np.ndarray:
    """Return coef with the rounding of Σ coef = total put into the free sample with most room."""
    slip = qp.total - coef.sum()
    room = np.minimum(qp.upper - coef, coef - qp.lower)
    widest = int(np.argmax(np.where(coef != 0, room, 0.0)))
    if 0 < abs(slip) < room[widest] and abs(slip) < 0.5 * abs(coef[widest]):
        coef[widest] += slip
    return coef


def repaired(qp: BoxQP, a: np.ndarray) -> np.ndarray:
    """Return coefficients that meet Σ a = total, near a: those between their bounds give way, each a share of its room.

    Where they have too little room, the heavier side is scaled down.
    """
    off = float(a.sum()) - qp.total
    if off == 0.0:
        return a
    free = (a > qp.lower) & (a < qp.upper) & (a != 0.0)
    bound = np.minimum(np.abs(a), np.where((a > 0) == (off > 0), np.inf, np.where(off > 0, a - qp.lower, qp.upper - a)))
    room = np.where(free, bound, 0.0)
    side = a > 0 if off > 0 else a < 0
    heavy = abs(float(a[side].sum()))
    out = a.copy()
    if room.sum() > abs(off):
        out -= off * room / room.sum()
    elif heavy > abs(off) and ((qp.lower <= 0) & (qp.upper >= 0))[side].all():
        out[side] *= 1.0 - abs(off) / heavy
    return qp.feasible(out)
