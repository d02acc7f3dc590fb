"""Labels: from headers, from a table by id, and the check that they belong to the sequences."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError


def header_labels(pattern: str = "label") -> Callable[[str], str]:
    """Return the function that finds the label in a header.

    Parameters
    ----------
    pattern : str
        The name of a field, as in ``>seq1 label=+1``, or a regular expression with one group.

    Examples
    --------
    >>> header_labels()("seq1 chr3:17 label=-1")
    '-1'
    >>> header_labels(r"^(pos|neg)_")("neg_0042")
    'neg'
    """
    field = re.fullmatch(r"\w+", pattern) is not None
    try:
        found = re.compile(rf"(?:^|[\s|;,]){pattern}=([^\s|;,]+)" if field else pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}.") from None
    if found.groups != 1:
        raise InputError(f"The pattern {pattern!r} has {found.groups} groups; put the label into exactly one (...).")
    wanted = f"a field {pattern}=..." if field else f"what {pattern!r} matches"

    def label(header: str) -> str:
        match = found.search(header)
        if match is None or match[1] is None:
            raise InputError(f"The header {header!r} has no label: {wanted} is needed.")
        return match[1]

    return label


def tidy_labels(labels: Any) -> np.ndarray:
    """Return labels as integers if all are whole numbers, as floats if all are numbers, else as they are."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "UO":
        return labels
    try:
        numbers = np.array([float(str(value).replace("_", "x")) for value in labels])
    except ValueError:
        return labels.astype(str)
    return numbers.astype(np.int64) if np.isfinite(numbers).all() and (numbers % 1 == 0).all() else numbers


def match_labels(ids: Sequence[str], label_ids: Sequence[str], labels: Sequence) -> np.ndarray:
    """Order labels, known by id, as the sequences are.

    Parameters
    ----------
    ids : sequence of str
        The sequences' ids.
    label_ids, labels : sequences of equal length
        The table of labels; ids that no sequence has are ignored.

    Raises
    ------
    InputError
        If an id has no label or two, listing the first five.
    """
    check_lengths("label ids", len(label_ids), "labels", len(labels))
    where: dict[str, int] = {}
    twice = []
    for row, name in enumerate(map(str, label_ids)):
        if where.setdefault(name, row) != row:
            twice.append(name)
    if twice:
        raise InputError(f"{len(twice)} ids have more than one label: {_first(twice)}.")
    missing = [name for name in map(str, ids) if name not in where]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(ids)} sequences have no label: {_first(missing)}. Ids must agree exactly."
        )
    return np.asarray(labels)[[where[str(name)] for name in ids]]


def check_lengths(what: str, n: int, other: str, m: int) -> None:
    """Raise if two things that belong together differ in number."""
    if n != m:
        raise InputError(f"There are {n} {what} but {m} {other}; each needs the other.")


def _first(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
