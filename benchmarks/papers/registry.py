"""All rows, in the order of the pages."""

from __future__ import annotations

from . import motifs, quality, second_order, structures, toys, training, two_stage_rows
from .frame import Row

MODULES = (structures, training, quality, motifs, toys, second_order, two_stage_rows)


PAPERS = ("string_kernels", "large_scale_mkl", "second_order", "two_stage")


def _order(row: Row) -> tuple[int, int, list[int]]:
    kind, _, number = row.name.partition(" ")
    parts = [int(part) for part in number.split(".") if part.isdigit()]
    return PAPERS.index(row.paper), ("Table", "Figure").index(kind) if kind in ("Table", "Figure") else 2, parts


ROWS: tuple[Row, ...] = tuple(sorted((row for module in MODULES for row in module.ROWS), key=_order))


def by_id() -> dict[str, Row]:
    """Return the rows by their names."""
    return {row.id: row for row in ROWS}
