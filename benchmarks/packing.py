"""Packing FASTA: speed beside dnaio's own iteration, memory, how much of the packed file a look at it reads, and what
it costs to check what is read.

Run as ``python benchmarks/packing.py [sequences] [length]``; the files go to a temporary folder.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import dnaio
import numpy as np

from kernelweave import MKLClassifier, Spectrum, WeightedDegree
from kernelweave.datasets import make_splice_sites
from kernelweave.io import iter_fasta, pack_fasta, read_fasta
from kernelweave.sequences import SequenceSet, as_sequences
from kernelweave.sequences.header import BLOCK
from kernelweave.sequences.mapped import MappedFile

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


class CheckTime:
    """CPU seconds spent on digests while the block runs, and those of all work."""

    def __enter__(self) -> CheckTime:
        self.own = self.all = 0.0
        self._kept = {name: getattr(MappedFile, name) for name in ("_check_blocks", "changed")}
        for name, method in self._kept.items():
            setattr(MappedFile, name, self._timed(method))
        self._start = time.process_time()
        return self

    def _timed(self, method):
        def timed(*args, **options):
            start = time.thread_time()
            try:
                return method(*args, **options)
            finally:
                self.own += time.thread_time() - start

        return timed

    def __exit__(self, *_: object) -> None:
        self.all = time.process_time() - self._start
        for name, method in self._kept.items():
            setattr(MappedFile, name, method)


def verification(folder: Path, n: int, rounds: int = 5) -> None:
    """Print what it costs to compare blocks with their digests: GB/s, and the share of fits and predictions."""
    data = np.random.default_rng(0).integers(0, 256, 1 << 26, dtype=np.uint8)
    digests = {
        "zlib.crc32": zlib.crc32,
        "sha1": lambda block: hashlib.sha1(block, usedforsecurity=False).digest(),
        "sha256": lambda block: hashlib.sha256(block).digest(),
        "blake2b": lambda block: hashlib.blake2b(block, digest_size=16).digest(),
    }
    for name, work in digests.items():
        blocks = [data[at : at + BLOCK] for at in range(0, data.size, BLOCK)]
        taken = min(cpu_seconds(lambda work=work, blocks=blocks: list(map(work, blocks)), rounds))
        print(f"{name:<12} on blocks of {BLOCK >> 10} KiB: {data.nbytes / taken / 1e9:5.2f} GB/s")
    del data, blocks
    packed, letters = folder / "x.kwseq", folder / "letters.kwseq"
    rows = np.random.default_rng(0).integers(0, 20, 1 << 25, dtype=np.uint8)
    as_sequences(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)[rows].view("S128").ravel(), "protein").save(letters)
    for name, path in (("packed DNA", packed), ("protein", letters)):
        taken = min(cpu_seconds(lambda path=path: SequenceSet.open(path).verify(), rounds))
        print(
            f"{name}: all {path.stat().st_size / 2**20:.0f} MB checked at {path.stat().st_size / taken / 1e9:.2f} GB/s"
        )
    sites = folder / "sites.kwseq"
    X, y = make_splice_sites(n, random_state=0, path=sites)
    print(f"{'share of CPU time for digests':<56}{'all, s':>9}{'digests, s':>12}{'share':>9}")
    for name, kernel, size in (
        ("WeightedDegree(20)", WeightedDegree(degree=20).normalized(), n // 10),
        (
            "WeightedDegree(20) + Spectrum(6)",
            WeightedDegree(degree=20).normalized() + Spectrum(k=6).normalized(),
            n // 50,
        ),
    ):
        MKLClassifier(kernel).fit(X[:300], y[:300])  # compiles
        for first in ("fit", "predict"):
            sites.touch()  # so that nothing counts as checked before
            some = SequenceSet.open(sites)[: size if first == "fit" else n]
            with CheckTime() as time_of:
                if first == "fit":
                    model = MKLClassifier(kernel).fit(some, y[:size])
                else:
                    model.decision_function(some)
            share = f"{100 * time_of.own / time_of.all:.3f} %"
            print(f"{f'{first}, {len(some):,} x 141, {name}':<56}{time_of.all:>9.2f}{time_of.own:>12.4f}{share:>9}")


def cpu_seconds(work, rounds: int) -> list[float]:
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return taken


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    length = int(sys.argv[2]) if len(sys.argv) > 2 else 141
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fasta(folder / "x.fa", n, length)
        print(f"{n:,} sequences of {length} letters, one thread")
        speeds(folder, n)
        memory(folder, n, length)
        verification(folder, n)


if __name__ == "__main__":
    main()
