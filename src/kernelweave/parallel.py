"""Threads over blocks: the only place where the library starts threads.

Jitted loops and BLAS release the interpreter's lock, so plain threads suffice:
they work beside a caller's own threads and after a fork, which Numba's parallel
back ends do not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

from . import clock

#: Threads that are started where they are asked for, however few cores there are; more only where there are more cores.
MAX_JOBS = 32


def count_cores() -> int:
    """Return how many cores this process may use."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def count_jobs(n_jobs: int | None) -> int:
    """Turn scikit-learn's `n_jobs` (None, -1, or a count) into a number of threads."""
    if n_jobs is None:
        return 1
    cores = count_cores()
    return cores if n_jobs < 0 else max(1, min(n_jobs, max(MAX_JOBS, cores)))


def blocks(n: int, size: int) -> Iterator[slice]:
    """Cut range(n) into consecutive slices of at most `size`; raise an error between two where time is over."""
    for start in range(0, n, size):
        clock.check()
        yield slice(start, min(start + size, n))


def for_blocks(work: Callable[[slice], None], n: int, size: int, n_jobs: int = 1) -> None:
    """Call work(block) for every block of range(n), on `n_jobs` threads.

    The blocks do not depend on `n_jobs`, so results are the same for any number of threads
    as long as every block writes only its own part. Every block begins with a look at the clock (`clock.check`).
    """
    if n_jobs == 1 or n <= size:
        for part in blocks(n, size):
            work(part)
        return
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def timed(part: slice) -> None:
        clock.check()
        work(part)

    pool = ThreadPoolExecutor(min(n_jobs, len(parts)))
    try:
        # each block in a copy of the caller's context, which has the deadline
        for _ in pool.map(lambda part, context: context.run(timed, part), parts, [copy_context() for _ in parts]):
            pass
    except BaseException:
        # whoever pressed Ctrl-C does not wait for the blocks in hand; what they write is not looked at any more
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


class _BlasLimit:
    """One limit on BLAS threads for the whole process, lifted when its last user leaves."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.controller: Any = None
        self.limit: Any = None

    def enter(self, n_jobs: int) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                if self.controller is None:
                    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

                    self.controller = ThreadpoolController()
                # every thread of BLAS takes memory at once and for good, and a missing one ends the process
                self.limit = self.controller.limit(limits=min(n_jobs, count_cores()), user_api="blas")

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.limit.restore_original_limits()


_blas = _BlasLimit()


@contextmanager
def blas_threads(n_jobs: int) -> Iterator[None]:
    """Hold BLAS to `n_jobs` threads: on small matrices more of them wait for each other."""
    _blas.enter(n_jobs)
    try:
        yield
    finally:
        _blas.leave()
