"""Threads over blocks: the only place where the library starts threads.

Jitted loops and BLAS release the interpreter's lock, so plain threads suffice:
they work beside a caller's own threads and after a fork, which Numba's parallel
back ends do not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
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
    """Call work(block) for every block of range(n), on `n_jobs` threads, of which the caller is one.

    The blocks do not depend on `n_jobs`, so results are the same for any number of threads
    as long as every block writes only its own part. Every block begins with a look at the clock (`clock.check`).
    """
    if n_jobs == 1 or n <= size:
        for part in blocks(n, size):
            work(part)
        return
    hand_out = _HandOut(work, n, size)
    with blas_threads(1):  # blocks have all the threads; and the last bits of a product depend on how many it has
        # each helper in a copy of the caller's context, which has the deadline
        helpers = [_helpers.submit(copy_context().run, hand_out.take) for _ in range(min(n_jobs, -(-n // size)) - 1)]
        try:
            hand_out.take()
            for helper in helpers:
                if not helper.cancel():  # it has begun
                    helper.result()
        except BaseException:
            # whoever pressed Ctrl-C does not wait for the blocks in hand; what they write is not looked at any more
            hand_out.over = True
            for helper in helpers:
                helper.cancel()
            raise


class _HandOut:
    """Blocks of range(n), each of which goes to the first thread that asks for one."""

    def __init__(self, work: Callable[[slice], None], n: int, size: int) -> None:
        self.work, self.n, self.size = work, n, size
        self.lock, self.starts, self.over = threading.Lock(), iter(range(0, n, size)), False

    def take(self) -> None:
        """Work on blocks until there are none left, or one has failed."""
        try:
            while True:
                with self.lock:
                    start = None if self.over else next(self.starts, None)
                if start is None:
                    return
                clock.check()
                self.work(slice(start, min(start + self.size, self.n)))
        except BaseException:
            self.over = True
            raise


class _Helpers:
    """Threads that wait for work, started as they are needed and kept: starting one takes longer than many a block."""

    def __init__(self) -> None:
        self.pool: ThreadPoolExecutor | None = None

    def submit(self, *call: Any) -> Future[None]:
        if self.pool is None:
            self.pool = ThreadPoolExecutor(max(MAX_JOBS, count_cores()), "kernelweave")
        return self.pool.submit(*call)

    def forget(self) -> None:
        """Begin anew in a process that was forked off: threads stay behind."""
        self.pool = None


_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.forget)


class _BlasLimit:
    """One limit on BLAS threads for the whole process: the lowest of those that were asked for and not left yet."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked: list[int] = []
        #: The libraries with their own numbers of threads, while there is a limit.
        self.free: list[tuple[Any, int]] = []
        self.controller: Any = None

    def enter(self, n_jobs: int) -> None:
        with self.lock:
            if not self.asked:
                if self.controller is None:
                    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

                    self.controller = ThreadpoolController().select(user_api="blas")
                self.free = [(library, library.get_num_threads()) for library in self.controller.lib_controllers]
            before = min(self.asked, default=None)
            self.asked.append(n_jobs)
            self._set(before)

    def leave(self, n_jobs: int) -> None:
        with self.lock:
            before = min(self.asked)
            self.asked.remove(n_jobs)
            self._set(before)

    def _set(self, before: int | None) -> None:
        limit = min(self.asked, default=None)
        if limit == before:
            return
        for library, own in self.free:
            # never more than there were: every thread of BLAS takes memory at once and for good
            library.set_num_threads(own if limit is None else min(limit, own, count_cores()))


_blas = _BlasLimit()


@contextmanager
def blas_threads(n_jobs: int) -> Iterator[None]:
    """Hold BLAS to at most `n_jobs` threads: on small matrices more of them wait for each other."""
    _blas.enter(n_jobs)
    try:
        yield
    finally:
        _blas.leave(n_jobs)
