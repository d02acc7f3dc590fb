"""What machines say about motifs and splice sites: figures 4.8 to 4.11."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import explain as toys
from kernelweave import MKLClassifier, WeightedDegree
from kernelweave.datasets import make_motifs, make_shifted_motif
from kernelweave.explain import importance, kmer_scores

from . import data, theirs
from .frame import Row, Task, shown
from .style import heat
from .training import PAPER

NOISE = (0, 2, 3, 4, 5)
TRAIN = 1000
#: Bytes for the matrices of 329 terms, so that words are added up and no matrix is held.
MEMORY = "600MB"


def noisy(noise: int, n_test: int) -> tuple[Any, Any]:
    """Return sequences to learn from and to judge by, with so many of seven letters of each motif replaced."""
    data.note("make_motifs, as in the paper", "generated")
    X, y = make_motifs(TRAIN + n_test, noise=noise, random_state=0)
    return (X[:TRAIN], y[:TRAIN]), (X[TRAIN:], y[TRAIN:])


def figure_48(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield, by noise, how well the machine does and whether its scores spell the motifs."""
    for noise in NOISE:

        def work(noise: int = noise) -> dict[str, Any]:
            train, test = noisy(noise, sizes["judged on"])
            model = toys.machine(20, 2.0).fit(*train)
            places = np.concatenate([np.arange(start, start + 7) for start in toys.MOTIFS])
            right = sum(
                a == b for a, b in zip(toys.letters_at(model, places), "".join(toys.MOTIFS.values()), strict=True)
            )
            scores, gains = kmer_scores(model, 1).values, importance(model, how="differential")
            return {
                "auROC": 100 * roc_auc_score(test[1], model.decision_function(test[0])),
                "best possible": 100 * toys.best_possible(noise),
                "letters right, of 14": int(right),
                "length that adds most": int(gains.orders[gains.values.max(axis=1).argmax()]),
                "_importance": np.round(importance(model).values, 3),
                "_letters": np.round(scores - scores.mean(axis=0), 3),
            }

        yield Task(f"{noise} of 7", ("auROC",), work)


def draw_48(fig: Any, result: dict[str, Any]) -> None:
    axes = fig.subplots(2, len(result["series"]), sharex=True, squeeze=False)
    for column, (line, kept) in enumerate(result["series"].items()):
        top, low = axes[:, column]
        values = np.array(kept["importance"])
        heat(top, values, cmap="Greys", vmin=0, extent=(-0.5, values.shape[1] - 0.5, 0.5, len(values) + 0.5))
        top.set_title(f"{line} letters random")
        letters = np.array(kept["letters"])
        heat(low, letters, cmap="RdBu", vmin=-np.abs(letters).max(), vmax=np.abs(letters).max())
        low.set_yticks(range(4), "ACGT")
        low.set_xlabel("position (from 0)")
    axes[0, 0].set_ylabel("letters of the word")
    axes[1, 0].set_ylabel("single letters")


def figure_49(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield, by noise, learned weights of positions and lengths: of one fit, and the mean of bootstraps."""
    for noise in (0, 2, 4, 5):

        def work(noise: int = noise) -> dict[str, Any]:
            (X, y), test = noisy(noise, sizes["judged on"])
            rng, weights, areas = np.random.default_rng(0), [], []
            for number in range(1 + sizes["bootstraps"]):
                rows = np.arange(TRAIN) if number == 0 else rng.integers(0, TRAIN, TRAIN)
                model = position_degree().fit([X[i] for i in rows], y[rows])
                weights.append(model.weights_ / model.weights_.sum())
                areas.append(100 * roc_auc_score(test[1], model.decision_function(test[0])))
            one, mean = by_place(model, weights[0]), by_place(model, np.mean(weights[1:], axis=0))
            return {
                "auROC, one fit": areas[0],
                "auROC, mean": float(np.mean(areas[1:])),
                "weights above 0.001, one fit": int((one > 1e-3).sum()),
                "share inside the motifs, one fit": inside(one),
                "share inside, mean": inside(mean),
                "mean length": float(mean.sum(axis=1) @ np.arange(1, 8)),
                "_one": np.round(one, 4),
                "_mean": np.round(mean, 4),
            }

        yield Task(f"{noise} of 7", ("auROC, one fit", "auROC, mean"), work)


def position_degree() -> MKLClassifier:
    """Return a machine with one weight for each position and length of up to 7 letters."""
    return MKLClassifier(WeightedDegree(degree=7).split("position", "degree"), C=2.0, tol=0.01, memory=MEMORY)


def by_place(model: MKLClassifier, weights: np.ndarray) -> np.ndarray:
    """Return weights as a table of lengths (7) and positions (50)."""
    table = np.zeros((7, 50))
    for name, weight in zip(model.term_names_, weights, strict=True):
        degree, position = map(int, re.search(r"only\(degree=(\d+), position=(\d+)\)", name).groups())  # type: ignore
        table[degree - 1, position] = weight
    return table


def inside(table: np.ndarray) -> float:
    """Return the share of the weight on words that touch a motif."""
    total = 0.0
    for k, row in enumerate(table, start=1):
        touching = {p for start in toys.MOTIFS for p in range(start - k + 1, start + 7)}
        total += row[sorted(touching)].sum()
    return float(total / table.sum())


def draw_49(fig: Any, result: dict[str, Any]) -> None:
    axes = fig.subplots(2, len(result["series"]), sharex=True, sharey=True, squeeze=False)
    for column, (line, kept) in enumerate(result["series"].items()):
        for ax, key in zip(axes[:, column], ("one", "mean"), strict=True):
            heat(ax, np.array(kept[key]), cmap="Greys", vmin=0, extent=(-0.5, 49.5, 0.5, 7.5))
        axes[0, column].set_title(f"{line} letters random")
        axes[1, column].set_xlabel("position (from 0)")
    axes[0, 0].set_ylabel("one fit:\nletters of the word")
    axes[1, 0].set_ylabel("mean of bootstraps:\nletters of the word")


def figure_410(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield how well machines with and without shifts find a motif that moves, and what they look at."""
    n = sizes["sequences"]
    for shift, line in ((0, "without shift"), (15, "shift 15")):

        def work(shift: int = shift) -> dict[str, Any]:
            data.note("make_shifted_motif, as in the paper", "generated")
            X, y = make_shifted_motif(2 * n, random_state=0)
            model = toys.machine(20, 1.0, shift).fit(X[:n], y[:n])
            scores = kmer_scores(model, 3)
            words = scores.kmers[scores.values.argmax(axis=0)]
            found = np.flatnonzero(words == "AAA")
            gains = importance(model, how="differential")
            return {
                "auROC": 100 * roc_auc_score(y[n:], model.decision_function(X[n:])),
                "AAA from": int(found.min(initial=99)),
                "AAA to": int(found.max(initial=0)),
                "length that adds most": int(gains.orders[gains.values.max(axis=1).argmax()]),
                "_importance": np.round(gains.values, 3),
                "_trimers": np.round(scores.values - scores.values.mean(axis=0), 3),
                "_kmers": list(map(str, scores.kmers)),
            }

        yield Task(line, ("auROC",), work)


def draw_words(fig: Any, kept: dict[str, Any], title: str) -> None:
    """Draw what lengths add by position, and the scores of words."""
    left, right = fig.subplots(1, 2)
    gains, scores = np.array(kept["importance"]), np.array(kept["trimers"])
    heat(left, gains, cmap="Greys", vmin=0, extent=(-0.5, gains.shape[1] - 0.5, 0.5, len(gains) + 0.5))
    left.set(xlabel="position (from 0)", ylabel="letters of the word", title=title)
    limit = np.abs(scores).max()
    image = heat(right, scores, cmap="RdBu", vmin=-limit, vmax=limit)
    right.set_yticks(range(len(scores)), kept["kmers"], fontsize=5 if len(scores) > 20 else 8, family="monospace")
    right.set(xlabel="position (from 0)", title="scores of words; blue speaks for the class")
    fig.colorbar(image, ax=right)


def draw_410(fig: Any, result: dict[str, Any]) -> None:
    draw_words(fig, result["series"]["shift 15"], "what one letter more adds, shift 15")


def figure_411(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield how well the machine does on splice sites, and where its heaviest words are."""
    for n in sizes["N"]:

        def work(n: int = n) -> dict[str, Any]:
            model = toys.machine(20, 1.0).fit(*data.worm(n))
            X, y = data.worm_test()
            f = model.decision_function(X)
            found, pairs = importance(model), kmer_scores(model, 2)
            long = found.values[4:6].max(axis=0)
            near = np.sort(np.argsort(-long)[:2])
            upstream = pairs.values[list(pairs.kmers).index("GT"), :40] - pairs.values[:, :40].mean(axis=0)
            return {
                "auROC": 100 * roc_auc_score(y > 0, f),
                "heaviest 5- and 6-mers at": ", ".join(str(p + 1) for p in near),
                "GT upstream is heaviest at": int(upstream.argmax()) + 1,
                "support": len(model.support_),
                "_importance": np.round(found.values, 3),
                "_trimers": np.round(pairs.values - pairs.values.mean(axis=0), 3),
                "_kmers": list(map(str, pairs.kmers)),
            }

        yield Task(shown(n), ("auROC",), work)


def draw_411(fig: Any, result: dict[str, Any]) -> None:
    draw_words(fig, list(result["series"].values())[-1], "importance; AG at 60 and 61")


ROWS = (
    Row(
        "figure-4.8",
        PAPER,
        figure_48,
        {"judged on": 10_000},
        {"judged on": 10_000},
        "auROC",
        theirs.FIGURE_48,
        draw_48,
        (11, 4),
    ),
    Row(
        "figure-4.9",
        PAPER,
        figure_49,
        {"judged on": 2_000, "bootstraps": 3},
        {"judged on": 10_000, "bootstraps": 100},
        "auROC, mean",
        theirs.FIGURE_49,
        draw_49,
        (11, 4),
        limits=(90, 1800),
    ),
    Row(
        "figure-4.10",
        PAPER,
        figure_410,
        {"sequences": 1_000},
        {"sequences": 5_000},
        "auROC",
        theirs.FIGURE_410,
        draw_410,
        (11, 5),
        limits=(60, 900),
    ),
    Row(
        "figure-4.11",
        PAPER,
        figure_411,
        {"N": (10_000,)},
        {"N": (10_000, 100_000)},
        "auROC",
        theirs.FIGURE_411,
        draw_411,
        (11, 4),
        limits=(60, 900),
    ),
)
