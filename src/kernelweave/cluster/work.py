"""What runs on a worker: a task is unpacked once, and asked for one shard, or job, after another."""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import socket
import sys
import threading
import traceback
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..errors import InputError, MemoryBudgetError
from ..sequences.mapped import mapped_now
from .part import Part

#: Tasks that a worker keeps: that of this round, with the tables that it has made, and the last, for late ones.
KEPT = 2
#: What a task may take for its tables, of all that the worker may have: nannies pause a worker at 80 % of that.
TABLES_SHARE = 0.25
#: What a worker may use of that with them: libraries and compiled code alone take some 350 MB.
USED_SHARE = 0.7

_kept: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


class NoParcelError(Exception):
    """A worker does not have a task, and cannot read it where it should be: it has to come whole."""


@dataclass(frozen=True)
class Parcel:
    """A task on its way: whole, in a file that all machines see, or by its name alone."""

    digest: str
    #: Bytes of the pickled task.
    size: int
    content: bytes | None = field(default=None, repr=False)
    path: str | None = None

    def open(self) -> bytes:
        """Return the pickled task.

        Raises
        ------
        NoParcelError
            Where only its name is here, or the file is not there, or not this one.
        """
        if self.content is not None:
            return self.content
        if self.path is None:
            raise NoParcelError(f"the task {self.digest} was not here before")
        try:
            with open(self.path, "rb") as file:
                content = file.read()
        except OSError as error:
            raise NoParcelError(f"{self.path!r}: {error.strerror}") from None
        if digest_of_task(content) != self.digest:
            raise NoParcelError(f"{self.path!r} is another file")
        return content


@dataclass(frozen=True)
class Answer:
    """What a worker says: a value, or what went wrong."""

    worker: str
    value: Any = None
    #: "" for a value; "input", "version", "memory", "parcel" or "error".
    failed: str = ""
    why: str = ""


def digest_of_task(content: bytes) -> str:
    """Return the name of a pickled task: of what is in it."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@cache
def library_version() -> str:
    """Return the version of the library, as workers and master compare it."""
    try:
        return version("kernelweave")
    except PackageNotFoundError:
        return "unknown"


def answer(parcel: Parcel, part: Part, master: str) -> Answer:
    """Run a task on one part of a round, on a worker. Nothing is raised: what goes wrong is part of the answer."""
    worker = f"{socket.gethostname()}, process {os.getpid()}"
    own = library_version()
    if own != master:
        return Answer(worker, None, "version", f"worker {worker} has kernelweave {own}, the master has {master}")
    try:
        return Answer(worker, _task(parcel)(part))
    except NoParcelError as error:
        return Answer(worker, None, "parcel", str(error))
    except FileNotFoundError as error:
        return Answer(worker, None, "input", f"{error.filename!r} is not there")
    except OSError as error:
        return Answer(worker, None, "input", f"{error.filename!r} cannot be read: {error.strerror}")
    except InputError as error:
        return Answer(worker, None, "input", str(error))
    except (MemoryError, MemoryBudgetError) as error:
        return Answer(worker, None, "memory", f"{type(error).__name__}: {error}")
    except Exception:
        return Answer(worker, None, "error", traceback.format_exc())
    finally:
        # mapped pages count as memory of the process, and nannies end processes that have too much of it
        for file in mapped_now():
            file.release()


def _task(parcel: Parcel) -> Any:
    """Return the task of a parcel; the last ones are kept, with what they have made. Cold is slower, never wrong."""
    with _lock:
        found = _kept.get(parcel.digest)
        if found is None:
            found = _kept[parcel.digest] = pickle.loads(parcel.open())
            for before in list(_kept.values())[:-1]:  # one that is late makes its tables again
                getattr(before, "made", {}).clear()
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(parcel.digest)
        return found


def bytes_for_tables(kept: float = 0.0) -> float:
    """Return how many bytes the tables of a task may take where this runs: a share of what a worker may have.

    `kept` is what they take already: it does not count among what else is used.
    """
    worker = sys.modules.get("distributed.worker")
    if worker is None:
        return math.inf
    try:
        found = worker.get_worker()
    except ValueError:  # this is no worker
        return math.inf
    limit = found.memory_manager.memory_limit
    if not limit:
        return math.inf
    others = found.monitor.get_process_memory() - kept
    return max(0.0, min(TABLES_SHARE * limit, USED_SHARE * limit - others))


def forget() -> None:
    """Drop all tasks that are kept, as a worker that was restarted has none."""
    with _lock:
        _kept.clear()
