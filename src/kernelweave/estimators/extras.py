"""What can be learned beside weights and machine: the cost C, and the widths of an RBF kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .. import clock
from ..dual import Machine
from ..errors import InputError, MemoryBudgetError
from ..gram import SPARE_BYTES, DiagonalGram, Gram, StackedGram
from ..kernels import RBF, Kernel
from ..kernels.pieces import pieces
from ..losses import Loss
from ..memory import readable
from ..mkl.widths import Widths, learn_widths, widths_bytes
from ..views import Views
from .prepared_terms import Terms

#: Widths are learned in this part of the time: the rest is for the machine.
WIDTHS_SHARE = 0.6
#: The least ridge where C is learned, in shares of a term's variance.
LEAST_RIDGE = 1e-10


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

    `scaling` and `share`, the sample weights, are those of the fit: what is lowered is the objective that it solves.
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
    found: Kernel = RBF([float(g) for g in widths.gamma])
    for columns in reversed(piece.path):
        found = found.on(columns)
    return found, widths


def check_widths(kernel: Kernel, n: int, budget: int) -> float:
    """Return the bytes that learning the widths takes, none where they are given; complain where that is too much."""
    if not any(leaf.learns_width for leaf in kernel.leaves()):
        return 0.0
    need = widths_bytes(n)
    if need > max(budget, SPARE_BYTES):
        raise MemoryBudgetError(
            f"Learning the widths of {kernel!r} on {n:,} samples takes {readable(need)}; the budget is "
            f"{readable(budget)}. Raise memory=..., or learn them on fewer samples and give gamma as a list."
        )
    return need


def with_ridge(gram: Gram, loss: Loss, share: np.ndarray) -> Gram:
    """Return the gram with an identity as one more term.

    Squared losses add 1/(2C) to the kernel's diagonal; as the weight of an identity it is learned.
    """
    if not loss.quadratic:
        raise InputError(f"learn_C=True needs a squared loss, whose C is a ridge on the kernel; got {loss!r}.")
    return StackedGram([gram, DiagonalGram(gram.X, 1.0 / share)])


def highest_C(terms: Terms) -> float:
    """Return the upper end of a learned C: the ridge that it leaves is `LEAST_RIDGE` of the least varied term.

    Targets without noise would have no ridge at all, and the system that is solved no unique solution.
    """
    variances = [terms.variances[group[0]] / terms.scales[group[0]] for group in terms.groups]
    kernels = [v for v, group in zip(variances, terms.groups, strict=True) if not _is_identity(terms, group)]
    return float(0.5 / (LEAST_RIDGE * min(kernels)))


def learned_C(terms: Terms, weights: np.ndarray) -> tuple[Any, list[str]]:
    """Return the C that the identity's weights stand for, its effective weight being 1/(2C), and what to say of it."""
    highest = highest_C(terms)
    C = 1.0 / (1.0 / highest + 2.0 * weights[..., -1] / terms.scales[-1])
    if np.max(C) < 0.5 * highest:
        return C, []
    return C, [
        f"C went to its upper end, {highest:.3g}: the kernel meets the targets without error, and there is no noise "
        "to learn C from"
    ]


def _is_identity(terms: Terms, group: list[int]) -> bool:
    return terms.all_terms[group[0]].training_only
