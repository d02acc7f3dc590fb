"""Spectrum, n-gram and word kernels on long texts and on real data: python benchmarks/text.py [--quick].

Documents of 30 kB drawn from one vocabulary. Ratios are taken within one run; lines marked ">=" or "<=" have a target.
Real data are read from KERNELWEAVE_DATA (by default the folder shared/data beside the project), where they exist.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from kernelweave import BagOfWords, GappedKmer, Linear, Mismatch, MKLClassifier, Spectrum
from kernelweave._fast import jit
from kernelweave.gram import FeatureGram
from kernelweave.kernels import Kernel
from kernelweave.kernels.explicit import ExplicitKernel
from kernelweave.views import Views, as_views

LETTERS = 30_000
DATA = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def documents(rng: np.random.Generator, n: int, n_words: int = 20_000) -> list[bytes]:
    """Documents of LETTERS bytes whose words are drawn by Zipf's law from one vocabulary."""
    alphabet = np.frombuffer(b"etaoinshrdlcumwfgypbvkjxqz", np.uint8)
    share = 1.0 / np.arange(3, 29)
    share /= share.sum()
    words = [rng.choice(alphabet, rng.integers(2, 11), p=share).tobytes() for _ in range(n_words)]
    often = 1.0 / np.arange(1, n_words + 1)
    picks = rng.choice(n_words, (n, LETTERS // 3), p=often / often.sum())
    return [b" ".join(words[i] for i in row)[:LETTERS] for row in picks]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def check(name: str, ratio: float, target: float, at_least: bool = True) -> None:
    good = ratio >= target if at_least else ratio <= target
    print(f"    {name}: {ratio:.3g}x ({'>=' if at_least else '<='} {target:g}: {'yes' if good else 'NO'})", flush=True)


def peak(kernel: Kernel, X: Views) -> int:
    """Return the most memory that binding and one product take at a time, beyond the text."""
    coef = np.ones(len(X))
    tracemalloc.start()
    FeatureGram([kernel], X).apply(coef, np.ones(1))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def memory(rng: np.random.Generator, n: int) -> None:
    print("\nMemory of features and products, beyond the text itself")
    texts = documents(rng, n)
    for kernel in (Spectrum(4, alphabet="bytes"), Spectrum(12, alphabet="bytes")):
        half, whole = as_views(texts[: n // 2]), as_views(texts)
        for X in (half, whole):
            X.sequences("bytes")
        peak(kernel, as_views(texts[:4]))  # compiles
        small, large = peak(kernel, half), peak(kernel, whole)
        print(f"    {kernel!r}: {small / 1e6:.0f} MB for {n // 2 * LETTERS / 1e6:.0f} MB of text, "
              f"{large / 1e6:.0f} MB for {n * LETTERS / 1e6:.0f} MB")  # fmt: skip
        check("twice the text", large / small, 2.2, at_least=False)
        print(f"    bytes per letter: {large / (n * LETTERS):.1f}")


@jit
def merge_dot(features_a, values_a, features_b, values_b):
    """Inner product of two sparse vectors with sorted features."""
    total, i, j = 0.0, 0, 0
    while i < len(features_a) and j < len(features_b):
        a, b = features_a[i], features_b[j]
        if a == b:
            total += values_a[i] * values_b[j]
        # Both steps are sums, not branches: which side is behind cannot be guessed.
        i += a <= b
        j += b <= a
    return total


@jit
def merge_block(features_a, values_a, starts_a, features_b, values_b, starts_b, out):
    """Sparse rows (features, values, starts) of two sets -> out (na, nb), all inner products."""
    for i in range(len(starts_a) - 1):
        fa, va = features_a[starts_a[i] : starts_a[i + 1]], values_a[starts_a[i] : starts_a[i + 1]]
        for j in range(len(starts_b) - 1):
            b = slice(starts_b[j], starts_b[j + 1])
            out[i, j] = merge_dot(fa, va, features_b[b], values_b[b])


def pairwise(kernel: ExplicitKernel, X: Views, n_rows: int) -> Callable[[], np.ndarray]:
    """Return the work of n_rows rows of the matrix, pair by pair, from sorted k-mers: each pair is one merge."""
    from kernelweave._fast.features import spectrum_keys
    from kernelweave._fast.kmers import count_kmers

    sequences = X.sequences("bytes")
    keys, starts = spectrum_keys(sequences.flat_codes(), sequences.offsets, kernel.k, 8, 256)
    features, counts, starts = count_kmers(keys, starts)
    out = np.empty((n_rows, len(X)))

    def work() -> np.ndarray:
        merge_block(features, counts, starts[: n_rows + 1], features, counts, starts, out)
        return out

    return work


def linadd(rng: np.random.Generator, n: int) -> None:
    print(f"\nK @ coef for {n} documents of {LETTERS / 1e3:.0f} kB, one thread")
    X, coef, weights, n_rows = as_views(documents(rng, n)), rng.normal(size=n), np.ones(1), 20
    FeatureGram([Spectrum(4, alphabet="bytes")], as_views([b"a few letters", b"more letters"])).apply(
        np.ones(2), weights
    )
    for k in (4, 6):
        kernel = Spectrum(k, alphabet="bytes")
        work = pairwise(kernel, X, n_rows)
        work()
        pairs = seconds(work) * n / n_rows
        gram = FeatureGram([kernel], X)
        built = seconds(lambda: gram.maps[0].keep())  # noqa: B023
        product = min(seconds(lambda: gram.apply(coef, weights)) for _ in range(3))  # noqa: B023
        few = np.where(np.arange(n) < 42, coef, 0.0)
        change = min(seconds(lambda: gram.apply(few, weights)) for _ in range(3))  # noqa: B023
        np.testing.assert_allclose(gram.apply(coef, weights)[:n_rows], work() @ coef, rtol=1e-9)
        print(f"    k = {k}: features {built:.2f} s ({gram.nbytes / 1e6:.0f} MB), product {product * 1e3:.0f} ms, "
              f"of 42 documents {change * 1e3:.0f} ms; pair by pair {pairs:.1f} s")  # fmt: skip
        check("linadd with its features against pairs", pairs / (built + product), 10)
        check("linadd against pairs", pairs / product, 10)
        two = FeatureGram([kernel], X, n_jobs=2, maps=gram.maps)
        print(f"    two threads: {product / min(seconds(lambda: two.apply(coef, weights)) for _ in range(3)):.2f}x")  # noqa: B023


def table(name: str) -> list[dict[str, str]] | None:
    """Read data.csv.gz of a set, or say that it is not there."""
    path = DATA / name / "data.csv.gz"
    if not path.exists():
        print(f"    skipped: {path.parent.name} is not in the data folder; set KERNELWEAVE_DATA", flush=True)
        return None
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def spam(quick: bool) -> None:
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    print("\nSMS spam, accuracy in five folds (character 2- to 4-grams with a linear machine: .990)")
    rows = table("text_sms_spam")
    if rows is None:
        return
    rows = rows[::5] if quick else rows
    X, y = np.array([row["text"] for row in rows], dtype=object), np.array([int(row["y"]) for row in rows])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    grams = Spectrum(4, min_k=2, values="binary", alphabet="text").normalized()
    words = BagOfWords(values="binary").normalized()
    for kernel in (grams, words, grams + words, grams.split("degree") + words):
        started = time.perf_counter()
        scores = cross_val_score(MKLClassifier(kernel=kernel, C=10.0, tol=1e-2), X, y, cv=folds)
        print(f"    {scores.mean():.4f}  {kernel!r}  ({time.perf_counter() - started:.0f} s)", flush=True)


def rare_words(quick: bool) -> None:
    """Print the table of docs/howto/tables.md: words that count more where they are rare, beside TF-IDF matrices."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    print("\nSMS spam without repeats: accuracy, average precision, CPU seconds of five folds")
    rows = table("text_sms_spam")
    if rows is None:
        return
    found = {row["text"]: int(row["y"]) for row in rows}
    X, y = np.array(list(found), dtype=object), np.array(list(found.values()))
    X, y = (X[::5], y[::5]) if quick else (X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    words, rare, pairs = BagOfWords(), BagOfWords(idf=True), BagOfWords(ngrams=2, idf=True)
    tokens = {"token_pattern": r"[^\s!-&(-/:-@\[-^`{-~]+"}  # as BagOfWords() cuts them
    ways = {
        "TfidfVectorizer() + LinearSVC()": make_pipeline(TfidfVectorizer(), LinearSVC()),
        "the same with pairs of words": make_pipeline(TfidfVectorizer(ngram_range=(1, 2), **tokens), LinearSVC()),
        "TfidfVectorizer() + Linear()": make_pipeline(TfidfVectorizer(), MKLClassifier(Linear())),
        **{repr(k): MKLClassifier(k) for k in (words.normalized(), rare.normalized(), pairs.normalized())},
        "pairs, with idf, and 2 to 4 letters": MKLClassifier(
            pairs.normalized() + Spectrum(4, min_k=2, values="binary", alphabet="text").normalized(), C=10.0
        ),
    }
    for name, model in ways.items():
        started = time.process_time()
        scores = cross_val_predict(model, X, y, cv=folds, method="decision_function")
        spent = time.process_time() - started
        accuracy, precision = np.mean((scores > 0) == (y > 0)), average_precision_score(y, scores)
        print(f"| {name} | {accuracy:.4f} | {precision:.4f} | {spent:.1f} |", flush=True)


def peaks() -> None:
    from sklearn.metrics import roc_auc_score

    print("\nNF-E2 binding sites, auROC on the given test split (spectrum of 5 letters: .958)")
    rows = table("tfbs_nfe2_gkm")
    if rows is None:
        return
    column = next(name for name in rows[0] if name in {"seq", "sequence", "x"})
    X, y = np.array([row[column] for row in rows], dtype=object), np.array([int(row["y"]) for row in rows])
    train = np.array([row.get("split", "train").startswith("tr") for row in rows])
    spectrum = Spectrum(5, reverse_complement=True, alphabet="dna").normalized()
    mismatch = Mismatch(6, 1, alphabet="dna").normalized()
    gapped = GappedKmer(10, 6, reverse_complement=True, alphabet="dna").normalized()
    for kernel in (Spectrum(5, alphabet="dna").normalized(), spectrum, mismatch, gapped, spectrum + mismatch + gapped):
        started = time.perf_counter()
        model = MKLClassifier(kernel=kernel, C=1.0, tol=1e-2).fit(X[train], y[train])
        fitted = time.perf_counter() - started
        score = roc_auc_score(y[~train], model.decision_function(X[~train]))
        print(f"    {score:.4f}  {kernel!r}  (fit {fitted:.1f} s)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer documents")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    n = 200 if quick else 1000
    memory(rng, n // 2)
    linadd(rng, n)
    peaks()
    spam(quick)
    rare_words(quick)


if __name__ == "__main__":
    main()
