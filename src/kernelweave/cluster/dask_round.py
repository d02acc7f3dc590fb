"""One round on the workers of a Dask cluster: what is sent, what comes back, and what is sent again."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import queue
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import clock
from ..errors import EngineError, InputError
from .base import RoundState, Task, Told, failed_task
from .part import Part
from .rounds import Ask, Round, place
from .work import Answer, Parcel, answer

if TYPE_CHECKING:
    from .dask_engine import DaskEngine

_log = logging.getLogger("kernelweave.cluster")
_log.addHandler(logging.NullHandler())

#: Up to so many bytes it does so with every part; a larger one goes to every worker once, and by its name after that.
TINY = 20_000
#: Seconds between two looks at the clock, and at the workers, while nothing comes in.
LOOK, LOOK_AT_WORKERS = 0.2, 1.0
#: Seconds in which one more answer is worth waiting for: several are brought in the time of one.
SOON = 0.005
#: Seconds that the scheduler has to say who is there.
REPLY = 10.0


class DaskRound:
    """One round on a cluster."""

    def __init__(
        self, engine: DaskEngine, task: Task, parts: Sequence[Part], version: int, told: Told | None = None
    ) -> None:
        self.engine, self.task, self.parts, self.told = engine, task, parts, told
        patience = engine.patience if all(part.alike for part in parts) else math.inf
        self.round = Round(version, len(parts), patience)
        self.answers: list[Any] = [None] * len(parts)
        self.inbox: queue.SimpleQueue[tuple[Ask, Any]] = queue.SimpleQueue()
        #: What was sent: the future, and the worker that was wished for.
        self.sent: dict[Ask, tuple[Any, str]] = {}
        self.died = [0] * len(parts)
        self.master = engine.version
        self.parcel = engine.parcel(task, version)
        self.path = self.parcel.path
        self.n_bytes = self.parcel.size
        self.n_sent = self.n_whole = 0
        self.having = engine.having(self.parcel.digest)
        self.alone_since: float | None = None
        self.looked = 0.0

    def run(self) -> list[Any]:
        """Return all answers."""
        try:
            self._send_all(range(len(self.parts)))
            self._tell()
            while not self.round.done:
                clock.check()
                try:
                    came = [self.inbox.get(timeout=LOOK)]
                except queue.Empty:
                    self._look()
                    continue
                with suppress(queue.Empty):
                    while len(came) < len(self.round.open):
                        came.append(self.inbox.get(timeout=SOON))
                values = self._gathered([future for _, future in came if future.status == "finished"])
                for ask, future in came:
                    self._receive(ask, future, values.get(future.key))
            return self.answers
        finally:
            self._drop()

    def _tell(self) -> None:
        """Say how the round stands."""
        done, sent = len(self.parts) - len(self.round.open), self.n_whole * self.n_bytes
        self.engine.tell(RoundState(self.round.version, done, len(self.parts), self.engine.n_workers, sent))

    def _drop(self) -> None:
        """Have nobody work on this round any more, and leave no file behind."""
        left = [future for ask, (future, _) in self.sent.items() if not future.done()]
        if left and self.engine.client.status == "running":
            with suppress(Exception):
                self.engine.client.cancel(left, force=True)
        self.sent.clear()
        if self.path is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.path)

    def _send_all(self, numbers: Sequence[int]) -> None:
        """Ask shards of the workers that there are; where there are none, `_look` does so later."""
        threads = self.engine.usable()
        if not threads:
            self.alone_since = self.alone_since or time.monotonic()
            return
        self.alone_since = None
        chosen = place([self.parts[number] for number in numbers], threads)
        for worker in dict.fromkeys(chosen):
            self._send([number for number, one in zip(numbers, chosen, strict=True) if one == worker], worker)

    def _send(self, numbers: Sequence[int], worker: str) -> None:
        """Ask one worker for several parts: a graph of all of them costs the scheduler little more than one of each."""
        import dask

        asks = [self.round.ask(number, time.monotonic()) for number in numbers]
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            futures = self.engine.client.map(
                answer,
                [self._parcel_for(worker, ask.attempt) for ask in asks],
                [self.parts[number] for number in numbers],
                [self.master] * len(asks),
                key=[self.engine.key(ask) for ask in asks],
                workers=[worker],
                allow_other_workers=True,
                pure=False,
            )
        for ask, future in zip(asks, futures, strict=True):
            self.sent[ask], self.n_sent = (future, worker), self.n_sent + 1
            future.add_done_callback(partial(self._done, ask))

    def _done(self, ask: Ask, future: Any) -> None:
        self.inbox.put((ask, future))

    def _parcel_for(self, worker: str, attempt: int) -> Parcel:
        """Return the task as a worker is sent it: whole where it may not have it."""
        if self.parcel.content is None or (attempt == 1 and worker in self.having and len(self.parcel.content) > TINY):
            return replace(self.parcel, content=None)
        self.having.add(worker)
        self.n_whole += 1
        return self.parcel

    # -- what comes back -------------------------------------------------------------------------------------------

    def _gathered(self, futures: list[Any]) -> dict[str, Answer]:
        """Bring several answers at once, which takes as long as one; those that are lost are asked for one by one."""
        if len(futures) > 1:
            with suppress(Exception):
                found = self.engine.client.sync(self._gather_soon, futures)
                return dict(zip([future.key for future in futures], found, strict=True))
        return {}

    async def _gather_soon(self, futures: list[Any]) -> list[Answer]:
        return await asyncio.wait_for(self.engine.client.gather(futures, asynchronous=True), REPLY)

    def _receive(self, ask: Ask, future: Any, found: Answer | None = None) -> None:
        if ask.number not in self.round.open:  # a second answer: the first has counted
            return
        if future.status != "finished":
            self._lost(ask, future)
            return
        try:
            found = found or future.result(timeout=REPLY)
        except Exception as error:  # it was lost on the way: the worker died with it
            _log.warning("the answer to shard %d was lost: %r", ask.number, error)
            self._again(ask.number)
            return
        worker = self.sent[ask][1]
        if found.failed:
            self._failed(ask, found)
        elif self.round.take(ask, time.monotonic()):
            self.engine.trust(worker)
            self.alone_since = None
            self.answers[ask.number] = found.value
            self._tell()
            if self.told is not None:
                self.told(ask.number, found.value)

    def _failed(self, ask: Ask, found: Answer) -> None:
        """Say what went wrong on a worker, or send a task whole where it was not to be found there."""
        part = self.parts[ask.number]
        if found.failed == "parcel":
            if self.parcel.content is None:
                _log.warning("%s does not see %s; tasks travel by themselves", found.worker, self.parcel.path)
                content = packed(self.task)
                self.parcel = Parcel(self.parcel.digest, len(content), content)
            self._again(ask.number)
        elif found.failed == "version":
            raise EngineError(f"Refused: {found.why}. Install the same version everywhere.")
        elif found.failed == "input":
            raise InputError(f"{found.why} (Worker {found.worker}, with {part.named}.){part.hint}")
        elif found.failed == "memory":
            raise self._too_large(ask.number, f"ran out of memory on worker {found.worker} ({found.why})")
        else:
            raise failed_task(f"worker {found.worker}", part, f"\n{found.why}")

    def _lost(self, ask: Ask, future: Any) -> None:
        """Ask again where workers died, or the scheduler forgot; raise an error where that does not help."""
        self.engine.check_scheduler()
        error = future.exception(timeout=REPLY) if future.status == "error" else None
        if error is not None and type(error).__name__ != "KilledWorker":
            why = f"{type(error).__name__}: {error}"
            if isinstance(error, ImportError):
                why += " Install kernelweave, in the same version, on every worker."
            raise failed_task(f"worker {self.sent[ask][1]}", self.parts[ask.number], why)
        if error is not None:
            self.died[ask.number] += 1
            if self.died[ask.number] > self.engine.retries:
                raise self._too_large(ask.number, f"ended its worker {self.died[ask.number]} times")
        self._again(ask.number)

    def _too_large(self, number: int, what: str) -> EngineError:
        part = self.parts[number]
        return EngineError(f"{part.named[:1].upper()}{part.named[1:]} {what}. {part.smaller}")

    def _again(self, number: int) -> None:
        self._send_all([number])

    # -- while nothing comes -----------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look who is there, and ask again what is late."""
        now = time.monotonic()
        if now - self.looked < LOOK_AT_WORKERS:
            return
        self.looked = now
        self.engine.check_scheduler()
        unasked = [number for number, (attempt, _) in self.round.open.items() if attempt == 0]
        workers, paused = self.engine.usable(), self.engine.paused()
        self._tell()
        if not set(workers) - paused:
            self.alone_since = self.alone_since or now
            if now - self.alone_since > self.engine.round_timeout:
                first = self.parts[min(self.round.open)].named
                but = f" but {len(paused)} paused ones, at 80 % of their memory limit," if paused else ""
                raise EngineError(
                    f"There have been no workers{but} for {self.engine.round_timeout:g} s, and "
                    f"{len(self.round.open)} of {len(self.parts)} tasks have no answer, the first with {first}. "
                    f"Start workers for the scheduler at {self.engine.client.scheduler.address}, with enough memory, "
                    "and begin again."
                )
            return
        self.alone_since = None
        if unasked:
            self._send_all(unasked)
        self._ask_late(now)

    def _ask_late(self, now: float) -> None:
        """Send what is late to workers that were not asked for it yet."""
        late = self.round.late(now)
        for number in late:
            for ask, (_, worker) in self.sent.items():
                if ask.number == number:
                    self.engine.suspect(worker)
        if late:
            named = ", ".join(self.parts[number].named for number in late[:3])
            _log.warning("%d shards are late, and sent again: %s", len(late), named)
            self._send_all(late)


def packed(task: Task) -> bytes:
    """Return a task as bytes; what is defined in the program itself goes with it.

    Raises
    ------
    InputError
        Where something in it cannot travel, such as an open file.
    """
    from distributed.protocol.pickle import dumps

    try:
        return dumps(task)
    except Exception as error:  # whatever a class of the user's own raises here
        raise InputError(f"This cannot be sent to workers: {type(error).__name__}: {error}") from error
