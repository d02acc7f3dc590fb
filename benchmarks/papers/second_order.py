"""HessianMKL beside SimpleMKL and the mixed strategy: figures 1 to 3 of the paper on second-order optimisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mkl_solvers as bench
import numpy as np

from kernelweave.mkl import Hessian, Problem, Result, hessian, run
from kernelweave.parallel import blas_threads

from . import data
from .frame import Row, Task
from .style import BLUE, COLOURS, GREY, ORANGE

PAPER = "second_order"
C, TOL = 100.0, 0.01
#: Rows and columns of the UCI sets, for what stands in for them.
SHAPES = {"ionosphere": (351, 33), "liver": (345, 6), "pima": (768, 8), "sonar": (208, 60), "wpbc": (194, 33)}
SOLVERS = {name: bench.SOLVERS[name] for name in ("SimpleMKL", "HessianMKL", "mixed", "SILP", "SILP chunking")}


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a UCI set, or two classes of drawn numbers of the same shape."""
    if data.has(f"uci_{name}"):
        data.note(f"uci_{name}")
        return bench.read(name)
    data.note(f"two classes, shaped as {name}", "stand-in")
    n, columns = SHAPES[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, columns))
    risk = X[:, 0] + X[:, 1] ** 2 + np.sin(2 * X[:, 2]) + 0.5 * rng.standard_normal(n)
    return X, np.where(risk > np.median(risk), 1.0, -1.0)


def split(name: str, seed: int) -> tuple[Any, np.ndarray]:
    """Return the gram of 70 % of a set, terms centred and of trace 1, and its labels."""
    X, y = table(name)
    train = np.random.default_rng(seed).permutation(len(y))[: int(0.7 * len(y))]
    return bench.centred_unit_trace(bench.simple_mkl_kernels(X.shape[1]), X[train]), y[train]


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Count gradients (coef' K_m coef of all terms, once for every certified step) and Hessians within the block."""
    found = {"gradients": 0, "Hessians": 0}
    certify, target = Problem.certify, hessian.newton_target

    def certified(*args: Any, **named: Any) -> Any:
        found["gradients"] += 1
        return certify(*args, **named)

    def targeted(*args: Any) -> Any:
        found["Hessians"] += 1
        return target(*args)

    Problem.certify, hessian.newton_target = certified, targeted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Problem.certify, hessian.newton_target = certify, target  # type: ignore[method-assign]


def solved(make: Callable[[], Any], gram: Any, y: np.ndarray) -> tuple[Result, float]:
    """Return a solver's result and its CPU seconds."""
    with blas_threads(1):
        return bench.timed(make, gram, y, C, TOL)


def figure_1(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield time, machines, gradients and Hessians by set and solver, and when a common criterion was met."""
    for name in sizes["sets"]:
        for solver, make in SOLVERS.items():

            def work(name: str = name, make: Any = make) -> dict[str, Any]:
                splits, scored = range(sizes["splits"]), sizes["scored splits"]
                found = [counts(name, seed, make, seed < scored) for seed in splits]
                times = [one.pop("CPU ms") for one in found]
                keys = dict.fromkeys(key for one in found for key in one)
                means = {key: float(np.mean([one[key] for one in found if key in one])) for key in keys}
                return {"CPU ms, median": float(np.median(times)), **means}

            yield Task(f"{name}, {solver}", ("CPU ms, median", "machines"), work)


def counts(name: str, seed: int, make: Callable[[], Any], scored: bool) -> dict[str, float]:
    """Return what one solver takes on one split."""
    gram, y = split(name, seed)
    if seed == 0:
        solved(make, *split(name, 99))  # compiles
    with counted() as calls:
        result, seconds = solved(make, gram, y)
    found = {"CPU ms": 1e3 * seconds, "machines": result.n_solves, "steps": len(result.history) - 1} | calls
    found |= {"terms kept": int((result.step.weights > 0).sum()), "own gap, %": 100 * result.gap}
    return found | (common(result, gram, y) if scored else {})


def common(result: Result, gram: Any, y: np.ndarray) -> dict[str, float]:
    """Return how many machines it took until the exact objective at the weights was within 1 % of the optimum.

    A criterion that knows no solver: at the weights of a step, the machine is solved to the last digits; the optimum is
    that of Newton's method to a gap of 1e-6. Steps are looked at in turn, from the first.
    """
    with blas_threads(1):
        best = run(Hessian(), bench.problem(gram, y, C, 1e-6), max_iter=500).lower
        for entry in result.history:
            if bench.exact_objective(gram, y, C, np.asarray(entry["weights"])) <= best + TOL * abs(best):
                return {"machines to 1 % from outside": entry["n_solves"]}
    return {}


def draw_1(fig: Any, result: dict[str, Any]) -> None:
    columns = ("CPU ms, median", "machines", "gradients")
    sets = list(dict.fromkeys(line.split(", ")[0] for line in result["cells"]))
    for ax, column in zip(fig.subplots(1, 3), columns, strict=True):
        for number, solver in enumerate(SOLVERS):
            heights = [result["cells"].get(f"{name}, {solver}", {}).get(column, 0) for name in sets]
            places = np.arange(len(sets)) + 0.16 * (number - 2)
            ax.bar(places, heights, 0.15, color=COLOURS[number], label=solver)
        ax.set_xticks(range(len(sets)), sets)
        ax.set_yscale("log")
        ax.set_title({"gradients": "gradients (steps)"}.get(column, column))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5)


def paths(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield how the gap of SimpleMKL and HessianMKL falls, one split of each set."""
    for name in sizes["sets"]:
        for solver in ("SimpleMKL", "HessianMKL"):

            def work(name: str = name, solver: str = solver) -> dict[str, Any]:
                gram, y = split(name, 0)
                result, _ = solved(SOLVERS[solver], gram, y)
                gaps = np.array([entry["gap"] for entry in result.history])
                found = {f"machines to {share:.0%}": reached(result, gaps, share) for share in (1.0, 0.1, 0.01)}
                machines = [entry["n_solves"] for entry in result.history]
                return found | {"steps": len(gaps), "_gaps": gaps, "_machines": machines}

            yield Task(f"{name}, {solver}", ("steps",), work)


def reached(result: Result, gaps: np.ndarray, share: float) -> int | None:
    """Return the machines until the gap was this small."""
    at = np.flatnonzero(gaps <= share)
    return int(result.history[at[0]]["n_solves"]) if len(at) else None


def draw_2(fig: Any, result: dict[str, Any]) -> None:
    sets = list(dict.fromkeys(line.split(", ")[0] for line in result["series"]))
    for ax, name in zip(np.atleast_1d(fig.subplots(1, len(sets))), sets, strict=True):
        for solver, colour in (("SimpleMKL", ORANGE), ("HessianMKL", BLUE)):
            kept = result["series"][f"{name}, {solver}"]
            ax.loglog(kept["machines"], kept["gaps"], drawstyle="steps-post", color=colour, label=solver)
        ax.axhline(TOL, color=GREY, lw=0.8, ls=":")
        ax.set(xlabel="machines solved", ylabel="relative duality gap", title=name)
        ax.legend()


def evolution(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield the weights on the way, of the terms that end largest."""
    for solver in ("SimpleMKL", "HessianMKL"):

        def work(solver: str = solver) -> dict[str, Any]:
            gram, y = split("ionosphere", 0)
            result, _ = solved(SOLVERS[solver], gram, y)
            path = np.array([entry["weights"] for entry in result.history])
            final = path[-1]
            largest = np.argsort(-final)[:10]
            near = np.abs(path - final).sum(axis=1) <= 0.1
            return {
                "steps": len(path),
                "steps until all weights are within 0.1": int(np.argmax(near)) + 1,
                "terms kept": int((final > 0).sum()),
                "_path": np.round(path[:, largest], 4),
            }

        yield Task(f"ionosphere, {solver}", ("steps",), work)


def draw_3(fig: Any, result: dict[str, Any]) -> None:
    for ax, (line, kept) in zip(fig.subplots(1, 2, sharey=True), result["series"].items(), strict=True):
        for weights, colour in zip(np.array(kept["path"]).T, COLOURS, strict=True):
            ax.plot(np.arange(1, len(weights) + 1), weights, color=colour)
        ax.set(xlabel="step", title=line, xscale="log" if len(kept["path"]) > 40 else "linear")
    fig.axes[0].set_ylabel("weight, ten largest at the end")


EVERY = tuple(SHAPES)
ROWS = (
    Row(
        "newton-figure-1",
        PAPER,
        figure_1,
        {"sets": EVERY[:2], "splits": 2, "scored splits": 1},
        {"sets": ("liver", "ionosphere", "pima", "wpbc", "sonar"), "splits": 20, "scored splits": 2},
        "steps @ ionosphere, HessianMKL",
        {f"{name}, HessianMKL": {"steps": "about 10"} for name in EVERY},
        draw_1,
        (11, 3.8),
        limits=(120, 1800),
    ),
    Row(
        "newton-figure-2",
        PAPER,
        paths,
        {"sets": EVERY[:2]},
        {"sets": EVERY[:2]},
        "machines to 1%",
        draw=draw_2,
        figsize=(9, 3.6),
        limits=(60, 300),
    ),
    Row(
        "newton-figure-3",
        PAPER,
        evolution,
        {"sets": EVERY[:1]},
        {"sets": EVERY[:1]},
        "steps",
        draw=draw_3,
        figsize=(9, 3.6),
        limits=(60, 300),
    ),
)
