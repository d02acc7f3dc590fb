"""Jobs: independent pieces of work, such as the fits of a cross-validation, on whatever engine is in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import clock
from ..parallel import blas_threads
from .base import Engine, Told, current_engine, using


@dataclass(frozen=True)
class Job:
    """One piece of work, by a name that errors say, and what it is about.

    Attributes
    ----------
    named : str
        As in "fold 3 of 5".
    given : any value
        What the task is called with; it travels with the job, and should be small.
    """

    named: str
    given: Any = field(default=None, compare=False, repr=False)

    #: One may take a hundred times as long as another, and is not late for that.
    alike = False
    hint = ""
    smaller = "Give workers more memory, or fewer threads."

    @property
    def place(self) -> str:
        return self.named


@dataclass(frozen=True)
class Alone:
    """A task that knows of no engine: what fits inside of a job stays there.

    BLAS has one thread, so that the last bits do not depend on how many cores a worker has.
    """

    work: Callable[[Any], Any]

    def __call__(self, job: Job) -> Any:
        with using(None), blas_threads(1):
            return self.work(job.given)


def run_jobs(
    work: Callable[[Any], Any], jobs: Sequence[Job], told: Told | None = None, engine: Engine | None = None
) -> list[Any]:
    """Return work(job.given) of every job, in their order.

    They run on `engine`, or on the one that `kernelweave.engine` set, or here, one after another, as if there were no
    jobs. `work` can be pickled; what it holds travels to every worker once.

    Examples
    --------
    >>> from kernelweave.cluster import Job, run_jobs
    >>> run_jobs(abs, [Job("the first", -1), Job("the second", 2)])
    [1, 2]
    """
    found = engine or current_engine()
    if found is not None:
        return found.map(Alone(work), jobs, found.next_version(), told)
    answers = []
    for number, job in enumerate(jobs):
        clock.check()
        answers.append(work(job.given))
        if told is not None:
            told(number, answers[-1])
    return answers
