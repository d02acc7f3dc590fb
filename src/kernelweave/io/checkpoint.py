"""Checkpoints: how far a long fit has come, in a file that a killed run leaves behind whole."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import CheckpointError, DataWarning, ModelFormatError
from ..validation import check_positive
from .archive import CHECKPOINT, read_archive, write_archive
from .atomic import AtomicFile, check_writable


class Checkpoint:
    """A file in which a fit is kept on the way, for ``fit(X, y, checkpoint=...)``; a path will do as well.

    The same call goes on where the file ends. There are two generations, `path` and `path` + ".previous": the older one
    is used where the newer one is damaged. Each holds numbers only, is sealed by a digest, and appears whole or not
    at all.

    Parameters
    ----------
    path : path of the file
        Any name will do; ``.checkpoint`` is customary.
    seconds : float
        Time between two savings; more where saving takes long, so that it never costs more than a twentieth.
    restart : bool
        Begin anew, whatever the file holds.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from kernelweave import Checkpoint, MKLClassifier
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.checkpoint"
    >>> X, y = [[0.0], [0.2], [1.0], [1.2]], ["a", "a", "b", "b"]
    >>> MKLClassifier("RBF(1.0)").fit(X, y, checkpoint=Checkpoint(path, seconds=600)).converged_
    True
    """

    def __init__(self, path: str | os.PathLike, *, seconds: float = 120.0, restart: bool = False) -> None:
        self.path = os.path.expanduser(os.fspath(path))
        self.seconds = float(seconds) if seconds == 0 else check_positive("seconds", seconds, what="a time ≥ 0")
        self.restart = restart

    @property
    def previous(self) -> str:
        """Where the older generation is."""
        return self.path + ".previous"

    def exists(self) -> bool:
        """Say whether there is something to go on from."""
        return os.path.exists(self.path) or os.path.exists(self.previous)

    def remove(self) -> None:
        """Remove both generations."""
        for path in (self.path, self.previous):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def check(self) -> None:
        """Raise now what writing would raise later; what a killed writer left behind is removed."""
        check_writable(self.path)

    def write(self, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray], *, replaces: bool = True) -> None:
        """Write a generation; the last one becomes the older one, unless it is of another fit (replaces=False)."""
        with AtomicFile(self.path) as out:
            write_archive(out.file, manifest, arrays, kind=CHECKPOINT)
            out.file.flush()
            os.fsync(out.file.fileno())  # only what is safely on the disk may push out what is there
            with contextlib.suppress(FileNotFoundError):
                if replaces:
                    os.replace(self.path, self.previous)
                else:
                    os.unlink(self.previous)

    def read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the newest generation that is whole, and None where there is none at all.

        Raises
        ------
        CheckpointError
            Where there are files, but none that can be read.
        """
        faults: list[str] = []
        for path in (self.path, self.previous):
            try:
                with open(path, "rb") as file:
                    found = read_archive(file, None, kind=CHECKPOINT)
            except FileNotFoundError:
                continue
            except ModelFormatError as error:
                faults.append(f"{path!r} {str(error).split('. ')[0].rstrip('.')}")
                continue
            if faults:
                warnings.warn(
                    f"{faults[0]}; the fit goes on from the checkpoint before it, {path!r}.", DataWarning, stacklevel=6
                )
            return found
        if faults:
            raise CheckpointError(
                f"There is no checkpoint to go on from: {'; '.join(faults)}. Delete what is there, or begin anew with "
                "Checkpoint(path, restart=True)."
            )
        return None


def as_checkpoint(checkpoint: str | os.PathLike | Checkpoint) -> Checkpoint:
    """Return a checkpoint by its path, or as given."""
    return checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
