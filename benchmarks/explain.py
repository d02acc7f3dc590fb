"""What machines say about motifs that are known: python benchmarks/explain.py [part ...] [--small] [--jobs N].

How well the machines do, whether the extraction of k-mers and learned weights find the motifs, and how long it takes:

    fixed       two motifs of seven letters at fixed places under growing noise
    shifted     one motif of three letters that moves
    degrees     what weights the lengths of words get under growing noise, the motifs at fixed places
    stability   which positions are significant, by 30 or 100 refits with true labels and as many with permuted ones
    chance      how often `stability` finds something where there is nothing, and misses something where there is
    splice      real splice sites

The data folder is KERNELWEAVE_DATA, or ../shared/data beside the project.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
from acceptor import read
from sklearn.metrics import roc_auc_score

from kernelweave import Linear, MKLClassifier, WeightedDegree, per_feature
from kernelweave.datasets import make_motifs, make_shifted_motif
from kernelweave.explain import (
    contributions,
    importance,
    kmer_scores,
    kmer_table,
    logo,
    mutation_map,
    poim,
    stability,
)

#: The motifs of `make_motifs`, by where they begin.
MOTIFS = {10: "GATTACA", 30: "AGTAGTG"}
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


def best_possible(noise: int) -> float:
    """The auROC of the likelihood ratio where both motifs are known, exactly.

    A motif with m of 7 letters right leaves comb(m, 7 − noise) ways to choose the letters that are not random; the
    likelihood ratio is the product of these for both motifs, but for a constant.
    """

    def ratios(kept: int) -> tuple[np.ndarray, np.ndarray]:
        """All ratios, and how likely they are where so many letters are kept and the others are random."""
        random = np.arange(8 - kept)
        ways = np.array([comb(kept + int(k), 7 - noise) for k in random])
        likely = np.array([comb(7 - kept, int(k)) for k in random]) * 0.25**random * 0.75 ** (7 - kept - random)
        return np.outer(ways, ways).ravel(), np.outer(likely, likely).ravel()

    (with_motifs, p), (without, q) = ratios(7 - noise), ratios(0)
    above = np.sign(with_motifs[:, None] - without) / 2 + 0.5
    return float(p @ above @ q)


def fixed_motifs(part: int, jobs: int) -> None:
    n_test = 10_000 // part
    print(f"GATTACA at 10, AGTAGTG at 30; degree 20, C = 2; 1,000 sequences to learn from, {n_test:,} to judge by")
    for noise, reported in FIXED.items():
        X, y = make_motifs(1000 + n_test, noise=noise, random_state=0)
        model, fitting = timed(lambda: machine(20, 2.0, jobs=jobs).fit(X[:1000], y[:1000]))  # noqa: B023
        auc = 100 * roc_auc_score(y[1000:], model.decision_function(X[1000:]))
        best_auc = 100 * best_possible(noise)
        found, seconds = timed(lambda: importance(model))  # noqa: B023
        gains = importance(model, how="differential").values.max(axis=1).round(2).tolist()
        best = {k: np.argsort(-found.values[k - 1])[:4].tolist() for k in (3, 7)}
        print(
            f"  {noise} of 7 letters random: auROC {auc:.1f} % (paper {reported}, best possible {best_auc:.1f}); "
            f"letters by score {letters_at(model, np.arange(10, 17))} {letters_at(model, np.arange(30, 37))}; best "
            f"3-mers at {best[3]}, 7-mers at {best[7]}; what lengths 1-8 add {gains}; fit {fitting:.2f} s, importance "
            f"1-8 {seconds:.2f} s"
        )


def shifted_motif(part: int, jobs: int) -> None:
    for n in (2_500 // part, 5_000 // part):
        _shifted_motif(n, jobs)


def _shifted_motif(n: int, jobs: int) -> None:
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


def degrees(part: int, jobs: int) -> None:
    n = 1_000 // part
    print(f"GATTACA at 10, AGTAGTG at 30; learned weights of the degrees 1-8, C = 2; {n:,} sequences")
    for noise in FIXED:
        X, y = make_motifs(n, noise=noise, random_state=0)
        model = MKLClassifier(WeightedDegree(degree=8).split("degree"), C=2.0, tol=1e-3, n_jobs=jobs).fit(X, y)
        cells = " ".join(f"{weight:.2f}" for weight in model.weights_)
        print(f"  {noise} of 7 letters random: {cells}; mean length {model.weights_ @ np.arange(1, 9):.1f}")


def stable_positions(part: int, jobs: int) -> None:
    print("GATTACA at 10, AGTAGTG at 30 in half of 400 sequences; degree 3, 50 terms, one for each position")
    model = MKLClassifier(WeightedDegree(degree=3).split("position"))
    words = {p for start in MOTIFS for p in range(start - 2, start + 7)}  # where words of three letters touch them
    for noise in (0, 2, 4):
        X, y = make_motifs(400, noise=noise, positives=0.5, random_state=0)
        model.fit(X[:100], y[:100])  # compiles
        for n in (30, 100) if part == 1 else (20,):
            options = {"n_bootstrap": n, "n_permutations": n, "random_state": 0, "n_jobs": jobs}
            found, seconds = timed(lambda: stability(model, X, y, **options))  # noqa: B023
            hits, often = (np.flatnonzero(chosen).tolist() for chosen in (found.significant, found.frequency > 0.5))
            print(
                f"  {noise} of 7 letters random, {n} + {n} refits in {seconds:.1f} s: significant at {hits}, "
                f"{len(words.intersection(hits))} of {len(hits)} touch a motif; selected in more than half of the "
                f"refits {len(often)} positions, {len(words.intersection(often))} of which do"
            )


def chance(part: int, jobs: int) -> None:
    print("normal features, each with a linear term; 20 refits with permuted labels")
    model = MKLClassifier(per_feature(Linear()))
    for sets, n, terms, refits, meaning in ((60, 40, 4, 3, False), (60, 60, 6, 20, False), (40, 60, 6, 20, True)):
        found = []
        for seed in range(sets // part):
            X = np.random.default_rng(seed).standard_normal((n, terms))
            rng = np.random.default_rng(100 + seed)
            y = 2.0 * X[:, 0] + rng.standard_normal(n) > 0 if meaning else rng.integers(2, size=n)
            options = {"n_bootstrap": refits, "n_permutations": 20, "random_state": seed, "n_jobs": jobs}
            found.append(stability(model, X, y, **options).significant)
        first, others = np.array(found)[:, 0], np.array(found)[:, 1:].any(axis=1)
        print(
            f"  {len(found)} sets of {n} samples, {terms} terms, {refits} refits with true labels; "
            f"{'the first term matters' if meaning else 'labels without meaning'}: something significant in "
            f"{np.sum(first | others)}, the first term in {np.sum(first)}, another one in {np.sum(others)}"
        )


def splice_sites(part: int, jobs: int) -> None:
    n = 100_000 // part
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


PARTS = {
    "fixed": fixed_motifs,
    "shifted": shifted_motif,
    "degrees": degrees,
    "stability": stable_positions,
    "chance": chance,
    "splice": splice_sites,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--small", action="store_true", help="a tenth of the sequences and sets")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for name in options.parts or PARTS:
        PARTS[name](10 if options.small else 1, options.jobs)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
