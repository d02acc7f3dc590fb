"""Kernels that see a part of every sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..letters import Letters
from ..views import Views
from .base import ATOM, ClearWrapper, Kernel, bracketed
from .pieces import Piece
from .values import shown


@dataclass(eq=False, repr=False)
class Part(ClearWrapper):
    """A kernel that sees the letters ``sequence[start:stop]`` of every sequence, and no others.

    Numbers below 0 count from the end, so that sequences of any length have a first and a last part. Positions count
    from the first letter of the part.

    Examples
    --------
    >>> from kernelweave import Spectrum
    >>> Spectrum(k=2).part(0, 60) + Spectrum(k=2).part(-40)
    Spectrum(k=2).part(0, 60) + Spectrum(k=2).part(-40)
    """

    kernel: Kernel
    start: int = 0
    stop: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        others = sorted({leaf.reads for leaf in self.kernel.leaves()} - {"sequences"})
        if others:
            raise InputError(f"Only kernels on sequences see a part of them; {self.kernel!r} reads {others[0]}.")
        for name, value in (("start", self.start), ("stop", self.stop)):
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(value) < 2**62
            if not whole and not (name == "stop" and value is None):
                raise InputError(
                    f".part(start, stop) takes whole numbers, as in .part(0, 60); got {name}={shown(value)}."
                )
        if self.stop is not None and (self.start < 0) == (self.stop < 0) and self.start >= self.stop:
            raise InputError(f"{self!r} sees no letters: {self.stop} is not behind {self.start}.")

    def seen(self, X: Views) -> Views:
        return Letters(self.start, self.stop).of(X)

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        return self.kernel.walk(replace(outer, path=(*outer.path, Letters(self.start, self.stop))), X)

    def terms(self, X: Views) -> tuple[Kernel, ...]:
        return tuple(Part(term, self.start, self.stop) for term in self.kernel.terms(self.seen(X)))

    def split(self, *by: str) -> Kernel:
        return Part(self.kernel.split(*by), self.start, self.stop)

    def part(self, start: int = 0, stop: int | None = None) -> Kernel:
        raise InputError(f"{self!r} is a part already; choose its letters in one go.")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = "" if self.stop is None else f", {self.stop}"
        return f"{bracketed(self.kernel, ATOM)}.part({self.start}{given})"
