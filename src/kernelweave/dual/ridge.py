"""One linear system: the dual solver for problems without bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from ..gram import Combined
from ..losses import BoxQP, SmoothLoss
from .base import DualSolver, DualState, Machine

#: Above this many samples, conjugate gradients take over from Cholesky factors.
MAX_CHOLESKY = 8000


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

    def step(self, machine: Machine, K: Combined, state: DualState) -> DualState:
        # each step solves for what is left: one is enough but for rounding and loose conjugate gradients
        qp, tol = machine.qp, state.memory.get("tol", 1e-3)
        coef, _ = solve_free(qp, K, self.max_cholesky, state.coef, tol)
        final = K.n <= self.max_cholesky and state.n_steps >= 2
        memory = {"tol": max(1e-2 * tol, 1e-13)}
        return replace(state, coef=coef, f=K.apply(coef), n_steps=state.n_steps + 1, final=final, memory=memory)


def solve_free(qp: BoxQP, K: Combined, max_cholesky: int, start: np.ndarray, tol: float) -> tuple[np.ndarray, float]:
    """Return (a, b) with (K + diag(ridge)) a + b = −linear and Σ a = total."""
    plain = not (qp.ridge > 0).all()  # the ridge is in K already
    root = np.ones(K.n) if plain else 1.0 / np.sqrt(qp.ridge)
    if K.n <= max_cholesky and K.matrix is not None:
        # b is of the size of the data, so columns are solved together and combined
        B = K.factor * np.asarray(K.matrix, dtype=np.float64) * root[:, None] * root
        B.flat[:: K.n + 1] += qp.ridge if plain else 1.0
        factor = linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
        both = linalg.cho_solve(factor, np.column_stack([-qp.linear * root, root]), check_finite=False)
        u, v = (root[:, None] * both).T
    else:
        one = qp.ridge if plain else 1.0
        operator = LinearOperator((K.n, K.n), lambda z: one * z + root * K.apply(root * z.ravel()), dtype=np.float64)
        u = root * cg(operator, -qp.linear * root, x0=start / root, rtol=tol, maxiter=2 * K.n)[0]
        v = root * cg(operator, root, rtol=tol, maxiter=2 * K.n)[0]
    b = float((u.sum() - qp.total) / v.sum())
    return u - b * v, b
