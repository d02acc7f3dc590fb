"""Kernels for newcomers: by the name of a task, or from a look at the data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import DataWarning, InputError
from ..usual import PROTEINS, TEXTS

if TYPE_CHECKING:
    from ..kernels import Kernel
    from .data import Data


@dataclass(frozen=True)
class Preset:
    """A kernel that suits a task, as text; None where it depends on the columns."""

    kernel: str | None
    about: str


PRESETS = {
    "splice": Preset(
        "WeightedDegree(degree=10, shift=3)",
        "windows around a site, all of one length: words of up to 10 letters, each at most 3 places off",
    ),
    "promoter": Preset(
        "WeightedDegree(degree=8, shift=8).normalized() + Spectrum(k=4).normalized() + Spectrum(k=6).normalized()",
        "windows with signals that move: words at nearby places, and words anywhere",
    ),
    "tf": Preset(
        "GappedKmer(length=11, k=7, reverse_complement=True, filter='truncated', max_mismatches=3, "
        "center_weight=50).normalized()",
        "binding sites in peaks of any length, on either strand: words with gaps, which count more in the middle",
    ),
    "protein": Preset(
        PROTEINS,
        "proteins of any length: composition, pairs, triples, and words of five with one letter wrong",
    ),
    "text": Preset(
        TEXTS,
        "texts: words, and pieces of words",
    ),
    "table": Preset(None, "columns of numbers, text and sequences: a term for each, and all numbers together"),
}


def preset_kernel(name: str, data: Data) -> Kernel:
    """Return the kernel of a preset for these data."""
    from ..kernels import parse

    text = PRESETS[name].kernel
    if text is None:
        return default_kernel(data)
    kernel = parse(text)
    if data.kind == "sequences":
        return kernel
    columns = [column for column, values in _columns(data).items() if values.dtype.kind == "O"]
    if len(columns) != 1:
        raise InputError(
            f"The preset {name!r} reads one column of sequences; {data.source} has {len(columns)} columns of text"
            f"{': ' + ', '.join(columns) if columns else ''}. Choose with --columns, or type a kernel with .on('name')."
        )
    return kernel if len(_columns(data)) == 1 else kernel.on(columns[0])


def default_kernel(data: Data) -> Kernel:
    """Return a kernel that suits the look of the data."""
    from ..kernels import Auto
    from ..views import as_views

    if data.kind == "sequences" and data.intervals is not None:
        return preset_kernel("tf", data)
    columns = _columns(data)
    alone = len(columns) == 1 and next(iter(columns.values())).dtype.kind == "O"
    try:
        kernel, notes = Auto().chosen(as_views(next(iter(columns.values())) if alone else data.X))
    except InputError as error:
        raise InputError(f"{data.source}: {error}") from None
    for note in notes[1:]:  # the first one says what is printed anyway
        warnings.warn(f"{note}. A kernel on it, typed with --kernel, uses it all the same.", DataWarning, stacklevel=2)
    return kernel


def default_choice(data: Data, options: dict[str, Any]) -> Any:
    """Return what C and the norm are where not given: chosen, for tables and matrices without a kernel, or 1."""
    return 1 if data.kind == "sequences" or options["kernel"] or options["preset"] else "auto"


def _columns(data: Data) -> dict[str, Any]:
    return data.X if isinstance(data.X, dict) else {}
