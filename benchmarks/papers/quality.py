"""How well machines do: byte n-grams on texts (table 4.4), splice sites by training size (table 4.5, figure 4.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from kernelweave import MKLClassifier, PositionalMarkovChain, Spectrum

from . import data, theirs
from .frame import Row, Task, load, shown
from .style import BLUE, ORANGE, number_of
from .training import PAPER, WD, Plain, trained

SCORES = ("auROC", "auPRC")
PSEUDOCOUNTS = (0.1, 1.0, 10.0, 100.0)


def scored(model: Any, X: Any, y: np.ndarray, prefix: str) -> dict[str, float]:
    """Return both areas in per cent."""
    f = model.decision_function(X)
    return {
        f"{prefix} auROC": 100 * roc_auc_score(y > 0, f),
        f"{prefix} auPRC": 100 * average_precision_score(y > 0, f),
    }


def splice_machine() -> MKLClassifier:
    """Return the machine of the paper: degree 20, C = 1."""
    return MKLClassifier(WD, C=1.0, norm="fixed", scaling=None, tol=1e-3)


def first(windows: data.Windows, n: int) -> data.Windows:
    """Return the first windows of a list."""
    return windows[0][:n], windows[1][:n]


def table_45(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield areas by number of training windows, then those of Markov chains of every order."""
    worm, human = (tuple(f"{name} {score}" for score in SCORES) for name in ("worm", "human"))
    for n in sizes["N"]:

        def on_worm(n: int = n) -> dict[str, float]:
            train, test = judged_worm(n)
            return scored(splice_machine().fit(*train), *test, "worm")

        def on_human(n: int = n) -> dict[str, float]:
            train, test = human_sets()
            return scored(splice_machine().fit(*first(train, n)), *test, "human")

        yield Task(shown(n), worm, on_worm)
        if data.has("splice_human_hg19") and n <= 100_000:
            yield Task(shown(n), human, on_human)
    for order in sizes["orders"]:

        def chain(order: int = order) -> dict[str, float]:
            (X, y), test = judged_worm(sizes["chains"])
            found = scored(markov_chain(order, list(X), y), *test, "worm")
            if data.has("splice_human_hg19"):
                train, test = human_sets()
                found |= scored(markov_chain(order, *first(train, sizes["chains"])), *test, "human")
            return found

        yield Task(f"Markov chain, order {order}", worm, chain)


def markov_chain(order: int, X: list[str], y: np.ndarray) -> PositionalMarkovChain:
    """Return a chain whose pseudocount is the best on the last fifth of the windows, if not trained on it."""
    cut = len(y) - len(y) // 5
    areas = {}
    for count in PSEUDOCOUNTS:
        model = PositionalMarkovChain(order=order, pseudocount=count).fit(X[:cut], y[:cut])
        areas[count] = average_precision_score(y[cut:] > 0, model.decision_function(X[cut:]))
    return PositionalMarkovChain(order=order, pseudocount=max(areas, key=areas.__getitem__)).fit(X, y)


def human_sets() -> tuple[data.Windows, data.Windows]:
    """Return human windows to learn from and to judge by."""
    found = data.human()
    data.note("splice_human_hg19")
    assert found is not None
    return found


def judged_worm(n: int) -> tuple[data.Windows, data.Windows]:
    """Return n windows to learn from and others, of chromosomes that are not among them, to judge by."""
    if n <= data.ACCEPTOR or not data.has("celegans_genome"):
        return data.worm(n), data.worm_test()
    return data.chromosomes(n), data.chromosome_x()


def their_areas() -> dict[str, dict[str, float]]:
    """Return the paper's areas, which are of human sites."""
    cells = {line: {f"human {score}": cell[score] for score in SCORES} for line, cell in theirs.TABLE_45.items()}
    return cells | {"Markov chain, order 4": {f"human {score}": theirs.MARKOV[score] for score in SCORES}}


def figure_46(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield what ten times the windows bring."""
    for score in SCORES:

        def work(score: str = score) -> dict[str, float]:
            cells = load("table-4.5")["cells"]
            found = {name: gain(cells, f"{name} {score}") for name in ("human", "worm")}
            return {name: value for name, value in found.items() if value is not None}

        yield Task(score, ("worm",), work)


def gain(cells: dict[str, Any], column: str) -> float | None:
    """Return the slope of an area by the decimal logarithm of N, over the five largest sizes."""
    points = [(number_of(line), row[column]) for line, row in cells.items() if line[0].isdigit() and column in row]
    points = sorted(points)[-5:]
    if len(points) < 2:
        return None
    n, areas = np.array(points, dtype=float).T
    return float(np.polyfit(np.log10(n), areas, 1)[0])


def draw_46(fig: Any, result: dict[str, Any]) -> None:
    cells, paper = load("table-4.5")["cells"], their_areas()
    for ax, score in zip(fig.subplots(1, 2), SCORES, strict=True):
        for source, name, colour, shape in (
            (cells, "worm", BLUE, "o-"),
            (cells, "human", ORANGE, "o-"),
            (paper, "human", ORANGE, "s:"),
        ):
            column = f"{name} {score}"
            points = sorted(
                (number_of(line), row[column]) for line, row in source.items() if line[0].isdigit() and column in row
            )
            if points:
                label = f"{name}, paper" if source is paper else f"{name}, ours"
                ax.semilogx(*zip(*points, strict=True), shape, color=colour, ms=4, label=label)
        ax.set(xlabel="training windows, N", ylabel=f"{score} (%)")
        ax.grid(alpha=0.25)
        ax.legend()


def table_44(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield times and scores of byte n-grams, on messages and on generated pages with tags."""
    sets = [("messages", n, 4) for n in sizes["messages"]] if data.has("text_sms_spam") else []
    sets += [(kind, n, k) for kind, n, _ in sets[-1:] for k in (3, 5)]
    sets += [("pages", n, k) for n in sizes["pages"] for k in ((4,) if n < max(sizes["pages"]) else (4, 3, 5))]
    for kind, n, k in sets:

        def work(kind: str = kind, n: int = n, k: int = k) -> dict[str, Any]:
            return texts_scored(kind, n, k, n <= sizes["rows up to"])

        yield Task(f"{kind}, {shown(n)}, {k} bytes", ("LinSpec", "accuracy", "auROC"), work)


def texts_scored(kind: str, n: int, k: int, rows: bool) -> dict[str, Any]:
    """Return seconds by rows on demand and by linadd, and how well the machine does on texts it has not seen."""
    found = data.messages() if kind == "messages" else data.pages(n + 400)
    assert found is not None
    (X, y), held = found, 1000 if kind == "messages" else 400
    train, test = (X[: len(y) - held][:n], y[: len(y) - held][:n]), (X[-held:], y[-held:])
    kernel = Spectrum(k=k, alphabet="bytes").normalized()
    from kernelweave.dual import Chunking

    few = (train[0][:60], train[1][:60])
    out: dict[str, Any] = {"bytes": int(sum(map(len, train[0])))}
    for column, how in {"Spec": "rows", "LinSpec": "features"}.items():
        if column == "LinSpec" or rows:
            trained(kernel, few, how, Plain(), Chunking(42), 10.0)
            out[column] = trained(kernel, train, how, Plain(), Chunking(42), 10.0)[1]
    model = MKLClassifier(kernel, C=10.0, norm="fixed", scaling=None).fit(*train)
    out["accuracy"] = 100 * float((model.predict(test[0]) == test[1]).mean())
    out["auROC"] = 100 * float(roc_auc_score(test[1] > 0, model.decision_function(test[0])))
    return out


N = (500, 1_000, 5_000, 10_000, 30_000, 50_000, 100_000)
ROWS = (
    Row(
        "table-4.4",
        PAPER,
        table_44,
        {"messages": (100, 500, 1_000), "pages": (100, 200), "rows up to": 500},
        {"messages": (100, 500, 1_000, 2_000, 4_000), "pages": (100, 500, 2_000), "rows up to": 2_000},
        "auROC",
        theirs.TABLE_44,
        limits=(60.0, 600.0),
    ),
    Row(
        "table-4.5",
        PAPER,
        table_45,
        {"N": N[:4], "orders": (1, 2, 3, 4), "chains": 10_000},
        {"N": (*N, 1_000_000, 2_000_000, 5_000_000, 8_000_000), "orders": (1, 2, 3, 4, 5, 6, 7, 8), "chains": 100_000},
        "human auPRC",
        their_areas(),
        limits=(90.0, 2400.0),
    ),
    Row(
        "figure-4.6",
        PAPER,
        figure_46,
        {},
        {},
        "worm",
        draw=draw_46,
        figsize=(9.0, 3.6),
        needs=("table-4.5",),
    ),
)
