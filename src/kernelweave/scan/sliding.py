"""Windows of long sequences as a fitted model scores them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..estimators.fitted import fitted_model
from ..gram.prepared import Windows
from ..kernels import Kernel
from ..kernels.pieces import readers
from ..parallel import for_blocks
from ..sequences import Alphabet, SequenceSet
from ..views import Path, Views

#: Windows that one thread slides over before it asks for more, at least and at most.
FEWEST, MOST = 1 << 14, 1 << 19


class WindowModel:
    """The decision function of one machine on every window of a sequence.

    Parameters
    ----------
    model : fitted estimator, or its record
        All its terms must look at one view of sequences.
    window : int or None
        Letters of a window; None for the length of the sequences that the model was fitted on.
    machine : int
        Column of the decision values.
    n_jobs : int
        Threads.
    """

    def __init__(self, model: Any, window: int | None = None, machine: int = 0, n_jobs: int = 1) -> None:
        fitted = fitted_model(model)
        self.path, leaf = one_view([fitted.terms[m] for m in fitted.used], fitted.support)
        self.machine, self.n_jobs = machine, n_jobs
        self.support: SequenceSet = fitted.support.through(self.path).sequences(leaf.alphabet)
        self.alphabet: Alphabet = self.support.alphabet
        self.window = self._window(window)
        self.intercept, self.prepared = float(fitted.intercepts[machine]), fitted.keep()

    def _window(self, window: int | None) -> int:
        if window is None:
            if self.support.length is None:
                raise InputError(
                    "The model was fitted on sequences of different lengths, so it does not say how long a window is; "
                    "give window=..."
                )
            return self.support.length
        if not (isinstance(window, (int, np.integer)) and window >= 1):
            raise InputError(f"window must be a whole number of letters ≥ 1; got {window!r}.")
        return int(window)

    def scores(
        self, codes: np.ndarray, starts: np.ndarray, along: bool = False, threshold: float | None = None
    ) -> np.ndarray:
        """Return the decision values of the windows from `starts` on in a sequence of codes, (n,).

        along : whether the windows mostly follow each other letter by letter, by rising start
        threshold : windows that are sure to score less may get −inf
        """
        windows = Windows(codes, starts, self.window, self.alphabet, self.path, along)
        out = np.empty(len(starts))
        least = None if threshold is None else threshold - self.intercept
        self.prepared.get_ready(windows, self.machine, least)

        def work(part: slice) -> None:
            out[part] = self._values(windows.some(part), least)

        size = int(np.clip(-(-len(starts) // self.n_jobs), FEWEST, MOST))
        for_blocks(work, len(starts), size, self.n_jobs)
        return out

    def _values(self, windows: Windows, least: float | None) -> np.ndarray:
        may = None if least is None else self.prepared.may_reach(windows, self.machine, least)
        if may is not None:
            values, found = np.full(len(windows), -np.inf), self._values(windows.scattered(np.flatnonzero(may)), None)
            values[may] = found
            return values
        values = np.full(len(windows), self.intercept)
        self.prepared.slide(windows, self.machine, values)
        return values


def one_view(terms: list[Kernel], X: Views) -> tuple[Path, Any]:
    """Return the one path of columns that all terms look through, and one of the kernels at its end."""
    found = [pair for term in terms for pair in readers(term, X)]
    numbers = [leaf for _, leaf in found if leaf.reads != "sequences"]
    if numbers:
        raise InputError(
            f"Only models of sequences can be scanned along one; {numbers[0]!r} reads {numbers[0].reads}. Fit a model "
            "on the sequence view alone."
        )
    paths = {repr(path): path for path, _ in found}
    if len(paths) > 1:
        raise InputError(
            f"A scan needs a model of one sequence view; this one looks at {', '.join(sorted(paths))}. Fit a model on "
            "one of them."
        )
    if not found:
        raise InputError("All weights of the model are zero: every window would get the same score.")
    path, leaf = found[0]
    if any(
        isinstance(columns, slice) or (isinstance(columns, (list, tuple)) and len(columns) != 1) for columns in path
    ):
        raise InputError(f"A scan needs a model of one sequence view; this one looks at the columns {path}.")
    return path, leaf
