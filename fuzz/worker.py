"""One process that reads changed inputs until it has read enough of them, or until one of them ends it.

Every input is a file before it is read, and a line on standard output afterwards; whoever started the process can tell
from both what ended it. A hang is ended by a timer, and too much memory is refused by a limit of the address space.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

from targets import CLEAN, TARGETS, Target

#: Processor seconds and seconds that one input may take, and bytes that it may allocate.
CPU_SECONDS, SECONDS = 10.0, 120.0
MEMORY = 512 << 20
#: Most inputs that are kept to make others of, beside the first ones.
MOST_KEPT = 200
FAILURES = ("different", "traceback", "memory")


def outcome(target: Target, path: str, seed: int, wanted: Any) -> tuple[str, str]:
    """Read a file and return the class of what happened, and where or why it did."""
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        found = target.use(path, seed)
    except MemoryError as error:
        return ("clean", _where(error)) if isinstance(error, CLEAN) else ("memory", _where(error))
    except CLEAN as error:
        return "clean", _where(error)
    except AssertionError as error:
        return ("different", str(error)) if str(error) else ("traceback", _where(error))
    except Exception as error:
        return "traceback", _where(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    if not target.sealed:
        return "accepted", ""
    return ("equal", "") if found == wanted else ("different", "")


def _where(error: BaseException) -> str:
    """Name the error and the line that raised it: new places are worth going on from."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "kernelweave" in frame.filename] or frames
    return f"{type(error).__name__} at {Path(inside[-1].filename).name}:{inside[-1].lineno}"


def limit_memory() -> None:
    """Let the process take as much more address space as one input may."""
    for line in Path("/proc/self/status").read_text().splitlines() if os.path.exists("/proc/self/status") else ():
        if line.startswith("VmSize:"):
            limit = int(line.split()[1]) * 1024 + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(name: str, folder: str, seed: int, start: int, stop: int) -> None:
    """Read the inputs from number `start` to `stop`."""
    target, said = TARGETS[name], os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    path, rng = os.path.join(folder, "input"), Random(f"{name} {seed} {start}")
    os.chdir(folder)
    seeds = [Path(folder, "seeds", name, str(i)).read_bytes() for i in range(len(os.listdir(f"{folder}/seeds/{name}")))]
    corpus, wanted = list(enumerate(seeds)), []
    for number, data in corpus:  # also compiles what is compiled
        _write(path, data)
        wanted.append(target.use(path, number))
    limit_memory()
    places: set[str] = set()
    failed: set[str] = set()
    for index in range(start, stop):
        number, data = rng.choice(corpus if rng.random() < 0.5 else corpus[: len(seeds)])
        changed = target.change(data, rng, seeds)
        _write(path, changed)
        Path(folder, "number").write_text(str(number))
        kind, where = outcome(target, path, number, wanted[number])
        if where not in places and len(corpus) < MOST_KEPT and not name.endswith("crafted"):
            places.add(where)
            corpus.append((number, changed))
        saved = os.path.join(folder, f"failed-{index}") if kind in FAILURES else ""
        if saved and f"{kind} {where}" not in failed:
            failed.add(f"{kind} {where}")
            shutil.copy(path, saved)
        os.write(said, f"{kind}\t{number}\t{' '.join(where.split())}\t{saved}\n".encode("utf-8", "backslashreplace"))


def _write(path: str, data: bytes) -> None:
    for other in (path, path + ".previous"):
        if os.path.exists(other):
            os.unlink(other)
    with open(path, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
