"""Samples that a term cannot tell apart: its matrix is held for the distinct ones only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels import Kernel
from ..views import Views

#: The distinct samples are at most this share of all where a matrix is held for them only.
FEW = 0.5


@dataclass(frozen=True)
class Distinct:
    """What a term sees of n samples: d distinct ones.

    With E the (n, d) matrix of ones at (i, which[i]), K = E K[first, first] E'.
    """

    #: Where each of them is met first, (d,).
    first: np.ndarray
    #: Which of them every sample is, (n,).
    which: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def sums(self, coef: np.ndarray) -> np.ndarray:
        """Return coef E, (n_columns, d), for coef of shape (n_columns, n)."""
        return np.array([np.bincount(self.which, column, len(self)) for column in coef])


def distinct_of(terms: Sequence[Kernel], X: Views) -> list[Distinct | None]:
    """Return the distinct samples of every term; None where it sees too many of them, or anything but numbers.

    Terms that tell the same samples apart share one record. A term alone has none: its matrix is needed whole.
    """
    if len(terms) == 1:
        return [None]
    seen: dict[int, tuple[Views, Distinct | None]] = {}
    shared: dict[bytes, Distinct] = {}
    out: list[Distinct | None] = []
    for term in terms:
        if term.stored or term.reads != "numbers":
            out.append(None)
            continue
        view = term.view(X)
        if id(view) not in seen:  # the view is kept as well, so that no other gets its id
            found = distinct_rows(view)
            seen[id(view)] = view, found if found is None else shared.setdefault(found.which.tobytes(), found)
        out.append(seen[id(view)][1])
    return out


def distinct_rows(view: Views) -> Distinct | None:
    """Return the distinct rows of a view of numbers; None where they are many."""
    if hasattr(getattr(view, "data", None), "pieces"):  # shards, which nobody reads to look for what is rare there
        return None
    values = view.matrix()
    n = values.shape[0]
    if not isinstance(values, np.ndarray) or values.shape[1] == 0:
        return None
    which = np.zeros(n, dtype=np.int64)
    for column in values.T:  # rows are distinct where any column is, so most tables are told at the first of them
        line = np.sort(column)
        if 1 + np.count_nonzero(line[1:] != line[:-1]) > FEW * n:
            return None
        found, of = np.unique(column, return_inverse=True)
        _, first, which = np.unique(which * len(found) + of, return_index=True, return_inverse=True)
        if len(first) > FEW * n:
            return None
    order = np.argsort(first)  # in the order that they are met, so that all who tell the same apart number them alike
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return Distinct(first[order], rank[which])


def mostly_repeat(terms: Sequence[Kernel], X: Views, few: bool) -> bool:
    """Say whether so many samples repeat that matrices of the distinct ones are smaller than one of all.

    Where samples are few, that they are smaller than half of all matrices will do.
    """
    sizes = [len(X) if found is None else len(found) for found in distinct_of(terms, X)]
    most = 0.5 * len(terms) if few else 1.0
    return sum(size**2 for size in sizes) <= most * len(X) ** 2 and len(terms) > 1
