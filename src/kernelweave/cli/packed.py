"""Packed files as samples: one, or several that are shards; names and labels are beside them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .data import Data, Reading, label_table, labels_path, row_ids

if TYPE_CHECKING:
    import numpy as np

#: An array of labels beside a packed file, as `make_splice_sites` writes it.
LABELS_ARRAY = ".labels.npy"


def read_packed(files: tuple[str, ...], how: Reading, labelled: bool) -> Data:
    """Map packed files; several are shards, one after another."""
    import numpy as np

    from ..sequences import SequenceSet, Shards

    if len(files) > 1 and how.labels:
        raise InputError(
            f"--labels names the labels of one packed file; of {len(files)}, those beside each are read, such as "
            f"{labels_path(files[0])}."
        )
    beside = Beside(how, labelled)
    if elsewhere(files):
        from ..cluster import Job, current_engine, run_jobs

        X: SequenceSet = Shards.open(files, engine=current_engine())
        jobs = [Job(f"the labels of {one.path}", (one.path, len(one))) for one in X.files]  # type: ignore[attr-defined]
        found = [beside(job.given) for job in jobs] if how.labels else run_jobs(beside, jobs)
    else:
        sets = [SequenceSet.open(path) for path in files]
        X = sets[0] if len(sets) == 1 else Shards(sets)
        found = [beside((path, len(one))) for path, one in zip(files, sets, strict=True)]
    ids = [name for names, _ in found for name in names] if len(found) == 1 else _all_ids(found)
    y = None if any(labels is None for _, labels in found) else np.concatenate([labels for _, labels in found])
    return Data("sequences", X, y, ids, " and ".join(files))


def elsewhere(files: tuple[str, ...]) -> bool:
    """Say whether only the workers of the engine in use can see these files."""
    from ..cluster import current_engine

    return current_engine() is not None and not any(
        path == "-" or os.path.exists(os.path.expanduser(path)) for path in files
    )


@dataclass(frozen=True)
class Beside:
    """The job of reading ids and labels beside a packed file; called with its name and how many rows it has."""

    how: Reading
    labelled: bool

    def __call__(self, given: tuple[str, int]) -> tuple[list[str], np.ndarray | None]:
        return _beside(*given, self.how, self.labelled)


def _all_ids(found: list[Any]) -> list[str]:
    """Return the names of all shards; rows that have none are numbered through."""
    ids: list[str] = []
    for names, _ in found:
        ids += row_ids(len(names), len(ids)) if names == row_ids(len(names)) else names
    return ids


def _beside(path: str, n: int, how: Reading, labelled: bool) -> tuple[list[str], np.ndarray | None]:
    """Return ids and labels of one packed file: beside it, row by row, or where --labels says."""
    import numpy as np

    from ..io.tables import check_lengths

    places = [how.labels] if how.labels else [labels_path(path), labels_path(path, LABELS_ARRAY)]
    found = next((place for place in places if place and (how.labels or os.path.exists(place))), None)
    ids, y = row_ids(n), None
    if found is not None and found.endswith(".npy"):
        y = np.load(os.path.expanduser(found), allow_pickle=False)
    elif found is not None:
        named, y = label_table(found, how, labelled)
        check_lengths(f"sequences in {path}", n, f"rows in {found}", len(named))
        ids = [str(name) for name in named]
    if labelled and y is None:
        raise InputError(f"{path} holds sequences only; give their labels with --labels, or put them into {places[0]}.")
    if y is not None:
        check_lengths(f"sequences in {path}", n, f"labels in {found}", len(y))
    return ids, y
