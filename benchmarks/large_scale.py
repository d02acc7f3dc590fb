"""Millions of sequences: python benchmarks/large_scale.py [part ...] [--jobs N].

Weighted degree kernel of degree 20 on windows of 141 letters, normalised, C = 1, certified to a relative gap of 1e-3.
Every fit runs in a process of its own, from a packed file that it maps, so that peak memory is that of the fit.

    acceptor    C. elegans acceptor sites: 10,000, 30,000 and 100,000 windows, beside SVC on the matrix at 10,000
    million     100,000 and 1,000,000 windows of the C. elegans genome
    genome      all windows of chromosomes I to V, judged on chromosome X (half an hour)
    whole       all windows of all chromosomes, nearly ten million
    synthetic   100,000 and 1,000,000 windows from `make_splice_sites`; no files needed
    degrees     MKL over 20 degrees beside one kernel, at 100,000 and at 1,000,000 windows of the genome
    threads     the same fits on one thread and on two: 100,000 acceptor sites, 100,000 and 1,000,000 genome windows
    shifts      words that may move, and MKL over their degrees, beside degree 20, hashed words and LightGBM:
                10,000 and 100,000 acceptor sites, a million windows of the genome, judged on windows of chromosome X
    positions   MKL over 141 positions on the acceptor sites, with a picture
    columns     MKL over two columns of sequences, and over numbers beside them, against chunking
    chunking    working sets of Q (paper's table 4.6), and plain rows against linadd, with fitted exponents
    generator   ten million windows from `make_splice_sites` to a file, and how hard they are beside the acceptor sites
    text        byte n-grams of long documents: cost against total length
    limit       training from a file that is larger than the memory the process may use (a control group; needs root)

Parts that need the data folder (KERNELWEAVE_DATA, or ../shared/data beside the project) say so where it is absent.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))
CACHE = Path(tempfile.gettempdir()) / "kernelweave-benchmarks"
#: Dual objectives that other software found on the same windows.
REFERENCE = {
    "acceptor-10000": 370.839,
    "acceptor-30000": 893.62,
    "acceptor-100000": 2230.82,
    "genome-1000000": 12051.94,
}


# -- data --------------------------------------------------------------------------------------------------------------


def prepare(name: str) -> Path | None:
    """Write the windows `name` to a packed file and their labels beside it, once; None where the source is absent."""
    path = CACHE / f"{name}.kwseq"
    if path.exists():
        return path
    source = name.partition("-")[0]
    needs = {"acceptor": DATA / "celegans_acceptor", "genome": DATA / "celegans_genome"}.get(source)
    if needs is not None and not needs.exists():
        print(f"    left out: there is no {needs}; set KERNELWEAVE_DATA to the data folder")
        return None
    CACHE.mkdir(exist_ok=True)
    subprocess.run([sys.executable, __file__, "--write", name], check=True)
    return path


def write(name: str) -> None:
    """Make one file of windows."""
    from kernelweave.datasets import make_splice_sites

    source, _, rest = name.partition("-")
    path = CACHE / f"{name}.kwseq"
    if source == "synthetic":
        make_splice_sites(int(rest), random_state=0, path=path)
        return
    if source == "sites":  # as many sites among them as among the acceptor windows
        X, y = make_splice_sites(50_000, positives=1 / 30, random_state=0)
        part = slice(30_000, None) if rest == "test" else slice(0, int(rest))
        np.save(path.with_suffix(".labels.npy"), y[part])
        X.rows(part).save(path)
        return
    codes, labels = {"acceptor": acceptor, "genome": genome, "protein": protein}[source](rest)
    from kernelweave.sequences import Alphabet, SequenceSet

    alphabet = Alphabet.named("protein" if source == "protein" else "dna")
    sequences = SequenceSet(alphabet, codes.reshape(-1), len(codes), codes.shape[1])
    np.save(path.with_suffix(".labels.npy"), labels)
    sequences.save(path)


def acceptor(which: str) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and labels of the first windows to learn from, or of those to judge by."""
    file = "test141.csv.gz" if which == "test" else "train141.csv.gz"
    limit = 10**9 if which == "test" else int(which)
    with gzip.open(DATA / "celegans_acceptor" / file, "rt", newline="") as lines:
        rows = [row for _, row in zip(range(limit), csv.DictReader(lines), strict=False)]
    text = np.array([row["sequence"] for row in rows], dtype="S141").view(np.uint8).reshape(len(rows), -1)
    table = np.zeros(256, np.uint8)
    table[list(b"ACGT")] = range(4)
    return table[text], np.array([int(row["label"]) for row in rows], np.int8)


def protein(which: str) -> tuple[np.ndarray, np.ndarray]:
    """Return random proteins of 1,401 letters, one in 500 with a motif in its middle, most letters of it right."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, (int(which), 1401), dtype=np.uint8)
    labels = np.where(rng.random(len(codes)) < 0.002, 1, -1).astype(np.int8)
    for k in range(8):
        right = (labels > 0) & (rng.random(len(codes)) < 0.7)
        codes[right, 700 + k] = 2 * k
    return codes, labels


def genome(which: str) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and labels of some of the genome's windows: a number of them at random, or chromosomes."""
    spec: Any = importlib.util.spec_from_file_location("windows", DATA / "celegans_genome" / "windows.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    chromosomes = None if which.isdigit() else which.split("+")
    parts = [(windows, labels) for *_, windows, labels in module.blocks(chromosomes)]
    codes, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not which.isdigit():
        return codes, labels
    order = np.random.default_rng(0).permutation(len(labels))[: int(which)]
    return codes[order], labels[order]


# -- one fit -----------------------------------------------------------------------------------------------------------


def fit(job: dict[str, Any]) -> dict[str, Any]:
    """Fit one model in this process, and return what it took and what it found."""
    from kernelweave import MKLClassifier, WeightedDegree, parse
    from kernelweave.sequences import SequenceSet

    X: Any = SequenceSet.open(job["path"])
    y = np.load(Path(job["path"]).with_suffix(".labels.npy"))
    if job.get("limit"):
        X, y = X.rows(slice(0, job["limit"])), y[: job["limit"]]
    if job.get("kernel"):
        X = table_of(X, y)
    if job.get("peer"):
        return fit_peer(job, X, y)
    kernel = WeightedDegree(degree=job.get("degree", 20)).normalized()
    options = {"C": job.get("C", 1.0), "tol": job.get("tol", 1e-3), "n_jobs": job["jobs"], "dual": dual_of(job)}
    options["memory"] = job.get("memory")
    if job.get("split"):
        model = MKLClassifier(kernel.split(*job["split"]), **options)
    elif job.get("expression"):
        model = MKLClassifier(parse(job["expression"]), **options)
    elif job.get("kernel"):
        model = MKLClassifier(parse(job["kernel"]), **options)
    else:
        model = MKLClassifier(kernel, norm="fixed", scaling=None, **options)
    some = np.concatenate([np.flatnonzero(y > 0)[:1500], np.flatnonzero(y < 0)[:2500]])
    # compiles
    model.fit(X.iloc[some] if job.get("kernel") else X.rows(some), y[some])
    started, used = time.perf_counter(), time.process_time()
    model.fit(X, y)
    out = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - used, "n": len(y)}
    out |= {"dual": model.lower_bound_, "gap": model.gap_, "support": len(model.support_), "sites": int((y > 0).sum())}
    out |= {"weights": model.weights_.tolist(), "rss": peak(), "steps": model.n_iter_}
    out["bits"] = sha256(model.dual_coef_.tobytes() + np.array([out["dual"], out["gap"]]).tobytes()).hexdigest()
    if job.get("test"):
        out |= judge(model.decision_function, job)
    return out


def judge(decide: Any, job: dict[str, Any]) -> dict[str, float]:
    """Return how well new windows are told apart, and how long it takes."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    from kernelweave.sequences import SequenceSet

    new: Any = SequenceSet.open(job["test"])
    truth = np.load(Path(job["test"]).with_suffix(".labels.npy"))
    if job.get("test_limit") and len(truth) > job["test_limit"]:
        some = np.sort(np.random.default_rng(0).choice(len(truth), job["test_limit"], replace=False))
        new, truth = new.rows(some), truth[some]
    started = time.perf_counter()
    scores = decide(new)
    out = {"predict": time.perf_counter() - started, "n_test": len(truth), "rss": peak()}
    return out | {"roc": roc_auc_score(truth > 0, scores), "prc": average_precision_score(truth > 0, scores)}


def fit_peer(job: dict[str, Any], X: Any, y: np.ndarray) -> dict[str, Any]:
    """Fit another package's model on the same windows, and return what it took and how it predicts."""
    started, used = time.perf_counter(), time.process_time()
    if job["peer"] == "words":
        from acceptor import HashedWords

        words = HashedWords().fit(list(X), y)

        def decide(new: Any) -> np.ndarray:
            return words.decision_function(list(new))

    else:
        from lightgbm import LGBMClassifier

        trees = LGBMClassifier(n_estimators=500, learning_rate=0.05, n_jobs=job["jobs"], verbose=-1)
        trees.fit(X.as_matrix(), y, categorical_feature=list(range(X.require_length())))

        def decide(new: Any) -> np.ndarray:
            return trees.predict_proba(new.as_matrix())[:, 1]

    out = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - used, "n": len(y)}
    none = {"dual": np.nan, "gap": np.nan, "support": 0}
    return out | none | judge(decide, job)


def table_of(windows: Any, y: np.ndarray) -> Any:
    """Return the two halves of the windows, and two numbers that say a little about them."""
    import pandas as pd

    texts = list(windows)
    noise = np.random.default_rng(0).normal(size=len(y))
    gc = [text.count("G") + text.count("C") for text in texts]
    halves = {"left": [text[:70] for text in texts], "right": [text[70:] for text in texts]}
    return pd.DataFrame(halves | {"gc": gc, "x": noise + 0.5 * y})


def dual_of(job: dict[str, Any]) -> Any:
    """Return the dual solver that a job asks for."""
    from kernelweave.dual import Chunking

    return Chunking(job["Q"]) if job.get("Q") else job.get("dual", "auto")


def peak() -> float:
    """Return the peak memory of this process in GB: its own, where `ru_maxrss` begins with its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**20


def run(path: Path, jobs: int, group: Path | None = None, **job: Any) -> dict[str, Any]:
    """Run one fit in a process of its own, inside a control group where one is given."""
    job |= {"path": str(path), "jobs": jobs}
    command = [sys.executable, __file__, "--fit", json.dumps(job)]
    if group is not None:
        command = ["bash", "-c", f'echo $$ > {group / "cgroup.procs"}; exec "$@"', "bash", *command]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def say(name: str, found: dict[str, Any]) -> None:
    """Print one line about a fit, with the reference where there is one."""
    line = f"    {name:<28} {found['seconds']:8.1f} s ({found['cpu']:.1f} CPU)"
    if found["support"]:  # other packages have none of these
        line += f"  dual {found['dual']:.4f}  gap {found['gap']:.1e}  {found['support']:,} support"
    line += f"  {found['rss']:.2f} GB"
    if "prc" in found:
        line += f"  auROC {found['roc']:.4f} auPRC {found['prc']:.4f} ({found['n_test'] / found['predict']:,.0f}/s)"
    if name in REFERENCE:
        away = abs(found["dual"] - REFERENCE[name]) / REFERENCE[name]
        line += f"  reference {REFERENCE[name]}: {away:.1e} away"
    print(line, flush=True)


# -- parts -------------------------------------------------------------------------------------------------------------


def part_acceptor(jobs: int) -> None:
    test, times = prepare("acceptor-test"), {}
    for n in (10_000, 30_000, 100_000):
        path = prepare(f"acceptor-{n}")
        if path is None or test is None:
            return
        found = run(path, 1, test=str(test))
        times[n] = found["seconds"]
        say(f"acceptor-{n}", found)
    print(f"    100,000 take {times[100_000] / times[10_000]:.1f} times as long as 10,000 (<= 40)")
    matrix, svc = matrix_and_svc(CACHE / "acceptor-10000.kwseq")
    whole = matrix + svc
    print(f"    10,000 by matrix {matrix:.1f} s + SVC {svc:.1f} s: {whole / times[10_000]:.1f} times as long (>= 4)")


def matrix_and_svc(path: Path) -> tuple[float, float]:
    """Return the seconds that the matrix by our own kernel takes, and SVC on it."""
    from sklearn.svm import SVC

    from kernelweave import WeightedDegree
    from kernelweave.sequences import SequenceSet

    X, y = SequenceSet.open(path), np.load(path.with_suffix(".labels.npy"))
    kernel = WeightedDegree(degree=20).normalized()
    kernel(X.rows(slice(0, 100)))  # compiles
    started = time.perf_counter()
    K = kernel(X)
    middle = time.perf_counter()
    SVC(kernel="precomputed", C=1.0).fit(K, y)
    return middle - started, time.perf_counter() - middle


def part_million(jobs: int, source: str = "genome") -> None:
    path = prepare(f"{source}-1000000")
    if path is None:
        return
    small = run(path, jobs, limit=100_000)
    say(f"{source}-100000", small)
    large = run(path, jobs)
    say(f"{source}-1000000", large)
    print(f"    a million takes {large['seconds'] / small['seconds']:.1f} times as long as 100,000 (<= 20)")


def part_synthetic(jobs: int) -> None:
    part_million(jobs, "synthetic")


def part_genome(jobs: int) -> None:
    path, test = prepare("genome-I+II+III+IV+V"), prepare("genome-X")
    if path is not None and test is not None:
        found = run(path, jobs, test=str(test))
        print(f"    {found['n']:,} windows of I to V, {found['sites']:,} sites; {found['n_test']:,} windows of X")
        say("genome", found)


def part_whole(jobs: int) -> None:
    path = prepare("genome-I+II+III+IV+V+X")
    if path is not None:
        found = run(path, jobs)
        print(f"    {found['n']:,} windows (8 minutes, 4 GB), {found['sites']:,} sites")
        say("whole genome", found)


def part_degrees(jobs: int) -> None:
    path = prepare("genome-1000000")
    if path is None:
        return
    one, degrees = (run(path, jobs, limit=100_000, split=split) for split in (None, ["degree"]))
    say("one kernel, 100,000", one)
    say("20 degrees, 100,000", degrees)
    print(f"    {degrees['seconds'] / one['seconds']:.1f} times one kernel (<= 6), {degrees['steps']} steps")
    large = run(path, jobs, split=["degree"])
    say("20 degrees, 1,000,000", large)
    print("    weights:", " ".join(f"{weight:.3f}" for weight in large["weights"]))


def part_threads(jobs: int) -> None:
    for name, limit in (("acceptor-100000", None), ("genome-1000000", 100_000), ("genome-1000000", None)):
        path = prepare(name)
        if path is None:
            continue
        one, two = (run(path, n_jobs, limit=limit) for n_jobs in (1, 2))
        say(f"{one['n']:,} on one thread", one)
        say(f"{one['n']:,} on two threads", two)
        same = "the same bits" if one["bits"] == two["bits"] else "OTHER BITS"
        print(f"    {one['seconds'] / two['seconds']:.2f} times as fast (>= 1.7), {same}")


def part_shifts(jobs: int) -> None:
    prepare("genome-X")
    judged = {"acceptor": "acceptor-test", "genome": "genome-X"}
    shifted = "WeightedDegree(degree=10, shift=3).normalized()"
    ways: dict[str, dict[str, Any]] = {
        "degree 20": {},
        "degree 10": {"degree": 10},
        "degree 10, shift 3": {"expression": shifted},
        "MKL over degrees": {"degree": 10, "split": ["degree"]},
        "MKL over degrees, shift 3": {"expression": shifted + ".split('degree')"},
        "hashed words + LinearSVC": {"peer": "words"},
        "LightGBM": {"peer": "boosting"},
    }
    for name in ("acceptor-10000", "acceptor-100000", "genome-1000000"):
        path, test = prepare(name), prepare(judged[name.partition("-")[0]])
        if path is None or test is None:
            continue
        print(f"    {name}")
        for way, job in ways.items():
            if job.get("peer") == "boosting" and importlib.util.find_spec("lightgbm") is None:
                continue
            say(way, run(path, jobs, test=str(test), test_limit=200_000, **job))


def part_positions(jobs: int) -> None:
    path = prepare("acceptor-100000")
    if path is None:
        return
    found = run(path, jobs, split=["position"])
    say("141 positions, 100,000", found)
    weights = np.array(found["weights"])
    best = np.argsort(-weights)[:10]
    print("    heaviest positions (the A of AG is at 60):", " ".join(f"{i}: {weights[i]:.3f}" for i in sorted(best)))
    draw_positions(weights)


def draw_positions(weights: np.ndarray) -> None:
    """Draw the weight of every position, counted from the A of AG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    fig, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
    ax.bar(np.arange(len(weights)) - 60, weights, width=0.9, color="#3b6ea5")
    ax.axvspan(-0.5, 1.5, color="#d95f3b", alpha=0.25, lw=0)
    ax.text(0.5, 1.01, "AG", transform=ax.get_xaxis_transform(), ha="center", va="bottom", color="#b03a1a")
    ax.set(xlabel="position of the word's first letter, from the A of AG", ylabel="learned weight")
    ax.set_title("Which positions tell an acceptor site: 100,000 windows of C. elegans", pad=18)
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.01)
    save(fig, "positions.png")


def save(fig: Any, name: str) -> None:
    """Write a figure into the folder of results."""
    target = Path(__file__).parent / "results" / name
    target.parent.mkdir(exist_ok=True)
    fig.savefig(target, dpi=110)
    print(f"    drawn to {target}")


def part_columns(jobs: int) -> None:
    left = "WeightedDegree(degree=20).normalized().on('left')"
    kernels = {
        "words left + words right": left + " + WeightedDegree(degree=20).normalized().on('right')",
        "words left + spectrum right": left + " + Spectrum(k=5).normalized().on('right')",
        "words left + two numbers": left + " + RBF(gamma=0.5).on(['gc', 'x'])",
    }
    path = prepare("synthetic-1000000")
    assert path is not None
    for name, kernel in kernels.items():
        print(f"    {name}")
        for n in (12_000, 40_000, 100_000):
            found = run(path, jobs, limit=n, kernel=kernel)
            say(f"{n:,}", found)
            if n <= 40_000:
                other = run(path, jobs, limit=n, kernel=kernel, dual="chunking")
                say("    by chunking", other)
                print(f"        {other['seconds'] / found['seconds']:.1f} times as long")


def part_chunking(jobs: int) -> None:
    path = prepare("acceptor-100000") or prepare("synthetic-1000000")
    if path is None:
        return
    sizes = (1_000, 3_000, 10_000, 30_000, 100_000)
    ways: dict[str, tuple[int, dict[str, Any]]] = {f"Q = {Q}": (4, {"Q": Q}) for Q in (42, 112)}
    ways |= {f"Q = {Q}": (5, {"Q": Q}) for Q in (512, 2_000)}
    ways |= {"active set": (5, {"dual": "active_set"}), "coordinate": (5, {"dual": "coordinate"})}
    ways["matrix, SMO"] = (3, {"dual": "smo"})
    print("    CPU seconds on one thread by samples, and how they grow from 3,000 on")
    print("    " + " " * 12 + "".join(f"{n:10,}" for n in sizes))
    table, slopes = {}, {}
    for name, (count, job) in ways.items():
        table[name] = [run(path, 1, limit=n, **job)["cpu"] for n in sizes[:count]]
        slopes[name] = float(np.polyfit(np.log(sizes[1:count]), np.log(table[name][1:]), 1)[0])
        cells = "".join(f"{seconds:10.2f}" for seconds in table[name]) + " " * 10 * (len(sizes) - count)
        print(f"    {name:<12}{cells}  N^{slopes[name]:.2f}", flush=True)
    draw_chunking(sizes, table, slopes)


def draw_chunking(sizes: tuple[int, ...], table: dict[str, list[float]], slopes: dict[str, float]) -> None:
    """Draw seconds by samples on logarithmic axes, with the fitted exponents."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for (name, seconds), marker in zip(table.items(), "osD^vPX", strict=False):
        ax.loglog(sizes[: len(seconds)], seconds, marker=marker, label=f"{name}: N^{slopes[name]:.1f}")
    ax.set(xlabel="training windows, N", ylabel="CPU seconds", title="Training time, one thread")
    ax.legend(frameon=False)
    ax.grid(alpha=0.3)
    save(fig, "chunking.png")


def part_generator(jobs: int) -> None:
    n = 10_000_000
    command = [sys.executable, __file__, "--generate", str(n)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    print(
        f"    {n:,} windows in {found['seconds']:.1f} s ({found['cpu']:.1f} CPU) on one thread, {found['rss']:.2f} GB "
        f"of memory, {found['disk']:.2f} GB of disk"
    )
    for source in ("sites", "acceptor"):
        for n in (10_000, 30_000):
            path, test = prepare(f"{source}-{n}"), prepare(f"{source}-test")
            if path is not None and test is not None:
                found = run(path, jobs, test=str(test))
                say(f"{source}-{n}", found)
                print(f"        {found['sites'] / n:.1%} sites; judged on {found['n_test']:,} windows")


def generate(n: int) -> dict[str, float]:
    """Write windows to a file in this process, and return what it took; the file is removed."""
    from kernelweave.datasets import make_splice_sites

    make_splice_sites(1_000, random_state=0)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        started, used = time.perf_counter(), time.process_time()
        make_splice_sites(n, random_state=0, path=Path(folder) / "windows.kwseq")
        out = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - used, "rss": peak()}
        return out | {"disk": sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e9}


def part_text(jobs: int) -> None:
    from kernelweave import MKLClassifier, Spectrum

    rng = np.random.default_rng(0)
    vocabulary = np.array(
        ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), rng.integers(3, 9))) for _ in range(5000)]
    )
    usual = rng.dirichlet(np.full(5000, 0.1))
    odd = 0.9 * usual + 0.1 * rng.dirichlet(np.full(5000, 0.05))
    y = np.where(np.arange(1200) % 2, 1, -1)
    model = MKLClassifier(
        Spectrum(k=5, alphabet="bytes").normalized(), norm="fixed", scaling=None, C=10.0, dual="active_set"
    )
    seconds, letters = [], []
    for n_words in (50, 150, 500, 1500, 5000):
        texts = [" ".join(rng.choice(vocabulary, n_words, p=odd if label > 0 else usual)) for label in y]
        model.fit(texts[:100], y[:100])
        started = time.process_time()
        model.fit(texts, y)
        seconds.append(time.process_time() - started)
        letters.append(sum(map(len, texts)))
        print(
            f"    {letters[-1] / 1e6:6.2f} MB in 1,200 documents: {seconds[-1]:6.2f} s, gap {model.gap_:.1e}, "
            f"{1e9 * seconds[-1] / letters[-1]:.0f} ns a letter",
            flush=True,
        )
    slope = np.polyfit(np.log(letters[1:]), np.log(seconds[1:]), 1)[0]
    print(f"    grows as length^{slope:.2f}")


def part_limit(jobs: int) -> None:
    group = memory_group(1.15)
    if group is None:
        print("    left out: no control group for memory can be made here")
        return
    path = prepare("protein-900000")
    assert path is not None
    with path.open("rb") as file:  # what the system holds of it already would not count
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    found = run(path, jobs, group, degree=3, C=0.1, memory="500MB")
    say("1.15 GB of memory", found)
    most = group / "memory.max_usage_in_bytes"
    used = f", the group used {int(most.read_text()) / 1e9:.2f} GB at most" if most.exists() else ""
    print(f"    the file of proteins has {path.stat().st_size / 1e9:.2f} GB{used}")
    group.rmdir()


def memory_group(limit_gb: float) -> Path | None:
    """Return a new control group that may use so much memory, or None where there is none to be had."""
    for parent, file in (("memory", "memory.limit_in_bytes"), ("", "memory.max")):
        group = Path("/sys/fs/cgroup") / parent / "kernelweave-benchmark"
        try:
            group.mkdir(exist_ok=True)
            (group / file).write_text(str(int(limit_gb * 1e9)))
        except OSError:
            continue
        return group
    return None


PARTS = {name[5:]: value for name, value in list(globals().items()) if name.startswith("part_")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    parser.add_argument("--generate", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(options.write)
    elif options.fit:
        print(json.dumps(fit(json.loads(options.fit))))
    elif options.generate:
        print(json.dumps(generate(options.generate)))
    else:
        for name in options.parts or ("acceptor", "synthetic"):
            print(name)
            PARTS[name](options.jobs)


if __name__ == "__main__":
    main()
