"""Predictions of large string models: python benchmarks/prediction.py [--support N] [--letters N] [--jobs N].

Tables against direct evaluation with 100,000 support sequences, the same bits on any number of threads, a million
sequences from a mapped file, and a scan of ten million letters of a genome. Real C. elegans data where they are at hand
(KERNELWEAVE_DATA, or ../shared/data beside the project), random letters otherwise. The parts whose memory counts run in
processes of their own.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from kernelweave.gram import LinaddGram
from kernelweave.gram.families import block_of
from kernelweave.scan import Scanner
from kernelweave.sequences import SequenceSet, SequenceWriter, as_sequences
from kernelweave.views import as_views

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))
LENGTH, DEGREE = 141, 20
LETTERS = np.frombuffer(b"ACGT", np.uint8)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def best(work: Callable[[], Any], times: int = 4) -> tuple[Any, float]:
    """The result and the shortest of several runs, after one that does not count: first calls compile and allocate."""
    work()
    runs = [timed(work) for _ in range(times)]
    return runs[0][0], min(seconds for _, seconds in runs)


def peak() -> float:
    """Peak memory of this process in MB; `getrusage` would count that of the process which started it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def acceptors(n: int, name: str = "train141.csv.gz") -> tuple[SequenceSet, np.ndarray]:
    """Windows around real acceptor sites and decoys with their labels, or made-up ones."""
    path = DATA / "celegans_acceptor" / name
    if path.exists():
        with gzip.open(path, "rt", newline="") as file:
            rows = [row for _, row in zip(range(n), csv.DictReader(file), strict=False)]
        return as_sequences([row["sequence"] for row in rows], "dna"), np.array([int(row["label"]) for row in rows])
    print(f"There is no {path}; random windows instead.")
    rng = np.random.default_rng(0)
    text = LETTERS[rng.integers(0, 4, (n, LENGTH))]
    text[:, 60:62] = np.frombuffer(b"AG", np.uint8)
    y = np.where(rng.random(n) < 0.1, 1, -1)
    text[y > 0, 45:58] = LETTERS[np.where(rng.random((int((y > 0).sum()), 13)) < 0.8, 3, 1)]
    return as_sequences([row.tobytes() for row in text], "dna"), y


def genome(n: int) -> np.ndarray:
    """The first n letters of chromosome III, or random ones."""
    path = DATA / "celegans_genome" / "genome.npz"
    if not path.exists():
        return LETTERS[np.random.default_rng(1).choice(4, n, p=[0.32, 0.18, 0.18, 0.32])]
    packed = np.load(path)["III"]
    return LETTERS[np.stack([(packed >> s) & 3 for s in (6, 4, 2, 0)], axis=1).ravel()[:n]]


def tables(n: int, jobs: int) -> None:
    """Support sequences as tables, against the comparison of all pairs; both warm, on windows of other chromosomes."""
    X, _ = acceptors(n)
    queries, _ = acceptors(20_000, "test141.csv.gz")
    gram = LinaddGram([kw.WeightedDegree(DEGREE)], as_views(X), n_jobs=jobs)
    (family,), coef = gram.families, np.random.default_rng(0).normal(size=len(X))
    some, table = queries.rows(slice(0, 40)), family.base(LENGTH)
    LinaddGram(gram.terms, as_views(X.rows(slice(0, 400)))).tables(family, coef[:400], np.ones(1))  # compiles
    direct, seconds = best(lambda: block_of(family, table, some, X) @ coef)
    pair = seconds / len(some)
    built, building = timed(lambda: gram.tables(family, coef, np.ones(1)))
    np.testing.assert_allclose(built.scores(some), direct, rtol=1e-9, atol=1e-9)
    found, one = best(lambda: built.scores(queries, 1))
    again, more = best(lambda: built.scores(queries, jobs))
    print(f"{len(X):,} support sequences, degree {DEGREE}, {LENGTH} letters, {len(queries):,} new sequences")
    print(f"  build the tables, {jobs} threads      {building:8.2f} s  {built.nbytes / 1e9:.2f} GB")
    print(f"  direct, one thread              {1e6 * pair:8.1f} us a sequence")
    ratio = pair * len(queries) / one
    print(f"  tables, one thread              {1e6 * one / len(queries):8.2f} us a sequence  {ratio:.0f}x")
    print(f"  tables, {jobs} threads               {1e6 * more / len(queries):8.2f} us a sequence")
    print(f"  the same bits on 1 and {jobs} threads: {'yes' if np.array_equal(found, again) else 'NO'}")


def scan(model_path: str, fasta: str, jobs: int) -> None:
    """Scan a file and say how long it took and what it needed; runs in a process of its own."""
    model = kw.load(model_path)
    _, compiling = timed(model.compile)
    size = os.path.getsize(fasta) / 1e6
    list(Scanner(model, block=2000).blocks(_first(fasta)))  # compiles
    before = peak()
    size_of_tables = model.fitted_.prepared.nbytes / 1e6
    print(f"  {len(model.support_):,} support sequences: tables {size_of_tables:.0f} MB in {compiling:.2f} s")
    for name, options in (("every window, one strand", {"strands": "+"}), ("every AG, both strands", {"at": "AG"})):
        scanner = Scanner(model, n_jobs=jobs, **options)

        def run(scanner: Scanner = scanner) -> float:
            return sum(float(hits.scores.sum()) for block, _ in scanner.blocks(fasta) for hits in block)

        _, seconds = timed(run)
        n = scanner.progress.n_windows
        print(f"  {name:<28} {seconds:7.1f} s  {size / seconds:6.2f} MB/s  {n / seconds / 1e3:6.0f} thousand windows/s")
    print(f"  peak memory {peak():.0f} MB, of which before the scan {before:.0f} MB")
    text = Path(fasta).read_bytes().split(b"\n", 1)[1].replace(b"\n", b"")
    starts = np.random.default_rng(2).integers(0, min(len(text), 1 << 20) - LENGTH, 1000)
    plain = kw.load(model_path)  # no tables: so few windows are compared with the support pair by pair
    cut = plain.decision_function([text[s : s + LENGTH] for s in starts])
    assert plain.fitted_.prepared is None
    first = Scanner(model, strands="+", regions=[("III", 0, 1 << 20)]).blocks(fasta)
    scores = np.concatenate([hits.scores for block, _ in first for hits in block])
    away = np.abs(scores[starts] - cut).max()
    print(f"  1,000 windows cut out and compared pair by pair: at most {away:.1e} away")


def both_strands(model_path: str, fasta: str, jobs: int) -> None:
    """Scan all windows of both strands on one thread, in processor seconds; runs in a process of its own."""
    model = kw.load(model_path).compile()
    letters = np.frombuffer(Path(fasta).read_bytes().split(b"\n", 1)[1].replace(b"\n", b""), np.uint8)
    codes = np.searchsorted(LETTERS, letters).astype(np.uint8)
    windows = Scanner(model).windows
    starts = np.arange(min(200_000, len(codes) - LENGTH + 1))
    size, n = os.path.getsize(fasta) / 1e6, 2 * (len(codes) - LENGTH + 1)
    print(f"  {len(model.support_):,} support sequences, degree {DEGREE}, windows of {LENGTH} letters, one thread")

    def say(name: str, seconds: float) -> None:
        print(f"  {name:<34} {size / seconds:6.2f} MB/s, both strands  {1e9 * seconds / n / LENGTH:6.3f} ns a place")

    def timed_cpu(work: Callable[[], Any]) -> tuple[Any, float]:
        work()
        runs = []
        for _ in range(3):
            start = time.process_time()
            result = work()
            runs.append(time.process_time() - start)
        return result, min(runs)

    alone, seconds = timed_cpu(lambda: windows.scores(codes, starts))
    say("window by window, from tables", seconds * n / len(starts))
    along, _ = timed_cpu(lambda: windows.scores(codes, starts, along=True))
    print(f"  rows and tables: at most {np.abs(alone - along).max():.1e} apart")
    rising = np.sort(along)
    for share in (None, 0.01, 0.001):
        threshold = None if share is None else float(rising[int((1 - share) * len(rising))])
        scanner = Scanner(model, threshold=threshold)

        def run(scanner: Scanner = scanner) -> int:
            return sum(len(hits) for block, _ in scanner.blocks(fasta) for hits in block)

        found, seconds = timed_cpu(run)
        name = "all windows" if share is None else f"threshold {threshold:.2f}, {found / n:.2%} hits"
        say(f"file to scores, {name}", seconds)


def _first(fasta: str) -> Any:
    import io

    with open(fasta, "rb") as file:
        return io.BytesIO(file.read(4000))


def screen(model_path: str, packed: str, jobs: int) -> None:
    """Predict all sequences of a mapped file; runs in a process of its own."""
    model, X = kw.load(model_path).set_params(n_jobs=jobs).compile(), SequenceSet.open(packed)
    model.decision_function(X.rows(slice(0, 1000)))
    before = peak()
    f, seconds = timed(lambda: model.decision_function(X))
    print(f"  {len(f):,} sequences, file of {os.path.getsize(packed) / 1e6:.0f} MB: {seconds:.1f} s, ", end="")
    print(f"{len(f) / seconds / 1e3:.0f} thousand/s, {peak() - before:.0f} MB more than before")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--support", type=int, default=100_000)
    parser.add_argument("--letters", type=int, default=10_000_000)
    parser.add_argument("--sequences", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--child", nargs=3, metavar=("PART", "MODEL", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        {"scan": scan, "both": both_strands, "screen": screen}[options.child[0]](*options.child[1:], options.jobs)
        return
    tables(options.support, options.jobs)
    with tempfile.TemporaryDirectory() as folder:
        model, fasta, packed = (os.path.join(folder, name) for name in ("model.kw", "genome.fa", "random.kwseq"))
        X, y = acceptors(10_000)
        kernel = kw.WeightedDegree(DEGREE).normalized()
        kw.save(kw.MKLClassifier(kernel, norm="fixed", scaling=None, tol=1e-3).fit(X, y), model)
        larger = os.path.join(folder, "larger.kw")  # with this loss, all samples are support
        kw.save(kw.MKLClassifier(kernel, norm="fixed", scaling=None, tol=1e-2, loss="squared").fit(X, y), larger)
        letters = genome(options.letters)
        with open(fasta, "wb") as file:
            file.write(b">III\n")
            for start in range(0, len(letters), 60):
                file.write(letters[start : start + 60].tobytes() + b"\n")
        rng = np.random.default_rng(3)
        with SequenceWriter(packed, "dna") as out:
            for start in range(0, options.sequences, 50_000):
                n = min(50_000, options.sequences - start)
                out.add(LETTERS[rng.integers(0, 4, n * LENGTH)], np.arange(n + 1) * LENGTH, str)
        for part, used, file_name, title in (
            ("scan", model, fasta, f"A scan of {len(letters):,} letters, {options.jobs} threads"),
            ("both", larger, fasta, f"All windows of {len(letters):,} letters on both strands"),
            ("screen", model, packed, f"Sequences from a mapped file, {options.jobs} threads"),
        ):
            print(title, flush=True)
            command = [sys.executable, __file__, "--jobs", str(options.jobs), "--child", part, used, file_name]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
