"""Speed of the string code, as ratios within one run: python benchmarks/string_kernels.py [--quick].

Windows of 141 letters of DNA, degree 20. Times are the best of several; lines marked ">=" or "<=" have a target.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from kernelweave._fast import bits, forest, jit, linadd
from kernelweave._fast import weighted_degree as wd
from kernelweave.engines import ENGINES, SuffixArray, Table
from kernelweave.parallel import for_blocks

LENGTH, DEGREE = 141, 20
BETA = np.array([2 * (DEGREE - k) / (DEGREE * (DEGREE + 1)) for k in range(DEGREE)])
BETAS = np.tile(BETA, (LENGTH, 1))


def best(work: Callable[[], object], repeats: int = 5, clock: Callable[[], float] = time.thread_time) -> float:
    """Shortest of several times, in seconds; the first run, which may compile, is not counted.

    The clock of the thread does not count what other programs take; several threads need that of the wall.
    """
    work()
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def check(name: str, ratio: float, target: float, at_least: bool = True) -> None:
    good = ratio >= target if at_least else ratio <= target
    sign = ">=" if at_least else "<="
    print(f"    {name}: {ratio:.1f}x ({sign} {target:g}: {'yes' if good else 'NO'})")


def random_dna(rng: np.random.Generator, n: int, base: np.ndarray | None = None, change: float = 1.0) -> np.ndarray:
    """Random windows, or a family: `base` with a share of its letters drawn anew."""
    codes = rng.integers(0, 4, (n, LENGTH), dtype=np.uint8)
    return codes if base is None else np.where(rng.random((n, LENGTH)) < change, codes, base).astype(np.uint8)


def build(support: np.ndarray, coef: np.ndarray) -> forest.Forest:
    short = forest.table_depth(len(support), 4, DEGREE)
    return forest.build_forest(np.ascontiguousarray(support.T), coef, BETAS, 0, LENGTH, short, 4, True, True)


@jit
def run_values(beta, length):
    """Beta (degree,) -> values (length + 1,): what a run of agreeing letters adds, by its length."""
    values = np.zeros(length + 1)
    per_start = 0.0
    for run in range(1, length + 1):
        if run <= len(beta):
            per_start += beta[run - 1]
        values[run] = values[run - 1] + per_start
    return values


@jit
def wd_runs(x, y, values):
    """Codes (L,), (L,), values from `run_values` -> the kernel of one pair, run by run."""
    total, run = 0.0, 0
    for i in range(len(x)):
        if x[i] == y[i] and x[i] != bits.AMBIGUOUS:
            run += 1
        elif run > 0:
            total += values[run]
            run = 0
    return total + values[run]


@jit
def wd_runs_block(codes_a, codes_b, values, out):
    """Codes (na, L), (nb, L), values from `run_values` -> out (na, nb)."""
    for i in range(len(codes_a)):
        for j in range(len(codes_b)):
            out[i, j] = wd_runs(codes_a[i], codes_b[j], values)


def pairs(rng: np.random.Generator) -> float:
    print("\nKernel of pairs, one thread")
    a, b = random_dna(rng, 200), random_dna(rng, 4000)
    planes_a, planes_b = bits.pack_planes(a, 2), bits.pack_planes(b, 2)
    values, out = run_values(BETA, LENGTH), np.empty((200, 4000))
    runs = best(lambda: wd_runs_block(a[:50], b, values, out[:50])) / (50 * 4000)
    fast = best(lambda: wd.wd_block(planes_a, planes_b, BETA, out), 9) / out.size
    degrees = np.empty((DEGREE, 50, 4000))
    each = best(lambda: wd.wd_block_degrees(planes_a, planes_b, degrees)) / (50 * 4000)
    delta = np.array([1 / (2 * (s + 1)) for s in range(6)])
    shift = best(lambda: wd.wd_shift_block(planes_a, planes_b, BETA, delta, out[:50])) / (50 * 4000)
    pack = best(lambda: bits.pack_planes(b, 2)) / len(b)
    print(f"    run by run {runs * 1e9:.0f} ns, by bits {fast * 1e9:.2f} ns, per degree {each * 1e9:.1f} ns,")
    print(f"    shifts up to 5 {shift * 1e9:.1f} ns a pair; packing {pack * 1e9:.0f} ns a sequence")
    check("bits against runs", runs / fast, 20)
    return fast


def threads(rng: np.random.Generator, n: int) -> None:
    print("\nTwo threads against one")
    codes = random_dna(rng, 4096)
    planes, out = bits.pack_planes(codes, 2), np.empty((4096, 4096))
    blocks = [bits.pack_planes(codes[i : i + 256], 2) for i in range(0, 4096, 256)]

    def block(rows: slice) -> None:
        wd.wd_block(blocks[rows.start // 256], planes, BETA, out[rows])

    one = best(lambda: for_blocks(block, 4096, 256, 1), 9, time.perf_counter)
    check("pairs", one / best(lambda: for_blocks(block, 4096, 256, 2), 9, time.perf_counter), 1.6)
    trees, queries = build(codes, rng.normal(size=4096)), random_dna(rng, n)
    words, scores = bits.pack_words(queries), np.zeros((1, n))
    step = n // 8

    def part(rows: slice) -> None:
        linadd.lookup(trees, np.ascontiguousarray(words[:, rows]), scores[:, rows])

    one = best(lambda: for_blocks(part, n, step, 1), 9, time.perf_counter)
    check("linadd", one / best(lambda: for_blocks(part, n, step, 2), 9, time.perf_counter), 1.6)


def sums(rng: np.random.Generator, n: int, sizes: tuple[int, ...]) -> None:
    print("\nSums over Q support sequences, one thread")
    queries = random_dna(rng, n)
    words, scores = bits.pack_words(queries), np.zeros((1, n))
    for size in sizes:
        support, coef = random_dna(rng, size), rng.normal(size=size)
        some = 64
        planes, asked, block = bits.pack_planes(support, 2), bits.pack_planes(queries[:some], 2), np.empty((some, size))
        # Kernel values only: the product with the coefficients would come on top.
        slow = best(lambda: wd.wd_block(asked, planes, BETA, block)) / some  # noqa: B023
        build(support[:1], coef[:1])  # compiles
        start = time.thread_time()
        trees = build(support, coef)
        built = time.thread_time() - start
        fast = best(lambda: linadd.lookup(trees, words, scores), 3) / n  # noqa: B023
        scores[:] = 0
        linadd.lookup(trees, words, scores)
        np.testing.assert_allclose(scores[0, :some], block @ coef, rtol=1e-9, atol=1e-9)
        print(
            f"    Q = {size}: table of {trees.short} letters, built in {built * 1e3:.1f} ms; "
            f"{fast * 1e9:.0f} ns a sequence, directly {slow * 1e9:.0f} ns"
        )
        if size in {5000, 100_000}:
            check("table against direct", slow / fast, 8 if size == 5000 else 40)


def adversaries(rng: np.random.Generator, n: int, size: int) -> None:
    print(f"\nHard input, Q = {size}: cost against random DNA")
    base, repeat = random_dna(rng, 1)[0], np.resize(np.array([0, 1], np.uint8), LENGTH)
    cases = {
        "random": (base, 1.0),
        "all identical": (base, 0.0),
        "one family, 1 % changed": (base, 0.01),
        "one family, 5 % changed": (base, 0.05),
        "a long repeat, 5 % changed": (repeat, 0.05),
        "a long repeat, identical": (repeat, 0.0),
    }
    scores, plain = np.zeros((1, n)), 0.0
    for name, (letters, change) in cases.items():
        trees = build(random_dna(rng, size, letters, change), rng.normal(size=size))
        words = bits.pack_words(random_dna(rng, n, letters, change))
        cost = best(lambda: linadd.lookup(trees, words, scores)) / n  # noqa: B023
        plain = plain or cost
        print(f"    {name}: {cost * 1e9:.0f} ns a sequence")
        if name != "random":
            check(name, cost / plain, 4, at_least=False)


def engines(rng: np.random.Generator, n: int) -> None:
    print(f"\nEngines: ns a k-mer to add and to look up, {n} sequences of {LENGTH} letters")
    codes = rng.integers(0, 4, n * LENGTH).astype(np.uint8)
    asked = rng.integers(0, 4, n * LENGTH).astype(np.uint8)
    offsets = np.arange(n + 1) * LENGTH
    coef = rng.normal(size=n)
    print("    k   " + "".join(f"{engine.__name__:>20}" for engine in ENGINES))
    for k in (4, 8, 10, 12, 16, 32):
        cells = []
        for kind in ENGINES:
            if not kind.can_hold(k, 2) or (kind is Table and k > 12):
                cells.append("-")
                continue
            engine = kind(k, 2)

            def add() -> None:
                engine.clear()  # noqa: B023
                engine.add_sequences(codes, offsets, coef)  # noqa: B023
                engine.lookup_sequences(codes[:LENGTH], offsets[:2])  # noqa: B023

            repeats = 1 if kind is SuffixArray else 3
            added = best(add, repeats) / len(codes)
            found = best(lambda: engine.lookup_sequences(asked, offsets), repeats) / len(codes)  # noqa: B023
            cells.append(f"{added * 1e9:.0f} / {found * 1e9:.0f}")
        print(f"    {k:<4}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def stores(sizes: tuple[int, ...]) -> None:
    """Print how long chunking takes with its normal in every engine, as ratios to what it takes by itself."""
    from kernelweave import MKLClassifier, Spectrum, WeightedDegree
    from kernelweave.datasets import make_splice_sites
    from kernelweave.dual import Chunking
    from kernelweave.errors import InputError

    names = ["auto", *(kind.name for kind in ENGINES)]
    print("\nTraining by chunking, Q = 512, one thread: CPU seconds, and times as long with a store")
    print(" " * 38 + "".join(f"{name:>10}" for name in names))
    for kernel in (Spectrum(k=8), WeightedDegree(degree=8), WeightedDegree(degree=20)):
        for n in sizes:
            windows, y = make_splice_sites(n, window=LENGTH, positives=0.2, random_state=0)
            X = list(windows)
            cells, plain, objective = [], 0.0, 0.0
            for name in names:
                model = MKLClassifier(kernel.normalized(), norm="fixed", dual=Chunking(store=name), tol=1e-3)
                try:
                    model.fit(X[:600], y[:600])  # compiles
                    start = time.process_time()
                    model.fit(X, y)
                except InputError:
                    cells.append("-")
                    continue
                seconds = time.process_time() - start
                plain, objective = plain or seconds, objective or model.objective_
                np.testing.assert_allclose(model.objective_, objective, rtol=2e-3)
                cells.append(f"{seconds:.2f} s" if name == "auto" else f"{seconds / plain:.1f}")
            print(f"    {kernel!r:<26}{n:8,}" + "".join(f"{cell:>10}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", action="store_true", help="only training with every store")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, without Q = 100,000")
    given = parser.parse_args()
    quick = given.quick
    if given.stores:
        stores((2_000,) if quick else (2_000, 8_000))
        return
    rng = np.random.default_rng(0)
    n = 20_000 if quick else 100_000
    pairs(rng)
    sums(rng, n, (42, 500, 5000) if quick else (42, 500, 5000, 100_000))
    adversaries(rng, n, 5000)
    threads(rng, n)
    for size in (200, 1000) if quick else (200, 5000):
        engines(rng, size)
    stores((2_000,) if quick else (2_000, 8_000))


if __name__ == "__main__":
    main()
