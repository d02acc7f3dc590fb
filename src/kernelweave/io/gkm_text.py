"""Models of gapped k-mer machines that other programs wrote: the text of LS-GKM, and the arrays of gkmsvm-lite."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelFormatError
from ..kernels import GappedKmer, Gaussian, Kernel

#: Kernels of LS-GKM, by the names in its files: the filter, whether the middle counts more, and whether a Gaussian is
#: put around the kernel.
KINDS = {
    "gkm_cnt": ("gapped", False, False),
    "gkm_estfull": ("full", False, False),
    "gkm_esttrunc": ("truncated", False, False),
    "gkmrbf": ("truncated", False, True),
    "wgkm": ("truncated", True, False),
    "wgkmrbf": ("truncated", True, True),
}
#: Letters of the longest line, and support samples, that are read.
MAX_LINE, MAX_SUPPORT = 1 << 24, 10**7
#: What readers of text and archives raise where bytes are not what they were.
DAMAGED = (UnicodeDecodeError, EOFError, zlib.error, zipfile.BadZipFile)
_OTHER = re.compile("[^ACGT]")


@dataclass(frozen=True)
class GkmModel:
    """f(x) = Σ_i coef[i] k(sequences[i], x) + intercept; classes are those of f < 0 and f > 0, None for regression."""

    kernel: Kernel
    sequences: list[str]
    coef: np.ndarray
    intercept: float
    classes: tuple[int, int] | None
    #: Who wrote it.
    program: str


def read_gkm_model(path: str | os.PathLike) -> GkmModel:
    """Read the model of another program, told by its content.

    Letters other than A, C, G and T in support sequences become A, as LS-GKM reads them.

    Raises
    ------
    ModelFormatError
        Where it is none of the known formats, or is damaged; says what is wrong and where.
    """
    name = os.fspath(path)
    try:
        if zipfile.is_zipfile(path):
            return _from_arrays(name)
        with opened_text(name) as lines:
            return _from_text(lines)
    except ModelFormatError as error:
        raise ModelFormatError(f"{name!r} {error}") from None
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ModelFormatError(f"{name!r} is damaged: {error}.") from None


def looks_like_gkm(path: str | os.PathLike) -> bool:
    """Say whether a file begins as the models of these programs do."""
    name = os.fspath(path)
    if zipfile.is_zipfile(path):
        return name.endswith(".npz")
    try:
        with opened_text(name) as lines:
            return lines.read(9) == "svm_type "
    except (*DAMAGED, OSError):
        return False


def opened_text(name: str) -> Any:
    """Open a text of ASCII letters, plain or gzip."""
    with open(name, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(name, "rt", encoding="ascii") if packed else open(name, encoding="ascii")


# -- LS-GKM ----------------------------------------------------------------------------------------------------------


def _from_text(lines: Any) -> GkmModel:
    numbered = enumerate(_lines(lines), start=1)
    head = dict(_header(numbered))
    kernel = _kernel(head)
    rho = _numbers(head, "rho")[0]
    coef, sequences = [], []
    for number, line in numbered:
        words = line.split()
        if len(words) != 2:
            raise ModelFormatError(f"is damaged: line {number} is not a coefficient and a sequence.")
        coef.append(number_of(words[0], f"line {number}"))
        sequences.append(letters_of(words[1], f"line {number}"))
        if len(coef) > MAX_SUPPORT:
            raise ModelFormatError(f"has more than {MAX_SUPPORT:,} support sequences.")
    if (total := int(_numbers(head, "total_sv")[0])) != len(coef):
        raise ModelFormatError(f"is cut short or damaged: it has {len(coef):,} support sequences, and says {total:,}.")
    values, classes = np.array(coef), None
    if head.get("svm_type") == "c_svc":
        first, second = _labels(head)
        sign = 1.0 if first > second else -1.0  # f > 0 is the first of their labels
        values, rho, classes = sign * values, sign * rho, (min(first, second), max(first, second))
    elif head.get("svm_type") not in ("epsilon_svr", "nu_svr"):
        raise ModelFormatError(f"has svm_type {head.get('svm_type')!r}; c_svc, epsilon_svr and nu_svr are read.")
    return GkmModel(kernel, sequences, values, -rho, classes, "LS-GKM")


def _lines(lines: Any) -> Iterator[str]:
    while line := lines.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise ModelFormatError("is no model of LS-GKM: it has a line of more than 16 million letters.")
        yield line.rstrip("\r\n")


def _header(numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Yield names and values up to the line SV."""
    seen: set[str] = set()
    for number, line in numbered:
        if line.strip() == "SV":
            return
        name, _, value = line.strip().partition(" ")
        if number == 1 and name != "svm_type":
            raise ModelFormatError("is no model of LS-GKM: it does not begin with svm_type.")
        if not value or name in seen:
            raise ModelFormatError(f"is damaged: line {number} is not a name and its value, or comes again.")
        seen.add(name)
        yield name, value
    raise ModelFormatError("is cut short: it has no line SV, after which support sequences stand.")


def _kernel(head: dict[str, str], divided: bool = True) -> Kernel:
    """Return the kernel that a header describes; `divided`: a Gaussian is one of the kernel divided by its norms."""
    kind = head.get("kernel_type", "")
    if kind not in KINDS:
        raise ModelFormatError(f"has kernel_type {kind[:40]!r}; there are {', '.join(KINDS)}.")
    filter_, centred, rbf = KINDS[kind]
    given: dict[str, Any] = {"filter": filter_, "max_mismatches": _whole(head, "d", 0) if "d" in head else None}
    if centred:
        half_life = _numbers(head, "H")[0]
        if half_life <= 0:
            raise ModelFormatError(f"is damaged: H is {half_life:g}, which must be above 0.")
        given |= {"center_weight": _whole(head, "M", 1), "half_life": half_life}
    length, k = _whole(head, "L", 1), _whole(head, "k", 1)
    if not k <= length <= 12:
        raise ModelFormatError(f"is damaged: L is {length} and k is {k}; k ≤ L ≤ 12 is what the program takes.")
    both = head.get("norc", "0").strip() == "0"
    kernel = GappedKmer(length, k, both, "dna", **given)
    if not rbf:
        return kernel.normalized()
    gamma = _numbers(head, "gamma")[0]
    if gamma <= 0:
        raise ModelFormatError(f"is damaged: gamma is {gamma:g}, which must be above 0.")
    return Gaussian(kernel.normalized(), gamma) if divided else Gaussian(kernel, 2.0 * gamma)


def _numbers(head: dict[str, str], name: str) -> list[float]:
    if name not in head:
        raise ModelFormatError(f"is damaged: its header has no {name}.")
    return [number_of(word, name) for word in head[name].split()]


def _whole(head: dict[str, str], name: str, least: int) -> int:
    value = _numbers(head, name)[0]
    if value != int(value) or not least <= value <= 255:
        raise ModelFormatError(f"is damaged: {name} is {value:g}, not a whole number from {least} to 255.")
    return int(value)


def _labels(head: dict[str, str]) -> tuple[int, int]:
    found = [int(value) for value in _numbers(head, "label")] if "label" in head else [1, -1]
    if len(found) != 2 or found[0] == found[1]:
        raise ModelFormatError(f"has the labels {found}; two that differ are read.")
    return found[0], found[1]


def number_of(word: str, where: str) -> float:
    """Return a finite number that a file has as text."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in word:
        raise ModelFormatError(f"is damaged: {word[:40]!r} in {where} is not a finite number.")
    return value


def letters_of(word: str, where: str) -> str:
    """Return a sequence of a file in capitals, letters other than A, C, G and T as A."""
    if not word.isalpha():
        raise ModelFormatError(f"is damaged: {word[:40]!r} in {where} is not a sequence.")
    return _OTHER.sub("A", word.upper())


# -- gkmsvm-lite -----------------------------------------------------------------------------------------------------


def _from_arrays(name: str) -> GkmModel:
    try:
        with np.load(name, allow_pickle=False) as arrays:
            letters, coef, told = arrays["support_sequences"], arrays["coefficients"], bytes(arrays["metadata"])
        head = json.loads(told)
        given = {key: str(value) for key, value in head["kernel_params"].items()}
        kind, intercept = str(head["kernel_type"]), float(head["bias"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ModelFormatError(f"is no model of gkmsvm-lite: {str(error)[:80]}.") from None
    if kind.startswith("wgkm"):
        raise ModelFormatError(
            f"has the kernel {kind!r}, which in gkmsvm-lite weighs letters inside of words; there is no such kernel "
            "here."
        )
    shape = letters.ndim == 3 and letters.shape[1] == 4 and coef.shape == (len(letters),)
    if not shape or not np.isfinite(coef).all() or not math.isfinite(intercept):
        raise ModelFormatError("is damaged: it is not one coefficient for every support sequence of four rows.")
    if not ((letters == 0) | (letters == 1)).all() or not (letters.sum(axis=1) == 1).all():
        raise ModelFormatError("has support sequences with letters other than A, C, G and T, which are not read.")
    both = {"norc": "0" if given.get("include_rc", "True") == "True" else "1"}
    kernel = _kernel({"kernel_type": kind, "gamma": "1"} | given | both, divided=False)
    codes = letters.argmax(axis=1)
    sequences = ["".join("ACGT"[code] for code in row) for row in codes]
    return GkmModel(kernel, sequences, coef.astype(np.float64), intercept, (-1, 1), "gkmsvm-lite")
