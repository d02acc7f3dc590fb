"""`Engine`: where the tasks of a round run. Threads of this process, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import count
from typing import Any

from .. import clock
from ..errors import EngineError, InputError, MemoryBudgetError, TimeLimitError
from ..parallel import count_jobs
from .shards import Shard

#: A task makes an answer of a shard. It is a value that can be pickled, remembers nothing of earlier calls that would
#: change an answer, and may be called twice, in any order, and anywhere.
Task = Callable[[Shard], Any]


class Engine:
    """Runs one task on every shard of a round.

    An engine is `map` and `n_threads`. All truth stays with the caller: tasks are pure, so that an engine may run one
    twice, or elsewhere, or again after a worker is gone, and the answers are the same. `testing.check_engine` is the
    suite that every engine has to pass.
    """

    name = "engine"

    def __init__(self) -> None:
        self._versions = count(1)

    @property
    def n_threads(self) -> int:
        """How many tasks run at a time."""
        return 1

    def next_version(self) -> int:
        """Return the number of a new round, higher than all before."""
        return next(self._versions)

    def map(self, task: Task, shards: Sequence[Shard], version: int) -> list[Any]:
        """Return task(shard) of every shard, in their order; `version` numbers the round.

        Raises
        ------
        EngineError
            Where a task fails or nobody is there to run it: names worker and shard.
        InputError
            Where a file is damaged, or another one than was described.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the engine itself has started."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} with {self.n_threads} threads>"


class Serial(Engine):
    """One task after another, in this thread."""

    name = "serial"

    def map(self, task: Task, shards: Sequence[Shard], version: int) -> list[Any]:
        found = []
        for shard in shards:
            clock.check()
            found.append(_answered(task, shard, "this process"))
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

    def map(self, task: Task, shards: Sequence[Shard], version: int) -> list[Any]:
        if self._n_jobs == 1 or len(shards) < 2:
            return Serial.map(self, task, shards, version)  # type: ignore[arg-type]

        def timed(shard: Shard) -> Any:
            clock.check()
            return _answered(task, shard, "a thread of this process")

        pool = ThreadPoolExecutor(min(self._n_jobs, len(shards)))
        try:
            # each task in a copy of the caller's context, which has the deadline
            contexts = [copy_context() for _ in shards]
            found = list(pool.map(lambda shard, context: context.run(timed, shard), shards, contexts))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
        return found


def _answered(task: Task, shard: Shard, worker: str) -> Any:
    """Return the answer of a task; what goes wrong is said with the shard."""
    try:
        return task(shard)
    except (InputError, TimeLimitError, MemoryBudgetError):
        raise
    except Exception as error:
        raise failed_task(worker, shard, f"{type(error).__name__}: {error}") from error


def failed_task(worker: str, shard: Shard, why: str) -> EngineError:
    """Return the error of a task that raised one."""
    return EngineError(f"A task failed on {worker}, with the shard of {shard}: {why}")


#: The engine of what runs inside `engine(...)`.
_current: ContextVar[Engine | None] = ContextVar("kernelweave engine", default=None)


def current_engine() -> Engine | None:
    """Return the engine that was set with `engine(...)`; None where none was."""
    return _current.get()


@contextmanager
def using(found: Engine | None) -> Iterator[None]:
    """Have what runs inside use an engine; None leaves the one that is set."""
    if found is None:
        yield
        return
    token = _current.set(found)
    try:
        yield
    finally:
        _current.reset(token)
