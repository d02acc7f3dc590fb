"""Columns of numbers in units of their own, as a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .errors import InputError
from .views import Columns, Views

#: How far the quartiles of a normal distribution are apart, in standard deviations.
NORMAL_QUARTILES = 1.349
#: A spread below this share of the numbers comes from rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Units:
    """x_c becomes (x_c − centres[c]) / spreads[c]; nothing is moved where there are no centres."""

    centres: tuple[float, ...] | None
    spreads: tuple[float, ...]
    #: What is done where numbers are missing: "error", "centre" for the centre of the column, or anything else.
    missing: str = "error"

    def of(self, whole: Views) -> Views:
        """Return the samples in these units."""
        return UnitViews(whole, self)

    def around(self, kernel: Any) -> Any:
        """Return a kernel on columns in these units."""
        centres = None if self.centres is None else list(self.centres)
        return kernel.standardized(centres=centres, spreads=list(self.spreads))

    @classmethod
    def learned(cls, values: Any, share: np.ndarray | None = None, robust: bool = False) -> Units:
        """Return the units of some columns: means and standard deviations, or medians and quartiles.

        Three digits are kept, which is enough for a unit and can be read. A column without spread has spread 1.
        """
        share = np.full(values.shape[0], 1.0) if share is None else share
        if sparse.issparse(values):
            p = share / share.sum()
            squares, means = values.multiply(values).T @ p, values.T @ p
            return cls(None, tuple(map(_rounded_spread, np.sqrt(np.maximum(squares - np.square(means), 0.0)))))
        pairs = [_centre_and_spread(column, share, robust) for column in values.T]
        spreads = tuple(_rounded_spread(spread) for _, spread in pairs)
        centres = tuple(_rounded_centre(centre, spread) for (centre, _), spread in zip(pairs, spreads, strict=True))
        return cls(centres, spreads)

    def applied(self, values: Any) -> Any:
        """Return a matrix, dense or sparse, in these units."""
        if values.shape[1] != len(self.spreads):
            raise InputError(f"Spreads are known of {len(self.spreads)} columns, but there are {values.shape[1]}.")
        if sparse.issparse(values):
            if self.centres is not None and any(self.centres):
                values = values.toarray()  # zeros are moved as well
            else:
                return values.multiply(1.0 / np.array(self.spreads)).tocsr()
        moved = values if self.centres is None else values - np.array(self.centres)
        return moved / np.array(self.spreads)


def _centre_and_spread(column: np.ndarray, share: np.ndarray, robust: bool) -> tuple[float, float]:
    there = ~np.isnan(column) & (share > 0)
    if not there.any():
        return 0.0, 1.0
    column, share = column[there], share[there]
    if robust:
        order = np.argsort(column, kind="stable")
        reached = np.cumsum(share[order]) / share.sum()
        low, middle, high = column[order][np.minimum(np.searchsorted(reached, (0.25, 0.5, 0.75)), len(order) - 1)]
        if high > low:
            return float(middle), float(high - low) / NORMAL_QUARTILES
    mean = np.average(column, weights=share)
    spread = np.sqrt(np.average(np.square(column - mean), weights=share))
    # a column of one value has no spread, whatever rounding makes of its mean
    return float(mean), float(spread) if spread > ROUNDING * np.abs(column).max() else 0.0


def _rounded_spread(spread: float) -> float:
    return float(f"{spread:.3g}") if spread > 0 else 1.0


def _rounded_centre(centre: float, spread: float) -> float:
    """Return a centre to a hundredth of the spread."""
    return float(round(centre, 2 - int(np.floor(np.log10(spread)))))


class UnitViews(Views):
    """Columns of numbers in units of their own."""

    def __init__(self, whole: Views, units: Units) -> None:
        super().__init__()
        self.whole, self.units = whole, units

    @property
    def labels(self) -> tuple[Any, ...]:  # type: ignore[override]
        """Those of the columns as they came."""
        return self.whole.labels

    def __len__(self) -> int:
        return len(self.whole)

    def select(self, columns: Columns) -> Views:
        raise InputError(f"Choose columns first, and their units then: .on({columns!r}) belongs outside.")

    def rows(self, index: np.ndarray) -> Views:
        return UnitViews(self.whole.rows(index), self.units)

    def matrix(self, gaps: bool = False) -> np.ndarray | sparse.csr_array:
        missing = self.units.missing
        found = self.units.applied(self.whole.matrix(gaps or missing != "error"))
        return np.nan_to_num(found, copy=False) if missing == "centre" and not sparse.issparse(found) else found

    def column(self) -> Any:
        return self.whole.column()

    def native(self) -> Any:
        return self.whole.native()
