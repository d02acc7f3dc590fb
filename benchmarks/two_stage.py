"""Two-stage MKL beside one machine with the best kernel, the average kernel, and one-stage MKL, on regression data.

The table of the TSMKLR paper on the five data sets it names: 42 kernels (Laplacian and Gaussian with widths 2^-9 to
2^9, polynomials of degree 1 to 4), repeated hold-outs of 30 %, RMSE with ranks. Every contender chooses its C (and the
single machine its kernel, the two-stage ones how stage one is done) by the leave-one-out error on the training
samples, which kernel ridge regression has in closed form; weights that were learned stay as they are for it.

Run as ``python benchmarks/two_stage.py [hold-outs] [set ...] [part ...]``; by default 30 hold-outs, all sets and all
parts: table, times, shape, clusters, figure. The data are looked for in the folder that KERNELWEAVE_DATA names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, lapack
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelweave import DataWarning, PreClustering, Precomputed, compare_solvers
from kernelweave.dual import Machine
from kernelweave.estimators.compare import p_value
from kernelweave.estimators.prepared_terms import Terms, prepare_terms
from kernelweave.gram import bind
from kernelweave.kernels.base import add_all
from kernelweave.losses import EpsilonInsensitive, Squared
from kernelweave.mkl import Hessian, Problem, Simple, TwoStage, run
from kernelweave.norms import Fixed, Simplex
from kernelweave.views import as_views

DATA = Path(os.environ.get("KERNELWEAVE_DATA", "data"))
SETS = {
    "airfoil": ("uci_airfoil/data.csv", "y"),
    "communities": ("uci_communities/data.csv.gz", "y"),
    "slump": ("uci_slump/data.csv", "y_slump"),
    "cooling": ("uci_energy/data.csv", "y_cool"),
    "heating": ("uci_energy/data.csv", "y_heat"),
}
PARTS = ("table", "times", "shape", "clusters", "figure")
WIDTHS = 2.0 ** np.arange(-9, 10)
COSTS = 10.0 ** np.arange(0, 8)
#: Targets that differ by less than this share of their spread are alike.
EPSILON = 0.5
SHARES = (0.1, 0.2, 0.5, 1.0)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised inputs and targets."""
    file, target = SETS[name]
    table = pd.read_csv(DATA / file)
    X = table[[column for column in table if not column.startswith("y")]].to_numpy(float)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), table[target].to_numpy(float)


def matrices(X: np.ndarray) -> dict[str, np.ndarray]:
    """Return the 42 kernel matrices of all samples."""
    absolute, squared = cdist(X, X, "cityblock"), cdist(X, X, "sqeuclidean")
    found = {f"laplacian {w:g}": np.exp(-absolute / w) for w in WIDTHS}
    found |= {f"gaussian {w:g}": np.exp(-squared / (2 * w * w)) for w in WIDTHS}
    return found | {f"polynomial {d}": (X @ X.T / X.shape[1] + 1.0) ** d for d in (1, 2, 3, 4)}


class Task:
    """The kernels of one data set, and the last training samples that they were bound to."""

    def __init__(self, X: np.ndarray) -> None:
        self.kernels = [Precomputed(K, name=name, psd="ignore") for name, K in matrices(X).items()]
        self.kernel = add_all(self.kernels)
        self._ids, self._terms = np.empty(0), None

    def bound(self, ids: np.ndarray) -> Terms:
        """Return the terms as an estimator sees them: scaled, without dead ones and twins."""
        if self._terms is None or not np.array_equal(ids, self._ids):
            gram = bind(self.kernel, as_views(ids))
            self._ids, self._terms = ids, prepare_terms(gram, "variance", np.ones(len(ids)), centred=True, merge=True)
        return self._terms

    def between(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of the matrices for some samples."""
        at = np.ix_(rows, cols)
        return np.sum([weights[m] * self.kernels[m].K[at] for m in np.flatnonzero(weights)], axis=0)


def machines(K: np.ndarray, y: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return leave-one-out errors, coefficients and intercept of kernel ridge regression for every cost.

    With A = K + I / (2C) and P = A⁻¹ − A⁻¹ 1 1'A⁻¹ / 1'A⁻¹ 1, coef = P y, and leaving out sample i
    misses it by coef_i / P_ii. One decomposition of K serves all costs.
    """
    n, total = len(y), K.sum(axis=0)
    if len(costs) == 1:
        factor = cho_factor(K + np.diag(np.full(n, 0.5 / costs[0])), lower=True, overwrite_a=True)[0]
        inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        U, V, diagonal = (inverse @ y)[:, None], inverse.sum(axis=0)[:, None], inverse.diagonal()[:, None]
    else:
        alone = np.abs(total - K.diagonal()).max() <= 1e-15 * K.diagonal().min()  # no two samples are alike
        values, Q = (K.diagonal(), np.eye(n)) if alone else np.linalg.eigh(K)
        D = 1.0 / (np.maximum(values, 0.0)[:, None] + 0.5 / costs)
        U, V, diagonal = Q @ (D * (Q.T @ y)[:, None]), Q @ (D * Q.sum(axis=0)[:, None]), (Q * Q) @ D
    b = U.sum(axis=0) / V.sum(axis=0)
    coef = U - b * V
    return coef / (diagonal - V * V / V.sum(axis=0)), coef, b


@dataclass
class Found:
    """One trial: its squared leave-one-out errors, what it was, and its machine."""

    squares: np.ndarray
    option: Any
    weights: np.ndarray
    gap: float
    coef: np.ndarray
    b: float


class Contender(BaseEstimator):
    """Weights by some rule, then kernel ridge regression; C and the rule's options by leave-one-out.

    With margin, the first option is kept unless another's mean squared error is lower by that many standard errors of
    the difference: among options that are much alike, the least error is found by chance.
    """

    def __init__(self, task: Any = None, rule: Any = None, options: Any = (None,), margin: float = 0.0) -> None:
        self.task = task
        self.rule = rule
        self.options = options
        self.margin = margin

    def __sklearn_clone__(self) -> Contender:
        return Contender(self.task, self.rule, self.options, self.margin)  # the matrices are not to be copied

    def fit(self, ids: np.ndarray, y: np.ndarray) -> Contender:
        terms, first, best = self.task.bound(ids), None, None
        for option in self.options:
            for weights, costs, gap in self.rule(terms, y, option):
                K, factor = terms.gram.matrix(weights)
                off, coef, b = machines(factor * K, y, costs)
                c = int(np.argmin((off * off).mean(axis=0)))
                found = Found(off[:, c] ** 2, option, weights, gap, coef[:, c], b[c])
                first = first or found
                best = found if best is None or found.squares.mean() < best.squares.mean() else best
        gain = first.squares - best.squares
        best = best if gain.mean() > self.margin * gain.std() / np.sqrt(len(y)) else first
        self.option_, self.gap_, self.coef_, self.b_, self.ids_ = best.option, best.gap, best.coef, best.b, ids
        self.weights_ = terms.spread(best.weights) / terms.scales
        return self

    def predict(self, ids: np.ndarray) -> np.ndarray:
        return self.task.between(ids, self.ids_, self.weights_) @ self.coef_ + self.b_


Weighed = Iterator[tuple[np.ndarray, np.ndarray, float]]


def single(terms: Terms, y: np.ndarray, option: None) -> Weighed:
    """Yield every kernel alone."""
    for weights in np.eye(terms.gram.n_terms):
        yield weights, COSTS, 0.0


def average(terms: Terms, y: np.ndarray, option: None) -> Weighed:
    """Yield equal weights of the scaled kernels."""
    yield np.array([len(group) for group in terms.groups]) / len(terms.all_terms), COSTS, 0.0


def two_stage(terms: Terms, y: np.ndarray, option: TwoStage) -> Weighed:
    """Yield the weights of stage one, which no C enters."""
    yield option.first_stage(problem(terms, y, 1.0)).weights, COSTS, 0.0


def one_stage(terms: Terms, y: np.ndarray, option: float) -> Weighed:
    """Yield the weights of one-stage MKL at one C."""
    result = run(Hessian(), problem(terms, y, option))
    yield result.step.weights, np.array([option]), result.gap


def problem(terms: Terms, y: np.ndarray, C: float, loss: Any = None) -> Problem:
    """Return the bound problem of a regressor."""
    return Problem(terms.gram, [Machine(loss or Squared(), y, np.full(len(y), C))], Simplex(), tol=0.01)


def contenders(task: Task, X: np.ndarray, y: np.ndarray) -> dict[str, Contender]:
    """Return all contenders on one data set."""
    compress = PreClustering(EPSILON * y.std(), kernel=Precomputed(X @ X.T, name="x", psd="ignore"))
    kinds = {"method": "ridge"}, {"method": "alignment", "power": 4.0}, {"method": "differences"}
    whole, compressed = ([TwoStage(**kind, compress=c) for kind in kinds] for c in (None, compress))
    return {
        "best single KRR": Contender(task, single),
        "average kernel": Contender(task, average),
        "one-stage MKL": Contender(task, one_stage, COSTS.tolist()),
        "TSMKLR": Contender(task, two_stage, whole, 1.0),
        "TSMKLR compressed": Contender(task, two_stage, compressed, 1.0),
        "ridge (default)": Contender(task, two_stage, whole[:1]),
        "alignment^4": Contender(task, two_stage, whole[1:2]),
        "differences": Contender(task, two_stage, whole[2:]),
        "products of targets": Contender(task, two_stage, [TwoStage(target="product", diagonal=True)]),
    }


def table(name: str, n_splits: int) -> np.ndarray:
    """Print the table of one data set, and return the ranks."""
    X, y = load(name)
    task = Task(X)
    models = contenders(task, X, y)
    result = compare_solvers(np.arange(len(y)), y, solvers=models, n_splits=n_splits)
    print(f"\n{name}: {X.shape[0]} x {X.shape[1]}, spread of y {y.std():.4g}\n{result.to_text()}", flush=True)
    print("beside the best single KRR, mean ratio and p of a paired t-test:")
    base = result.errors[:, 0]
    for label, errors in list(zip(models, result.errors.T, strict=True))[1:]:
        print(f"  {label:<18} {np.mean(errors / base):.3f}  p = {p_value(errors, base):.2g}", flush=True)
    return np.array([row["rank"] for row in result.rows])


def times(name: str) -> None:
    """Print CPU seconds per solver, all with the same C, terms and samples, to gap 0.01.

    Every estimator reads the matrices and scales them first; that is timed once and is part of the second ratio.
    """
    X, y = load(name)
    task, C = Task(X), 100.0
    ids = np.sort(np.random.default_rng(0).permutation(len(y))[: int(0.7 * len(y))])
    compress = PreClustering(EPSILON * y.std(), kernel=Precomputed(X @ X.T, name="x", psd="ignore"))
    solvers = {"two_stage": TwoStage(), "compressed": TwoStage(compress=compress)}
    solvers |= {"alignment^4": TwoStage("alignment", power=4.0), "differences": TwoStage("differences")}
    solvers |= {"hessian": Hessian(), "simple": Simple()}
    losses = {"squared": Squared(), "epsilon-insensitive": EpsilonInsensitive(0.1 * y.std())}
    for loss in losses.values():  # compile first
        for solver in solvers.values():
            solve(solver, problem(task.bound(ids[:40]), y[ids[:40]], 1.0, loss))
    reading, terms = cpu(lambda: task.bound(ids))
    print(f"\n{name}: {len(ids)} samples, C = {C:g}; reading and scaling the matrices {reading:.2f} s")
    for label, loss in losses.items():
        base = 0.0
        for named, solver in solvers.items():
            started = problem(terms, y[ids], C, loss)
            seconds, result = cpu(lambda solver=solver, started=started: solve(solver, started))
            base = base or seconds
            ratios = f"x{seconds / base:.1f}, with reading x{(reading + seconds) / (reading + base):.1f}"
            print(f"  {label:<19} {named:<11} {seconds:7.2f} s ({ratios}; {result.n_solves} machines)", flush=True)


def solve(solver: Any, problem: Problem) -> Any:
    """Run a solver as an estimator does."""
    stage = solver.first_stage(problem)
    if stage is not None:
        problem.norm = Fixed(stage.weights)
    return run(solver, problem)


def cpu(job: Any) -> tuple[float, Any]:
    """Return the CPU seconds that a job takes, and what it returns."""
    started = time.process_time()
    result = job()
    return time.process_time() - started, result


def rates(name: str) -> list[float]:
    """Return the percentage of the samples that is left out, by epsilon."""
    X, y = load(name)
    return [100 * PreClustering(share * y.std()).fit(X, y).compression_rate_ for share in SHARES]


def clusters(names: list[str]) -> None:
    """Print how much pre-clustering leaves out, and how long it takes on many points."""
    print("\nsamples left out, by epsilon / spread of y")
    for name in names:
        print(f"  {name}: " + ", ".join(f"{s:g}: {r:.0f} %" for s, r in zip(SHARES, rates(name), strict=True)))
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (100_000, 3))
    y, model = np.sin(3 * X[:, 0]) + X[:, 1], PreClustering(0.1)
    seconds, _ = cpu(lambda: model.fit(X, y))
    rate = 100 * model.compression_rate_
    print(f"PreClustering of 100,000 points in 3 dimensions: {seconds:.1f} s, {rate:.0f} % left out")


def figure(names: list[str]) -> None:
    """Draw the share of the samples that is left out, by data set and epsilon."""
    import matplotlib.pyplot as plt

    found, height = np.array([rates(name) for name in names]), 0.8 / len(SHARES)
    fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for i, share in enumerate(SHARES):
        at = np.arange(len(names)) + (i - (len(SHARES) - 1) / 2) * height
        bars = ax.barh(at, found[:, i], height, color=plt.colormaps["Blues"](0.3 + 0.22 * i), label=f"{share:g}")
        ax.bar_label(bars, fmt="%.0f", padding=2, fontsize=8)
    ax.set_yticks(np.arange(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 105)
    ax.set_xlabel("samples left out (%)")
    ax.legend(title="epsilon / spread of y", frameon=False, loc="center right")
    ax.spines[["top", "right"]].set_visible(False)
    target = Path(__file__).parent / "results" / "compression.png"
    target.parent.mkdir(exist_ok=True)
    fig.savefig(target, dpi=110)
    print(f"\nfigure: {target.name}")


SHAPE = """
import resource, sys, time
import numpy as np
from threadpoolctl import threadpool_limits
from kernelweave.gram import DenseGram
from kernelweave.kernels import RBF
from kernelweave.mkl.alignment import Pairs
from kernelweave.views import as_views
threadpool_limits(1)
n, n_terms = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = as_views(rng.standard_normal((n, 3)))
stacks = [RBF(g).compute(X, None) for g in (0.1, 1.0)]  # few matrices under many names: what is added counts
gram = DenseGram([RBF()] * n_terms, X, stacks, [(m % 2, 0) for m in range(n_terms)])
pairs = lambda some: Pairs(gram, some, np.ones(len(some)), rng.standard_normal((len(some), 1)))
pairs(np.arange(10)).moments()
before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
pairs(np.arange(n)).moments()
seconds, peak = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
each = 1e9 * seconds / (n * n * n_terms**2)
print(f"{n:>7} {n_terms:>7} {seconds:>9.2f} {each:>14.3f} {(peak - before) / 1000:>9.0f}")
"""


def shape() -> None:
    """Print time and memory of stage one as samples and terms grow."""
    print("\nStage one alone\nsamples   terms   seconds  ns/pair/term²  added MB", flush=True)
    for n, n_terms in ((1250, 42), (2500, 42), (5000, 42), (2500, 84), (2500, 168)):
        subprocess.run([sys.executable, "-c", SHAPE, str(n), str(n_terms)], check=True)


def main() -> None:
    """Run the parts that are named, on the sets that are named."""
    words = sys.argv[1:]
    n_splits = int(words.pop(0)) if words and words[0].isdigit() else 30
    names, parts = [w for w in words if w in SETS] or list(SETS), [w for w in words if w in PARTS] or PARTS
    if unknown := set(words) - set(SETS) - set(PARTS):
        sys.exit(f"{', '.join(sorted(unknown))}: neither a set ({', '.join(SETS)}) nor a part ({', '.join(PARTS)})")
    warnings.simplefilter("ignore", DataWarning)  # half of the widths fit no data: that is what is to be found out
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table shows the gap
    with threadpool_limits(1):
        if "table" in parts:
            ranks = np.mean([table(name, n_splits) for name in names], axis=0)
            labels = contenders(Task(np.eye(4)), np.eye(4), np.arange(4.0))
            print("\nmean rank: " + ", ".join(f"{label} {r:.1f}" for label, r in zip(labels, ranks, strict=True)))
        if "times" in parts:
            for name in names:
                times(name)
        if "shape" in parts:
            shape()
        if "clusters" in parts:
            clusters(names)
        if "figure" in parts:
            figure(names)


if __name__ == "__main__":
    main()
