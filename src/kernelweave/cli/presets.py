"""Kernels for newcomers: by the name of a task, or from a look at the data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import DataWarning, InputError

if TYPE_CHECKING:
    from ..kernels import Kernel
    from .data import Data

#: Widths of the joint kernel on all columns, relative to the usual one.
WIDTHS = (0.1, 1.0, 10.0)
#: Above this many columns there is no term for each of them.
MAX_COLUMNS = 100
#: A column of text with at most this many different short values is a list of categories.
MAX_CATEGORIES = 20


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
    "protein": Preset(
        "Spectrum(k=1).normalized() + Spectrum(k=2).normalized() + Spectrum(k=3).normalized() + "
        "Mismatch(k=5, mismatches=1).normalized()",
        "proteins of any length: composition, pairs, triples, and words of five with one letter wrong",
    ),
    "text": Preset(
        "BagOfWords().normalized() + Spectrum(k=3, alphabet='text').normalized() + "
        "Spectrum(k=5, alphabet='text').normalized()",
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
    if data.kind == "sequences":
        return _for_sequences(data.X)
    if data.kind == "svmlight":
        return _for_matrix(data)
    return _for_table(data)


def _columns(data: Data) -> dict[str, Any]:
    return data.X if isinstance(data.X, dict) else {}


def _for_sequences(sequences: Any) -> Kernel:
    from ..kernels import Spectrum, WeightedDegree, parse
    from ..sequences import DNA, PROTEIN, RNA

    if sequences.alphabet == PROTEIN:
        return parse(PRESETS["protein"].kernel or "")
    if sequences.alphabet not in (DNA, RNA):
        return parse(PRESETS["text"].kernel or "")
    return WeightedDegree(degree=10, shift=3) if sequences.length is not None else Spectrum(k=6).normalized()


def _for_matrix(data: Data) -> Kernel:
    """Widths around 1 / (columns · variance), as for a table, and straight lines."""
    import numpy as np

    from ..kernels import RBF, Linear
    from ..kernels.base import add_all

    X = data.X

    squares = (X.multiply(X) if hasattr(X, "multiply") else X * X).mean(axis=0)
    variance = float(np.mean(squares - np.square(X.mean(axis=0))))
    if variance <= 0:
        raise InputError(f"{data.source} has no column to learn from: every column holds one value only.")
    gamma = 1.0 / (X.shape[1] * variance)
    return add_all([*(RBF(_rounded(width * gamma)) for width in WIDTHS), Linear()])


def _for_table(data: Data) -> Kernel:
    from ..kernels import RBF
    from ..kernels.base import add_all

    columns = _columns(data)
    numbers = {name: _spread(values, name, data) for name, values in columns.items() if values.dtype.kind != "O"}
    numbers = {name: variance for name, variance in numbers.items() if variance > 0}
    terms: list[Kernel] = []
    if len(numbers) != 1:
        names = list(numbers)
        for width in WIDTHS if names else ():
            gammas = [_rounded(width / (len(names) * numbers[name])) for name in names]
            terms.append(RBF(gammas).on(names))
    if len(numbers) <= MAX_COLUMNS:
        terms += [RBF(_rounded(1.0 / variance)).on(name) for name, variance in numbers.items()]
    texts = [name for name, values in columns.items() if values.dtype.kind == "O"]
    named = [name for name in texts if len(columns) > 1 and _looks_like_ids(columns[name])]
    if named:
        warnings.warn(
            f"Every row has its own value in {', '.join(map(repr, named))}, so nothing is learned from it. --id says "
            "that it names the rows; a kernel on it, typed with --kernel, uses it all the same.",
            DataWarning,
            stacklevel=2,
        )
    texts = [name for name in texts if name not in named]
    if not terms and len(texts) == 1 and len(columns) == 1:
        return _for_text(columns[texts[0]])
    terms += [_for_text(columns[name]).on(name) for name in texts]
    if not terms:
        raise InputError(f"{data.source} has no column to learn from: every column holds one value only.")
    return add_all(terms)


def _spread(values: Any, name: str, data: Data) -> float:
    import numpy as np

    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
        raise InputError(
            f"{data.source}: the column {name!r} has missing or infinite values, first in data row {row}. Fill them, "
            "remove these rows, or leave the column out with --columns."
        )
    return float(np.var(values.astype(np.float64)))


def _looks_like_ids(values: Any) -> bool:
    """Single words, all of them different, that are neither DNA nor protein."""
    from ..sequences import TEXT, as_sequences

    texts = [str(value).strip() for value in values]
    words = all(text and len(text) <= 40 and not any(sign.isspace() for sign in text) for text in texts)
    return words and len(set(texts)) == len(texts) and as_sequences(texts).alphabet == TEXT


def _for_text(values: Any) -> Kernel:
    """Categories are words that agree or not; other columns are what their letters look like."""
    from ..kernels import BagOfWords
    from ..sequences import TEXT, as_sequences

    distinct = {str(value) for value in values}
    if len(distinct) <= MAX_CATEGORIES and max(map(len, distinct)) <= 30:
        return BagOfWords(values="binary")
    sequences = as_sequences(values)
    if sequences.alphabet == TEXT:
        return BagOfWords().normalized()
    return _for_sequences(sequences)


def _rounded(value: float) -> float:
    """Three digits are enough for a width, and can be read."""
    return float(f"{value:.3g}")
