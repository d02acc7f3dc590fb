"""`Engine`: where the tasks of a round run. Threads of this process, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from itertools import count
from typing import Any

from .. import clock
from ..errors import EngineError, InputError, MemoryBudgetError, TimeLimitError
from ..memory import readable
from ..parallel import count_jobs
from .part import Part

#: A task makes an answer of a part of the work: a shard, or a job. It is a value that can be pickled, remembers nothing
#: of earlier calls that would change an answer, and may be called twice, in any order, and anywhere.
Task = Callable[[Any], Any]
#: Is told the number of a part, and its answer, as answers come in; in the thread that asked for the round.
Told = Callable[[int, Any], None]


@dataclass(frozen=True)
class RoundState:
    """How a round stands: for people who wait for it.

    Attributes
    ----------
    number : int
        Of the round, among all of its engine.
    done, parts : int
    workers : int
        Those that are alive; 0 where there are only threads of this process.
    sent : int
        Bytes of tasks that went to workers.
    """

    number: int
    done: int
    parts: int
    workers: int = 0
    sent: int = 0

    def __str__(self) -> str:
        """Print it as one line."""
        text = f"round {self.number}: {self.done} of {self.parts} answered"
        there = f", {self.workers} worker{'s' * (self.workers != 1)}, {readable(self.sent)} sent"
        return text + there * (self.workers > 0)


#: Hears how a round stands, when it begins and after every answer.
Watch = Callable[[RoundState], None]


class Engine:
    """Runs one task on every part of a round: shards of samples, or jobs.

    An engine is `map` and `n_threads`. All truth stays with the caller: tasks are pure, so that an engine may run one
    twice, or elsewhere, or again after a worker is gone, and the answers are the same. `testing.check_engine` is the
    suite that every engine has to pass.
    """

    name = "engine"
    _watch: Watch | None = None

    def __init__(self) -> None:
        self._versions = count(1)

    @property
    def n_threads(self) -> int:
        """How many tasks run at a time."""
        return 1

    def next_version(self) -> int:
        """Return the number of a new round, higher than all before."""
        return next(self._versions)

    def map(self, task: Task, parts: Sequence[Part], version: int, told: Told | None = None) -> list[Any]:
        """Return task(part) of every part, in their order; `version` numbers the round.

        Parameters
        ----------
        told : callable, optional
            Called in this thread with the number of a part and its answer, once for each, as they come.

        Raises
        ------
        EngineError
            Where a task fails or nobody is there to run it: names worker and part.
        InputError
            Where a file is damaged, or another one than was described.
        """
        raise NotImplementedError

    @contextmanager
    def watched(self, watch: Watch | None) -> Iterator[None]:
        """Have somebody hear how rounds stand; None changes nothing."""
        before = self._watch
        self._watch = watch or before
        try:
            yield
        finally:
            self._watch = before

    def tell(self, state: RoundState) -> None:
        """Say how a round stands; engines call this."""
        if self._watch is not None:
            self._watch(state)

    def close(self) -> None:
        """Let go of what the engine itself has started."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} with {self.n_threads} threads>"


class Serial(Engine):
    """One task after another, in this thread."""

    name = "serial"

    def map(self, task: Task, parts: Sequence[Part], version: int, told: Told | None = None) -> list[Any]:
        found = []
        for number, part in enumerate(parts):
            clock.check()
            found.append(_answered(task, part, "this process"))
            self.tell(RoundState(version, number + 1, len(parts)))
            if told is not None:
                told(number, found[-1])
        return found


class Threads(Engine):
    """Several tasks at a time, on threads of this process.

    Parameters
    ----------
    n_jobs : int or None
        Threads; -1 for one on every core.
    """

    name = "threads"

    def __init__(self, n_jobs: int | None = -1) -> None:
        super().__init__()
        self._n_jobs = count_jobs(n_jobs)

    @property
    def n_threads(self) -> int:
        return self._n_jobs

    def map(self, task: Task, parts: Sequence[Part], version: int, told: Told | None = None) -> list[Any]:
        if self._n_jobs == 1 or len(parts) < 2:
            return Serial.map(self, task, parts, version, told)  # type: ignore[arg-type]

        def timed(part: Part) -> Any:
            clock.check()
            return _answered(task, part, "a thread of this process")

        pool = ThreadPoolExecutor(min(self._n_jobs, len(parts)))
        try:
            # each task in a copy of the caller's context, which has the deadline
            futures: dict[Future, int] = {
                pool.submit(copy_context().run, timed, part): number for number, part in enumerate(parts)
            }
            for done, future in enumerate(as_completed(futures), 1):
                answer = future.result()
                self.tell(RoundState(version, done, len(parts)))
                if told is not None:
                    told(futures[future], answer)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
        return [future.result() for future in futures]


def _answered(task: Task, part: Part, worker: str) -> Any:
    """Return the answer of a task; what goes wrong is said with the part."""
    try:
        return task(part)
    except (InputError, TimeLimitError, MemoryBudgetError):
        raise
    except Exception as error:
        raise failed_task(worker, part, f"{type(error).__name__}: {error}") from error


def failed_task(worker: str, part: Part, why: str) -> EngineError:
    """Return the error of a task that raised one."""
    return EngineError(f"A task failed on {worker}, with {part.named}: {why}")


#: The engine of what runs inside `engine(...)`.
_current: ContextVar[Engine | None] = ContextVar("kernelweave engine", default=None)


def current_engine() -> Engine | None:
    """Return the engine that was set with `engine(...)`; None where none was."""
    return _current.get()


@contextmanager
def using(found: Engine | None) -> Iterator[None]:
    """Have what runs inside use an engine; None for none."""
    token = _current.set(found)
    try:
        yield
    finally:
        _current.reset(token)
