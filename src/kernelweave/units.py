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


@dataclass(frozen=True)
class Units:
    """x_c becomes (x_c − centres[c]) / spreads[c]; nothing is moved where there are no centres."""

    centres: tuple[float, ...] | None
    spreads: tuple[float, ...]
    #: Whether numbers may be missing.
    gaps: bool = False

    def of(self, whole: Views) -> Views:
        """Return the samples in these units."""
        return UnitViews(whole, self)

    def around(self, kernel: Any) -> Any:
        """Return a kernel on columns in these units."""
        centres = None if self.centres is None else list(self.centres)
        return kernel.standardized(centres=centres, spreads=list(self.spreads))

    @classmethod
    def learned(cls, values: Any, robust: bool = False) -> Units:
        """Return the units of some columns: means and standard deviations, or medians and quartiles.

        Three digits are kept, which is enough for a unit and can be read. A column without spread has spread 1.
        """
        if sparse.issparse(values):
            squares, means = values.multiply(values).mean(axis=0), values.mean(axis=0)
            return cls(None, tuple(map(_rounded_spread, np.sqrt(np.maximum(squares - np.square(means), 0.0)))))
        pairs = [_centre_and_spread(column[~np.isnan(column)], robust) for column in values.T]
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


def _centre_and_spread(column: np.ndarray, robust: bool) -> tuple[float, float]:
    if not len(column):
        return 0.0, 1.0
    if robust:
        low, middle, high = np.percentile(column, (25, 50, 75))
        if high > low:
            return float(middle), float(high - low) / NORMAL_QUARTILES
    return float(column.mean()), float(column.std())


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
        return self.units.applied(self.whole.matrix(gaps or self.units.gaps))

    def column(self) -> Any:
        return self.whole.column()

    def native(self) -> Any:
        return self.whole.native()
