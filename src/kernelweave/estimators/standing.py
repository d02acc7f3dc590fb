"""Where a problem stood, as a checkpoint says it: believed only where it could have been written by a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..io.plain import damaged, fields, grows
from ..mkl import Problem
from ..norms import WeightNorm

#: How far weights may lie off their norm's set: what a linear program rounds, and not more.
ROUNDING = 1e-6

#: Coefficients that cuts were made of: places of samples, and the values there of every machine.
CutCoefs = tuple[tuple[np.ndarray, np.ndarray], ...]
Standing = tuple[np.ndarray, list[np.ndarray | None], CutCoefs]


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
        weights = _numbers(left, f"weights/{number}.npy", 1)
        if not (weights >= 0).all():
            raise damaged(f"a weight of problem {number} is negative")
        coefs = [None if place is None else _coef(left, place, n) for place in machines]
        cuts = _cuts(left, number, n, len(machines)) if f"cut_ends/{number}.npy" in left else ()
        found[number] = (weights, coefs, cuts)
    if left:
        raise damaged(f"nothing uses its array {sorted(left)[0]!r}")
    return found


def _numbers(left: dict[str, np.ndarray], name: str, dimensions: int, kind: str = "float64") -> np.ndarray:
    array = left.pop(name, None)
    if array is None or array.ndim != dimensions or array.dtype != kind or not np.isfinite(array).all():
        what = "is not there" if array is None else f"has the shape {array.shape} and type {array.dtype}"
        raise damaged(f"{name} {what}, or is not finite; finite numbers of type {kind} are needed")
    return array


def _coef(left: dict[str, np.ndarray], place: Any, n: int) -> np.ndarray:
    """Return the coefficients of a machine; the file keeps those that are not zero, and their places."""
    rows, values = _numbers(left, f"rows/{place}.npy", 1, "int64"), _numbers(left, f"values/{place}.npy", 1)
    if rows.shape != values.shape or not _are_places(rows, n):
        raise damaged(f"rows/{place}.npy are not places of {n} samples that grow, one for each value")
    coef = np.zeros(n)
    coef[rows] = values
    return coef


def _cuts(left: dict[str, np.ndarray], number: int, n: int, n_machines: int) -> CutCoefs:
    ends, rows = (_numbers(left, f"{name}/{number}.npy", 1, "int64") for name in ("cut_ends", "cut_rows"))
    values = _numbers(left, f"cut_values/{number}.npy", 2)
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
    if not _in_set(problem.norm, weights):
        raise damaged(f"its weights {np.array2string(weights, threshold=6)} are not in the set of {problem.norm!r}")


def _in_set(norm: WeightNorm, weights: np.ndarray) -> bool:
    with np.errstate(all="ignore"):  # a sum of weights that is zero or infinite gives nan, which is close to nothing
        try:
            return np.allclose(norm.scaled(weights), weights, rtol=ROUNDING, atol=ROUNDING)
        except NotImplementedError:  # then by what every norm can do: no direction may reach beyond the set's edge
            probes = (*np.eye(len(weights)), np.ones(len(weights)), weights)
            return all(weights @ probe <= norm.dual_norm(probe) * (1 + ROUNDING) + ROUNDING for probe in probes)
