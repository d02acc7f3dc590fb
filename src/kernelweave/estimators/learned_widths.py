"""The widths of an RBF kernel, learned before weights and machine: `RBF("learn")`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .. import clock
from ..dual import Machine
from ..errors import InputError, MemoryBudgetError
from ..gram import SPARE_BYTES
from ..kernels import RBF, Kernel
from ..kernels.pieces import pieces
from ..memory import readable
from ..mkl.widths import Widths, learn_widths, widths_bytes
from ..views import Views

#: Widths are learned in this part of the time: the rest is for the machine.
WIDTHS_SHARE = 0.6
#: Most samples that widths are learned from: of more, a random part of so many.
MOST = 2_000


def with_widths(
    kernel: Kernel,
    X: Views,
    machines: list[Machine],
    deadline: float,
    random_state: Any,
    scaling: str | None,
    share: np.ndarray,
    budget: int,
) -> tuple[Kernel, Widths | None]:
    """Return the kernel with its widths found, where it asks for that with RBF("learn"), and how.

    `scaling` and `share`, the sample weights, are those of the fit: what is lowered is the objective that it solves, or
    of more than `MOST` samples that of a random part of them.
    """
    if not check_widths(kernel, len(X), budget):
        return kernel, None
    piece, *more = pieces(kernel, X)
    if more or piece.norms or piece.scale != 1.0 or piece.core != RBF("learn"):
        raise InputError(
            f"Widths are learned for RBF('learn') or RBF('learn').on(columns) alone; got {kernel!r}. "
            "Learn them first, and put the widths found into a sum."
        )
    if any(machine.loss.total for machine in machines):
        raise InputError(
            "RBF('learn') needs targets to learn widths from; a one-class machine has none, and would make every width "
            "so wide that all samples are alike. Give gamma as a number, or several widths as a sum."
        )
    n, part = len(X), None
    if n > MOST:
        part = (MOST, n)
        rows = np.sort(np.random.default_rng(0).choice(n, MOST, replace=False))
        X, share = X.rows(rows), share[rows]
        machines = [replace(machine, y=machine.y[rows], C=machine.C[rows]) for machine in machines]
    data: Any = X.through(piece.path).matrix()
    here = clock.now()
    widths = learn_widths(
        data.toarray() if sparse.issparse(data) else data,
        machines,
        deadline=deadline if np.isinf(deadline) else here + WIDTHS_SHARE * (deadline - here),
        random_state=random_state,
        scaling=scaling,
        sample_weight=share,
    )
    widths.part = part
    found: Kernel = RBF([float(g) for g in widths.gamma])
    for columns in reversed(piece.path):
        found = columns.around(found) if hasattr(columns, "around") else found.on(columns)
    return found, widths


def check_widths(kernel: Kernel, n: int, budget: int) -> float:
    """Return the bytes that learning the widths takes, none where they are given; complain where that is too much."""
    if not any(leaf.learns_width for leaf in kernel.leaves()):
        return 0.0
    n_used = min(n, MOST)
    need = widths_bytes(n_used)
    if need > max(budget, SPARE_BYTES):
        raise MemoryBudgetError(
            f"Learning the widths of {kernel!r} on {n_used:,} samples takes {readable(need)}; the budget is "
            f"{readable(budget)}. Raise memory=..., or learn them on fewer samples and give gamma as a list."
        )
    return need
