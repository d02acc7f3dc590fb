"""C as one more weight: how `learn_C=True` changes a problem, and how C comes back out of its solution.

Squared losses add 1/(2C) to the diagonal of the kernel. An identity does the same, so with one more term, `Identity()`,
at a C so high that it adds next to nothing itself, the weight of that term stands for C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..dual import Machine
from ..errors import InputError
from ..gram import DiagonalGram, StackedGram
from ..kernels import Identity
from .prepared_terms import Terms

#: The least ridge where C is learned, in shares of a term's variance.
LEAST_RIDGE = 1e-10


def with_learned_C(
    terms: Terms, machines: Sequence[Machine], share: np.ndarray, scale: float
) -> tuple[Terms, list[Machine]]:
    """Return the terms with an identity as the last of them, and the machines at the highest C.

    Parameters
    ----------
    share : what every sample counts, class weights included: its cost is C · share
    scale : what the identity is divided by
    """
    loss = machines[0].loss
    if not loss.quadratic:
        raise InputError(f"learn_C=True needs a squared loss, whose C is a ridge on the kernel; got {loss!r}.")
    identity = DiagonalGram(terms.gram.X, 1.0 / share, np.array([1.0 / scale]))
    more = replace(
        terms,
        gram=StackedGram([terms.gram, identity]),
        all_terms=(*terms.all_terms, Identity()),
        scales=np.append(terms.scales, scale),
        groups=[*terms.groups, [len(terms.all_terms)]],
    )
    return more, [replace(machine, C=_highest_C(terms) * share) for machine in machines]


def learned_C(terms: Terms, weights: np.ndarray) -> tuple[Any, list[str]]:
    """Return the C that the identity's weights stand for, its effective weight being 1/(2C), and what to say of it."""
    highest = _highest_C(terms)
    C = 1.0 / (1.0 / highest + 2.0 * weights[..., -1] / terms.scales[-1])
    if np.max(C) < 0.5 * highest:
        return C, []
    return C, [
        f"C went to its upper end, {highest:.3g}: the kernel meets the targets without error, and there is no noise "
        "to learn C from"
    ]


def _highest_C(terms: Terms) -> float:
    """Return the upper end of a learned C: the ridge that it leaves is `LEAST_RIDGE` of the least varied term.

    Targets without noise would have no ridge at all, and the system that is solved no unique solution.
    """
    firsts = [group[0] for group in terms.groups if not terms.all_terms[group[0]].training_only]
    return float(0.5 / (LEAST_RIDGE * min(terms.variances[m] / terms.scales[m] for m in firsts)))
