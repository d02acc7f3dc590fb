"""One linear system: the dual solver for problems without bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from .. import clock
from ..errors import TimeLimitError
from ..gram import Combined
from ..losses import BoxQP, SmoothLoss
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine
from .cholesky import factored

#: Above this many samples, conjugate gradients take over from Cholesky factors.
MAX_CHOLESKY = 8000
#: What is added to the diagonal, in shares of its mean, until rounding leaves a positive definite matrix.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)
#: How well conjugate gradients solve the system in the first step, in the second, and so on.
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13)
#: How often the factor is used: once, and again for what is left over.
REFINEMENTS = 3
#: What may be left over, as a share of the largest target.
ROUNDING = 1e-13


class Ridge(DualSolver):
    """Solves (K + diag(ridge)) a + b = −linear, Σ a = total: by Cholesky, or by conjugate gradients.

    Both work on I + R K R with R = 1/√ridge, which stays well-conditioned however uneven the
    ridge is.

    Parameters
    ----------
    max_cholesky : int
        Up to how many samples the system is factored.
    """

    name = "ridge"

    def __init__(self, max_cholesky: int = MAX_CHOLESKY) -> None:
        self.max_cholesky = max_cholesky

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        return not isinstance(machine.loss, SmoothLoss) and machine.qp.free

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        # each step solves for what is left: one is enough but for rounding and loose conjugate gradients
        tol = TOLERANCES[min(state.n_steps, len(TOLERANCES) - 1)]
        coef, _ = solve_free(machine.qp, K, self.max_cholesky, state.coef, tol)
        final = K.n <= self.max_cholesky and state.n_steps >= 2
        with clock.until(np.inf):  # or what was found would be lost
            f = K.apply(coef)
        return replace(state, coef=coef, f=f, n_steps=state.n_steps + 1, final=final, exact=True)

    def together(self, machines: Sequence[Machine], K: Combined) -> list[DualState] | None:
        """Return the states of machines without bounds: those with the same ridge share one Cholesky factor."""
        if K.n > self.max_cholesky or K.matrix is None or not all(self.fits(machine) for machine in machines):
            return None
        groups: dict[bytes, list[int]] = {}
        for number, machine in enumerate(machines):
            groups.setdefault(machine.qp.ridge.tobytes(), []).append(number)
        states: list[DualState] = [DualState(np.zeros(K.n), np.zeros(K.n), exact=True)] * len(machines)
        for group in groups.values():
            qps = [machines[number].qp for number in group]
            root = 1.0 / np.sqrt(qps[0].ridge)
            factor = _cholesky_factor(K, root)
            if factor is None:
                return None
            whole = replace(qps[0], linear=np.column_stack([qp.linear for qp in qps]))
            coef, _ = _solved_by_factor(whole, K, factor, root)
            f = np.ascontiguousarray(K.apply(coef).T)
            for number, own, values in zip(group, np.ascontiguousarray(coef.T), f, strict=True):
                states[number] = DualState(own, values, n_steps=1, exact=True)
        return states


def solve_free(qp: BoxQP, K: Combined, max_cholesky: int, start: np.ndarray, tol: float) -> tuple[np.ndarray, float]:
    """Return (a, b) with (K + diag(ridge)) a + b = −linear and Σ a = total.

    Where the matrix has no Cholesky factor, because K is not positive semi-definite, the start is all that is returned.
    """
    root = 1.0 / np.sqrt(qp.ridge)
    if K.n <= max_cholesky and K.matrix is not None:
        factor = _cholesky_factor(K, root)
        if factor is None:
            return start, 0.0
        a, intercept = _solved_by_factor(qp, K, factor, root)
        return a, float(intercept)
    operator = LinearOperator((K.n, K.n), lambda z: z.ravel() + root * K.apply(root * z.ravel()), dtype=np.float64)
    u = root * _by_conjugate_gradients(operator, -qp.linear * root, start / root, tol)
    v = root * _by_conjugate_gradients(operator, root, np.zeros(K.n), tol)
    b = float((u.sum() - qp.total) / v.sum())
    return u - b * v, b


def _by_conjugate_gradients(operator: LinearOperator, b: np.ndarray, start: np.ndarray, tol: float) -> np.ndarray:
    """Return x with operator x = b by conjugate gradients, or as far as time allowed; one turn is always taken."""
    last: list[np.ndarray] = []

    def look(x: np.ndarray) -> None:
        last[:] = [x.copy()]
        clock.check()

    def times(x: np.ndarray) -> np.ndarray:
        with clock.until(np.inf):
            return np.asarray(operator @ x)

    held = LinearOperator(operator.shape, times, dtype=np.float64)
    try:
        return np.asarray(cg(held, b, x0=start, rtol=tol, maxiter=2 * len(b), callback=look)[0])
    except TimeLimitError:
        return last[0]


def _cholesky_factor(K: Combined, root: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor of I + R K R, where I may be lost in rounding; None where it has none."""
    for jitter in JITTERS:  # made anew every time: two such matrices might not fit
        B = np.multiply(np.asarray(K.matrix), K.factor * root, dtype=np.float64)
        B *= root[:, None]
        B.flat[:: K.n + 1] += 1.0
        B.flat[:: K.n + 1] += jitter * float(np.trace(B)) / K.n
        factor = factored(B)
        if factor is not None:
            return factor
    return None


def _solved_by_factor(qp: BoxQP, K: Combined, factor: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (a, b) from the factor of I + R K R, and again from what rounding and jitter left over.

    `qp.linear` may have several columns, (n, n_machines); then so has a.
    """
    v = root * lapack.dpotrs(factor, root)[0]
    a, b = np.zeros(qp.linear.shape), np.zeros(qp.linear.shape[1:])
    rest, column = -qp.linear, (slice(None), *[None] * (qp.linear.ndim - 1))
    enough = ROUNDING * np.abs(rest).max()
    for _ in range(REFINEMENTS):
        mean = rest.mean(axis=0)
        u = root[column] * lapack.dpotrs(factor, root[column] * (rest - mean))[0]
        more = (u.sum(axis=0) + a.sum(axis=0) - qp.total) / v.sum()
        a, b = a + u - v[column] * more, b + more + mean
        rest = -qp.linear - b - qp.ridge[column] * a - K.apply(a)
        if rest.ndim > 1 and np.abs(rest).max() <= enough:  # of many machines at once, a turn is worth sparing
            break
    return a, b
