"""A kernel around a kernel that keeps its pieces, and with them its words."""

from dataclasses import dataclass, replace

from kernelweave import kernels


@dataclass(eq=False, repr=False)
class Faded(kernels.ClearWrapper):
    """keeps · k: a kernel that counts less than it does by itself.

    Parameters
    ----------
    kernel : Kernel
    keeps : float
        Which part of it is kept.
    """

    kernel: kernels.Kernel
    keeps: float = 0.5

    def compute(self, X, Y):
        return self.keeps * self.kernel.compute(X, Y)

    def compute_diag(self, X):
        return self.keeps * self.kernel.compute_diag(X)

    def walk(self, outer, X):
        return self.kernel.walk(replace(outer, scale=self.keeps * outer.scale), X)


kernels.WRAPPERS += (Faded,)
