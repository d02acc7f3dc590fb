"""What ridge regression says of samples that it does not know, without fitting it again for each."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .problem import Problem

#: Samples that are left out, one after another, at the most: of more of them an even choice is taken.
MAX_SAMPLES = 3000


def left_out_squares(problem: Problem, weights: np.ndarray) -> np.ndarray:
    """Return by how much every sample is missed when it is left out, squared and summed over the machines.

    The machine is ridge regression on the machine's own targets and costs, whatever its loss, with the kernel that the
    weights make: these stay as they are.
    """
    n = problem.gram.n
    some = np.arange(n) if n <= MAX_SAMPLES else np.linspace(0, n - 1, MAX_SAMPLES).astype(int)
    K = problem.gram.block(some, some, weights)
    return np.sum([missed(K, one.y[some], 0.5 / one.C[some]) ** 2 for one in problem.machines], axis=0)


def missed(K: np.ndarray, y: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """Return y_i minus the prediction for i of ridge regression with an intercept on all samples but i.

    With A = K + diag(ridge) and P = A⁻¹ − A⁻¹ 1 1'A⁻¹ / 1'A⁻¹ 1, coef = P y, and leaving out i misses it by
    coef_i / P_ii.
    """
    A = K + np.diag(ridge)
    factor, failed = lapack.dpotrf(A, lower=1, overwrite_a=1)
    if failed:  # a kernel that is not positive definite enough for this cost
        return np.full(len(y), np.inf)
    inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    one = inverse.sum(axis=0)
    coef = inverse @ y - (one @ y / one.sum()) * one
    return np.asarray(coef / (inverse.diagonal() - one**2 / one.sum()))
