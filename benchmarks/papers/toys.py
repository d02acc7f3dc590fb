"""What learned weights say: stars, waves, degrees, positions, one class; algorithm 2."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelweave import RBF, Identity, MKLClassifier, MKLOneClass, MKLRegressor, WeightedDegree
from kernelweave.datasets import make_sines, make_star
from kernelweave.dual import Chunking
from kernelweave.gram import LinaddGram
from kernelweave.kernels.base import add_all
from kernelweave.mkl import SILP, SILPChunking, silp_chunking
from kernelweave.parallel import blas_threads
from kernelweave.views import as_views

from . import data
from .frame import Row, Task, shown
from .structures import best
from .style import BLUE, GREY, ORANGE, heat
from .training import DEGREES, trained

PAPER = "large_scale_mkl"
#: Windows that are enough to compile everything.
COMPILING = 150
STAR_WIDTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
SINE_WIDTHS = (0.005, 0.05, 0.5, 1.0, 10.0)
MIXED_WIDTHS = tuple(float(w) for w in np.geomspace(1e-3, 1e3, 10))


def kernels(widths: tuple[float, ...]) -> Any:
    """Return RBF kernels exp(−‖x − x'‖² / width)."""
    return add_all([RBF(1.0 / width) for width in widths])


def weights_of(widths: tuple[float, ...], weights: np.ndarray) -> dict[str, float]:
    """Return cells of weights, by width."""
    return {f"width {width:.3g}": round(float(weight), 4) for width, weight in zip(widths, weights, strict=True)}


def stars(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield weights of five widths and the test error by the distance of two stars, C chosen by the error of all."""
    chosen: list[float] = []

    def error(distance: float, C: float) -> tuple[Any, float]:
        model = MKLClassifier(kernels(STAR_WIDTHS), C=C).fit(*make_star(sizes["samples"], distance, random_state=0))
        return model, 100 * (1 - model.score(*make_star(sizes["judged on"], distance, random_state=1)))

    for distance in sizes["distances"]:

        def work(distance: float = distance) -> dict[str, Any]:
            data.note("make_star, after the paper", "generated")
            if not chosen:
                means = [np.mean([error(one, C)[1] for one in sizes["distances"][::2]]) for C in sizes["C"]]
                chosen.append(sizes["C"][int(np.argmin(means))])
            model, wrong = error(distance, chosen[0])
            mean = float(model.weights_ @ np.log10(STAR_WIDTHS))
            return {
                **weights_of(STAR_WIDTHS, model.weights_),
                "mean log10 width": mean,
                "test error, %": wrong,
                "C": chosen[0],
            }

        yield Task(f"distance {distance:g}", ("mean log10 width",), work)


def waves(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield weights of five widths by the frequency of a sine wave, C chosen by the error of all."""
    chosen: list[float] = []

    def error(frequency: float, C: float) -> tuple[Any, float]:
        model = MKLRegressor(kernels(SINE_WIDTHS), C=C, epsilon=0.25)
        model.fit(*make_sines(sizes["samples"], [frequency], random_state=0))
        X, y = make_sines(sizes["judged on"], [frequency], random_state=1)
        return model, float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))

    for frequency in sizes["frequencies"]:

        def work(frequency: float = frequency) -> dict[str, Any]:
            data.note("make_sines, after the paper", "generated")
            if not chosen:
                means = [np.mean([error(one, C)[1] for one in sizes["frequencies"][::2]]) for C in sizes["C"]]
                chosen.append(sizes["C"][int(np.argmin(means))])
            model, wrong = error(frequency, chosen[0])
            mean = float(model.weights_ @ np.log10(SINE_WIDTHS))
            return {**weights_of(SINE_WIDTHS, model.weights_), "mean log10 width": mean, "RMSE": wrong, "C": chosen[0]}

        yield Task(f"frequency {frequency:g}", ("mean log10 width",), work)


def mixed(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield weights of ten widths for sin(a x) + sin(x) + x / 2, by a."""
    for frequency in sizes["frequencies"]:

        def work(frequency: float = frequency) -> dict[str, Any]:
            data.note("make_sines, after the paper", "generated")
            X, y = make_sines(sizes["samples"], [frequency, 1.0], slope=0.5, random_state=0)
            model = MKLRegressor(kernels(MIXED_WIDTHS), C=10, epsilon=0.25).fit(X, y)
            kept = np.flatnonzero(model.weights_ > 0.005)
            return {
                **weights_of(MIXED_WIDTHS, model.weights_),
                "widths in use": len(kept),
                "narrowest": f"{MIXED_WIDTHS[kept[0]]:.3g}",
                "widest": f"{MIXED_WIDTHS[kept[-1]]:.3g}",
            }

        yield Task(f"a = {frequency:g}", ("widths in use",), work)


def draw_weights(label: str) -> Any:
    """Return what draws weights by width (upwards) and line (to the right)."""

    def draw(fig: Any, result: dict[str, Any]) -> None:
        ax, lines = fig.subplots(), list(result["cells"])
        names = [name for name in result["cells"][lines[0]] if name.startswith("width ")]
        table = np.array([[result["cells"][line][name] for line in lines] for name in names])
        image = heat(ax, table, cmap="cividis", vmin=0, vmax=1)
        for (row, column), weight in np.ndenumerate(table):
            if weight >= 0.005:
                ax.text(
                    column,
                    row,
                    f"{weight:.2f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="k" if weight > 0.5 else "w",
                )
        ax.set_xticks(range(len(lines)), [line.split(" ")[-1] for line in lines])
        ax.set_yticks(range(len(names)), [name.removeprefix("width ") for name in names])
        ax.set(xlabel=label, ylabel="width, 1 / gamma")
        fig.colorbar(image, label="learned weight")

    return draw


def degrees(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield the weights of 20 degrees, alone and with the identity among the terms."""
    ways = {f"{shown(sizes['identity'])} windows, identity among the terms": (sizes["identity"], True)}
    ways |= {f"{shown(n)} windows": (n, False) for n in sizes["N"]}
    for line, (n, identity) in ways.items():

        def work(n: int = n, identity: bool = identity) -> dict[str, Any]:
            X, y = data.worm(n)
            started = time.process_time()
            kernel = DEGREES + Identity() if identity else DEGREES
            model = MKLClassifier(kernel, C=1.0, tol=sizes["tol"]).fit(X, y)
            weights = model.weights_ / model.weights_.sum()
            short = weights[:20]
            peaks = [k + 1 for k in np.argsort(-short)[:3] if short[k] > 0.01]
            cells = {"heaviest degrees": ", ".join(map(str, peaks)), "weight of 1 to 6": float(short[:6].sum())}
            cells |= {
                "weight of 15 to 20": float(short[14:].sum()),
                "identity": float(weights[20]) if identity else None,
            }
            return cells | {"gap": model.gap_, "CPU s": time.process_time() - started, "_weights": np.round(weights, 4)}

        yield Task(line, ("heaviest degrees",), work)


def draw_degrees(fig: Any, result: dict[str, Any]) -> None:
    ax, width = fig.subplots(), 0.8 / len(result["series"])
    for number, ((line, kept), colour) in enumerate(zip(result["series"].items(), (BLUE, ORANGE, GREY), strict=False)):
        places = np.arange(1, len(kept["weights"]) + 1) + (number - 0.5) * width
        ax.bar(places, kept["weights"], width, color=colour, label=line)
    longest = max(len(kept["weights"]) for kept in result["series"].values())
    ax.set_xticks(range(1, longest + 1), [*map(str, range(1, 21)), *(["identity"] if longest > 20 else [])], fontsize=7)
    ax.set(xlabel="letters of the words, d", ylabel="learned weight (share of 1)")
    ax.legend()


def positions(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield the weights of positions, one kernel each: mean and spread of bootstraps."""

    def work() -> dict[str, Any]:
        X, y = data.worm(sizes["N"])
        rng, found = np.random.default_rng(0), []
        for number in range(sizes["bootstraps"]):
            rows = np.arange(len(y)) if number == 0 else np.sort(rng.integers(0, len(y), len(y)))
            model = MKLClassifier(
                WeightedDegree(degree=sizes["degree"]).split("position"), C=1.0, tol=0.01, memory="600MB"
            )
            model.fit(X.rows(rows), y[rows])
            found.append(model.weights_ / model.weights_.sum())
        mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
        best = np.sort(np.argsort(-mean)[:5]) - 60
        parts = {"-60 to -31": mean[:30], "-30 to -1": mean[30:60], "AG": mean[60:62], "from +2 on": mean[62:]}
        cells = {f"weight of {name}": float(part.sum()) for name, part in parts.items()}
        return (
            {"heaviest, from the A of AG": ", ".join(f"{p:+d}" for p in best)}
            | cells
            | {"_mean": mean, "_spread": spread}
        )

    yield Task(f"{shown(sizes['N'])} windows, {sizes['bootstraps']} bootstraps", ("heaviest, from the A of AG",), work)


def draw_positions(fig: Any, result: dict[str, Any]) -> None:
    ax, kept = fig.subplots(), next(iter(result["series"].values()))
    mean, spread = np.array(kept["mean"]), np.array(kept["spread"])
    places = np.arange(len(mean)) - 60
    ax.bar(places, mean, 0.9, color=BLUE, yerr=spread, error_kw={"lw": 0.6, "ecolor": GREY})
    ax.axvspan(-0.5, 1.5, color=ORANGE, alpha=0.25, lw=0)
    ax.set(xlabel="first letter of the words, from the A of AG (shaded)", ylabel="learned weight, mean and spread")


def one_class(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield weights of five widths and outliers found by one-class machines on one star."""
    for nu in sizes["nu"]:

        def work(nu: float = nu) -> dict[str, Any]:
            data.note("make_star, after the paper", "generated")
            X, y = make_star(sizes["samples"], 3.0, random_state=0)
            new, truth = make_star(sizes["samples"], 3.0, random_state=1)
            model = MKLOneClass(kernels(STAR_WIDTHS), nu=nu).fit(X[y < 0])
            inlier = model.predict(new) > 0
            cells = {"inner star taken in, %": 100 * float(inlier[truth < 0].mean()), "gap": model.gap_}
            cells |= {"outer star kept out, %": 100 * float((~inlier[truth > 0]).mean())}
            return weights_of(STAR_WIDTHS, model.weights_) | cells

        yield Task(f"nu = {nu:g}", ("outer star kept out, %",), work)


def algorithm_2(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield CPU seconds of SILP chunking, with cuts from kept products and with a pass over the support for each.

    First by number of windows; then what one cut costs, by how many of them are in the support.
    """
    for n in sizes["N"]:
        yield Task(f"{shown(n)} windows", ("from kept products", "by passes (before)"), lambda n=n: both_ways(n, 5.0))
    for support in sizes["support"]:
        line = f"a cut at {shown(max(sizes['N']))} windows, support {shown(support)}"
        columns = ("ms of a cut, kept", "ms of a cut, by a pass")
        yield Task(line, columns, lambda support=support: one_cut(max(sizes["N"]), support))


def one_cut(n: int, support: int) -> dict[str, Any]:
    """Return CPU milliseconds of coef' K_m coef of 20 degrees: from K_m coef, and by a pass over the support."""
    views = as_views(data.worm(n)[0])
    gram = LinaddGram(list(DEGREES.terms(views)), views)
    coef = np.zeros(n)
    chosen = np.random.default_rng(0).permutation(n)[:support]
    coef[chosen] = np.where(np.arange(support) % 2, 1.0, -1.0)
    each = gram.apply_each(coef)
    with blas_threads(1):
        kept, passed = best(lambda: each @ coef, 20), best(lambda: gram.quad(coef[:, None]), 3)
    return {"ms of a cut, kept": 1e3 * kept, "ms of a cut, by a pass": 1e3 * passed, "support": support}


def both_ways(n: int, C: float) -> dict[str, Any]:
    """Return what SILP chunking takes with kept products and without, and what the wrapper takes."""
    windows = data.worm(n)
    if n > COMPILING:
        both_ways(COMPILING, C)
    kept, kept_seconds = trained(DEGREES, windows, "linadd", SILPChunking(), Chunking(112), C)
    before = silp_chunking._quad
    silp_chunking._quad = lambda *_: None  # as it was: `certify` then makes a pass over the support
    try:
        passed, passed_seconds = trained(DEGREES, windows, "linadd", SILPChunking(), Chunking(112), C)
    finally:
        silp_chunking._quad = before
    wrapped, wrapped_seconds = trained(DEGREES, windows, "linadd", SILP(), Chunking(112), C)
    steps = len(kept.history)
    return {
        "from kept products": kept_seconds,
        "steps": steps,
        "ms a step": 1e3 * kept_seconds / steps,
        "by passes (before)": passed_seconds,
        "steps, before": len(passed.history),
        "ms a step, before": 1e3 * passed_seconds / len(passed.history),
        "wrapper": wrapped_seconds,
        "machines of the wrapper": wrapped.n_solves,
        "support": int((kept.step.coef != 0).any(axis=1).sum()),
    }


DISTANCES = (0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 5.9)
FREQUENCIES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
FAST = (2.0, 4.0, 8.0, 16.0, 32.0)
ROWS = (
    Row(
        "mkl-figure-2",
        PAPER,
        stars,
        {"samples": 300, "judged on": 1_000, "distances": DISTANCES[::2], "C": (0.5, 5.0)},
        {"samples": 2_000, "judged on": 2_000, "distances": DISTANCES, "C": (0.1, 0.5, 1.0, 5.0, 10.0)},
        "mean log10 width",
        draw=draw_weights("distance of the stars (outer less inner radius)"),
        limits=(60, 900),
    ),
    Row(
        "mkl-figure-3",
        PAPER,
        waves,
        {"samples": 200, "judged on": 500, "frequencies": FREQUENCIES, "C": (1.0, 10.0)},
        {"samples": 1_000, "judged on": 1_000, "frequencies": FREQUENCIES, "C": (0.1, 1.0, 10.0, 100.0)},
        "mean log10 width",
        draw=draw_weights("frequency (rad per unit of x)"),
        limits=(60, 900),
    ),
    Row(
        "mkl-figure-4",
        PAPER,
        mixed,
        {"samples": 200, "frequencies": FAST},
        {"samples": 1_000, "frequencies": FAST},
        "widths in use",
        draw=draw_weights("frequency a of the fast wave"),
        limits=(60, 900),
    ),
    Row(
        "mkl-figure-5",
        PAPER,
        degrees,
        {"N": (10_000,), "identity": 1_000, "tol": 0.01},
        {"N": (100_000, 1_000_000), "identity": 3_000, "tol": 0.001},
        "heaviest degrees",
        draw=draw_degrees,
        figsize=(8, 3.6),
        limits=(90, 1200),
    ),
    Row(
        "mkl-figure-6",
        PAPER,
        positions,
        {"N": 3_000, "degree": 10, "bootstraps": 2},
        {"N": 50_000, "degree": 20, "bootstraps": 10},
        "heaviest, from the A of AG",
        draw=draw_positions,
        figsize=(9, 3.2),
        limits=(90, 1800),
    ),
    Row(
        "one-class",
        PAPER,
        one_class,
        {"samples": 300, "nu": (0.05, 0.2)},
        {"samples": 2_000, "nu": (0.05, 0.1, 0.2, 0.5)},
        "outer star kept out, %",
        limits=(60, 600),
    ),
    Row(
        "algorithm-2",
        PAPER,
        algorithm_2,
        {"N": (1_000, 3_000), "support": (100, 1_000, 3_000)},
        {"N": (1_000, 3_000, 6_000, 10_000), "support": (100, 1_000, 10_000)},
        "from kept products",
        limits=(90, 900),
    ),
)
