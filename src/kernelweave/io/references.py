"""Samples of expectations of a model file: back to the terms that were fitted with them, checked before believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels import Kernel
from ..kernels.if_missing import IfMissing, References
from ..kernels.states import keepers, with_kept
from .plain import damaged, fields
from .support import Unpacker

#: How far the shares of samples may be from adding up to 1.
ROUNDING = 1e-9


def kept_references(nodes: Any, unpacker: Unpacker) -> list[tuple[int, References]]:
    """Return what the file keeps, with the number of its term and its arrays taken from the unpacker."""
    if not isinstance(nodes, list):
        raise damaged("its references are not a list")
    found = []
    for node in nodes:
        term, name, data = fields(node, "the references", term=int, share=str, data=dict)
        share = unpacker.take(name, "f", None)
        if not len(share) or (share < 0).any() or abs(float(share.sum()) - 1.0) > ROUNDING:
            raise damaged("the shares of its references do not add up to 1")
        own = Unpacker(unpacker.arrays, len(share), unpacker.memory, gaps=True)
        found.append((term, References(own.unpack(data), share.astype(np.float64))))
        unpacker.arrays = own.arrays
    return found


def terms_expecting(
    terms: Sequence[Kernel], used: Iterable[int], kept: Sequence[tuple[int, References]]
) -> tuple[Kernel, ...]:
    """Return the terms, those in use with the samples that they take expectations over."""
    left, out = list(kept), list(terms)

    def make(one: IfMissing) -> Kernel:
        if not left or left[0][0] != number:
            raise damaged(f"it has no references for its term {number}")
        return one.at(left.pop(0)[1])

    for number in used:
        out[number] = with_kept(out[number], "references", make)
    if left:
        raise damaged(f"it has references for its term {left[0][0]}, which has no use for them")
    return tuple(out)


def check_references(terms: Sequence[Kernel], used: Iterable[int]) -> None:
    """Complain where the kernels of a file cannot read the samples that it has for them."""
    try:
        sound = all(np.isfinite(one.mean) for number in used for one in keepers(terms[number], "references"))
    except InputError as error:
        raise damaged(f"its references cannot be read: {str(error).rstrip('.')}") from None
    if not sound:
        raise damaged("its references have no finite similarity")
