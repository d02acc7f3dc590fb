"""A norm under which later terms cost more than earlier ones."""

import numpy as np

from kernelweave import norms


class Rising(norms.ClosedForm):
    """Σ costs[m] weights[m]² = 1, where a term costs `growth` times as much as the one before it.

    Parameters
    ----------
    growth : float
        Above 0.
    """

    name = "rising"

    def __init__(self, growth: float = 2.0) -> None:
        self.growth = float(growth)

    def costs(self, n_terms):
        return self.growth ** np.arange(n_terms)

    def start(self, n_terms):
        return self.scaled(np.ones(n_terms))

    def dual_norm(self, quad):
        return float(np.sqrt((quad**2 / self.costs(len(quad))).sum()))

    def scaled(self, weights):
        return weights / np.sqrt(self.costs(len(weights)) @ weights**2)

    def closed_form(self, norms):
        return self.scaled(np.cbrt(norms**2 / self.costs(len(norms))))


norms.NORMS += (Rising,)
