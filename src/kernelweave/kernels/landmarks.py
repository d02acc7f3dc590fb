"""Landmarks: a few samples that span, nearly, what a kernel makes of all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from ..views import Views
from .base import Kernel

#: Samples among which landmarks are chosen: all, or so many drawn at random, and so many for each landmark.
MIN_CANDIDATES, CANDIDATES_EACH = 10_000, 20
#: Candidates that are drawn at a time.
DRAWN = 64
#: A sample whose landmarks leave less than this of k(x, x), against the largest, adds nothing but rounding.
SPENT = 1e-10
#: Samples, beside those that were candidates, from which the trace error is estimated.
TRIED = 4_000


@dataclass(frozen=True)
class Landmarks:
    """Landmarks of a kernel: φ(x) = factor⁻¹ k(landmarks, x), so that φ(x)·φ(y) is k(x, y) for every landmark x."""

    #: The landmarks, as the kernel sees them, and which of the training samples they are.
    views: Views
    rows: np.ndarray
    #: Lower triangle with factor factor' = k(landmarks, landmarks).
    factor: np.ndarray
    #: The share of Σ k(x, x) over training samples that is lost, where it is known.
    lost: float | None = None

    @classmethod
    def of(cls, kernel: Kernel, views: Views, rows: np.ndarray, lost: float | None = None) -> Landmarks:
        """Return these landmarks, but for those that depend on others to rounding."""
        while len(rows):
            K = np.array(kernel.compute(views, None), dtype=np.float64)
            factor, failed = lapack.dpotrf(K, lower=1, clean=1)
            if not failed:
                return cls(views, rows, factor, lost)
            views, rows = views.rows(np.arange(failed - 1)), rows[: failed - 1]
        return cls(views, rows, np.zeros((0, 0)), lost)

    def __len__(self) -> int:
        return len(self.rows)

    def embed(self, K: np.ndarray) -> np.ndarray:
        """Return φ of samples, (n, n_landmarks), from their similarities to the landmarks, (n, n_landmarks)."""
        return solve_triangular(self.factor, K.T, lower=True, check_finite=False).T

    def spread(self, normal: np.ndarray) -> np.ndarray:
        """Return the coefficients of the landmarks, with φ(x)·normal = Σ_l coefficient_l k(x, landmark l)."""
        return solve_triangular(self.factor, normal, lower=True, trans=1, check_finite=False)


def choose_landmarks(kernel: Kernel, X: Views, rank: int, seed: int) -> Landmarks:
    """Return `rank` landmarks among the samples, or fewer where those span all of them.

    A sample becomes a landmark with a probability in proportion to what the landmarks before it leave of k(x, x):
    randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber 2025), with candidates drawn many at a time and rejected
    where others among them take their share. O(m rank²) for m candidates, and m · rank kernel values.
    """
    rng, n = np.random.default_rng(seed), len(X)
    most = max(MIN_CANDIDATES, CANDIDATES_EACH * rank)
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    some = X if n <= most else X.rows(rows)
    picked, left = _pivots(kernel, some, rank, rng)
    found = Landmarks.of(kernel, some.rows(picked), rows[picked], left)
    if n == len(rows) or not len(found):
        return found
    return Landmarks(found.views, found.rows, found.factor, _lost(kernel, X, found, rng))


def _lost(kernel: Kernel, X: Views, found: Landmarks, rng: np.random.Generator) -> float:
    """Return the share of Σ k(x, x) that the landmarks lose, estimated from some samples."""
    tried = X.rows(np.sort(rng.choice(len(X), min(len(X), TRIED), replace=False)))
    whole = float(kernel.compute_diag(tried).sum())
    return max(0.0, 1.0 - float((found.embed(kernel.compute(tried, found.views)) ** 2).sum()) / whole)


def _pivots(kernel: Kernel, X: Views, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return the places of the landmarks, in the order in which they were chosen, and the share of the trace left."""
    left = np.array(kernel.compute_diag(X), dtype=np.float64)
    whole, floor = float(left.sum()), SPENT * float(left.max(initial=0.0))
    F = np.empty((len(X), min(rank, len(X))))  # F F' is what the landmarks so far have of the matrix
    picked = np.empty(0, np.int64)
    left[left <= floor] = 0.0
    while len(picked) < rank and left.any():
        drawn = rng.permutation(np.unique(rng.choice(len(X), DRAWN, p=left / left.sum())))
        done = F[:, : len(picked)]
        H = np.array(kernel.compute(X.rows(drawn), None), dtype=np.float64) - done[drawn] @ done[drawn].T
        taken = drawn[_accepted(H, floor, rng)][: rank - len(picked)]
        left[drawn if len(taken) == 0 else taken] = 0.0
        if len(taken) == 0:
            continue
        G = kernel.compute(X, X.rows(taken)) - done @ done[taken].T
        factor, failed = lapack.dpotrf(G[taken], lower=1, clean=1)
        if failed:  # rounding is all that is left of this one
            taken, factor = taken[: failed - 1], factor[: failed - 1, : failed - 1]
            G = G[:, : failed - 1]
        if len(taken):
            G = solve_triangular(factor, G.T, lower=True, check_finite=False).T
            F[:, len(picked) : len(picked) + len(taken)] = G
            left -= (G * G).sum(axis=1)
            left[left <= floor] = 0.0
            picked = np.concatenate([picked, taken])
    return picked, float(left.sum()) / whole if whole > 0 else 0.0


def _accepted(H: np.ndarray, floor: float, rng: np.random.Generator) -> list[int]:
    """Return which candidates stay, one after another: each with what the ones before leave of its residual."""
    first, chosen = np.diagonal(H).copy(), []
    for j in range(len(H)):
        if H[j, j] > max(floor, rng.random() * first[j]):
            chosen.append(j)
            column = H[:, j] / np.sqrt(H[j, j])
            H -= np.outer(column, column)
    return chosen
