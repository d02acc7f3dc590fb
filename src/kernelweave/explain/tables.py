"""`Table`: named columns of equal length, as explanations are handed out."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from typing import Any

import numpy as np


class Table:
    """Columns by name, all of one length; iterating yields one dict per row.

    Parameters
    ----------
    columns : dict of arrays
    """

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = {name: np.asarray(values) for name, values in columns.items()}

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        lists = [values.tolist() for values in self.columns.values()]
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*lists, strict=True))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} rows: {', '.join(self.columns)}>"

    def to_csv(self, path: str | os.PathLike, *, delimiter: str = ",") -> None:
        """Write the table as text, one line per row, below a line with the names of the columns."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(zip(*(values.tolist() for values in self.columns.values()), strict=True))

    def to_tsv(self, path: str | os.PathLike) -> None:
        """Write the table as text, with tabs between the columns."""
        self.to_csv(path, delimiter="\t")

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return _pandas().DataFrame(self.columns)


def letter_frame(values: np.ndarray, letters: str, positions: Any = None) -> Any:
    """Return (positions, letters) numbers as a pandas DataFrame that ``logomaker.Logo`` draws."""
    frame = _pandas().DataFrame(values, columns=list(letters), index=positions)
    frame.index.name = "pos"
    return frame


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("A DataFrame needs pandas: pip install pandas. The arrays themselves do not.") from None
    return pd
