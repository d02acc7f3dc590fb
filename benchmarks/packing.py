"""Packing FASTA: speed beside dnaio's own iteration, memory, and how much of the packed file a look at it reads.

Run as ``python benchmarks/packing.py [sequences] [length]``; the files go to a temporary folder.
"""

from __future__ import annotations

import gzip
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dnaio
import numpy as np

from kernelweave.io import iter_fasta, pack_fasta, read_fasta
from kernelweave.sequences import SequenceSet, as_sequences

MEMORY = """
import re, sys
from pathlib import Path
from kernelweave.io import pack_fasta

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

pack_fasta(sys.argv[1], sys.argv[3], alphabet="dna")  # compiles and warms up
before = peak()
pack_fasta(sys.argv[2], sys.argv[3], alphabet="dna")
print(before, peak() - before)
"""

MAPPED = """
import sys, time
from pathlib import Path
from kernelweave.sequences import SequenceSet

start = time.perf_counter()
found = SequenceSet.open(sys.argv[1])
opened = time.perf_counter() - start
text = found[len(found) // 2]
resident, inside = 0, False
for line in Path("/proc/self/smaps").read_text().splitlines():
    if "-" in line.split()[0] and ":" not in line.split()[0]:
        inside = line.endswith(sys.argv[1])
    elif inside and line.startswith("Rss:"):
        resident += int(line.split()[1])
print(opened * 1e3, resident)
"""


def write_fasta(path: Path, n: int, length: int) -> None:
    """Write n random records, in blocks."""
    rng = np.random.default_rng(0)
    with path.open("wb") as out:
        for start in range(0, n, 50_000):
            rows = min(50_000, n - start)
            letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (rows, length), dtype=np.uint8)]
            out.writelines(b">seq%d\n%b\n" % (start + i, row.tobytes()) for i, row in enumerate(letters))


def iterate(path: Path) -> int:
    with dnaio.open(path) as records:
        return sum(1 for _ in records)


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def child(program: str, *args: object) -> list[float]:
    done = subprocess.run([sys.executable, "-c", program, *map(str, args)], capture_output=True, check=True, text=True)
    return [float(number) for number in done.stdout.split()]


def speeds(folder: Path, n: int, rounds: int = 5) -> None:
    """Print speeds as ratios to dnaio's iteration, taken in turns so that a busy machine slows all alike."""
    plain, packed, zipped = folder / "x.fa", folder / "x.kwseq", folder / "x.fa.gz"
    with plain.open("rb") as source, gzip.open(zipped, "wb", compresslevel=1) as out:
        shutil.copyfileobj(source, out)
    strings = [record.sequence for record in iter_fasta(plain)]
    array = np.array(strings, "S")
    works = {
        "dnaio, iterate": lambda: iterate(plain),
        "pack_fasta": lambda: pack_fasta(plain, packed, alphabet="dna"),
        "read_fasta": lambda: read_fasta(plain, "dna"),
        "iter_fasta": lambda: sum(1 for _ in iter_fasta(plain)),
        "as_sequences, list of str": lambda: as_sequences(strings, "dna"),
        "as_sequences, NumPy bytes": lambda: as_sequences(array, "dna"),
        "verify the packed file": lambda: SequenceSet.open(packed).verify(),
        "dnaio, iterate gzip": lambda: iterate(zipped),
        "pack_fasta, gzip": lambda: pack_fasta(zipped, packed, alphabet="dna"),
    }
    for work in works.values():
        work()
    times = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    print(f"{'work':<28}{'seconds':>9}{'sequences/s':>14}{'speed / dnaio (median, range)':>34}")
    for name, taken in times.items():
        base = times["dnaio, iterate gzip" if "gzip" in name else "dnaio, iterate"]
        ratios = sorted(b / t for b, t in zip(base, taken, strict=True))
        middle, best = statistics.median(ratios), min(taken)
        print(f"{name:<28}{best:>9.3f}{n / best:>14,.0f}{middle:>16.2f}   ({ratios[0]:.2f} - {ratios[-1]:.2f})")


def memory(folder: Path, n: int, length: int) -> None:
    """Print the memory that packing adds, for files of growing size, and what looking at one row reads."""
    if not Path("/proc/self/smaps").exists():
        print("memory is measured on Linux only")
        return
    small, part, packed = folder / "small.fa", folder / "part.fa", folder / "m.kwseq"
    write_fasta(small, 1000, length)
    for rows in (n // 4, n):
        write_fasta(part, rows, length)
        before, added = child(MEMORY, small, part, packed)
        size = part.stat().st_size / 2**20
        print(
            f"packing {rows:>9,} sequences ({size:5.0f} MB): {added:5.0f} MB above the {before:.0f} MB of the process"
        )
    opened, resident = child(MAPPED, packed)
    size = packed.stat().st_size / 1024
    print(
        f"packed file {size / 1024:.1f} MB: opened in {opened:.1f} ms; one row read leaves {resident:.0f} kB resident"
    )


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    length = int(sys.argv[2]) if len(sys.argv) > 2 else 141
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fasta(folder / "x.fa", n, length)
        print(f"{n:,} sequences of {length} letters, one thread")
        speeds(folder, n)
        memory(folder, n, length)


if __name__ == "__main__":
    main()
