"""Two-stage MKL by regression: table 1 and figure 1 of its paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import two_stage as bench
from threadpoolctl import threadpool_limits

from kernelweave import PreClustering, compare_solvers
from kernelweave.mkl import Analytic, run
from kernelweave.norms import LpNorm

from . import data, theirs
from .frame import Row, Task
from .style import COLOURS

PAPER = "two_stage"
#: Rows and columns of the sets, and the mean and spread of their targets, for what stands in for them.
SHAPES = {
    "airfoil": (1503, 5, 125.0, 6.9),
    "communities": (1994, 100, 0.24, 0.23),
    "slump": (103, 7, 18.0, 8.7),
    "cooling": (768, 8, 24.6, 9.5),
    "heating": (768, 8, 22.3, 10.1),
}
FOLDERS = {name: file.partition("/")[0] for name, (file, _) in bench.SETS.items()}


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and targets of a set, or sums of waves of drawn numbers of the same shape."""
    if data.has(FOLDERS[name]):
        data.note(FOLDERS[name])
        bench.DATA = data.folder()
        return bench.load(name)
    data.note(f"waves, shaped as {name}", "stand-in")
    n, columns, mean, spread = SHAPES[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, columns))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * X[:, 2] * X[:, 3] + 0.1 * rng.standard_normal(n)
    return X, mean + spread * (f - f.mean()) / f.std()


class AsPrinted(bench.Contender):
    """Both stages as the paper prints them.

    Pairs of the M samples that pre-clustering keeps; d = argmin Σ_ij (Σ_l d_l k_l(x_i, x_j) − y_i y_j)² + λ‖d‖², of any
    sign, targets as they are; then coef = (K + λI)⁻¹ y over all samples, without intercept. λ of both stages by the
    leave-one-out error of the second.
    """

    def __init__(self, task: Any = None, X: Any = None, epsilon: float = 0.0) -> None:
        self.task = task
        self.X = X
        self.epsilon = epsilon

    def __sklearn_clone__(self) -> AsPrinted:
        return AsPrinted(self.task, self.X, self.epsilon)  # the matrices are not to be copied

    def fit(self, ids: np.ndarray, y: np.ndarray) -> AsPrinted:
        kept = PreClustering(self.epsilon).fit(self.X[ids], y).representatives_
        at = np.ix_(ids[kept], ids[kept])
        pairs = np.array([kernel.K[at].ravel() for kernel in self.task.kernels])
        scale = np.sqrt((pairs * pairs).mean(axis=1))
        G, b = pairs @ pairs.T / np.outer(scale, scale), (pairs @ np.outer(y[kept], y[kept]).ravel()) / scale
        best = (np.inf, np.empty(0), np.empty(0))
        for share in (1e-8, 1e-4, 1e-1):
            weights = np.linalg.solve(G + share * np.trace(G) * np.eye(len(G)), b) / scale
            values, Q = np.linalg.eigh(self.task.between(ids, ids, weights))
            for ridge in np.abs(values).max() * np.logspace(-8, 0, 9):
                spectrum = 1.0 / np.where(np.abs(values + ridge) > 1e-12 * ridge, values + ridge, ridge)
                coef, diagonal = Q @ (spectrum * (Q.T @ y)), (Q * Q) @ spectrum
                with np.errstate(all="ignore"):
                    error = float(np.mean((coef / diagonal) ** 2))
                if error < best[0]:
                    best = (error, weights, coef)
        _, self.weights_, self.coef_ = best
        self.ids_, self.b_, self.gap_ = ids, 0.0, 0.0
        return self


def generalised(terms: Any, y: np.ndarray, option: float) -> Any:
    """Yield the weights of one-stage MKL with a 2-norm on them, at one C: the problem that SPG-GMKL solves."""
    problem = bench.problem(terms, y, option)
    problem = type(problem)(problem.gram, problem.machines, LpNorm(2.0), tol=problem.tol)
    result = run(Analytic(), problem)
    yield result.step.weights, np.array([option]), result.gap


def contenders(task: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the paper's four, then ours: the names of columns."""
    ours = bench.contenders(task, X, y)
    costs = bench.COSTS.tolist()
    return {
        "KRR": ours["best single KRR"],
        "SimpleMKL": ours["one-stage MKL"],
        "SPG-GMKL": bench.Contender(task, generalised, costs[::2]),
        "TSMKL": ours["TSMKLR compressed"],
        "TSMKL, all samples": ours["TSMKLR"],
        "products of targets": ours["products of targets"],
        "as printed": AsPrinted(task, X, bench.EPSILON * float(y.std())),
        "average kernel": ours["average kernel"],
    }


def table_1(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield RMSE with standard deviation, and ranks, of all contenders on one set after the other."""
    for name, n_splits in sizes["hold-outs"].items():

        def work(name: str = name, n_splits: int = n_splits) -> dict[str, Any]:
            X, y = table(name)
            with threadpool_limits(1):
                models = contenders(bench.Task(X), X, y)
                result = compare_solvers(np.arange(len(y)), y, solvers=models, n_splits=n_splits)
            cells = {}
            for label, errors, row in zip(models, result.errors.T, result.rows, strict=True):
                cells[label] = f"{errors.mean():.4g} ± {errors.std(ddof=1):.2g} ({row['rank']:g})"
            return cells | {"spread of y": float(y.std()), "hold-outs": n_splits}

        yield Task(name, ("KRR", "TSMKL"), work)


def figure_1(sizes: dict[str, Any]) -> Iterator[Task]:
    """Yield how much pre-clustering leaves out, by set and epsilon."""
    for name in SHAPES:

        def work(name: str = name) -> dict[str, Any]:
            X, y = table(name)
            rates = {s: PreClustering(s * y.std()).fit(X, y).compression_rate_ for s in bench.SHARES}
            return {f"epsilon {share:g}": 100 * float(rate) for share, rate in rates.items()}

        yield Task(name, tuple(f"epsilon {share:g}" for share in bench.SHARES), work)


def draw_1(fig: Any, result: dict[str, Any]) -> None:
    ax, height = fig.subplots(), 0.8 / len(bench.SHARES)
    for number, share in enumerate(bench.SHARES):
        found = [cells[f"epsilon {share:g}"] for cells in result["cells"].values()]
        bars = ax.barh(
            np.arange(len(found)) + (number - 1.5) * height, found, height, color=COLOURS[number], label=f"{share:g}"
        )
        ax.bar_label(bars, fmt="%.0f", padding=2, fontsize=7)
    ax.set_yticks(range(len(result["cells"])), list(result["cells"]))
    ax.invert_yaxis()
    ax.set(xlabel="samples left out (%)", xlim=(0, 108))
    ax.legend(title="epsilon / spread of y", loc="upper right")


#: The paper's values; what it prints stands beside ours that is as printed, too.
TABLE_1 = {name: cells | {"as printed": cells["TSMKL"]} for name, cells in theirs.TABLE_1.items()}
QUICK = {"airfoil": 2, "communities": 2, "slump": 5, "cooling": 2, "heating": 2}
FULL = {"slump": 30, "cooling": 30, "heating": 30, "airfoil": 30, "communities": 30}
ROWS = (
    Row(
        "two-stage-table-1",
        PAPER,
        table_1,
        {"hold-outs": QUICK},
        {"hold-outs": FULL},
        "TSMKL @ airfoil",
        TABLE_1,
        limits=(240, 3600),
    ),
    Row(
        "two-stage-figure-1",
        PAPER,
        figure_1,
        {"sets": tuple(SHAPES)},
        {"sets": tuple(SHAPES)},
        "epsilon 0.5",
        draw=draw_1,
        limits=(60, 120),
    ),
)
