"""Two-stage MKL beside one machine with the best kernel, the average kernel, and one-stage MKL, on regression data.

The table of the TSMKLR paper on the five data sets it names: 42 kernels (Laplacian and Gaussian with widths 2^-9 to
2^9, polynomials of degree 1 to 4), repeated hold-outs of 30 %, RMSE with ranks. Every contender chooses its C (and the
single machine its kernel, the two-stage ones target and ridge) on a quarter of the training samples, held out once.

Run as ``python benchmarks/two_stage.py [hold-outs] [set ...]``; by default 30 hold-outs on all sets. The data are
looked for in the folder that KERNELWEAVE_DATA names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelweave import DataWarning, MKLRegressor, PreClustering, Precomputed, compare_solvers
from kernelweave.estimators.compare import p_value
from kernelweave.kernels.base import add_all
from kernelweave.mkl import TwoStage

DATA = Path(os.environ.get("KERNELWEAVE_DATA", "../shared/data"))
SETS = {
    "airfoil": ("uci_airfoil/data.csv", "y"),
    "communities": ("uci_communities/data.csv.gz", "y"),
    "slump": ("uci_slump/data.csv", "y_slump"),
    "cooling": ("uci_energy/data.csv", "y_cool"),
    "heating": ("uci_energy/data.csv", "y_heat"),
}
WIDTHS = 2.0 ** np.arange(-9, 10)
COSTS = 10.0 ** np.arange(0, 7)
RIDGES = (None, 1e-2, 1e-1, 1.0)
TARGETS = ("centred", "product")
#: Targets that differ by less than this share of their spread are alike.
EPSILON = 0.5


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


def ridge_machine(K: np.ndarray, y: np.ndarray, C: float) -> tuple[np.ndarray, float]:
    """Return coefficients and intercept of kernel ridge regression."""
    A = K.copy()
    A.flat[:: len(y) + 1] += 0.5 / C
    u, v = cho_solve(cho_factor(A, lower=True, overwrite_a=True), np.column_stack([y, np.ones(len(y))])).T
    b = u.sum() / v.sum()
    return u - b * v, b


class Contender(BaseEstimator):
    """Weights by some rule, then kernel ridge regression; C and the rule's options by one inner hold-out."""

    def __init__(self, kernels: Any = None, rule: Any = None, options: Any = (None,)) -> None:
        self.kernels = kernels
        self.rule = rule
        self.options = options

    def __sklearn_clone__(self) -> Contender:
        return Contender(self.kernels, self.rule, self.options)  # the matrices are not to be copied

    def fit(self, ids: np.ndarray, y: np.ndarray) -> Contender:
        cut = int(0.75 * len(ids))
        inner, outer = slice(None, cut), slice(cut, None)
        trials = []
        for option in self.options:
            for weights, C, _ in self.rule(self.kernels, ids[inner], y[inner], option):
                K = mixed(self.kernels, weights, ids)
                for cost in COSTS if C is None else (C,):
                    coef, b = ridge_machine(K[inner, inner], y[inner], cost)
                    trials.append((rmse(K[outer, inner] @ coef + b, y[outer]), len(trials), option, cost))
        _, _, option, self.C_ = min(trials)
        self.option_ = option
        every = self.rule(self.kernels, ids, y, option)
        self.weights_, _, self.gap_ = next(w for w in every if w[1] in (None, self.C_))
        self.coef_, self.b_ = ridge_machine(mixed(self.kernels, self.weights_, ids), y, self.C_)
        self.ids_ = ids
        return self

    def predict(self, ids: np.ndarray) -> np.ndarray:
        return mixed(self.kernels, self.weights_, ids, self.ids_) @ self.coef_ + self.b_


def rmse(f: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((f - y) ** 2)))


def mixed(kernels: Any, weights: np.ndarray, rows: np.ndarray, cols: np.ndarray | None = None) -> np.ndarray:
    """Return the weighted sum of the matrices for some samples."""
    at = np.ix_(rows, rows if cols is None else cols)
    return np.sum([weights[m] * kernels[m].K[at] for m in np.flatnonzero(weights)], axis=0)


def unscaled(model: MKLRegressor) -> np.ndarray:
    """Return the weights of the matrices as they are."""
    return np.asarray(model.weights_ / model.scales_)


def single(kernels: Any, ids: np.ndarray, y: np.ndarray, option: int) -> Any:
    """Yield one kernel alone."""
    K = kernels[option].K[np.ix_(ids, ids)]
    yield np.eye(len(kernels))[option] / (np.trace(K) / len(ids) - K.mean()), None, 0.0


def average(kernels: Any, ids: np.ndarray, y: np.ndarray, option: None) -> Any:
    """Yield equal weights of the scaled kernels."""
    yield sum(next(single(kernels, ids, y, m))[0] for m in range(len(kernels))) / len(kernels), None, 0.0


def two_stage(kernels: Any, ids: np.ndarray, y: np.ndarray, option: TwoStage) -> Any:
    """Yield the weights of stage one, which no C enters."""
    model = MKLRegressor(add_all(kernels), loss="squared", solver=option).fit(ids, y)
    yield unscaled(model), None, model.gap_


def one_stage(kernels: Any, ids: np.ndarray, y: np.ndarray, option: float) -> Any:
    """Yield the weights of one-stage MKL at one C."""
    model = MKLRegressor(add_all(kernels), loss="squared", C=option, solver="hessian", tol=0.01).fit(ids, y)
    yield unscaled(model), option, model.gap_


def contenders(X: np.ndarray, y: np.ndarray) -> tuple[dict[str, Contender], list[Precomputed]]:
    """Return all contenders on one data set, and its kernels."""
    kernels = [Precomputed(K, name=name, psd="ignore") for name, K in matrices(X).items()]
    compress = PreClustering(EPSILON * y.std(), kernel=Precomputed(X @ X.T, name="x", psd="ignore"))
    stages = [TwoStage(target=target, ridge=ridge) for target in TARGETS for ridge in RIDGES]
    compressed = [TwoStage(target=s.target, ridge=s.ridge, compress=compress) for s in stages]
    return {
        "best single KRR": Contender(kernels, single, range(len(kernels))),
        "average kernel": Contender(kernels, average),
        "one-stage MKL": Contender(kernels, one_stage, COSTS[:-1].tolist()),
        "TSMKLR": Contender(kernels, two_stage, stages),
        "TSMKLR compressed": Contender(kernels, two_stage, compressed),
        "TSMKLR, defaults": Contender(kernels, two_stage, [TwoStage()]),
        "TSMKLR, as printed": Contender(kernels, two_stage, [TwoStage(target="product", diagonal=True)]),
    }, kernels


def timings(kernels: list[Precomputed], y: np.ndarray, C: float) -> str:
    """Return CPU seconds of one fit per solver, all at the same C, terms and samples, to gap 0.01."""
    ids, parts = np.sort(np.random.default_rng(0).permutation(len(y))[: int(0.7 * len(y))]), []
    for solver in ("two_stage", "hessian", "simple"):
        model = MKLRegressor(add_all(kernels), loss="squared", C=C, solver=solver, tol=0.01)
        started = time.process_time()
        model.fit(ids, y[ids])
        parts.append((solver, time.process_time() - started, model.n_solves_))
    base = parts[0][1]
    return ", ".join(f"{name} {s:.2f} s (x{s / base:.1f}, {n} machines)" for name, s, n in parts)


def rates(X: np.ndarray, y: np.ndarray) -> str:
    """Return how much is left out at several epsilons."""
    shares = (0.05, 0.1, 0.2, 0.5)
    found = [PreClustering(share * y.std()).fit(X, y).compression_rate_ for share in shares]
    return ", ".join(f"{s:g}: {100 * rate:.0f} %" for s, rate in zip(shares, found, strict=True))


def table(name: str, n_splits: int) -> np.ndarray:
    """Print the table of one data set, and return the ranks."""
    X, y = load(name)
    models, kernels = contenders(X, y)
    result = compare_solvers(np.arange(len(y)), y, solvers=models, n_splits=n_splits)
    print(f"\n{name}: {X.shape[0]} x {X.shape[1]}, spread of y {y.std():.4g}\n{result.to_text()}", flush=True)
    single, ours = result.errors[:, 0], result.errors[:, 3]
    print(f"TSMKLR / best single KRR: {np.mean(ours / single):.3f}, p = {p_value(ours, single):.2g}")
    print(f"compression by epsilon / spread of y: {rates(X, y)}")
    for C in (10.0, 1000.0):
        print(f"one fit, C = {C:g}: {timings(kernels, y, C)}", flush=True)
    return np.array([row["rank"] for row in result.rows])


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
    """Run the comparison, then show how stage one scales."""
    arguments = sys.argv[1:]
    n_splits = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 30
    warnings.simplefilter("ignore", DataWarning)  # half of the widths fit no data: that is what is to be found out
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table shows the gap
    with threadpool_limits(1):
        ranks = [table(name, n_splits) for name in arguments or SETS]
        labels = list(contenders(np.eye(4), np.arange(4.0))[0])
        mean = np.mean(ranks, axis=0)
        print("\nmean rank: " + ", ".join(f"{label} {rank:.1f}" for label, rank in zip(labels, mean, strict=True)))
        shape()


if __name__ == "__main__":
    main()
