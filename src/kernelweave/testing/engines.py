"""The suite for engines: every answer once, in order, whatever happens to the workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..cluster import Engine, Shard
from ..errors import EngineError, InputError
from ..sequences.shards import PackedRows

#: Shards of a round, and seconds of a task that is slow.
N_SHARDS, SLOW = 6, 0.3


class Faults(Protocol):
    """What a test can do to the workers of an engine; `check_engine` asks for one after the other."""

    def kill(self) -> None:
        """End one worker without a warning."""

    def stop(self) -> None:
        """Have one worker stand still, without ending it."""

    def go_on(self) -> None:
        """Have it go on, with answers that nobody waits for any more."""

    def forget(self) -> None:
        """Empty the caches of all workers."""

    def wait(self) -> None:
        """Wait until workers are there again."""


@dataclass(frozen=True)
class Echo:
    """Answers with the number of the shard, times a factor; shards with low numbers take longer."""

    factor: int = 1
    seconds: float = 0.0
    content: bytes = b""

    def __call__(self, shard: Shard) -> int:
        time.sleep(self.seconds * (1.0 + (N_SHARDS - shard.start) / N_SHARDS))
        return self.factor * shard.start


@dataclass(frozen=True)
class Fails:
    """Raises an error for one shard."""

    number: int
    kind: str = "error"

    def __call__(self, shard: Shard) -> int:
        if shard.start == self.number:
            if self.kind == "input":
                raise InputError("this shard is damaged")
            raise ZeroDivisionError("a fault inside of a task")
        return shard.start


def described_shards(n: int) -> list[Shard]:
    """Return descriptions of files that are not there, for tasks that open none."""
    return [Shard(i, i + 1, ((None, PackedRows(f"shard-{i}", f"digest-{i}", 0, 1)),)) for i in range(n)]


def check_engine(engine: Engine, faults: Faults | None = None) -> None:
    """Check that an engine gives every answer once, in order, and that errors name the shard.

    Parameters
    ----------
    engine : Engine
    faults : Faults, optional
        What can be done to its workers. Rounds have to end with the right answers while it is done.

    Raises
    ------
    AssertionError
        Names the engine, and the promise that it broke.
    """
    name, shards = type(engine).__name__, described_shards(N_SHARDS)
    assert engine.n_threads >= 1, f"{name} has no threads"
    first, second = engine.next_version(), engine.next_version()
    assert second > first, f"{name}: the number of a round is not higher than that before"
    _expect(engine, Echo(), [], "a round without shards")
    _expect(engine, Echo(), shards, "a round")
    _expect(engine, Echo(3, SLOW / 10), shards, "answers in the order in which tasks end, not in that of the shards")
    _expect(engine, Echo(5, content=bytes(2_000_000)), shards, "a task that is large")
    for version in (engine.next_version(),) * 2:  # as a caller does that was interrupted, and begins anew
        found = engine.map(Echo(7), shards, version)
        assert found == [7 * i for i in range(N_SHARDS)], f"{name}: a task that is asked twice gives {found}"
    for kind, error in (("error", EngineError), ("input", InputError)):
        _expect_error(engine, Fails(2, kind), shards, error)
        _expect(engine, Echo(11), shards, "a round after one that failed")
    if faults is not None:
        _check_faults(engine, faults, shards)


def _check_faults(engine: Engine, faults: Faults, shards: Sequence[Shard]) -> None:
    faults.forget()
    _expect(engine, Echo(2), shards, "a round on workers that have forgotten everything")
    faults.kill()
    _expect(engine, Echo(3), shards, "a round after a worker was killed")
    faults.wait()
    with _meanwhile(faults.kill, SLOW):
        _expect(engine, Echo(4, SLOW), shards, "a round in which a worker was killed")
    faults.wait()
    faults.stop()
    _expect(engine, Echo(5, SLOW / 3), shards, "a round while a worker stands still")
    faults.go_on()
    for factor in (6, 7):  # the late answers of the worker come in now
        _expect(engine, Echo(factor, SLOW / 10), shards, "a round beside late answers of an older one")


class _meanwhile:
    """Does something a little later, in another thread."""

    def __init__(self, action: Callable[[], Any], seconds: float) -> None:
        self._timer = threading.Timer(seconds, action)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *exc: Any) -> None:
        self._timer.join()


def _expect(engine: Engine, task: Echo, shards: Sequence[Shard], what: str) -> None:
    found = engine.map(task, shards, engine.next_version())
    wanted = [task.factor * shard.start for shard in shards]
    assert found == wanted, f"{type(engine).__name__}: {what} gives {found}, not {wanted}"


def _expect_error(engine: Engine, task: Fails, shards: Sequence[Shard], kind: type[Exception]) -> None:
    try:
        found = engine.map(task, shards, engine.next_version())
    except kind as error:
        said = str(error)
        named = "damaged" if kind is InputError else "rows 2 to 2"
        assert named in said, f"{type(engine).__name__}: the error does not say {named!r}: {said}"
        return
    raise AssertionError(f"{type(engine).__name__}: a task that fails gives {found}")
