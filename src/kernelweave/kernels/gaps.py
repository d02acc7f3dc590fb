"""Gaussian kernels of samples with gaps: the mean over what might have stood there."""

from __future__ import annotations

import numpy as np


def expected_rbf(A: np.ndarray, B: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Return Π_c k_c(a_c, b_c), where k_c is a mean over standard normal z and z' in place of what is missing (NaN).

    k_c(a, b) = exp(−gamma_c (a − b)²); E k_c(a, z) = exp(−gamma_c a² / (1 + 2 gamma_c)) / √(1 + 2 gamma_c); and
    E k_c(z, z') = 1 / √(1 + 4 gamma_c). Each is the product of mean feature vectors, so the kernel stays positive
    semi-definite, whichever numbers are missing where.
    """
    there_a, there_b = (~np.isnan(M) * 1.0 for M in (A, B))
    A, B = np.nan_to_num(A), np.nan_to_num(B)
    # −gamma (a − b)², where both are there
    exponent = 2.0 * (A * gamma) @ B.T
    exponent -= (A * A * gamma) @ there_b.T
    exponent -= there_a @ (B * B * gamma).T
    exponent = np.minimum(exponent, 0.0, out=exponent)
    exponent += _log_mean(A, there_a, gamma) @ (1.0 - there_b).T
    exponent += (1.0 - there_a) @ _log_mean(B, there_b, gamma).T
    exponent -= ((1.0 - there_a) * 0.5 * np.log1p(4.0 * gamma)) @ (1.0 - there_b).T
    return np.exp(exponent, out=exponent)


def expected_rbf_diag(A: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Return the diagonal of `expected_rbf`: what is missing is drawn anew on either side."""
    return np.exp(-0.5 * np.isnan(A) @ np.log1p(4.0 * gamma))


def _log_mean(A: np.ndarray, there: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Return log E k_c(a_c, z) where a_c is there, and 0 where it is not."""
    return there * (-(A * A) * (gamma / (1.0 + 2.0 * gamma)) - 0.5 * np.log1p(2.0 * gamma))
