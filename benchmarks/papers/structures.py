"""The drawings of the chapter on string kernels as worked examples, and its table of structures.

Figures 4.1 to 4.4 and table 4.1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kernelweave import WeightedDegree
from kernelweave.engines import ENGINES, SuffixArray, Trie
from kernelweave.sequences import Alphabet

from . import data
from .frame import Cells, Row, Task
from .style import BLUE, COLOURS

#: Letters that differ from each other and from what stands around them, so that words match in one place only.
WORD, LEFT, RIGHT = "DEFGHIKLMNPQRSTV", "A", "C"
PAPER = "string_kernels"


def block_weight(length: int, degree: int) -> float:
    """Return Σ_k β_k (B − k + 1) with β_k = 2 (d − k + 1) / (d (d + 1)): what a match of B letters adds."""
    return sum(
        2 * (degree - k + 1) / (degree * (degree + 1)) * (length - k + 1) for k in range(1, min(length, degree) + 1)
    )


def pair(length: int, shift: int = 0, whole: int = 40) -> list[str]:
    """Return two proteins that share one word of so many letters, so many places apart, and nothing else."""
    word, at = WORD[:length], 10
    return [
        around * start + word + around * (whole - start - length) for around, start in ((LEFT, at), (RIGHT, at + shift))
    ]


def blocks(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield what a match of every length adds to the kernel."""
    for length in sizes["lengths"]:

        def work(length: int = length) -> dict[str, Any]:
            kernel = WeightedDegree(degree=sizes["degree"], alphabet="protein")
            return {"w_B": float(kernel(pair(length))[0, 1]), "_letters": length}

        yield Task(f"B = {length}", ("w_B",), work)


def draw_blocks(fig: Any, result: dict[str, Any]) -> None:
    ax = fig.subplots()
    letters = [kept["letters"] for kept in result["series"].values()]
    ax.bar(letters, [cells["w_B"] for cells in result["cells"].values()], color=BLUE)
    ax.set(
        xlabel="letters of the match, B",
        ylabel="added to the kernel, $w_B$",
        title="Long matches count more than in proportion",
    )


def shifts(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield what a match of some length adds to the kernel with shifts, by how far apart it stands."""
    for length in sizes["lengths"]:

        def work(length: int = length) -> dict[str, Any]:
            kernel = WeightedDegree(degree=sizes["degree"], shift=max(sizes["shifts"]), alphabet="protein")
            return {f"p = {s}": float(kernel(pair(length, s))[0, 1]) for s in sizes["shifts"]}

        yield Task(f"k = {length}", tuple(f"p = {s}" for s in sizes["shifts"]), work)


def draw_shifts(fig: Any, result: dict[str, Any]) -> None:
    ax = fig.subplots()
    for (line, cells), colour in zip(result["cells"].items(), COLOURS, strict=False):
        ax.plot(range(len(cells)), cells.values(), marker="o", color=colour, label=line)
    ax.set(
        xlabel="places apart, p",
        ylabel=r"added to the kernel, $\gamma_{k,p}$",
        title="What a match adds, by length and distance",
    )
    ax.legend(frameon=False)


def trie(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield the sums at the nodes of a trie of AAA, AGA and GAA with the weights 1, 10 and 100."""
    code = {"A": 0, "C": 1, "G": 2, "T": 3}

    def number(word: str) -> int:
        return sum(code[letter] * 4 ** (len(word) - 1 - i) for i, letter in enumerate(word))

    engine = Trie(3, 2)
    engine.add(np.array([number(w) for w in ("AAA", "AGA", "GAA")], np.uint64), np.array([1.0, 10.0, 100.0]))
    for word in sizes["nodes"]:

        def work(word: str = word) -> dict[str, Any]:
            below = np.arange(1, 4) == len(word)
            padded = np.array([number(word + "A" * (3 - len(word)))], np.uint64)
            return {"sum at the node": float(engine.lookup_prefixes(padded, below.astype(float))[0])}

        yield Task(word, ("sum at the node",), work)


def matching(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield, for every place of x', the letters from there on that occur in x, by suffix arrays."""
    dna = Alphabet.named("dna")
    x, other = (np.array([dna.letters.index(c) for c in word], np.uint8) for word in (sizes["x"], sizes["other"]))
    for place in range(len(other)):

        def work(place: int = place) -> dict[str, Any]:
            longest = 0
            for k in range(1, len(other) - place + 1):
                engine = SuffixArray(k, 2)
                engine.add_sequences(x, np.array([0, len(x)]), np.ones(1))
                found = engine.lookup_sequences(other[place : place + k], np.array([0, k]))
                longest = k if found[0] > 0 else longest
            return {"longest match": longest}

        letter = sizes["other"][place]
        yield Task(f"place {place + 1}, {letter}", ("longest match",), work)


#: The paper's bounds; a hash table is described in its text.
BOUNDS = {
    "table": ("O(|Σ|^d)", "O(l)", "O(l')"),
    "sorted": ("O(1)", "O(l log l)", "O(l + l')"),
    "hash": ("–", "O(l), at worst O(l log l)", "O(l'), at worst O(l' log l)"),
    "trie": ("O(1)", "O(l d)", "O(l' d)"),
    "suffix": ("O(1)", "O(l)", "O(l')"),
}
VERBS = ("clear", "add", "lookup")


def structures(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield microseconds of clear, nanoseconds a letter of add and lookup, and how they grow with the text."""
    rng, k = np.random.default_rng(0), sizes["k"]
    codes = rng.integers(0, 4, 2 * sizes["letters"], dtype=np.uint8)
    for kind in ENGINES:

        def work(kind: Any = kind) -> dict[str, Any]:
            data.note("random DNA", "generated")
            found = [verbs(kind, codes[:n], k, sizes["repeats"]) for n in (sizes["letters"], 2 * sizes["letters"])]
            (clear, *small), (_, *large) = found
            n, (add, lookup) = sizes["letters"], small
            grown = [b / a for a, b in zip(small, large, strict=True)]
            return {
                "clear": f"{1e6 * clear:.3g} µs",
                "add": f"{1e9 * add / n:.3g} ns a letter",
                "lookup": f"{1e9 * lookup / n:.3g} ns a letter",
                "twice the text: add": f"× {grown[0]:.2f}",
                "twice the text: lookup": f"× {grown[1]:.2f}",
            }

        yield Task(kind.name, VERBS, work)


def verbs(kind: Any, codes: np.ndarray, k: int, repeats: int) -> tuple[float, float, float]:
    """Return CPU seconds of clear, add and lookup of one text, the best of some."""
    engine, whole, one = kind(k, 2), np.array([0, len(codes)]), np.ones(1)
    engine.add_sequences(codes, whole, one)
    clear = best(engine.clear, repeats)

    def add() -> None:
        engine.add_sequences(codes, whole, one)
        engine.lookup_sequences(codes[:k], np.array([0, k]))  # sorted arrays sort at the first look

    added = best(add, repeats, engine.clear)
    return clear, added, best(lambda: engine.lookup_sequences(codes[::-1].copy(), whole), repeats)


def best(work: Callable[[], Any], repeats: int, before: Callable[[], Any] = lambda: None) -> float:
    """Return the least CPU seconds of some runs, each after what comes before it."""
    seconds = []
    for _ in range(repeats):
        before()
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return max(min(seconds), 1e-9)


LENGTHS, SHIFTS, FEW = (1, 2, 3, 4, 5, 6, 8, 10, 12), (0, 1, 2, 3, 4, 5), (1, 2, 4, 8)
NODES = {"A": 11.0, "G": 100.0, "AA": 1.0, "AG": 10.0, "GA": 100.0, "AAA": 1.0, "AGA": 10.0, "GAA": 100.0}
FORMULA = {
    f"k = {b}": {f"p = {s}": block_weight(b, 8) * (1.0 if s == 0 else 0.5 / (s + 1)) for s in SHIFTS} for b in FEW
}
MATCHES = {
    f"place {i + 1}, {c}": {"longest match": v} for i, (c, v) in enumerate(zip("GAACG", (3, 2, 1, 0, 1), strict=True))
}


def row(name: str, tasks: Any, size: dict[str, Any], headline: str, theirs: Cells, draw: Any = None) -> Row:
    """Return a row that is the same, quick or not."""
    return Row(name, PAPER, tasks, size, size, headline, theirs, draw)


ROWS = (
    row(
        "figure-4.1",
        blocks,
        {"degree": 8, "lengths": LENGTHS},
        "w_B",
        {f"B = {b}": {"w_B": block_weight(b, 8)} for b in LENGTHS},
        draw_blocks,
    ),
    row("figure-4.2", shifts, {"degree": 8, "lengths": FEW, "shifts": SHIFTS}, "p = 0", FORMULA, draw_shifts),
    row(
        "figure-4.3",
        trie,
        {"nodes": tuple(NODES)},
        "sum at the node",
        {w: {"sum at the node": s} for w, s in NODES.items()},
    ),
    row("figure-4.4", matching, {"x": "GAGAAG", "other": "GAACG"}, "longest match", MATCHES),
    Row(
        "table-4.1",
        PAPER,
        structures,
        {"k": 8, "letters": 100_000, "repeats": 2},
        {"k": 8, "letters": 300_000, "repeats": 3},
        "lookup",
        {name: dict(zip(VERBS, bounds, strict=True)) for name, bounds in BOUNDS.items()},
        limits=(60.0, 300.0),
    ),
)
