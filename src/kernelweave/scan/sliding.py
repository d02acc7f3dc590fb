"""Windows of long sequences as a fitted model scores them: slid along where tables allow, cut out where not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..estimators.compiled import Compiled, Part, TablePart
from ..kernels import Kernel
from ..kernels.pieces import readers
from ..parallel import for_blocks
from ..sequences import Alphabet, SequenceSet
from ..views import DictViews, Path, Views, as_views

#: Windows that are cut out at a time.
CUT = 1 << 14
#: Windows that one thread slides over before it asks for more, at least and at most.
FEWEST, MOST = 1 << 14, 1 << 19


class WindowModel:
    """The decision function of one machine on every window of a sequence.

    Parameters
    ----------
    model : fitted estimator
        All its terms must look at one view of sequences.
    window : int or None
        Letters of a window; None for the length of the sequences that the model was fitted on.
    machine : int
        Column of the decision values.
    n_jobs : int
        Threads.
    """

    def __init__(self, model: Any, window: int | None = None, machine: int = 0, n_jobs: int = 1) -> None:
        _, used = model._used()
        support: Views = model._support_views
        path, leaf = _one_view([model._terms[m] for m in used], support)
        self._path, self.machine, self.n_jobs = path, machine, n_jobs
        self.support: SequenceSet = support.through(path).sequences(leaf.alphabet)
        self.alphabet: Alphabet = self.support.alphabet
        self.window = self._window(window)
        if getattr(model, "_compiled", None) is None:
            model.compile()
        self.compiled: Compiled = model._compiled
        #: Per part: what values of windows without unknown letters are multiplied with, or None where it must be cut.
        self._roots = [self._slides(part) for part in self.compiled.parts]

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

    def _slides(self, part: Part) -> float | None:
        """The factor of windows without unknown letters, where the part can be slid along a sequence."""
        if not isinstance(part, TablePart) or not all(tables.exact for _, tables in part.tables):
            return None
        if not all(leaf.even_norm for norm in part.family.piece.norms for leaf in norm.kernel.leaves()):
            return None  # the norm is another one in every window
        one = self._views(np.zeros((1, self.window), np.uint8))
        roots = part.family.roots(one)
        return 1.0 if roots is None else float(roots[0])

    def _views(self, codes: np.ndarray) -> Views:
        """Codes (n, window) as the samples that the model expects."""
        views = as_views(SequenceSet(self.alphabet, codes.reshape(-1), len(codes), self.window))
        for columns in reversed(self._path):
            name = columns[0] if isinstance(columns, (list, tuple)) else columns
            views = DictViews({name: views})
        return views

    def scores(self, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the decision values of the windows from `starts` on in a sequence of codes, (n,)."""
        from .._fast.linadd import pack_places

        out = np.full(len(starts), self.compiled.intercept[self.machine])
        slides = any(root is not None for root in self._roots)
        places = pack_places(codes) if slides else np.empty(0, np.uint64)
        unknown = np.append(0, np.cumsum(codes >= self.alphabet.size, dtype=np.int32))
        known = unknown[starts + self.window] == unknown[starts]

        def work(part: slice) -> None:
            clear = known[part]
            out[part][clear] = self._known(codes, places, starts[part][clear])
            out[part][~clear] = self._cut(codes, starts[part][~clear])

        size = int(np.clip(-(-len(starts) // self.n_jobs), FEWEST, MOST))
        for_blocks(work, len(starts), size, self.n_jobs)
        return out

    def _known(self, codes: np.ndarray, places: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The values of windows without unknown letters."""
        out = np.full(len(starts), self.compiled.intercept[self.machine])
        for part, root in zip(self.compiled.parts, self._roots, strict=True):
            if root is None:
                out += self._cut(codes, starts, [part])
                continue
            assert isinstance(part, TablePart)
            for c, tables in part.tables:
                if c == self.machine:
                    out += tables.slide(places, starts) * root
        return out

    def _cut(self, codes: np.ndarray, starts: np.ndarray, parts: list[Part] | None = None) -> np.ndarray:
        """The values of any windows: all of them, or only what some parts add."""
        out = np.empty(len(starts))
        windows = np.lib.stride_tricks.sliding_window_view(codes, self.window)
        for first in range(0, len(starts), CUT):
            some = slice(first, min(first + CUT, len(starts)))
            views = self._views(np.ascontiguousarray(windows[starts[some]]))
            values = np.tile(self.compiled.intercept * (parts is None), (len(views), 1))
            for part in self.compiled.parts if parts is None else parts:
                part.add(views, values, 1)
            out[some] = values[:, self.machine]
        return out


def _one_view(terms: list[Kernel], X: Views) -> tuple[Path, Any]:
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
