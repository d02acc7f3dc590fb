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
from ..io.plain import damaged, fields, grows
from ..mkl import Problem, Result, Step
from ..mkl.problem import CutCoef

#: Saving takes at most this share of the time.
MOST_SAVING = 0.05


@dataclass
class Standing:
    """Where one problem stands: enough to go on from. Bounds are not kept: they are proven anew."""

    weights: np.ndarray
    #: The coef of every machine; None for those that have not begun.
    coefs: list[np.ndarray | None]
    #: The coef that the cuts of a linear program were made of.
    cuts: tuple[CutCoef, ...] = ()


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
        self.problems: dict[int, Standing] = {}
        self._continues = False
        checkpoint.check()
        if checkpoint.restart:
            checkpoint.remove()
        elif (found := checkpoint.read()) is not None:
            self._read_standings(*found)
        self._written = self._continues
        self._due = time.monotonic() + checkpoint.seconds

    def _read_standings(self, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        try:
            unlike = differences(manifest["fit"], self.fit)
            if unlike and manifest["complete"]:  # that fit came to its end: nothing is lost
                return
            if not unlike:
                fields(manifest, "the checkpoint", library_version=str, fit=dict, complete=bool, problems=list)
                self.problems = standings(manifest, arrays, int(self.fit["number of samples"]))
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
            self.problems[number] = Standing(problem.start_weights(), [None] * len(problem.machines))
            return None
        try:
            check_standing(kept.weights, kept.coefs, problem)
        except ModelFormatError as error:
            raise self._refusal(error) from None
        coefs = [np.zeros(problem.gram.n) if coef is None else coef for coef in kept.coefs]
        states = tuple(DualState(coef, np.zeros(problem.gram.n)) for coef in coefs)
        return Step(kept.weights, states, np.empty(0), np.inf, -np.inf, kept.cuts)

    def dual(self, number: int, machine: int, state: DualState, weights: np.ndarray) -> None:
        """Note a step of a dual solver."""
        kept = self.problems[number]
        kept.weights, kept.coefs[machine] = weights, state.coef
        self.save_if_due()

    def step(self, number: int, step: Step) -> None:
        """Note a step of a problem."""
        self._note_step(number, step)
        self.save_if_due()

    def _note_step(self, number: int, step: Step) -> None:
        kept = self.problems[number]
        kept.weights, kept.coefs = step.weights, [state.coef for state in step.states]
        if step.cuts and step.active is None:
            kept.cuts = step.cuts

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
        nodes = [_packed_standing(i, self.problems[i], arrays) for i in sorted(self.problems)]
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
            self._note_step(number, result.step)
        self.save(complete)


def _packed_standing(number: int, kept: Standing, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
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


# -- where a problem stood, as a checkpoint says it: believed only where it could have been written by a fit -----------


def standings(manifest: dict[str, Any], arrays: dict[str, np.ndarray], n: int) -> dict[int, Standing]:
    """Return weights, coefs and the coefs of cuts of every problem in a checkpoint of n samples.

    Raises
    ------
    ModelFormatError
        Where a part is missing, of the wrong shape or type, or not finite, or where nothing uses an array.
    """
    left, found = dict(arrays), {}
    for node in manifest["problems"]:
        number, machines = fields(node, "a problem", number=int, machines=list)
        if number < 0 or number in found:
            raise damaged(f"there are two problems {number}, or it is no number")
        weights = _pop_numbers(left, f"weights/{number}.npy", 1)
        if not (weights >= 0).all():
            raise damaged(f"a weight of problem {number} is negative")
        coefs = [None if place is None else _pop_coef(left, place, n) for place in machines]
        cuts = _pop_cuts(left, number, n, len(machines)) if f"cut_ends/{number}.npy" in left else ()
        found[number] = Standing(weights, coefs, cuts)
    if left:
        raise damaged(f"nothing uses its array {sorted(left)[0]!r}")
    return found


def _pop_numbers(left: dict[str, np.ndarray], name: str, dimensions: int, kind: str = "float64") -> np.ndarray:
    array = left.pop(name, None)
    if array is None or array.ndim != dimensions or array.dtype != kind or not np.isfinite(array).all():
        what = "is not there" if array is None else f"has the shape {array.shape} and type {array.dtype}"
        raise damaged(f"{name} {what}, or is not finite; finite numbers of type {kind} are needed")
    return array


def _pop_coef(left: dict[str, np.ndarray], place: Any, n: int) -> np.ndarray:
    """Return the coefficients of a machine; the file keeps those that are not zero, and their places."""
    rows, values = _pop_numbers(left, f"rows/{place}.npy", 1, "int64"), _pop_numbers(left, f"values/{place}.npy", 1)
    if rows.shape != values.shape or not _are_places(rows, n):
        raise damaged(f"rows/{place}.npy are not places of {n} samples that grow, one for each value")
    coef = np.zeros(n)
    coef[rows] = values
    return coef


def _pop_cuts(left: dict[str, np.ndarray], number: int, n: int, n_machines: int) -> tuple[CutCoef, ...]:
    ends, rows = (_pop_numbers(left, f"{name}/{number}.npy", 1, "int64") for name in ("cut_ends", "cut_rows"))
    values = _pop_numbers(left, f"cut_values/{number}.npy", 2)
    if values.shape != (len(rows), n_machines) or len(ends) == 0 or ends[0] < 0 or ends[-1] != len(rows):
        raise damaged(f"the cuts of problem {number} have the shapes {rows.shape} and {values.shape}")
    if not grows(ends, strictly=False):
        raise damaged(f"the cuts of problem {number} do not follow one another")
    parts = np.split(rows, ends[:-1])
    if not all(_are_places(part, n) for part in parts):
        raise damaged(f"cut_rows/{number}.npy are not places of {n} samples that grow")
    return tuple(zip(parts, np.split(values, ends[:-1]), strict=True))


def _are_places(rows: np.ndarray, n: int) -> bool:
    return len(rows) == 0 or bool(rows[0] >= 0 and rows[-1] < n and grows(rows, strictly=True))


def check_standing(weights: np.ndarray, coefs: list[np.ndarray | None], problem: Problem) -> None:
    """Raise `ModelFormatError` where a problem cannot have stood like this."""
    n_terms, n_machines = problem.gram.n_terms, len(problem.machines)
    if len(weights) != n_terms or len(coefs) != n_machines:
        raise damaged(
            f"it holds {len(weights)} weights and {len(coefs)} machines where the fit has {n_terms} and {n_machines}"
        )
    if not problem.norm.holds(weights):
        raise damaged(f"its weights {np.array2string(weights, threshold=6)} are not in the set of {problem.norm!r}")
