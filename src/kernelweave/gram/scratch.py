"""Memory that is written over again and again."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

#: Bytes of a line of the processor's cache: a vector that crosses one costs two.
LINE = 64


class Scratch:
    """Memory for a matrix, written over as soon as nobody looks at it: fresh memory costs as much as its contents."""

    def __init__(self) -> None:
        self._numbers: np.ndarray | None = None
        self._alone = 0

    def matrix(self, n: int, dtype: Any) -> np.ndarray:
        """Return an (n, n) matrix of any contents that is nobody else's."""
        numbers = n**2 + LINE // np.dtype(dtype).itemsize
        held = self._numbers is not None and self._numbers.size >= numbers and self._numbers.dtype == dtype
        if not held or self._references() > self._alone:
            self._numbers = None  # let go of the old ones first
            self._numbers = np.empty(numbers, dtype=dtype)
            self._alone = self._references()
        assert self._numbers is not None
        begin = -self._numbers.ctypes.data % LINE // self._numbers.itemsize
        return self._numbers[begin : begin + n**2].reshape(n, n)

    def _references(self) -> int:
        return sys.getrefcount(self._numbers)
