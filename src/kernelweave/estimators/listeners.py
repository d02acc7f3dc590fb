"""What goes on beside a fit: callbacks that are told, and a checkpoint that is kept."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cluster import columns_of, current_engine, engine
from ..dual import DualState, Machine
from ..errors import EngineError, EngineWarning, InputError
from ..gram import worth_a_round
from ..kernels import Kernel
from ..mkl import Problem, Result, Step
from ..norms import Fixed
from ..progress import Callback, FitProgress, compiling
from ..views import Views

if TYPE_CHECKING:
    from ..io.checkpoint import Checkpoint
    from ..sequences.mapped import MappedFile
    from .keeper import Keeper

#: Parameters that say when to stop, how much to say, and how to compute: not what the solution is.
FREE_PARAMETERS = ("dual", "tol", "max_iter", "max_seconds", "warm_start", "memory", "n_jobs", "verbose")


@dataclass
class Listeners:
    """The callbacks and the checkpoint of one fit.

    Parameters
    ----------
    checkpoint : path, Checkpoint or None
    callbacks : list of callables
    engine : Dask client, Engine, str or None
        Where products with all samples are made; None for the one that `kernelweave.engine` set, if any.
    searched : bool
        Whether the engine was of use already, for the folds of a search.
    """

    checkpoint: str | os.PathLike | Checkpoint | None = None
    callbacks: Sequence[Callback] = ()
    engine: Any = None
    searched: bool = False
    #: Hears how rounds of the engine stand.
    rounds: Callable[[Any], None] | None = None
    keeper: Keeper | None = field(default=None, init=False)
    progress: FitProgress = field(init=False)
    #: The files that samples are mapped from.
    files: list[MappedFile] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.made = time.monotonic()

    def compiling(self, what: str) -> None:
        """Tell the callbacks what is compiled: it is done once per machine, and its time does not count."""
        for callback in self.callbacks:
            callback(compiling(time.monotonic() - self.made, what))

    @contextmanager
    def on_engine(self) -> Iterator[None]:
        """Have the fit inside use the engine; where that fails for good, keep the checkpoint, and say where it is."""
        given = nullcontext() if self.engine is None else engine(self.engine)
        try:
            with given:
                found = current_engine()
                with nullcontext() if found is None else found.watched(self.rounds):
                    yield
        except EngineError as error:
            if self.keeper is None or not self.keeper.problems:
                raise
            self.keeper.save(complete=False)
            path = self.keeper.checkpoint.path
            raise EngineError(f"{error} The fit is kept in {path!r}: the same call goes on from there.") from error

    def begin(self, model: Any, kernel: Kernel, X: Views, machines: Sequence[Machine], n_problems: int) -> None:
        """Start the clock, and open the checkpoint, which has to be of the same fit."""
        self.progress = FitProgress(self.callbacks, model.tol, n_problems, self.made)
        self.files = mapped_files(kernel, X)
        if not self.searched:
            _warn_unused(kernel, X)
        if self.checkpoint is not None:
            from ..io.checkpoint import as_checkpoint  # here, because most fits need none of the readers and writers
            from ..io.fingerprint import fingerprint
            from .keeper import Keeper

            parameters = {k: v for k, v in model.get_params(deep=False).items() if k not in FREE_PARAMETERS}
            parameters["estimator"] = type(model).__name__
            targets, C = [machine.y for machine in machines], machines[0].C
            self.keeper = Keeper(as_checkpoint(self.checkpoint), fingerprint(parameters, kernel, X, targets, C))

    def attach(self, problem: Problem, number: int) -> tuple[Problem, dict[str, Any]]:
        """Return a problem that starts where it stood, and what `run` is to call."""
        keeper, progress = self.keeper, self.progress
        last: list[DualState] = []
        progress.begin(number, len(problem.machines), problem.gram.n_terms == 1 or isinstance(problem.norm, Fixed))
        if keeper is not None:
            problem = replace(problem, start=keeper.start(number, problem) or problem.start)

        def inside(machine: int, state: DualState, weights: np.ndarray) -> None:
            check_unchanged(self.files)
            if keeper is not None:
                keeper.dual(number, machine, state, weights)
            progress.inside(machine, state, weights)

        def keep(step: Step) -> None:
            last[:] = step.states
            check_unchanged(self.files)
            if keeper is not None:
                keeper.step(number, step)

        return problem, {"keep": keep, "watch": inside, "callback": lambda entry: progress.step(entry, last)}

    def end(self, results: list[Result]) -> None:
        """Read what is mapped once more, and close the checkpoint."""
        check_unchanged(self.files, surely=True)
        if self.keeper is not None:
            self.keeper.end(results)


def _warn_unused(kernel: Kernel, X: Views) -> None:
    """Warn of samples that a cluster cannot see, where it does not look at many terms of them either."""
    found, terms = current_engine(), kernel.terms(X)
    many = worth_a_round(len(terms), len(X)) and all(leaf.reads == "numbers" for leaf in kernel.leaves())
    if found is not None and found.name == "dask" and not many and columns_of(terms, X, mapped=True) is None:
        warnings.warn(
            "The cluster is not used for this fit: its samples are in memory here, and workers open files. Write "
            "sequences with .save(path), or `kernelweave convert`, and pass Shards.open(path).",
            EngineWarning,
            stacklevel=7,
        )


def mapped_files(kernel: Kernel, X: Views) -> list[MappedFile]:
    """Return the packed files that the kernel's sequences are mapped from."""
    if not any(leaf.reads == "sequences" for leaf in kernel.leaves()):
        return []
    from ..io.support import requests_of
    from ..sequences.shards import sources_of

    sources = [
        source
        for path, leaf in requests_of(kernel, X)
        if leaf.reads == "sequences"
        for source in sources_of(X.through(path).sequences(leaf.alphabet))
    ]
    return list({id(source): source for source in sources}.values())


def check_unchanged(files: Sequence[MappedFile], surely: bool = False) -> None:
    """Raise an error where what was read is another thing now; a file that was replaced is still there for us.

    Digests decide. Without `surely` they are taken only of files whose times have changed.
    """
    for file in files:
        if file.changed(surely):
            raise InputError(
                f"{file.path!r} was written to during the fit, so that rounds before and after it saw other sequences. "
                "Fit again, and leave the file alone; to replace it, write another file and rename it."
            )
