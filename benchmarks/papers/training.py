"""How long training takes: with one kernel (tables 4.2, 4.3, 4.6, figure 4.5), with several (table 4.7, figure 4.7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kernelweave import MKLClassifier, Spectrum, WeightedDegree
from kernelweave.dual import Chunking, Machine
from kernelweave.engines import ENGINES
from kernelweave.gram import CachedGram, DenseGram, FeatureGram, Gram, LinaddGram
from kernelweave.kernels import Kernel
from kernelweave.losses import Hinge
from kernelweave.mkl import SILP, Hessian, Plain, Problem, Result, SILPChunking, Solver, run
from kernelweave.norms import Fixed, Simplex
from kernelweave.parallel import blas_threads
from kernelweave.views import Views, as_views

from . import theirs
from .data import Windows, worm
from .frame import Row, Task, load, shown
from .style import number_of, times

PAPER = "string_kernels"
#: Bytes of rows that are kept, as in the paper.
CACHE_BYTES = 2**30
TOL = 1e-3
Bind = Callable[[list[Kernel], Views], Gram]
BINDS: dict[str, Bind] = {
    "matrix": lambda terms, X: DenseGram.compute(terms, X),
    "rows": lambda terms, X: CachedGram(terms, X, CACHE_BYTES),
    "linadd": lambda terms, X: LinaddGram(terms, X),
    "linadd, 2 threads": lambda terms, X: LinaddGram(terms, X, n_jobs=2),
    "features": lambda terms, X: FeatureGram(terms, X),
    "features, 2 threads": lambda terms, X: FeatureGram(terms, X, n_jobs=2),
}


def trained(kernel: Kernel, data: Windows, how: str, solver: Solver, dual: Any, C: float) -> tuple[Result, float]:
    """Return what a solver finds, and its seconds from sequences to certified machine.

    CPU seconds of one thread; seconds on the clock where there are two threads.
    """
    clock = time.perf_counter if "threads" in how else time.process_time
    X, y = data
    with blas_threads(1):
        started = clock()
        views = as_views(X)
        terms = list(kernel.terms(views))
        gram = BINDS[how](terms, views)
        if len(terms) > 1:
            gram = gram.rescaled(1.0 / np.array(UNITS))
        norm = Fixed(np.ones(1)) if len(terms) == 1 else Simplex()
        machine = Machine(Hinge(), y.astype(float), np.full(len(y), C))
        result = run(solver, Problem(gram, [machine], norm, tol=TOL, dual=dual), max_iter=20_000)
        return result, clock() - started


def some(data: Windows, n: int) -> Windows:
    """Return a few windows of both classes, for compiling."""
    X, y = data
    rows = np.sort(np.concatenate([np.flatnonzero(y > 0)[: n // 2], np.flatnonzero(y < 0)[: n // 2]]))
    return X.rows(rows), y[rows]


class Compiled:
    """Runs a thing once on few windows before it is timed on many."""

    def __init__(self) -> None:
        self.done: set[Any] = set()

    def __call__(self, key: Any, work: Callable[[Windows], Any], data: Windows) -> Any:
        if key not in self.done:
            work(some(data, 200))
            self.done.add(key)
        return work(data)


COMPILED = Compiled()


def one_kernel(kernel: Kernel, n: int, how: str, dual: Any) -> float:
    """Return the seconds of one machine."""

    def work(data: Windows) -> float:
        return trained(kernel, data, how, Plain(), dual, 1.0)[1]

    return COMPILED((repr(kernel), how, repr(dual)), work, worm(n))


def by_default(kernel: Kernel, n: int) -> float:
    """Return the CPU seconds of the estimator as it is."""

    def work(data: Windows) -> float:
        model = MKLClassifier(kernel, C=1.0, norm="fixed", scaling=None, tol=TOL)
        started = time.process_time()
        model.fit(*data)
        return time.process_time() - started

    with blas_threads(1):
        return COMPILED((repr(kernel), "default"), work, worm(n))


def lines(sizes: dict[str, Any], ways: dict[str, Callable[[int], float]]) -> Iterator[Task]:
    """Yield a task for every number of samples and column, up to the largest number of that column."""
    for n in sizes["N"]:
        for column, work in ways.items():
            most = sizes["most"].get(column, max(sizes["N"]))
            if n <= most:
                yield Task(shown(n), (column,), lambda n=n, column=column, work=work: {column: work(n)})


WD = WeightedDegree(degree=20).normalized()
SPECTRUM = Spectrum(k=8, alphabet="dna").normalized()


def table_42(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield seconds with the weighted degree kernel, held in every way, all by chunking with Q = 42."""
    held = {"WDPre": "matrix", "WD1": "rows", "LinWD1": "linadd", "LinWD2, clock": "linadd, 2 threads"}
    ways = {column: lambda n, how=how: one_kernel(WD, n, how, Chunking(42)) for column, how in held.items()}
    return lines(sizes, ways | {"default": lambda n: by_default(WD, n)})


def table_43(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield seconds with the spectrum kernel, held in every way, and with linadd in every store."""
    held = {"SpecPre": "matrix", "Spec": "rows", "LinSpec1": "features", "LinSpec2, clock": "features, 2 threads"}
    ways = {column: lambda n, how=how: one_kernel(SPECTRUM, n, how, Chunking(42)) for column, how in held.items()}
    for kind in ENGINES:
        store = Chunking(42, store=kind.name)
        ways[f"in a {kind.name}"] = lambda n, store=store: one_kernel(SPECTRUM, n, "features", store)
    return lines(sizes, ways | {"default": lambda n: by_default(SPECTRUM, n)})


def table_46(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield seconds by linadd for every size of the working set."""
    ways = {f"Q={Q}": lambda n, Q=Q: one_kernel(WD, n, "linadd", Chunking(Q)) for Q in sizes["Q"]}
    return lines(sizes, ways)


DEGREES = WeightedDegree(degree=20).split("degree")
#: k(x, x) of every degree, for windows of 141 letters.
UNITS = [beta * (141 - k) for k, beta in enumerate(WeightedDegree(degree=20).degree_weights())]


def learned(n: int, how: str, solver: Callable[[], Solver], dual: Any) -> dict[str, Any]:
    """Return seconds and steps of learning the weights of 20 degrees, C = 5."""

    def work(data: Windows) -> dict[str, Any]:
        result, seconds = trained(DEGREES, data, how, solver(), dual, 5.0)
        return {"seconds": seconds, "steps": len(result.history), "gap": result.gap, "lower": result.lower}

    return COMPILED((how, solver, repr(dual)), work, worm(n))


MKL_WAYS: dict[str, tuple[str, Callable[[], Solver], Any]] = {
    "PreMKL": ("matrix", SILPChunking, Chunking(112)),
    "MKL": ("rows", SILPChunking, Chunking(112)),
    "LinMKL1": ("linadd", SILPChunking, Chunking(112)),
    "LinMKL2, clock": ("linadd, 2 threads", SILPChunking, Chunking(112)),
    "wrapper": ("linadd", SILP, Chunking(112)),
    "Newton": ("linadd", Hessian, "auto"),
}


def table_47(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield seconds of learning 20 weights, by how kernels are held and by solver."""
    for n in sizes["N"]:
        for column, way in MKL_WAYS.items():
            if n <= sizes["most"].get(column, max(sizes["N"])):

                def work(n: int = n, column: str = column, way: Any = way) -> dict[str, Any]:
                    found = learned(n, *way)
                    return {
                        column: found["seconds"],
                        f"_{column} steps": found["steps"],
                        f"_{column} gap": found["gap"],
                    }

                yield Task(shown(n), (column,), work)


def growth(cells: dict[str, Any], column: str, smallest: int = 1000) -> dict[str, Any]:
    """Return the exponent e of seconds ~ N^e over the sizes from 1,000 on, and the largest size."""
    points = [(number_of(line), row[column]) for line, row in cells.items() if row.get(column)]
    points = [point for point in points if point[0] >= smallest]
    if len(points) < 2:
        return {}
    n, seconds = np.log(np.array(sorted(points), dtype=float)).T
    return {"exponent": float(np.polyfit(n, seconds, 1)[0]), "up to N": round(float(np.exp(n[-1])))}


def exponents(columns: dict[str, dict[str, str]]) -> Callable[[dict[str, Any]], Iterator[Task]]:
    """Return the tasks of a figure of times: the exponents of its lines, from the tables that it shows."""

    def tasks(sizes: dict[str, Any]) -> Iterator[Task]:
        for table, names in columns.items():
            for column in names:

                def work(table: str = table, column: str = column) -> dict[str, Any]:
                    return growth(load(table)["cells"], column)

                yield Task(column, ("exponent", "up to N"), work)

    return tasks


def their_exponents(columns: dict[str, dict[str, str]]) -> dict[str, dict[str, Any]]:
    """Return the exponents of the paper's lines, under the names of ours."""
    found = {ours: growth(PAPERS[table], name) for table, names in columns.items() for ours, name in names.items()}
    return {ours: cells for ours, cells in found.items() if cells}


PAPERS = {"table-4.2": theirs.TABLE_42, "table-4.3": theirs.TABLE_43, "table-4.7": theirs.TABLE_47}
#: Our columns by table, each with the paper's that it stands beside.
FIGURE_45 = {
    "table-4.2": {"WDPre": "WDPre", "WD1": "WD1", "LinWD1": "LinWD1", "LinWD2, clock": "LinWD4", "default": "LinWD8"},
    "table-4.3": {"SpecPre": "SpecPre", "Spec": "Spec", "LinSpec1": "LinSpec1", "LinSpec2, clock": "LinSpec4"},
}
FIGURE_47 = {
    "table-4.7": {
        "PreMKL": "PreMKL",
        "MKL": "MKL",
        "LinMKL1": "LinMKL1",
        "LinMKL2, clock": "LinMKL4",
        "wrapper": "",
        "Newton": "",
    }
}


def draw_times(columns: dict[str, dict[str, str]], titles: tuple[str, ...]) -> Callable[[Any, dict[str, Any]], None]:
    """Return what draws the times of tables side by side."""

    def draw(fig: Any, result: dict[str, Any]) -> None:
        axes = np.atleast_1d(fig.subplots(1, len(columns)))
        for ax, (table, names), title in zip(axes, columns.items(), titles, strict=True):
            times(ax, load(table)["cells"], PAPERS[table], names)
            ax.set_title(title)
            ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))

    return draw


N = (500, 1_000, 5_000, 10_000, 30_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
HELD_42 = {"WDPre": 10_000, "WD1": 50_000, "LinWD1": 100_000, "LinWD2, clock": 100_000}
SPEC_MOST = {f"in a {kind.name}": 5_000 for kind in ENGINES} | {"SpecPre": 10_000, "Spec": 10_000}
MKL_MOST = {"PreMKL": 5_000, "MKL": 5_000, "wrapper": 30_000, "LinMKL1": 50_000, "LinMKL2, clock": 50_000}
ROWS = (
    Row(
        "table-4.2",
        PAPER,
        table_42,
        {"N": (500, 1_000, 5_000, 10_000), "most": {"WDPre": 5_000, "WD1": 5_000}},
        {"N": (*N, 2_000_000, 5_000_000, 10_000_000), "most": HELD_42},
        "LinWD1",
        theirs.TABLE_42,
        limits=(60.0, 1500.0),
    ),
    Row(
        "table-4.3",
        PAPER,
        table_43,
        {"N": (500, 1_000, 5_000), "most": {f"in a {kind.name}": 1_000 for kind in ENGINES}},
        {"N": N, "most": SPEC_MOST | {"LinSpec1": 50_000, "LinSpec2, clock": 50_000, "default": 30_000}},
        "LinSpec1",
        theirs.TABLE_43,
        limits=(90.0, 1500.0),
    ),
    Row(
        "figure-4.5",
        PAPER,
        exponents(FIGURE_45),
        {},
        {},
        "exponent @ LinWD1",
        their_exponents(FIGURE_45),
        draw_times(FIGURE_45, ("weighted degree kernel", "spectrum kernel, d = 8")),
        (12.0, 4.0),
        needs=("table-4.2", "table-4.3"),
    ),
    Row(
        "table-4.6",
        PAPER,
        table_46,
        {"N": (500, 1_000, 5_000), "Q": (12, 42, 112, 152), "most": {}},
        {"N": N[:7], "Q": theirs.SUBPROBLEMS, "most": {f"Q={Q}": 30_000 for Q in (12, 32, 52, 72, 92, 132)}},
        "Q=42",
        theirs.TABLE_46,
        limits=(60.0, 1500.0),
    ),
    Row(
        "table-4.7",
        PAPER,
        table_47,
        {"N": (500, 1_000, 5_000), "most": {"MKL": 1_000, "PreMKL": 1_000}},
        {"N": N[:7], "most": MKL_MOST},
        "LinMKL1",
        theirs.TABLE_47,
        limits=(120.0, 2400.0),
    ),
    Row(
        "figure-4.7",
        PAPER,
        exponents(FIGURE_47),
        {},
        {},
        "exponent @ LinMKL1",
        their_exponents(FIGURE_47),
        draw_times(FIGURE_47, ("learning the weights of 20 degrees",)),
        needs=("table-4.7",),
    ),
)
