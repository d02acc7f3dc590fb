"""A demonstration on a table whose truth is known: `python -m kernelweave.demo`.

Four views describe the same samples. Two of them decide the outcome, each in its own way; the other
two are noise. Every view is offered through two kernels, and learning has to find out which matter.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .estimators import MKLClassifier, MKLRegressor
from .kernels import RBF, Kernel, Linear
from .kernels.base import add_all
from .norms import Fixed

#: The views, with how many columns each has.
VIEWS = {"ring": 2, "trend": 3, "weather": 4, "lottery": 4}
#: The terms that made the data.
TRUE_TERMS = ("RBF().on('ring')", "Linear().on('trend')")
N_SAMPLES, N_TRAIN = 300, 200
BAR_WIDTH = 24
BLUE, ORANGE, GREY = "#2a6f97", "#d1603d", "#9aa5ab"

Samples = dict[str, np.ndarray]


@dataclass(frozen=True)
class Data:
    """Samples seen through several views, their label and their number, cut in two."""

    train: Samples
    test: Samples
    labels: tuple[np.ndarray, np.ndarray]
    numbers: tuple[np.ndarray, np.ndarray]


def make_data(seed: int = 0) -> Data:
    """Draw samples whose outcome depends on the distance from zero in `ring` and on the first column of `trend`."""
    rng = np.random.default_rng(seed)
    views = {name: rng.standard_normal((N_SAMPLES, width)) for name, width in VIEWS.items()}
    radius = np.linalg.norm(views["ring"], axis=1)
    signal = 2.5 * np.exp(-radius) + 0.8 * views["trend"][:, 0] + 0.1 * rng.standard_normal(N_SAMPLES)
    labels = np.where(signal > np.median(signal), "high", "low")
    cut = slice(None, N_TRAIN), slice(N_TRAIN, None)
    train, test = ({name: view[part] for name, view in views.items()} for part in cut)
    return Data(train, test, (labels[cut[0]], labels[cut[1]]), (signal[cut[0]], signal[cut[1]]))


def make_kernel() -> Kernel:
    """Offer every view twice: as straight lines and as neighbourhoods."""
    return add_all([kernel.on(view) for view in VIEWS for kernel in (Linear(), RBF())])


def fitted(model: Any, data: Data, targets: tuple[np.ndarray, np.ndarray]) -> tuple[Any, float]:
    """Return the model after its fit, and the seconds that took."""
    start = time.perf_counter()
    model.fit(data.train, targets[0])
    return model, time.perf_counter() - start


def weights_table(model: Any, bar: str) -> Table:
    """Return the learned weights with a bar for each."""
    table = Table(title="Learned weights (they add up to 1)", title_justify="left")
    table.add_column("term")
    table.add_column("made the data")
    table.add_column("weight", justify="right")
    table.add_column("", width=BAR_WIDTH)
    for name, weight in zip(model.term_names_, model.weights_, strict=True):
        truth = "yes" if name in TRUE_TERMS else "no"
        style = "bold" if name in TRUE_TERMS else "dim"
        length = round(BAR_WIDTH * weight / model.weights_.max())
        table.add_row(name, truth, f"{weight:.3f}", bar * length, style=style)
    return table


def certificate_table(model: Any, seconds: float) -> Table:
    """Return what the fit proves about itself."""
    table = Table(title="Certificate", title_justify="left", show_header=False)
    table.add_row("objective", f"{model.objective_:.4f}", "the best machine and weights found")
    table.add_row("lower bound", f"{model.lower_bound_:.4f}", "no machine and no weights can be below this")
    table.add_row("gap", f"{model.gap_:.1e}", f"their relative distance; asked for {model.tol:g}")
    table.add_row("stopped", model.stop_reason_, f"solver {model.solver_!r}, {model.n_iter_} steps, {seconds:.2f} s")
    return table


def scores_table(name: str, models: dict[str, Any], data: Data, targets: tuple[np.ndarray, np.ndarray]) -> Table:
    """Return the scores of several models on training and test samples."""
    table = Table(title=name, title_justify="left")
    table.add_column("weights")
    table.add_column(f"train ({N_TRAIN})", justify="right")
    table.add_column(f"test ({N_SAMPLES - N_TRAIN})", justify="right")
    for title, model in models.items():
        scores = (model.score(data.train, targets[0]), model.score(data.test, targets[1]))
        table.add_row(title, *(f"{score:.3f}" for score in scores))
    return table


def show(console: Console, name: str, learned: Any, uniform: Any, data: Data, targets: Any) -> Any:
    """Fit both models, print what they found, and return the one that learned its weights."""
    learned, seconds = fitted(learned, data, targets)
    uniform, _ = fitted(uniform, data, targets)
    bar = "#" if console.options.ascii_only else "█"
    console.print(weights_table(learned, bar))
    console.print(certificate_table(learned, seconds))
    console.print(scores_table(name, {"learned": learned, "all equal": uniform}, data, targets))
    console.print()
    return learned


def draw(models: dict[str, Any], folder: Path) -> list[Path]:
    """Write pictures of the weights and of the convergence, and return where they are."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, paint in (("weights.png", paint_weights), ("convergence.png", paint_convergence)):
        figure = Figure(figsize=(10, 4), layout="constrained")
        for axes, (title, model) in zip(figure.subplots(1, len(models)), models.items(), strict=True):
            paint(axes, model)
            axes.set_title(title)
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(folder / name, dpi=150)
        paths.append(folder / name)
    return paths


def paint_weights(axes: Any, model: Any) -> None:
    """Draw one bar per term; the terms that made the data in another colour."""
    colours = [ORANGE if name in TRUE_TERMS else GREY for name in model.term_names_]
    axes.barh(model.term_names_, model.weights_, color=colours)
    axes.invert_yaxis()  # the first term on top, as it is typed
    axes.set_xlabel("weight (share of 1); orange: made the data")


def paint_convergence(axes: Any, model: Any) -> None:
    """Draw the relative gap over the steps, down to the tolerance."""
    steps = [entry["iteration"] for entry in model.history_]
    axes.semilogy(steps, [entry["gap"] for entry in model.history_], color=BLUE, marker="o", markersize=4)
    axes.axhline(model.tol, color=GREY, linestyle="--", label=f"tol = {model.tol:g}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("step of the solver")
    axes.set_ylabel("relative duality gap")
    axes.legend(frameon=False)


def draw_if_possible(console: Console, models: dict[str, Any], folder: Path) -> None:
    """Draw, or say what is missing for it."""
    try:
        paths = draw(models, folder)
    except ModuleNotFoundError as error:
        missing = (error.name or "matplotlib").partition(".")[0]
        console.print(f"No pictures: {missing} is not installed. Get it with: pip install 'kernelweave\\[plot]'")
    except OSError as error:
        console.print(f"No pictures: cannot write to {folder} ({error.strerror}).")
    else:
        console.print("Pictures:", *(str(path) for path in paths))


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit a classifier and a regressor on the table, print what they learned, and draw it."""
    parser = argparse.ArgumentParser(prog="python -m kernelweave.demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the pictures")
    folder = parser.parse_args(arguments).output
    console = Console(highlight=False, soft_wrap=True)
    data, kernel = make_data(), make_kernel()
    n_terms = 2 * len(VIEWS)
    equal = Fixed(np.full(n_terms, 1.0 / n_terms))
    console.print(f"{N_SAMPLES} samples, {len(VIEWS)} views, {n_terms} terms: which similarities matter?")
    console.print("'ring' and 'trend' made the outcome, 'weather' and 'lottery' are noise.")
    console.print("The first run compiles its inner loops, which takes some seconds; later runs find them ready.\n")
    console.rule("Classification: high or low?", characters="-")
    classifier = show(console, "Accuracy", MKLClassifier(kernel), MKLClassifier(kernel, norm=equal), data, data.labels)
    console.rule("Regression: how high?", characters="-")
    regressor = show(console, "R2", MKLRegressor(kernel), MKLRegressor(kernel, norm=equal), data, data.numbers)
    console.print("Noise rarely ends at exactly 0: a curved term can memorise a few training samples, and that pays.\n")
    draw_if_possible(console, {"classification": classifier, "regression": regressor}, folder)
    console.print("Next: README.md has examples to copy, docs/kernels.md the language of kernels.")


if __name__ == "__main__":
    main()
