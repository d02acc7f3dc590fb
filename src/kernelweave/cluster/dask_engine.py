"""Dask: the tasks of a round on the workers of a cluster, any of which may be gone at any time."""

from __future__ import annotations

import ipaddress
import logging
import os
import time
import uuid
import warnings
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from ..errors import EngineError, EngineWarning, InputError
from ..io.atomic import AtomicFile
from .base import Engine, Task, Told
from .dask_round import REPLY, DaskRound, packed
from .part import Part
from .rounds import PATIENCE, Ask
from .work import KEPT, Parcel, digest_of_task, library_version

_log = logging.getLogger("kernelweave.cluster")
_log.addHandler(logging.NullHandler())

#: Up to so many bytes a task travels whole, whatever storage there is.
SMALL = 1_000_000
#: Rounds that are remembered.
HISTORY = 10_000


class DaskEngine(Engine):
    """Tasks on the workers of a Dask cluster.

    Tasks are pure and know their shard by a description, so that a worker that dies costs the tasks it had in hand and
    nothing else. Each is placed softly on one worker (the same one in every round, as long as it lives). A shard that
    has no answer after max(60 s, 5 × the median) is sent to another worker, and the first answer counts. Jobs may take
    as long as they like: only those of a worker that is gone run again, elsewhere.

    Parameters
    ----------
    client : distributed.Client
    round_timeout : float
        Seconds that a round waits for workers where there are none.
    patience : float
        Seconds after which a task is sent again, at the least.
    retries : int
        How often a shard whose workers die is asked again.
    directory : path, optional
        A folder that master and workers see under the same name; tasks of more than 1 MB are written there once a
        round. Without it they travel to every worker once a round.
    """

    name = "dask"

    def __init__(
        self,
        client: Any,
        *,
        round_timeout: float = 300.0,
        patience: float = PATIENCE,
        retries: int = 3,
        directory: str | os.PathLike | None = None,
        owned: Sequence[Any] = (),
    ) -> None:
        super().__init__()
        self.client, self.round_timeout, self.patience, self.retries = client, round_timeout, patience, retries
        self.directory = None if directory is None else os.path.abspath(os.path.expanduser(directory))
        if self.directory is not None and not os.path.isdir(self.directory):
            raise InputError(f"directory={self.directory!r} is no folder; make one that all workers see.")
        self._owned = list(owned)
        self._run = uuid.uuid4().hex[:12]
        self._known: dict[str, int] = {}
        self._having: dict[str, set[str]] = {}
        #: The task that was packed last, weakly, with its bytes and their name.
        self._last: tuple[Any, bytes, str] | None = None
        #: Workers that were late, until they answer.
        self._suspects: set[str] = set()
        #: The last rounds: what was asked, of how many shards, bytes of the task, how often it was sent, how often of
        #: these whole, and seconds.
        self.history: deque[dict[str, Any]] = deque(maxlen=HISTORY)
        _warn_open(str(client.scheduler.address))

    @property
    def n_threads(self) -> int:
        return max(1, sum((self._workers() or self._known).values()))

    @property
    def n_workers(self) -> int:
        """How many workers there were at the last look."""
        return len(self._known)

    def close(self) -> None:
        for one in self._owned:
            with suppress(Exception):
                one.close()

    def map(self, task: Task, parts: Sequence[Part], version: int, told: Told | None = None) -> list[Any]:
        if not parts:
            return []
        started, one = time.monotonic(), DaskRound(self, task, parts, version, told)
        found = one.run()
        entry = {"task": type(task).__name__, "shards": len(parts), "bytes": one.n_bytes, "sent": one.n_sent}
        self.history.append(entry | {"whole": one.n_whole, "seconds": time.monotonic() - started})
        return found

    # -- workers -----------------------------------------------------------------------------------------------------

    def _workers(self) -> dict[str, int]:
        """Return the workers that there are, with their threads; note those that are gone, and those that came."""
        self.check_scheduler()
        try:
            found = dict(self.client.nthreads(callback_timeout=REPLY))
        except Exception as error:  # whatever a broken connection raises here
            self.check_scheduler()
            _log.warning("the scheduler does not say which workers there are: %r", error)
            return {}
        gone = set(self._known) - set(found)
        if gone:
            _log.warning("%d of %d workers gone: %s", len(gone), len(self._known), ", ".join(sorted(gone)))
        self._known, self._suspects = found, self._suspects & set(found)
        return found

    def usable(self) -> dict[str, int]:
        """Return the workers that may be asked: those that were late only where there are no others."""
        found = self._workers()
        return {worker: n for worker, n in found.items() if worker not in self._suspects} or found

    def paused(self) -> set[str]:
        """Return the workers that begin nothing: at 80 % of its memory limit, a worker waits until it has less."""
        with suppress(Exception):  # of a connection that is broken, which others hear of
            told = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=REPLY)
            return {worker for worker, one in told["workers"].items() if one.get("status") == "paused"}
        return set()

    def suspect(self, worker: str) -> None:
        """Note that a worker was late."""
        self._suspects.add(worker)

    def trust(self, worker: str) -> None:
        """Note that a worker has answered."""
        self._suspects.discard(worker)

    def check_scheduler(self) -> None:
        """Raise an error where the scheduler is gone: nobody else knows the workers."""
        if self.client.status in ("closed", "closing"):
            raise EngineError(
                "The scheduler of the Dask cluster is gone. Start a cluster again; a fit with checkpoint=... goes on "
                "from where it was."
            )

    # -- parcels -----------------------------------------------------------------------------------------------------

    def parcel(self, task: Task, version: int) -> Parcel:
        """Return a task, packed: in a file where it is large and there is a folder that all machines see."""
        content, digest = self._packed(task)
        if len(content) <= SMALL or self.directory is None:
            return Parcel(digest, len(content), content)
        path = os.path.join(self.directory, f"kernelweave-{self._run}-{version}.task")
        with AtomicFile(path) as out:
            out.file.write(content)
        return Parcel(digest, len(content), None, path)

    def _packed(self, task: Task) -> tuple[bytes, str]:
        """Return a task as bytes, and their name; the last is kept, for the next rounds of the same task."""
        known = self._last
        if known is None or known[0]() is not task:
            content = packed(task)
            known = _weak(task), content, digest_of_task(content)
            self._last = known
        return known[1], known[2]

    @property
    def version(self) -> str:
        """The version of the library here, which that of the workers has to be."""
        return library_version()

    def having(self, digest: str) -> set[str]:
        """Return the workers that have a task, or will have it before they are asked again; one may have lost it."""
        found = self._having.setdefault(digest, set())
        while len(self._having) > KEPT:
            del self._having[next(iter(self._having))]
        return found

    def key(self, ask: Ask) -> str:
        """Return the name of a try, which Dask has never seen: of the run, the round, the shard and the try."""
        return f"kernelweave-{self._run}-{ask.version}-{ask.number}-{ask.attempt}"


def _weak(task: Task) -> Any:
    """Return what gives a task as long as it lives; nothing for those that know no weak references."""
    try:
        return weakref.ref(task)
    except TypeError:
        return lambda: None


def _warn_open(address: str) -> None:
    """Warn of a scheduler that anybody in the network can talk to."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme in ("tls", "inproc") or host == "localhost":
        return
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return
    warnings.warn(
        f"The scheduler at {address} takes connections from the network without TLS: whoever reaches it can run code "
        "on every worker. Give scheduler, workers and client a distributed.Security with certificates (tls://), or "
        "keep the cluster behind a firewall or an ssh tunnel.",
        EngineWarning,
        stacklevel=3,
    )
