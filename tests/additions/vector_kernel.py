"""A kernel on rows of numbers."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from kernelweave import kernels
from kernelweave.kernels.vectors import VectorKernel


@dataclass(eq=False, repr=False)
class Cauchy(VectorKernel):
    """k(x, y) = 1 / (1 + gamma ‖x − y‖²).

    Parameters
    ----------
    gamma : float
        Above 0.
    """

    gamma: float = 1.0
    definite = True

    def between(self, A, B):
        return 1.0 / (1.0 + self.gamma * cdist(A, B, "sqeuclidean"))

    def within(self, A):
        return np.ones(A.shape[0])


kernels.KERNELS += (Cauchy,)
