"""Whether matrices can be those of a kernel: without negative eigenvalues, as far as rounding lets one see."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .base import Kernel

#: Relative size of a negative eigenvalue, or of a difference from symmetry, that rounding may cause.
PSD_TOLERANCE = 1e-8
#: The same for numbers in single precision.
SINGLE_TOLERANCE = 1e-6
#: Up to this many samples a Cholesky factor proves that no eigenvalue is negative; of more, a random part is proven.
MAX_PROVEN = 2_000
#: Passes over the whole matrix that look for a negative eigenvalue where the proof covers a part only, and the vectors
#: that each of them multiplies: as many as memory delivers numbers for.
PASSES, WIDTH = 2, 16


def unproven(kernel: Kernel) -> list[Kernel]:
    """Return the kernels at the ends of an expression that nothing but a trial shows to be kernels."""
    # a subclass may compute something else, so what its parent says of itself does not hold for it
    return [leaf for leaf in kernel.leaves() if not ("definite" in vars(type(leaf)) and leaf.definite)]


def some_samples(n: int) -> np.ndarray:
    """Return which samples a proof covers: all, or a random part that is the same for every call."""
    if n <= MAX_PROVEN:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_PROVEN, replace=False))


def lowest_eigenvalue(
    K: np.ndarray,
    scale: float,
    n: int | None = None,
    times: Callable[[np.ndarray], np.ndarray] | None = None,
    tolerance: float = PSD_TOLERANCE,
) -> float:
    """Return 0 where no eigenvalue is found below −tolerance · scale · √n, and otherwise about the lowest.

    A Cholesky factor of K proves it for K. Where K is a part of the n samples, a few products with the whole matrix
    look for what the part does not show; that finds large negative eigenvalues, and proves nothing where it finds none.

    Parameters
    ----------
    K : array of shape (m, m)
        Symmetric: of all samples, or of `some_samples`.
    scale : float
        Largest absolute value of the matrix.
    n, times
        The number of samples, and V -> whole matrix @ V for V of shape (n, WIDTH), where K is a part.
    """
    from scipy import linalg

    m = len(K)
    if m == 0 or scale == 0.0:
        return 0.0
    allowed = tolerance * scale * (n or m) ** 0.5
    shifted = np.array(K, dtype=np.float64)
    shifted.flat[:: m + 1] += allowed
    searched = 0.0 if times is None else _ritz_value(times, n or m)
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return min(_lowest(np.asarray(K, dtype=np.float64)), searched, -allowed)
    return searched if searched < -allowed else 0.0


def _lowest(K: np.ndarray) -> float:
    from scipy.sparse.linalg import eigsh

    if len(K) <= 500:
        return float(np.linalg.eigvalsh(K)[0])
    # power iteration on a shifted matrix would do; Lanczos needs fewer products
    return float(eigsh(K, k=1, which="SA", tol=1e-3, v0=np.ones(len(K)))[0][0])


def _ritz_value(times: Callable[[np.ndarray], np.ndarray], n: int, passes: int = PASSES, width: int = WIDTH) -> float:
    """Return the lowest Rayleigh quotient that a few steps of block Lanczos see: never below the lowest eigenvalue."""
    Q = np.random.default_rng(0).normal(size=(n, min(width, n)))
    basis, images = np.empty((n, 0)), np.empty((n, 0))
    for _ in range(passes):
        for _ in range(2):  # twice is enough for vectors that are orthogonal to rounding
            Q = np.linalg.qr(Q - basis @ (basis.T @ Q))[0]
        basis, Q = np.hstack([basis, Q]), times(Q)
        images = np.hstack([images, Q])
        if basis.shape[1] + Q.shape[1] > n:
            break
    projected = basis.T @ images
    return float(np.linalg.eigvalsh(0.5 * (projected + projected.T))[0])
