"""Models of gkmSVM, the package for R: support sequences as FASTA, their coefficients beside them or in the headers."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from ..errors import ModelFormatError
from ..kernels import GappedKmer, Kernel
from .gkm_text import DAMAGED, MAX_LINE, GkmModel, letters_of, number_of, opened_text

#: Endings of the two files of a model, and of one that has both.
COEFFICIENTS, SEQUENCES, WHOLE = "_svalpha.out", "_svseq.fa", ".gkmmodel"


def usual_kernel() -> Kernel:
    """Return the kernel that gkmSVM takes where nothing is said: its files do not name the one they were made with."""
    return GappedKmer(10, 6, True, "dna", filter="truncated", max_mismatches=3).normalized()


def is_pair(path: str | os.PathLike) -> bool:
    """Say whether a name is that of a model of gkmSVM: of either file of a pair, or of one with both."""
    name = os.fspath(path)
    if name.endswith(SEQUENCES):
        return os.path.isfile(name[: -len(SEQUENCES)] + COEFFICIENTS)
    return name.endswith((COEFFICIENTS, WHOLE)) and os.path.isfile(name)


def read_pair(path: str | os.PathLike, kernel: Kernel | None = None) -> GkmModel:
    """Read a model of gkmSVM.

    Parameters
    ----------
    path : path
        ``..._svalpha.out`` or ``..._svseq.fa``, which lie side by side, or ``....gkmmodel``.
    kernel : Kernel or None
        The one of training, which the files do not say; None for the defaults of the program: `usual_kernel`.

    Raises
    ------
    ModelFormatError
        Where files are damaged, or do not belong together; says what is wrong and where.
    """
    name = os.fspath(path)
    try:
        if name.endswith(WHOLE):
            found, rho = _whole(name)
        else:
            start = name[: -len(SEQUENCES if name.endswith(SEQUENCES) else COEFFICIENTS)]
            found, rho = _pair(start), 0.0
    except DAMAGED as error:
        raise ModelFormatError(f"{name!r} is damaged: {error}.") from None
    if not found:
        raise ModelFormatError(f"{name!r} has no support sequence.")
    sequences, coef = [row[1] for row in found], np.array([row[0] for row in found])
    return GkmModel(kernel or usual_kernel(), sequences, coef, -rho, (-1, 1), "gkmSVM")


def _pair(start: str) -> list[tuple[float, str]]:
    """Coefficients and sequences of two files, joined by their names."""
    coef: dict[str, float] = {}
    for number, line in _lines(start + COEFFICIENTS):
        name, _, value = line.partition("\t")
        where = f"line {number} of {start + COEFFICIENTS!r}"
        if not value or name in coef:
            raise ModelFormatError(f"{where} is not a name and its coefficient, or comes again: {line[:40]!r}.")
        coef[name] = _number(value, where)
    sequences = dict(_records(start + SEQUENCES))
    for name in coef:
        if name not in sequences:
            raise ModelFormatError(f"{start + SEQUENCES!r} has no sequence {name[:40]!r}, which has a coefficient.")
    return [(value, sequences[name]) for name, value in coef.items()]


def _whole(path: str) -> tuple[list[tuple[float, str]], float]:
    """Coefficients and sequences of one file, and what is subtracted from all values."""
    rho = 0.0
    for _, line in _lines(path):
        if not line.startswith("#"):
            break
        if line.startswith("#rho "):
            rho = _number(line[5:], f"#rho of {path!r}")
    found = []
    for name, letters in _records(path):
        _, _, value = name.rpartition("\t")
        found.append((_number(value, f"the header {name[:40]!r} of {path!r}"), letters))
    return found, rho


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield lines that hold something, with their numbers."""
    with opened_text(path) as file:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if line.strip():
                yield number, line.strip("\r\n ")


def _records(path: str) -> Iterator[tuple[str, str]]:
    """Yield the whole header and the letters of every record; a header that comes again is an error."""
    seen: set[str] = set()
    name, parts = "", list[str]()
    for number, line in _lines(path):
        if line.startswith(">"):
            if name:
                yield name, letters_of("".join(parts), f"record {name[:40]!r} of {path!r}")
            name, parts = line[1:], []
            if not name or name in seen:
                raise ModelFormatError(
                    f"line {number} of {path!r} has no name, or one that comes again: {name[:40]!r}."
                )
            seen.add(name)
        elif name:
            parts.append(line)
        elif not line.startswith("#"):
            raise ModelFormatError(f"{path!r} is no FASTA: line {number} is {line[:40]!r} where a header should be.")
    if name:
        yield name, letters_of("".join(parts), f"record {name[:40]!r} of {path!r}")


def _number(word: str, where: str) -> float:
    return number_of(word.strip(), where)
