"""Variants: the rank of planted effects, the rate and memory of a million of them, and the memory of a long chromosome.

Run as ``python benchmarks/variants.py [variants] [letters]``; the files go to a temporary folder. One part needs the
data folder (KERNELWEAVE_DATA, or ../shared/data beside the project), and says so where it is absent.
"""

from __future__ import annotations

import csv
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import kernelweave as kw
from kernelweave.datasets import make_genome, matched_regions
from kernelweave.explain import kmer_weights, variant_effects
from kernelweave.explain.deltasvm import word_texts
from kernelweave.io.bed import cut_out
from kernelweave.io.genome import TextGenome

DATA = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
NFE2 = DATA / "tfbs_nfe2_gkm" / "data.csv.gz"

#: A command in a process of its own: prints its seconds of processor time and its largest memory in MB.
MEASURE = """
import re, sys, time
from pathlib import Path
from click.testing import CliRunner
from kernelweave.cli.app import cli

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

start = time.process_time()
result = CliRunner().invoke(cli, sys.argv[1:], catch_exceptions=False)
assert result.exit_code == 0, result.stderr
print(time.process_time() - start, peak())
"""
LONG = """
import re, sys
from pathlib import Path
from kernelweave.io.genome import open_genome

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

before = peak()
with open_genome(sys.argv[1]) as genome:
    length = genome.length("chr1")
    for start in range(0, length - 300, length // 1000):
        genome.fetch("chr1", start, start + 300)
    print(length, peak() - before)
"""


def measured(code: str, *arguments: object) -> list[float]:
    """Run code in a process of its own, and return the numbers that it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(part) for part in told.stdout.split()]


def planted() -> None:
    """Rank correlation of effects with the truth."""
    print("planted variants: rank correlation with the truth")
    made = make_genome(2500, 1000, length=300_000, width=22, random_state=0)
    drawn = matched_regions(made.peaks, made.genome, ratio=2, random_state=0)
    X = [*cut_out(made.genome, made.peaks), *cut_out(made.genome, drawn.regions)]
    y = [1] * len(made.peaks) + [-1] * len(drawn)
    truth = made.variants["effect"]
    for kernel in ("WeightedDegree(degree=1)", "WeightedDegree(degree=3)"):
        found = variant_effects(kw.MKLClassifier(kernel, C=0.1).fit(X, y), made.variants, made.genome, background=0)
        longer = np.array([len(a) - len(r) for r, a in zip(found["ref"], found["alt"], strict=True)])
        parts = {"all": longer < 9, "single letters": longer == 0, "insertions": longer > 0, "deletions": longer < 0}
        ranks = ", ".join(f"{name} {spearmanr(truth[i], found['delta'][i])[0]:.3f}" for name, i in parts.items())
        print(f"  {kernel:28s} {ranks}")


def chain_variants(
    k: int, letters: str, chances: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[dict, np.ndarray]:
    """Variants of all kinds, and what each does to the log-odds of a Markov chain: a sum over the words it changes."""

    def odds(text: str) -> float:
        codes, found = ["ACGT".index(letter) for letter in text], 0.0
        for i in range(len(codes) - k + 1):
            before = sum(code * 4 ** (k - 2 - j) for j, code in enumerate(codes[i : i + k - 1]))
            found += float(np.log(4 * chances[before, codes[i + k - 1]]))
        return found

    rows, truth = [], []
    for _ in range(n):
        at, kind, size = int(rng.integers(k, len(letters) - k - 4)), int(rng.integers(0, 6)), int(rng.integers(1, 4))
        ref, new = letters[at : at + 1 + size * (kind == 5)], "".join(rng.choice(list("ACGT"), size))
        alt = ref[0] + new if kind == 4 else ref[0] if kind == 5 else new[0]
        if alt != ref:
            left, right = letters[at - k + 1 : at], letters[at + len(ref) : at + len(ref) + k - 1]
            rows.append(("chr1", at + 1, ref, alt))
            truth.append(odds(left + alt + right) - odds(left + ref + right))
    table = dict(zip(("chrom", "pos", "ref", "alt"), map(list, zip(*rows, strict=True)), strict=True))
    return table, np.array(truth)


def words(k: int = 4, n: int = 2500, length: int = 200) -> None:
    """Rank correlation for models of words; peaks are walks of a chain of order k - 1, all else is random letters."""
    print(
        f"the same for words: {n:,} peaks from a Markov chain of order {k - 1}; the truth is the change of its log-odds"
    )
    rng = np.random.default_rng(0)
    chances, codes = rng.dirichlet(np.full(4, 12.0), 4 ** (k - 1)), rng.integers(0, 4, (2 * n, length))
    powers = 4 ** np.arange(k - 2, -1, -1)
    for i in range(k - 1, length):
        before = codes[:n, i - k + 1 : i] @ powers
        codes[:n, i] = (rng.random((n, 1)) > chances[before].cumsum(axis=1)[:, :3]).sum(axis=1)
    X, y = ["".join("ACGT"[c] for c in row) for row in codes], [1] * n + [-1] * n
    letters = "".join(rng.choice(list("ACGT"), 20_000))
    table, truth = chain_variants(k, letters, chances, 600, rng)
    sizes = np.array([len(a) - len(r) for r, a in zip(table["ref"], table["alt"], strict=True)])
    source = TextGenome({"chr1": letters.encode()})
    for kernel in (f"Spectrum(k={k})", f"Spectrum(k={k}).normalized()", f"GappedKmer({k + 2}, {k})"):
        delta = variant_effects(kw.MKLClassifier(kernel, loss="logistic").fit(X, y), table, source, background=0)[
            "delta"
        ]
        parts = {"all": sizes < 9, "single letters": sizes == 0, "insertions": sizes > 0, "deletions": sizes < 0}
        ranks = ", ".join(f"{name} {spearmanr(truth[i], delta[i])[0]:.3f}" for name, i in parts.items())
        print(f"  {kernel:28s} {ranks}; sign {np.mean(np.sign(delta) == np.sign(truth)):.3f}")


def write_calls(path: Path, genome: kw.datasets.MadeGenome, n: int) -> None:
    """Write n random variants, two in three of them single letters."""
    rng = np.random.default_rng(1)
    source, names = genome.genome, list(genome.genome.lengths)
    with path.open("w") as out:
        out.write("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
        per = -(-n // len(names))
        for name in names:
            text = source.fetch(name, 0, source.length(name)).tobytes().decode().upper()
            places = np.sort(rng.integers(10, len(text) - 10, per))
            kinds, letters = rng.integers(0, 6, per), rng.integers(0, 4, (per, 3))
            for at, kind, drawn in zip(places.tolist(), kinds.tolist(), letters.tolist(), strict=True):
                new = "".join("ACGT"[c] for c in drawn)
                ref = text[at : at + (3 if kind == 5 else 1)]
                alt = ref[0] + new if kind == 4 else ref[0] if kind == 5 else new[0]
                if alt == ref:
                    alt = "CATG"["ACGT".find(ref)]
                out.write(f"{name}\t{at + 1}\t.\t{ref}\t{alt}\t.\t.\t.\n")


def million(n: int) -> None:
    """The rate and memory of many variants beside a tenth of them, in a process each, on one thread."""
    print(f"{n:,} generated variants by `kernelweave variants`, one thread, VCF to VCF")
    with tempfile.TemporaryDirectory() as folder:
        made = make_genome(1000, length=1_000_000, width=60, random_state=0, path=folder)
        drawn = matched_regions(made.peaks, made.genome, random_state=0)
        X = [*cut_out(made.genome, made.peaks), *cut_out(made.genome, drawn.regions)]
        y = [1] * len(made.peaks) + [-1] * len(drawn)
        for size in (n // 10, n):
            write_calls(Path(folder, f"{size}.vcf"), made, size)
        for kernel in ("Spectrum(k=6, reverse_complement=True)", "WeightedDegree(degree=8)"):
            kw.save(kw.MKLClassifier(kernel).fit(X, y), Path(folder, "m.kw"))
            given = ("--genome", Path(folder, "genome.fa"), "--threads", 1, "--output", Path(folder, "out.vcf"))
            small, large = (measured(MEASURE, "variants", Path(folder, "m.kw"), Path(folder, f"{size}.vcf"), *given)
                            for size in (n // 10, n))  # fmt: skip
            rate = 0.9 * n / max(large[0] - small[0], 1e-9)
            print(f"  {kernel:40s} {large[0]:7.1f} s of processor time, {rate:9,.0f} variants/s; at most "
                  f"{large[1]:.0f} MB ({small[1]:.0f} MB for {n // 10:,})")  # fmt: skip


def long_chromosome(letters: int) -> None:
    """The memory that a long chromosome takes, in each form of the file."""
    print(f"one chromosome of {letters:,} letters, read at 1,000 places")
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "g.fa")
        with plain.open("wb") as out:
            out.write(b">chr1\n")
            for _ in range(letters // 6_000_000 + 1):
                rows = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (100_000, 60), dtype=np.uint8)]
                out.write(b"\n".join(row.tobytes() for row in rows) + b"\n")
        subprocess.run(["gzip", "-1", "-k", str(plain)], check=True)
        for form in (plain, Path(folder, "g.fa.gz")):
            start = time.perf_counter()
            length, more = measured(LONG, form)
            print(f"  {form.name:10s} {length:,.0f} letters: {more:.0f} MB, {more * 2**20 / length:.2f} bytes a letter"
                  f", {time.perf_counter() - start:.0f} s")  # fmt: skip


def real_peaks() -> None:
    """The words of NF-E2 peaks, and what a letter less of its motif does."""
    print("NF-E2 peaks: the words of the largest weight")
    if not NFE2.exists():
        print("  left out: there is no tfbs_nfe2_gkm; set KERNELWEAVE_DATA to the data folder")
        return
    with gzip.open(NFE2, "rt") as file:
        rows = list(csv.DictReader(file))
    names = list(rows[0])
    sequence = next(name for name in names if len(rows[0][name]) > 40)
    label = next(name for name in names if rows[0][name] in ("1", "-1", "+1"))
    model = kw.MKLClassifier("Spectrum(k=8, reverse_complement=True)")
    model.fit([row[sequence] for row in rows], [int(row[label]) for row in rows])
    weights = kmer_weights(model)
    best = np.argsort(-weights.weights)[:8]
    print(
        "  " + ", ".join(f"{word} {weights.weights[i]:.2f}" for i, word in zip(best, word_texts(best, 8), strict=True))
    )


def main() -> None:
    """Run all parts."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    letters = int(sys.argv[2]) if len(sys.argv) > 2 else 250_000_000
    planted()
    words()
    real_peaks()
    long_chromosome(letters)
    million(n)


if __name__ == "__main__":
    main()
