"""Families of kernels on numbers: what they share of a pair of samples is computed once, all terms from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.forms import PRODUCTS, Formed, Seen, parts_in_form
from ..parallel import for_blocks
from ..views import Views
from .base import finite
from .distinct import Distinct, distinct_rows
from .pair_rows import PairPart

#: Work of one compiled call, in vector operations or so: a few hundredths of a second.
BURST = 2 * 10**8
#: Blocks of rows at the least, so that threads have something to share, where they are worth a call of their own.
PARTS, WORTH = 8, 2 * 10**6
#: Rows of a symmetric matrix that are mirrored at a time: blocks of rows are multiples of it.
MIRRORED = 32


class Samples:
    """The samples of a gram as families see them, (d, n), each made when it is first asked for."""

    def __init__(self, X: Views) -> None:
        self.X = X
        self._rows: dict[Any, np.ndarray] = {}
        self._centres: dict[Any, np.ndarray] = {}
        self._told: dict[Any, Distinct | None] = {}

    def told(self, how: Seen) -> Distinct | None:
        """Return the samples that a family can tell apart, where they are few."""
        if how.key not in self._told:
            self._told[how.key] = distinct_rows(self.X.through(how.path))
        return self._told[how.key]

    def seen(self, how: Seen, dtype: Any) -> np.ndarray:
        """Return all samples; in single precision their mean is taken off first where only differences count."""
        key = how.key, np.dtype(dtype).char
        if key not in self._rows:
            A = how.rows(self.X)
            self._centres[key] = _centre(how, A, dtype)
            self._rows[key] = transposed(A, self._centres[key], dtype)
        return self._rows[key]

    def others(self, how: Seen, at: Views, dtype: Any) -> np.ndarray:
        """Return new samples, as these are seen."""
        self.seen(how, dtype)
        centre = self._centres[how.key, np.dtype(dtype).char]
        n_columns = self.X.through(how.path).matrix().shape[1]
        return transposed(how.rows(at, n_columns), centre, dtype)


def _centre(how: Seen, A: np.ndarray, dtype: Any) -> np.ndarray:
    if how.shared == PRODUCTS or np.dtype(dtype) == np.float64 or len(A) == 0:
        return np.zeros(A.shape[1])
    return np.asarray(A.mean(axis=0))


def transposed(A: np.ndarray, centre: np.ndarray, dtype: Any) -> np.ndarray:
    """Return rows (n, d) as tiles take them: (d, n), d even."""
    n, d = A.shape
    out = np.zeros((max(2, d + d % 2), n), dtype=dtype)
    out[:d] = (A - centre).T if centre.any() else A.T
    return out


@dataclass(frozen=True)
class PairFamily:
    """Pieces of terms that make their values of one shared quantity: scales_p · forms_p(q) is a part of terms_p."""

    seen: Seen
    forms: np.ndarray
    scales: np.ndarray
    terms: np.ndarray

    @property
    def kind(self) -> int:
        """What is shared, as `_fast.tiles` knows it."""
        return self.seen.shared

    def weights(self, weights: np.ndarray) -> np.ndarray:
        """Return what every piece counts at these weights of the terms."""
        return self.scales * weights[self.terms]

    def cost(self, n_columns: int) -> float:
        """Return the vector operations that a pair of samples takes, or so."""
        return 1.0 + 0.25 * n_columns + len(self.forms)

    @cached_property
    def places(self) -> np.ndarray:
        """The pieces themselves, in order."""
        return np.arange(len(self.terms))

    @cached_property
    def once(self) -> bool:
        """Whether no two pieces are of the same term."""
        return len(set(self.terms.tolist())) == len(self.terms)

    @cached_property
    def exponential(self) -> bool:
        """Whether k(x, x) = 1 of all pieces."""
        return bool((self.forms[:, 2] == 0).all())

    def diag(self, data: np.ndarray) -> np.ndarray:
        """Return k(x, x) of every piece and sample, (p, n)."""
        if self.exponential:
            return np.repeat(self.scales[:, None], data.shape[1], axis=1)
        q = np.einsum("cn,cn->n", data, data, dtype=np.float64)
        gamma, coef0, degree = self.forms.T[:3, :, None]
        with np.errstate(over="ignore"):
            return np.asarray(self.scales[:, None] * (gamma * q + coef0) ** degree)


def families_of_pairs(parts: Sequence[Sequence[Formed]]) -> list[PairFamily]:
    """Group the pieces of all terms by what they share."""
    found: dict[str, tuple[Seen, list[tuple[int, Formed]]]] = {}
    for number, term in enumerate(parts):
        for part in term:
            found.setdefault(part.seen.key, (part.seen, []))[1].append((number, part))
    return [_family(seen, members) for seen, members in found.values()]


def _family(seen: Seen, members: Sequence[tuple[int, Formed]]) -> PairFamily:
    """Return pieces as one family: those whose gammas are each other's times a power of two one after another."""
    shape = np.array([(part.form.gamma, part.form.coef0, part.form.degree, 0.0) for _, part in members])
    digits, powers = np.frexp(shape[:, 0])
    order = np.lexsort((powers, digits, shape[:, 2]))
    shape, digits, powers = shape[order], digits[order], powers[order]
    follows = (shape[1:, 2] == 0) & (shape[:-1, 2] == 0) & (digits[1:] == digits[:-1])
    shape[1:, 3] = np.where(follows, np.diff(powers), 0)
    scales = np.array([part.scale for _, part in members], dtype=np.float64)
    return PairFamily(seen, shape, scales[order], np.array([number for number, _ in members], dtype=np.int64)[order])


def formed(terms: Sequence[Kernel], X: Views) -> list[list[Formed] | None]:
    """Return every term as the sum of pieces in their forms; None for those that have none."""
    dense: dict[Any, int] = {}
    return [parts_in_form(term, X, dense) for term in terms]


def in_bursts(work: Callable[[slice], None], n: int, cost: float, n_jobs: int, multiple: int = 4) -> None:
    """Call work(rows) for blocks of n rows that cost so much each, on threads."""
    for_blocks(work, n, burst_rows(n, cost, multiple), n_jobs)


def burst_rows(n: int, cost: float, multiple: int = 4) -> int:
    """Return the rows of a block: the same for any number of threads, and so are sums over blocks."""
    least = max(-(-n // PARTS), int(WORTH / max(1.0, cost)))
    return multiple * max(1, min(int(BURST / max(1.0, cost)), least) // multiple)


def fill_each(terms: Sequence[Kernel], X: Views, stack: np.ndarray, n_jobs: int) -> list[int]:
    """Put the matrices of terms that are one piece each into stack (n_terms, n, n); return which are still to do."""
    from .._fast.tiles import each_symmetric

    parts = formed(terms, X)
    single = [part if part is not None and len(part) == 1 else [] for part in parts]
    samples, n = Samples(X), len(X)
    for family in families_of_pairs(single):
        data = samples.seen(family.seen, np.float64)

        def fill(rows: slice, family: PairFamily = family, data: np.ndarray = data) -> None:
            each_symmetric(family.kind, data, family.forms, family.scales, family.terms, rows.start, rows.stop, stack)

        in_bursts(fill, n, 0.5 * n * family.cost(len(data)), n_jobs, MIRRORED)
        if not family.exponential:  # powers may be too large for numbers
            for m, diag in zip(family.terms, family.diag(data), strict=True):
                finite(diag, terms[m])
    return [m for m, part in enumerate(single) if not part]


def some_of(data: np.ndarray, places: np.ndarray | None) -> np.ndarray:
    """Return some samples of (d, n), all where None."""
    return data if places is None else np.ascontiguousarray(data[:, places])


class NumberPairs(PairPart):
    """The pairs of all terms at given weights, in the precision that they are asked for in."""

    def __init__(self, families: Sequence[PairFamily], samples: Samples, rows: np.ndarray, scaled: np.ndarray) -> None:
        self.samples, self.rows = samples, rows
        counts = [(family, family.weights(scaled)) for family in families]
        self.families = [(family, weights) for family, weights in counts if weights.any()]
        self._data: dict[tuple[str, str], np.ndarray] = {}

    def write(self, rows: np.ndarray, cols: np.ndarray | None, out: np.ndarray) -> None:
        from .._fast.tiles import mixed

        out[:] = 0.0
        for family, weights in self.families:
            data = self._data_of(family, out.dtype)
            mixed(family.kind, some_of(data, rows), some_of(data, cols), family.forms, weights, out)

    def _data_of(self, family: PairFamily, dtype: np.dtype[Any]) -> np.ndarray:
        key = family.seen.key, dtype.char
        if key not in self._data:
            self._data[key] = some_of(self.samples.seen(family.seen, dtype), self.rows)
        return self._data[key]
