"""What machines say about motifs that are known: python benchmarks/explain.py [--small] [--jobs N].

Two motifs of seven letters at fixed places under growing noise, one of three letters that moves, and real splice sites:
how well the machines do, whether the extraction of k-mers finds the motifs, and how long it takes. The data folder is
KERNELWEAVE_DATA, or ../shared/data beside the project.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from acceptor import read
from sklearn.metrics import roc_auc_score

from kernelweave import MKLClassifier, WeightedDegree
from kernelweave.datasets import make_motifs, make_shifted_motif
from kernelweave.explain import contributions, importance, kmer_scores, kmer_table, logo, mutation_map, poim

#: What the paper reports, per cent.
FIXED, SHIFTED = {0: 100.0, 2: 100.0, 4: 99.8, 5: 85.0}, {0: 92.8, 15: 96.6}


def machine(degree: int, C: float, shift: int = 0, jobs: int = 1) -> MKLClassifier:
    kernel = WeightedDegree(degree=degree, shift=shift).normalized()
    return MKLClassifier(kernel, C=C, norm="fixed", scaling=None, tol=1e-3, n_jobs=jobs)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def letters_at(model: MKLClassifier, places: np.ndarray) -> str:
    """The letters of the largest score of order 1 at some positions."""
    found = logo(model, min_share=0.0)
    return "".join(found.letters[c] for c in found.values[places].argmax(axis=1))


def fixed_motifs(n_test: int, jobs: int) -> None:
    print(f"GATTACA at 10, AGTAGTG at 30; degree 20, C = 2; 1,000 sequences to learn from, {n_test:,} to judge by")
    for noise, reported in FIXED.items():
        X, y = make_motifs(1000 + n_test, noise=noise, random_state=0)
        model, fitting = timed(lambda: machine(20, 2.0, jobs=jobs).fit(X[:1000], y[:1000]))  # noqa: B023
        auc = 100 * roc_auc_score(y[1000:], model.decision_function(X[1000:]))
        found, seconds = timed(lambda: importance(model))  # noqa: B023
        gains = importance(model, how="differential").values.max(axis=1).round(2).tolist()
        best = {k: np.argsort(-found.values[k - 1])[:4].tolist() for k in (3, 7)}
        print(
            f"  {noise} of 7 letters random: auROC {auc:.1f} % (paper {reported}); letters by score "
            f"{letters_at(model, np.arange(10, 17))} {letters_at(model, np.arange(30, 37))}; best 3-mers at {best[3]}, "
            f"7-mers at {best[7]}; what lengths 1-8 add {gains}; fit {fitting:.2f} s, importance 1-8 {seconds:.2f} s"
        )


def shifted_motif(n: int, jobs: int) -> None:
    print(f"AAA somewhere in 49-67; degree 20, C = 1; {n:,} sequences to learn from, {n:,} to judge by")
    X, y = make_shifted_motif(2 * n, random_state=0)
    for shift, reported in SHIFTED.items():
        model, fitting = timed(lambda: machine(20, 1.0, shift, jobs).fit(X[:n], y[:n]))  # noqa: B023
        f, scoring = timed(lambda: model.decision_function(X[n:]))  # noqa: B023
        scores, seconds = timed(lambda: kmer_scores(model, 3))  # noqa: B023
        words = scores.kmers[scores.values.argmax(axis=0)]
        whole, more = timed(lambda: importance(model, how="differential"))  # noqa: B023
        print(
            f"  shift {shift}: auROC {100 * roc_auc_score(y[n:], f):.1f} % (paper {reported}); best 3-mer is AAA from "
            f"{np.flatnonzero(words == 'AAA').min(initial=99)} to {np.flatnonzero(words == 'AAA').max(initial=0)}; "
            f"words of {whole.orders[whole.values.max(axis=1).argmax()]} letters add most; {len(model.support_):,} "
            f"support sequences; fit {fitting:.1f} s, predict {scoring:.1f} s, scores {seconds:.2f} s, "
            f"importance {more:.2f} s"
        )


def splice_sites(n: int, jobs: int) -> None:
    data = read("train141.csv.gz", n)
    if data is None:
        return
    model = machine(20, 1.0, jobs=jobs).fit(*data)
    print(
        f"C. elegans acceptor sites: {n:,} windows of 141 letters, degree 20, {len(model.support_):,} support windows"
    )
    work: dict[str, Callable[[], Any]] = {
        "importance of orders 1-8": lambda: importance(model),
        "all scores of order 3": lambda: kmer_scores(model, 3),
        "all scores of order 8": lambda: kmer_scores(model, 8),
        "POIM of order 3, counted background": lambda: poim(model, 3),
        "the 1,000 largest words": lambda: kmer_table(model, top=1000),
        "contributions of 1,000 windows": lambda: contributions(model, data[0][:1000]),
        "all mutants of one window": lambda: mutation_map(model, data[0][0]),
    }
    for name, one in work.items():
        print(f"  {name:<38} {timed(one)[1]:.2f} s")
    for shown in (importance(model, [3, 5, 6]), importance(model, [1])):
        best = {int(k): np.argsort(-row)[:5].tolist() for k, row in zip(shown.orders, shown.values, strict=True)}
        print(f"  positions of the largest scores by order: {best}")
    print(poim(model, 2).table(top=8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the sequences")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    part = 10 if options.small else 1
    fixed_motifs(10_000 // part, options.jobs)
    shifted_motif(2_500 // part, options.jobs)
    splice_sites(100_000 // part, options.jobs)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
