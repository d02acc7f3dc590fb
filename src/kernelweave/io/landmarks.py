"""Landmarks of a model file: back to the terms that were fitted with them, each checked before it is believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from ..errors import InputError
from ..kernels import Kernel, LowRank
from ..kernels.landmarks import Landmarks
from ..kernels.low_rank import replaced
from ..views import Views
from .plain import damaged, fields
from .support import Unpacker


@dataclass
class Kept:
    """What a file says of the landmarks of one `LowRank`."""

    term: int
    rows: np.ndarray
    lost: float | None
    views: Views


def kept_landmarks(nodes: Any, unpacker: Unpacker) -> list[Kept]:
    """Return what the file keeps, with its arrays taken from the unpacker."""
    if not isinstance(nodes, list):
        raise damaged("its landmarks are not a list")
    found = []
    for node in nodes:
        term, name, lost, data = fields(
            node, "the landmarks", term=int, rows=str, lost=(float, int, NoneType), data=dict
        )
        rows = unpacker.take(name, "i", None)
        own = Unpacker(unpacker.arrays, len(rows), unpacker.memory)
        found.append(Kept(term, rows.astype(np.int64), None if lost is None else float(lost), own.unpack(data)))
        unpacker.arrays = own.arrays
    return found


def terms_at(terms: Sequence[Kernel], used: Iterable[int], kept: Sequence[Kept], memory: int) -> tuple[Kernel, ...]:
    """Return the terms, those in use with their landmarks."""
    left, out = list(kept), list(terms)

    def make(one: LowRank, _: Views | None) -> Kernel:
        if not left or left[0].term != number:
            raise damaged(f"it has no landmarks for its term {number}")
        return _bound(one, left.pop(0), memory)

    for number in used:
        out[number] = replaced(out[number], None, make)
    if left:
        raise damaged(f"it has landmarks for its term {left[0].term}, which has no use for them")
    return tuple(out)


def _bound(one: LowRank, kept: Kept, memory: int) -> LowRank:
    n = len(kept.rows)
    if n > one.rank or 16.0 * n * n > max(memory, 2**24):
        raise damaged(f"{n} landmarks are more than {one!r} can have, or than fit")
    if (kept.rows < 0).any() or not (kept.lost is None or 0.0 <= kept.lost <= 1.0):
        raise damaged("its landmarks are not among its training samples, or their error is no share")
    try:
        landmarks = Landmarks.of(one.kernel, kept.views, kept.rows, kept.lost)
    except InputError as error:
        raise damaged(f"its landmarks cannot be read: {str(error).rstrip('.')}") from None
    if len(landmarks) < n:
        raise damaged("its landmarks depend on each other")
    return one.at(landmarks)
