"""Time as a budget: a deadline that long loops look at, on a clock that stands still while the compiler works.

`limited` sets the deadline of what runs inside; `parallel.blocks` and `parallel.for_blocks` look at it before every
block, and so do the few long loops that go without them. Threads of `for_blocks` see the deadline of their caller.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .errors import TimeLimitError

#: The deadline on the clock of `now`, and how many seconds were given.
_limit: ContextVar[tuple[float, float]] = ContextVar("kernelweave time limit", default=(math.inf, math.inf))


class _Compiler:
    """Counts the seconds that Numba compiles, and tells those who listen what it begins with."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth, self.spent, self.since = 0, 0.0, 0.0
        self.listeners: list[Callable[[str], None]] = []
        self.registered = False

    def register(self) -> None:
        with self.lock:
            if self.registered:
                return
            from ._fast import event  # and not from Numba itself, whose import must not be interrupted

            event.register("numba:compile", _listener(self))
            self.registered = True

    def begin(self, what: str) -> None:
        with self.lock:
            self.depth += 1
            if self.depth > 1:  # a function that another one calls
                return
            self.since = time.monotonic()
            told = list(self.listeners)
        for listener in told:
            listener(what)

    def end(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.spent += time.monotonic() - self.since

    def seconds(self) -> float:
        with self.lock:
            return self.spent + (time.monotonic() - self.since if self.depth else 0.0)


def _listener(compiler: _Compiler) -> Any:
    from ._fast import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            compiler.begin(f"{function.__module__.rpartition('.')[2]}.{function.__name__}")

        def on_end(self, event: Any) -> None:
            compiler.end()

    return Listener()


_compiler = _Compiler()


def now() -> float:
    """Return the time in seconds, without the time that compiling took."""
    return time.monotonic() - _compiler.seconds()


@contextmanager
def limited(seconds: float | None, compiling: Callable[[str], None] | None = None) -> Iterator[float]:
    """Give what runs inside so many seconds, or endless time for None; yield the deadline on the clock of `now`.

    Parameters
    ----------
    seconds : float or None
    compiling : callable, optional
        Called with the name of every function that has to be compiled, such as "smo.smo".
    """
    _compiler.register()
    if compiling is not None:
        _compiler.listeners.append(compiling)
    given = math.inf if seconds is None else seconds
    token = _limit.set((now() + given, given))
    try:
        yield _limit.get()[0]
    finally:
        _limit.reset(token)
        if compiling is not None and compiling in _compiler.listeners:
            _compiler.listeners.remove(compiling)


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Hold what runs inside to another deadline: infinity for what has to be finished at any rate."""
    token = _limit.set((deadline, _limit.get()[1]))
    try:
        yield
    finally:
        _limit.reset(token)


def is_over() -> bool:
    """Say whether the deadline has passed."""
    deadline = _limit.get()[0]
    return deadline < math.inf and now() > deadline


def check() -> None:
    """Raise `TimeLimitError` where the deadline has passed."""
    if is_over():
        raise TimeLimitError(too_short(_limit.get()[1]))


def too_short(seconds: float) -> str:
    """Return what to say where the time was up before there was anything to return."""
    return (
        f"The time limit of {seconds:g} s was over before there was a machine that could be used. Raise max_seconds, "
        "or take fewer samples or a kernel that costs less."
    )
