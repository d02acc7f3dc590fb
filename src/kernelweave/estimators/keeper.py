"""What a checkpoint keeps of a fit, and how a fit goes on from it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from ..dual import DualState
from ..errors import CheckpointError, DataWarning, ModelFormatError
from ..io.checkpoint import Checkpoint
from ..io.fingerprint import differences
from ..io.plain import fields
from ..mkl import Problem, Result, Step
from ..mkl.master_lp import Cuts
from .standing import check_standing, standings

#: Saving takes at most this share of the time.
MOST_SAVING = 0.05


@dataclass
class Kept:
    """Where one problem stands: enough to go on from. Bounds are not kept: they are proven anew."""

    weights: np.ndarray
    #: The coef of every machine; None for those that have not begun.
    coefs: list[np.ndarray | None]
    #: The coef that the cuts of a linear program were made of (`Cuts.coefs`).
    cuts: tuple[tuple[np.ndarray, np.ndarray], ...] = ()


class Keeper:
    """Saves the problems of a fit to a checkpoint from time to time, and knows where they stood before.

    Parameters
    ----------
    checkpoint : Checkpoint
    fit : dict
        The fingerprint of the fit; that of the file must be the same.

    Raises
    ------
    CheckpointError
        Where the file is of another fit that was not finished, or cannot be read.
    """

    def __init__(self, checkpoint: Checkpoint, fit: dict[str, str]) -> None:
        self.checkpoint, self.fit = checkpoint, fit
        self.problems: dict[int, Kept] = {}
        self._continues = False
        checkpoint.check()
        if checkpoint.restart:
            checkpoint.remove()
        elif (found := checkpoint.read()) is not None:
            self._take(*found)
        self._written = self._continues
        self._due = time.monotonic() + checkpoint.seconds

    def _take(self, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        try:
            unlike = differences(manifest["fit"], self.fit)
            if unlike and manifest["complete"]:  # that fit came to its end: nothing is lost
                return
            if not unlike:
                fields(manifest, "the checkpoint", library_version=str, fit=dict, complete=bool, problems=list)
                stood = standings(manifest, arrays, int(self.fit["number of samples"]))
                self.problems = {number: Kept(*parts) for number, parts in stood.items()}
                self._continues = True
                return
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise self._refusal(error) from None
        raise CheckpointError(
            f"The checkpoint {self.checkpoint.path!r} is of another fit: {'; '.join(unlike)}. To go on from it, fit "
            "the same data with the same parameters. To begin anew: another path, or Checkpoint(path, restart=True)."
        )

    def _refusal(self, error: Exception) -> CheckpointError:
        """Return the error for a file that no fit has written."""
        why = str(error).removeprefix("is damaged: ") if isinstance(error, ModelFormatError) else repr(error)
        return CheckpointError(
            f"{self.checkpoint.path!r} does not hold what a checkpoint holds ({why.rstrip('.')}). Delete it, or begin "
            "anew with Checkpoint(path, restart=True)."
        )

    def start(self, number: int, problem: Problem) -> Step | None:
        """Return where a problem stood; None where it is new."""
        kept = self.problems.get(number)
        if kept is None:
            self.problems[number] = Kept(problem.start_weights(), [None] * len(problem.machines))
            return None
        try:
            check_standing(kept.weights, kept.coefs, problem)
        except ModelFormatError as error:
            raise self._refusal(error) from None
        coefs = [np.zeros(problem.gram.n) if coef is None else coef for coef in kept.coefs]
        states = tuple(DualState(coef, np.zeros(problem.gram.n)) for coef in coefs)
        return Step(kept.weights, states, np.empty(0), np.inf, -np.inf, Cuts(kept.cuts))

    def dual(self, number: int, machine: int, state: DualState, weights: np.ndarray) -> None:
        """Note a step of a dual solver."""
        kept = self.problems[number]
        kept.weights, kept.coefs[machine] = weights, state.coef
        self.save_if_due()

    def step(self, number: int, step: Step) -> None:
        """Note a step of a problem."""
        self._note(number, step)
        self.save_if_due()

    def _note(self, number: int, step: Step) -> None:
        kept = self.problems[number]
        kept.weights, kept.coefs = step.weights, [state.coef for state in step.states]
        if isinstance(step.memory, Cuts):
            kept.cuts = step.memory.coefs

    def save_if_due(self) -> None:
        """Save where it is time to; a disk that is full is worth a warning, not the run."""
        started = time.monotonic()
        if started < self._due:
            return
        try:
            self.save(complete=False)
        except OSError as error:
            warnings.warn(f"The checkpoint could not be written: {error}. The fit goes on.", DataWarning, stacklevel=2)
        now = time.monotonic()
        self._due = now + max(self.checkpoint.seconds, (now - started) / MOST_SAVING)

    def save(self, complete: bool) -> None:
        """Write a generation of the checkpoint."""
        arrays: dict[str, np.ndarray] = {}
        nodes = [_packed(i, self.problems[i], arrays) for i in sorted(self.problems)]
        manifest = {
            "library_version": version("kernelweave"),
            "fit": self.fit,
            "complete": complete,
            "problems": nodes,
        }
        self.checkpoint.write(manifest, arrays, replaces=self._written)
        self._written = True

    def end(self, results: list[Result]) -> None:
        """Keep what a fit ended with: marked as complete, or to be gone on from."""
        complete = all(result.converged for result in results)
        if complete and not self._written:  # it took no time worth keeping
            return
        for number, result in enumerate(results):
            self._note(number, result.step)
        self.save(complete)


def _packed(number: int, kept: Kept, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    arrays[f"weights/{number}.npy"] = kept.weights
    if kept.cuts:
        arrays[f"cut_ends/{number}.npy"] = np.cumsum([len(rows) for rows, _ in kept.cuts])
        arrays[f"cut_rows/{number}.npy"] = np.concatenate([rows for rows, _ in kept.cuts])
        arrays[f"cut_values/{number}.npy"] = np.concatenate([values for _, values in kept.cuts])
    machines: list[int | None] = []
    for coef in kept.coefs:
        place = sum(name.startswith("rows/") for name in arrays)
        machines.append(None if coef is None else place)
        if coef is not None:  # most coefficients of most machines are zero
            rows = np.flatnonzero(coef)
            arrays[f"rows/{place}.npy"], arrays[f"values/{place}.npy"] = rows, coef[rows]
    return {"machines": machines, "number": number}
