"""The way of a solver to the optimum, as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Trajectory:
    """The steps of one problem. What cannot be drawn is NaN: a bound that is infinite, a gap of zero."""

    #: Machines with weights of their own are problems of their own, solved one after the other.
    problem: int
    iteration: np.ndarray
    seconds: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    gap: np.ndarray

    def __len__(self) -> int:
        return len(self.iteration)


def trajectories(history: Sequence[dict[str, Any]]) -> list[Trajectory]:
    """Return the steps of `history_`, one record for every problem."""
    found: dict[int, list[dict[str, Any]]] = {}
    for entry in history:
        found.setdefault(entry.get("problem", 0), []).append(entry)
    return [_trajectory(problem, found[problem]) for problem in sorted(found)]


def _trajectory(problem: int, steps: list[dict[str, Any]]) -> Trajectory:
    names = ("iteration", "seconds", "upper", "lower", "gap")
    iteration, seconds, *values = (np.array([step[name] for step in steps], dtype=np.float64) for name in names)
    upper, lower, gap = (np.where(np.isfinite(value), value, np.nan) for value in values)
    return Trajectory(problem, iteration, seconds, upper, lower, np.where(gap > 0, gap, np.nan))


def bounds_range(found: Sequence[Trajectory]) -> tuple[float, float] | None:
    """Return the range to show of the bounds; the first lower bounds may be far below all that is of interest."""
    reached = np.concatenate([one.upper for one in found])
    if np.isnan(reached).all():
        return None
    highest = float(np.nanmax(reached))
    last = [bound for one in found for bound in (one.upper[-1], one.lower[-1])]  # the best ones
    lowest = float(np.nanmin([highest, *last]))
    seen = float(np.nanmin([lowest, *np.concatenate([one.lower for one in found])]))
    room = max(highest - lowest, 1e-3 * abs(highest))
    return max(seen - 0.05 * room, lowest - 0.8 * room), highest + 0.05 * room
