"""What can be learned beside weights and machine: the cost C, and the widths of an RBF kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..dual import Machine
from ..errors import InputError
from ..gram import DiagonalGram, Gram, StackedGram
from ..kernels import RBF, Kernel, On
from ..losses import Loss
from ..mkl.widths import Widths, learn_widths
from ..views import Views


def with_widths(
    kernel: Kernel, X: Views, machines: list[Machine], deadline: float, random_state: Any
) -> tuple[Kernel, Widths | None]:
    """Return the kernel with its widths found, where it asks for that with RBF("learn"), and how."""
    if not any(isinstance(leaf, RBF) and isinstance(leaf.gamma, str) for leaf in kernel.leaves()):
        return kernel, None
    columns = kernel.columns if isinstance(kernel, On) else None
    inner = kernel.kernel if isinstance(kernel, On) else kernel
    if not isinstance(inner, RBF) or inner.gamma != "learn":
        raise InputError(
            f"Widths are learned for RBF('learn') or RBF('learn').on(columns) alone; got {kernel!r}. "
            "Learn them first, and put the widths found into a sum."
        )
    if any(machine.loss.total for machine in machines):
        raise InputError(
            "RBF('learn') needs targets to learn widths from; a one-class machine has none, and would make every width "
            "so wide that all samples are alike. Give gamma as a number, or several widths as a sum."
        )
    data: Any = (X if columns is None else X.select(columns)).matrix()
    widths = learn_widths(
        data.toarray() if sparse.issparse(data) else data, machines, deadline=deadline, random_state=random_state
    )
    found: Kernel = RBF([float(g) for g in widths.gamma])
    return (found if columns is None else found.on(columns)), widths


def with_ridge(gram: Gram, loss: Loss, share: np.ndarray) -> tuple[Gram, np.ndarray]:
    """Return the gram with an identity as one more term, and the infinite C that goes with it.

    Squared losses add 1/(2C) to the kernel's diagonal; as the weight of an identity it is learned.
    """
    if not loss.quadratic:
        raise InputError(f"learn_C=True needs a squared loss, whose C is a ridge on the kernel; got {loss!r}.")
    return StackedGram([gram, DiagonalGram(gram.X, 1.0 / share)]), np.full(gram.n, np.inf)
