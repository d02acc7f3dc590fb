"""The same model fitted many times: on all samples, on bootstrap samples, and with permuted labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from ..cluster import Job, Threads, current_engine, run_jobs, using
from ..errors import DataWarning, InputError
from ..estimators.fitted import FittedModel, steps_of, through
from ..views import Views


@dataclass(frozen=True)
class Refit:
    """What is kept of one refit."""

    weights: np.ndarray
    gains: np.ndarray
    converged: bool
    term_names_: list[str]
    kernel: Any

    @classmethod
    def of(cls, machine: Any, gains: np.ndarray) -> Refit:
        """Return what is kept of a fitted machine."""
        given = (bool(machine.converged_), list(machine.term_names_), machine.kernel)
        return cls(np.ravel(machine.weights_), gains, *given)


@dataclass(frozen=True)
class Refitting:
    """The job of one refit: called with its kind, and the stream of its random numbers."""

    model: Any
    X: Views
    y: np.ndarray | None

    def __call__(self, given: tuple[str, np.random.Generator]) -> Refit:
        with warnings.catch_warnings():  # on a worker; here they are caught once for all threads
            _silence()
            return Refit.of(*self.fit(*given))

    def fit(self, kind: str, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
        """Return a fitted machine, and what every term gains on the samples left out."""
        y = rng.permutation(self.y) if kind == "permuted" and self.y is not None else self.y
        rows = self._draw(rng, y)
        model = clone(self.model)
        unset = [name for name, value in model.get_params().items() if name.endswith("random_state") and value is None]
        model.set_params(**{name: int(rng.integers(2**31)) for name in sorted(unset)})
        ours = hasattr(type(model), "fitted_")  # our own machines take views, which remember what they have read
        if kind == "fit":
            machine = steps_of(model.fit(self.X if ours else self.X.native(), y))[-1]
            return machine, np.zeros(machine.weights_.size)
        if ours:  # a weight of two is the same as being there twice, and needs no copy
            model.fit(self.X, y, sample_weight=np.bincount(rows, minlength=len(self.X)))
        else:
            model.fit(self.X.rows(rows).native(), None if y is None else y[rows])
        left = np.setdiff1d(np.arange(len(self.X)), rows)
        if y is None or len(left) == 0:
            machine = steps_of(model)[-1]
            return machine, np.zeros(machine.weights_.size)
        views = self.X.rows(left)
        return steps_of(model)[-1], gains(model, views if ours else views.native(), y[left])

    def _draw(self, rng: np.random.Generator, y: np.ndarray | None) -> np.ndarray:
        """Return the rows of a bootstrap sample, class by class for labels so that none gets lost."""
        if y is None or not is_classifier(self.model):
            return rng.integers(len(self.X), size=len(self.X))
        groups = [np.flatnonzero(y == c) for c in np.unique(y)]
        return np.concatenate([rng.choice(group, size=len(group)) for group in groups])


class Refits:
    """The fit on all samples and all refits; what is done is kept as it comes.

    Every refit is on a bootstrap sample, with labels as they are or permuted, and is judged on the samples left out.
    Refits are jobs of the engine in use, or of threads.
    """

    def __init__(
        self, model: Any, X: Views, y: np.ndarray | None, rng: Any, n_bootstrap: int, n_permutations: int, callback: Any
    ) -> None:
        self.job, self.callback = Refitting(model, X, y), callback
        # every refit has a stream of its own, so neither threads nor the other kind's number change what it draws
        first, streams_b, streams_p = rng.spawn(3)
        self.streams = [first, *_in_turn(streams_b.spawn(n_bootstrap), streams_p.spawn(n_permutations))]
        self.kinds = ["fit", *_in_turn(["bootstrap"] * n_bootstrap, ["permuted"] * n_permutations)]
        #: Every fit that is done.
        self.results: list[Refit | None] = [None] * len(self.kinds)
        self.machine: Any = None
        self.done = self.unconverged = 0
        self.started = time.monotonic()

    def run(self, n_jobs: int) -> bool:
        """Do all refits, and return whether they were interrupted."""
        with warnings.catch_warnings():
            # once for all threads: filters belong to the process; what matters of them is in the note
            _silence()
            try:
                with using(None):  # first, here and alone: what the views remember is there for all threads
                    self.machine, gained = self.job.fit(self.kinds[0], self.streams[0])
                self._keep(-1, Refit.of(self.machine, gained))
                total = len(self.kinds) - 1
                jobs = [
                    Job(f"refit {number + 1} of {total} ({kind})", (kind, stream))
                    for number, (kind, stream) in enumerate(zip(self.kinds[1:], self.streams[1:], strict=True))
                ]
                run_jobs(self.job, jobs, self._keep, current_engine() or Threads(n_jobs))
            except KeyboardInterrupt:
                if self.machine is None:
                    raise
                return True
        return False

    def _keep(self, number: int, refit: Refit) -> None:
        """Note a refit that is done."""
        if not _same_terms(refit, self.machine):
            raise InputError(
                "The refits do not have the same terms, so their weights cannot be compared: a search that chooses "
                "among kernels may end with another one each time. Use the model that it found, best_estimator_."
            )
        self.results[number + 1] = refit
        self.unconverged += not refit.converged
        self.done += 1
        entry = {"done": self.done, "total": len(self.kinds), "seconds": time.monotonic() - self.started}
        if self.callback is not None:
            self.callback(entry)

    def found(self, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and gains of the finished refits of one kind, a row each."""
        rows = [r for r, k in zip(self.results, self.kinds, strict=True) if k == kind and r is not None]
        shape = (len(rows), self.machine.weights_.size)
        return np.array([r.weights for r in rows]).reshape(shape), np.array([r.gains for r in rows]).reshape(shape)

    def note(self, interrupted: bool) -> str:
        """Return what the reader should know."""
        said = []
        if interrupted:
            said.append(f"interrupted after {self.done} of {len(self.kinds)} fits, so this is what those say")
        if self.unconverged:
            said.append(f"{self.unconverged} of {self.done} fits stopped before their gap was below tol")
        return "; ".join(said)


def _silence() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", DataWarning)


def gains(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Return gain[m] = Σ_i (y_i − mean y) · part_m(i) / Σ_i |y_i − mean y|, with y = ±1 for labels.

    For two classes that is half the difference of the classes' means of what term m adds to the decision values. Over
    several machines with shared weights gains are added up; with weights of their own, every machine has its own.
    """
    steps = steps_of(model)
    fitted: FittedModel = steps[-1].fitted_
    parts, classes = fitted.parts(through(steps, X)), fitted.classes
    if classes is None:
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    elif fitted.several:
        targets = np.where(np.asarray(y) > 0, 1.0, -1.0)
    else:
        positive = classes[1:] if len(classes) == 2 else classes
        targets = np.where(y[:, None] == positive, 1.0, -1.0)
    targets = targets - targets.mean(axis=0)
    sizes = np.abs(targets).sum(axis=0)
    each = np.einsum("mnc,nc->cm", parts, targets) / np.where(sizes > 0, sizes, 1.0)[:, None]
    return np.ravel(each) if len(fitted.weights) > 1 else each.sum(axis=0)


def _same_terms(one: Any, other: Any) -> bool:
    """Say whether two machines weigh the same terms; what a term takes from its samples may differ, as spreads do."""
    if one.term_names_ == other.term_names_:
        return True
    typed = repr(one.kernel)
    chosen = one.kernel is None or "auto" in typed.lower()  # then the terms themselves come from the samples
    return not chosen and typed == repr(other.kernel) and len(one.term_names_) == len(other.term_names_)


def _in_turn(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Return both lists in turn, so that an interrupt leaves some of each."""
    nothing = object()
    return [item for item in chain.from_iterable(zip_longest(a, b, fillvalue=nothing)) if item is not nothing]
