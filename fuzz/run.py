"""Fuzz the readers of the library: changed files go in, and a clean error or a good result has to come out.

    python fuzz/run.py                              all formats, 1,000 inputs each
    python fuzz/run.py --inputs 100000 model fasta  some of them, for longer
    python fuzz/run.py --input FILE NUMBER TARGET   one input again, in this process

Classes: a clean error; accepted (formats without a digest, or forged ones); equal to what was written, or different;
a traceback (any error that is not ours), a crash, a hang (10 s of processor time), memory (more than 512 MB).
The last five are failures. Inputs that fail are kept in fuzz/found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
FOUND = HERE / "found"
CLASSES = ("clean", "accepted", "equal", "different", "traceback", "crash", "hang", "memory")
FAILURES = CLASSES[3:]
#: Inputs that one process reads before another takes over.
BATCH = 20_000


def write_seeds(folder: Path, names: list[str]) -> None:
    """Make the inputs to begin with."""
    from targets import TARGETS

    for name in names:
        place = folder / "seeds" / name
        place.mkdir(parents=True)
        for i, data in enumerate(TARGETS[name].seeds()):
            (place / str(i)).write_bytes(data)


def fuzz(name: str, folder: Path, inputs: int, seed: int) -> tuple[Counter[str], dict[str, str]]:
    """Read changed inputs of one format; return how often each class came, and one line for each kind of failure."""
    counts: Counter[str] = Counter()
    failures: dict[str, str] = {}
    start = 0
    while start < inputs:
        command = [sys.executable, str(HERE / "worker.py"), name, str(folder), str(seed), str(start)]
        with (folder / "errors").open("w+b") as errors:
            worker = subprocess.Popen(
                [*command, str(min(start + BATCH, inputs))], stdout=subprocess.PIPE, stderr=errors
            )
            lines, code = worker.communicate()[0].decode().splitlines(), worker.returncode
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        for line in lines:
            kind, number, where, saved = line.split("\t")
            counts[kind] += 1
            if kind in FAILURES and f"{kind}: {where}" not in failures:
                failures[f"{kind}: {where}"] = _again(name, number, keep(name, kind, Path(saved)))
        start += len(lines)
        if code < 0:  # a signal ended it, while it read the input that lies there
            kind = "hang" if -code in (signal.SIGPROF, signal.SIGALRM) else "crash"
            number, where = (folder / "number").read_text(), signal.Signals(-code).name
            counts[kind] += 1
            failures.setdefault(f"{kind}: {where}", _again(name, number, keep(name, kind, folder / "input")))
            start += 1
        elif code or not lines:
            raise RuntimeError(f"The worker for {name} ended with {code}:\n{said}")
    return counts, failures


def keep(name: str, kind: str, path: Path) -> Path:
    """Keep an input that failed."""
    FOUND.mkdir(exist_ok=True)
    kept = FOUND / f"{name}-{kind}-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
    shutil.copy(path, kept)
    return kept


def _again(name: str, number: str, path: Path) -> str:
    return f"python fuzz/run.py --input {path} {number} {name}"


def again(path: str, number: int, name: str) -> None:
    """Read one input in this process, so that a traceback or a debugger shows what it does."""
    from targets import CLEAN, TARGETS

    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as folder:
        write_seeds(Path(folder), [name])
        wanted = target.use(f"{folder}/seeds/{name}/{number}", number)
        place = shutil.copy(path, Path(folder, "input"))
        try:
            found = target.use(str(place), number)
        except CLEAN as error:
            print(f"clean: {error}")
        else:
            print("accepted" if not target.sealed else "equal" if found == wanted else "different")


def main() -> int:
    """Fuzz what was asked for; 1 where anything failed."""
    from targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=1000, help="of every format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="the counts for programs")
    parser.add_argument("--input", nargs=2, metavar=("FILE", "NUMBER"), help="one input again, made of seed NUMBER")
    given = parser.parse_args()
    names = given.targets or list(TARGETS)
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"there is no target {unknown[0]}; there are {', '.join(TARGETS)}")
    if given.input:
        again(given.input[0], int(given.input[1]), names[0])
        return 0
    table, failed = {}, False
    if not given.json:
        print(f"{'target':<20}" + "".join(f"{kind:>11}" for kind in CLASSES) + "   inputs/s", flush=True)
    for name in names:
        with tempfile.TemporaryDirectory(prefix="kernelweave-fuzz-") as folder:
            write_seeds(Path(folder), [name])
            started = time.monotonic()
            counts, failures = fuzz(name, Path(folder), given.inputs, given.seed)
        speed = given.inputs / (time.monotonic() - started)
        table[name], failed = {**counts, "failures": failures}, failed or bool(failures)
        if not given.json:
            print(f"{name:<20}" + "".join(f"{counts[kind]:>11,}" for kind in CLASSES) + f"{speed:>11.0f}", flush=True)
            for what, how in failures.items():
                print(f"    {what}\n        {how}", flush=True)
    if given.json:
        print(json.dumps(table))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
