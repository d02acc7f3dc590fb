"""Splits that do not leak: samples of one group, a chromosome or a family, stay on one side."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .console import count
from .data import Data
from .options import grouped

if TYPE_CHECKING:
    import numpy as np

#: Where the name of a chromosome stands in an id such as chr1:100-400(+).
_PLACE = re.compile(r"(?:^|::)([^\s:]+):[0-9]+-[0-9]+(?:\([-+.]\))?$")

#: What is left out of training.
HOLD_OUT = grouped(
    click.option("--group-field", metavar="NAME",
                 help="Keep together what agrees in a header field (as in '>s1 family=7'), or in a column of a table."),
    click.option("--hold-out", metavar="A,B,...", help="Groups to learn nothing from, and to test on: chr8,chr9."),
)  # fmt: skip

#: What a split keeps together.
SPLITS = grouped(
    click.option("--groups", "grouping", type=click.Choice(["chrom", "homology"]),
                 help="Keep together what lies on one chromosome, or sequences that share many words."),
    HOLD_OUT,
)  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Folds of samples, and how they came about.

    Attributes
    ----------
    folds : list of (rows to train on, rows to test on)
    groups : array or None
        What was kept together.
    text : str
        The split in words.
    """

    folds: list[tuple[np.ndarray, np.ndarray]]
    groups: np.ndarray | None
    text: str


def groups_of(data: Data, options: dict[str, Any]) -> tuple[np.ndarray | None, str]:
    """Return the group of every sample, and what groups are; None where nobody asked for any."""
    import numpy as np

    if data.groups is not None:
        return np.asarray(data.groups).astype(str), "groups by --group-field"
    if options.get("grouping") == "homology":
        return _families(data).astype(str), "families of sequences that share words"
    if options.get("grouping") == "chrom" or options["hold_out"]:
        return _chromosomes(data), "chromosomes"
    return None, ""


def _families(data: Data) -> np.ndarray:
    from ..sequences.homology import homology_groups

    if not hasattr(data.X, "alphabet"):
        raise InputError(f"--groups homology compares sequences; {data.source} holds a {data.kind}.")
    return homology_groups(data.X)


def _chromosomes(data: Data) -> np.ndarray:
    import numpy as np

    if data.intervals is not None:
        return data.intervals.names.astype(str)
    found = [_PLACE.search(name) for name in data.ids]
    if not all(found):
        odd = data.ids[[match is None for match in found].index(True)]
        raise InputError(
            f"{data.source}: the id {odd!r} does not say on which chromosome the sample lies, as in chr1:100-400. Give "
            "BED and --genome, or name a field with --group-field."
        )
    return np.array([match[1] for match in found if match])


def held_out(groups: np.ndarray, wanted: str, source: str) -> np.ndarray:
    """Return which samples are in the groups of --hold-out, (n,) bool."""
    import numpy as np

    names = [name.strip() for name in wanted.split(",") if name.strip()]
    there = set(groups.tolist())
    missing = [name for name in names if name not in there]
    if missing or not names:
        shown = ", ".join(sorted(there)[:8]) + (", ..." if len(there) > 8 else "")
        raise InputError(f"--hold-out names {', '.join(missing) or 'nothing'}; {source} has the groups {shown}.")
    chosen = np.isin(groups, names)
    if chosen.all():
        raise InputError(f"--hold-out {wanted} leaves nothing of {source} to learn from.")
    return chosen


def chosen(data: Data, options: dict[str, Any], inside: bool) -> Data:
    """Return the samples inside or outside of the groups of --hold-out, with a note; all where there are none."""
    import numpy as np

    if not options["hold_out"]:
        return data
    groups, _ = groups_of(data, options)
    assert groups is not None
    marked = held_out(groups, options["hold_out"], data.source)
    rows = np.flatnonzero(marked if inside else ~marked)
    what = "Only" if inside else "Trained without"
    text = f"{what} {options['hold_out']}: {len(rows):,} of {count(len(data), 'sample')}."
    X = {name: column[rows] for name, column in data.X.items()} if isinstance(data.X, dict) else data.X[rows]
    return replace(
        data,
        X=X,
        y=None if data.y is None else data.y[rows],
        ids=[data.ids[i] for i in rows],
        groups=None if data.groups is None else data.groups[rows],
        intervals=None if data.intervals is None else data.intervals.rows(rows),
        notes=(*data.notes, text),
    )


def split(task: str, data: Data, options: dict[str, Any]) -> Split:
    """Return the folds that the options ask for."""
    import numpy as np

    groups, what = groups_of(data, options)
    if groups is None:
        folds = _plain_folds(task, data.y, options["folds"], options["seed"])
        return Split(folds, None, f"{options['folds']} folds of random samples")
    if options["hold_out"]:
        test = held_out(groups, options["hold_out"], data.source)
        text = f"trained without {options['hold_out']}, tested on it ({what})"
        return Split([(np.flatnonzero(~test), np.flatnonzero(test))], groups, text)
    n_groups = len(np.unique(groups))
    if n_groups < options["folds"]:
        raise InputError(
            f"There are {count(n_groups, 'group')} ({what}), fewer than {options['folds']} folds. Use --folds "
            f"{max(2, n_groups)}, or other groups."
        )
    folds = _group_folds(task, data.y, groups, options["folds"], options["seed"])
    return Split(folds, groups, f"{options['folds']} folds of whole groups: {n_groups:,} {what}")


def _plain_folds(task: str, y: Any, n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    if task == "classification":
        labels, counts = np.unique(y, return_counts=True)
        if counts.min() < n:
            rare = labels[counts.argmin()]
            raise InputError(
                f"Class {rare} has {counts.min()} samples, fewer than {n} folds. Use --folds {counts.min()}."
            )
    elif len(y) < n:
        raise InputError(f"There are {len(y)} samples, fewer than {n} folds.")
    kind = StratifiedKFold if task == "classification" else KFold
    return list(kind(n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def _group_folds(task: str, y: Any, groups: Any, n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    import numpy as np
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    if task != "classification":
        return list(GroupKFold(n).split(np.zeros(len(y)), y, groups))
    folds = list(StratifiedGroupKFold(n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y, groups))
    whole = np.unique(y)
    for train, test in folds:
        if len(np.unique(y[train])) < len(whole) or len(np.unique(y[test])) < len(whole):
            raise InputError(
                f"With {n} folds of whole groups, one of them lacks a class. Use fewer --folds, or smaller groups."
            )
    return folds
