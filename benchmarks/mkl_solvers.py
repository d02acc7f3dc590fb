"""MKL solvers on the UCI sets of the HessianMKL paper, against each other and against one SVC fit.

Run as ``python benchmarks/mkl_solvers.py [--splits 20] [--parts uci agree svc terms path peers]``. The data are read
from the folder in KERNELWEAVE_DATA (by default ../shared/data beside the project); parts without data are skipped.

Kernels as in SimpleMKL: Gaussian of ten widths and polynomial of degree 1 to 3, on all variables and on each one; 70 %
of the samples for training, C = 100, terms centred and of trace 1, stop at a relative gap of 0.01. All solvers share
one gram per split, so times are those of learning alone; processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from kernelweave import RBF, MKLClassifier, Polynomial
from kernelweave.dual import Machine
from kernelweave.gram import Gram, bind
from kernelweave.gram import distinct as samples
from kernelweave.kernels.base import Kernel, add_all
from kernelweave.losses import Hinge, Squared
from kernelweave.mkl import SILP, Hessian, Plain, Problem, Result, SILPChunking, Simple, run
from kernelweave.norms import Fixed, Simplex
from kernelweave.parallel import blas_threads
from kernelweave.testing.kernels import variances
from kernelweave.views import as_views

DATA = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = ("ionosphere", "liver", "pima", "sonar", "wpbc")
WIDTHS = (0.5, 1, 2, 5, 7, 10, 12, 15, 17, 20)
SOLVERS = {
    "SILP": SILP,
    "SILP chunking": SILPChunking,
    "SimpleMKL": Simple,
    "HessianMKL": Hessian,
    "mixed": lambda: Hessian(simple_first=True),
}


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (X, y) of a UCI set, X standardised."""
    file = DATA / f"uci_{name}" / ("data_complete.csv" if name == "wpbc" else "data.csv")
    with file.open(newline="") as lines:
        header, *rows = csv.reader(lines)
    label = header.index("y")
    X = np.array([[float(v) for c, v in enumerate(row) if c != label] for row in rows])
    y = np.array([float(row[label]) for row in rows])
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def simple_mkl_kernels(n_columns: int) -> Kernel:
    """Return the kernels of the SimpleMKL experiments."""
    base = [RBF(0.5 / width**2) for width in WIDTHS] + [Polynomial(d, gamma=1.0) for d in (1, 2, 3)]
    return add_all(base + [kernel.on(c) for c in range(n_columns) for kernel in base])


def centred_unit_trace(kernel: Kernel, X: np.ndarray, distinct: bool = True) -> Gram:
    """Return the gram of all terms that vary, each divided by its re-centred trace."""
    share, samples.FEW = samples.FEW, samples.FEW if distinct else 0.0
    gram = bind(kernel, as_views(X))
    samples.FEW = share
    traces = len(X) * variances(gram)
    live = np.flatnonzero(traces > 1e-8)
    return gram.rescaled(1.0 / np.where(traces > 1e-8, traces, 1.0)).only(live.tolist())


def problem(gram: Gram, y: np.ndarray, C: float, tol: float) -> Problem:
    """Return the l1-MKL problem of a support vector machine."""
    return Problem(gram, [Machine(Hinge(), y, np.full(len(y), C))], Simplex(), tol=tol)


def timed(make, gram: Gram, y: np.ndarray, C: float, tol: float) -> tuple[Result, float]:
    """Return a solver's result and its processor seconds."""
    start = time.process_time()
    result = run(make(), problem(gram, y, C, tol), max_iter=5000)
    return result, time.process_time() - start


def exact_objective(gram: Gram, y: np.ndarray, C: float, weights: np.ndarray) -> float:
    """Score weights from outside: the machine solved to the last digits at them."""
    machine = Machine(Hinge(), y, np.full(len(y), C))
    return run(Plain(), Problem(gram, [machine], Fixed(weights), tol=1e-9)).upper


def accuracy(gram: Gram, result: Result, X: np.ndarray, y: np.ndarray) -> float:
    """Return the share of new samples that are classified right."""
    weights = result.step.weights
    used = np.flatnonzero(weights)
    f = gram.only(used.tolist()).apply(result.step.coef[:, 0], weights[used], as_views(X))
    return float((np.sign(f + result.step.states[0].intercept) == y).mean())


def uci(n_splits: int) -> None:
    """Print the table of the paper's figure 1: time, solves, steps, accuracy, terms kept."""
    print(f"\nGap 0.01, C = 100, mean of {n_splits} splits (time: median ± half the interquartile range)")
    heads = f"{'ms':>14} {'steps':>7} {'solves':>7} {'accuracy':>9} {'kept':>6} {'×Hess.':>7}"
    print(f"{'set':12} {'terms':>5} {'solver':14} {heads}")
    for name in SETS:
        X, y = read(name)
        rows = {solver: [] for solver in SOLVERS}
        for seed in range(n_splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = np.split(order, [int(0.7 * len(y))])
            gram = centred_unit_trace(simple_mkl_kernels(X.shape[1]), X[train])
            for solver, make in SOLVERS.items():
                result, seconds = timed(make, gram, y[train], 100.0, 1e-2)
                kept = int((result.step.weights > 0).sum())
                score = accuracy(gram, result, X[test], y[test])
                rows[solver].append((1e3 * seconds, len(result.history) - 1, result.n_solves, score, kept))
        newton = np.median([row[0] for row in rows["HessianMKL"]])
        for solver, values in rows.items():
            table = np.array(values)
            low, middle, high = np.percentile(table[:, 0], [25, 50, 75])
            steps, solves, score, kept = table[:, 1:].mean(axis=0)
            spread = f"{middle:.0f} ± {(high - low) / 2:.0f}"
            print(
                f"{name:12} {gram.n_terms:5d} {solver:14} {spread:>14} {steps:7.1f} {solves:7.1f} {score:9.3f} "
                f"{kept:6.1f} {middle / newton:7.1f}",
                flush=True,
            )


def agree() -> None:
    """Print how far the solvers' objectives are apart at tol 1e-4, scored from outside."""
    print(
        "\nAgreement at tol 1e-4: exact objective at each solver's weights, relative to the lowest; worst bound check"
    )
    for name in SETS:
        X, y = read(name)
        train = np.random.default_rng(0).permutation(len(y))[: int(0.7 * len(y))]
        gram = centred_unit_trace(simple_mkl_kernels(X.shape[1]), X[train])
        results = {solver: timed(make, gram, y[train], 100.0, 1e-4)[0] for solver, make in SOLVERS.items()}
        scores = {s: exact_objective(gram, y[train], 100.0, r.step.weights) for s, r in results.items()}
        lowest, bound = min(scores.values()), max(r.lower for r in results.values())
        tight, _ = timed(Hessian, gram, y[train], 100.0, 1e-6)
        rough, _ = timed(Hessian, gram, y[train], 100.0, 1e-2)
        apart = ", ".join(f"{s} {score / lowest - 1:.1e}" for s, score in scores.items())
        print(
            f"{name:12} {apart}; best lower bound / lowest objective − 1 = {bound / lowest - 1:.1e}; "
            f"HessianMKL steps to 1e-2 / 1e-6: {len(rough.history) - 1} / {len(tight.history) - 1}",
            flush=True,
        )


def against_svc() -> None:
    """Print a whole MKL run in units of one SVC fit on a kernel of the same size, in the same run."""
    print("\nMKL to gap 0.01 in units of one SVC(kernel='precomputed') fit (uniform weights), best of 25 each")
    X, y = load_breast_cancer(return_X_y=True)
    y = 2.0 * y - 1.0
    standard, unit = (X - X.mean(axis=0)) / X.std(axis=0), 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    # C = 1 at variance 1 is C = n at trace 1
    cases = [
        ("breast cancer", add_all([RBF(float(g)) for g in np.logspace(-4, 2, 34)]), standard, y, float(len(y))),
        ("in [-1, 1]", add_all([RBF(float(g)) for g in np.linspace(0.2, 20, 34)]), unit, y, float(len(y))),
    ]
    for name in ("liver", "pima"):
        if (DATA / f"uci_{name}").exists():
            A, b = read(name)
            train = np.random.default_rng(0).permutation(len(b))[: int(0.7 * len(b))]
            cases.append((name, simple_mkl_kernels(A.shape[1]), A[train], b[train], 100.0))
    for name, kernel, A, b, C in cases:
        gram, whole = centred_unit_trace(kernel, A), centred_unit_trace(kernel, A, distinct=False)
        K, factor = gram.matrix(np.full(gram.n_terms, 1.0 / gram.n_terms))
        svc, mkl, wholes = [], [], []
        for _ in range(25):
            start = time.process_time()
            SVC(kernel="precomputed", C=C).fit(factor * K, b)
            svc.append(time.process_time() - start)
            result, seconds = timed(Hessian, gram, b, C, 1e-2)
            mkl.append(seconds)
            wholes.append(timed(Hessian, whole, b, C, 1e-2)[1])
        tight, _ = timed(Hessian, gram, b, C, 1e-6)
        print(
            f"{name:14} n {gram.n}, {gram.n_terms} terms: SVC {1e3 * min(svc):.2f} ms, MKL {1e3 * min(mkl):.1f} ms = "
            f"{min(mkl) / min(svc):.1f} SVC fits ({min(wholes) / min(svc):.1f} with matrices of all samples), "
            f"{result.n_solves} solves; optimum {tight.upper:.4f} = {tight.upper / C:.4f} C (gap {tight.gap:.0e})",
            flush=True,
        )


def many_terms() -> None:
    """Print time and memory for 1,000 and 10,000 terms on 500 samples within memory="1GB"."""
    print('\nMany terms, N = 500, memory="1GB"')
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 50))
    y = np.sign(X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=500))
    first = None
    for n_terms in (1000, 10_000):
        kernel = add_all([RBF(float(g)).on(c) for c in range(50) for g in np.logspace(-3, 2, n_terms // 50)])
        start = time.process_time()
        model = MKLClassifier(kernel, memory="1GB").fit(X, y)
        seconds = time.process_time() - start
        first = seconds if first is None else first
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{n_terms:6d} terms: {seconds:.1f} s (×{seconds / first:.1f}), gap {model.gap_:.1e}, "
            f"{int((model.weights_ > 0).sum())} kept, {model.n_solves_} solves, {peak:.2f} GB resident at most",
            flush=True,
        )


def path_over_C() -> None:
    """Print what a path over C costs with warm starts, in units of one cold fit."""
    print("\nPath over C, 10 steps from 1 to 100, 13 terms of breast cancer: warm against cold")
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = add_all([RBF(float(g)) for g in np.logspace(-4, 1, 10)] + [Polynomial(d) for d in (1, 2, 3)])
    costs = np.logspace(0, 2, 10)
    gram = bind(kernel, as_views(X))
    gram = gram.rescaled(1.0 / variances(gram))
    machines = [[Machine(Hinge(), 2.0 * y - 1.0, np.full(len(y), C))] for C in costs]
    warm, cold, step = 0.0, [], None
    for machine in machines:
        start = time.process_time()
        run(Hessian(), Problem(gram, machine, Simplex(), tol=1e-3))
        cold.append(time.process_time() - start)
    for machine in machines:
        start = time.process_time()
        step = run(Hessian(), Problem(gram, machine, Simplex(), tol=1e-3, start=step)).step
        warm += time.process_time() - start
    fits = warm / np.mean(cold)
    print(f"warm path {1e3 * warm:.0f} ms = {fits:.1f} cold fits (mean), all cold {1e3 * sum(cold):.0f} ms")


def peers() -> None:
    """Print the weights that other packages find, where they are installed, all scored by the same exact machine.

    The objective of l1-MKL is what HessianMKL minimises; peers minimise something else, so their scores tell how much
    their weights leave on the table, and the seconds what they take for it.
    """
    X, y = load_breast_cancer(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), 2.0 * y - 1.0
    kernel = add_all([RBF(float(g)) for g in np.logspace(-4, 1, 10)] + [Polynomial(d) for d in (1, 2, 3)])
    gram = bind(kernel, as_views(X))
    gram = gram.rescaled(1.0 / variances(gram))
    every = np.arange(gram.n)
    matrices = [gram.block(every, every, one) for one in np.eye(gram.n_terms)]
    for title, loss, names in (("hinge", Hinge(), ("EasyMKL",)), ("squared", Squared(), ("himalaya",))):
        print(
            f"\nPeers on breast cancer, 13 terms of variance 1, {title} loss, C = 1: exact objective at their weights"
        )
        machine = Machine(loss, y, np.ones(gram.n))
        found = {"average": lambda: np.ones(gram.n_terms)}
        found["HessianMKL"] = lambda m=machine: run(Hessian(), Problem(gram, [m], Simplex(), tol=1e-4)).step.weights
        found |= {name: lambda name=name: PEERS[name](matrices, y) for name in names}
        for name, find in found.items():
            try:
                start = time.process_time()
                weights = find()
                seconds = time.process_time() - start
            except ImportError as error:
                print(f"{name:12} left out: {error}")
                continue
            plain = Problem(gram, [machine], Fixed(weights / weights.sum()), tol=1e-9)
            kept = int((weights > 1e-6 * weights.sum()).sum())
            print(f"{name:12} {run(Plain(), plain).upper:9.4f}  {kept:3d} terms kept  {seconds:7.2f} CPU s", flush=True)


def easy_mkl(matrices: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    """Return the weights that MKLpy's EasyMKL finds."""
    from MKLpy.algorithms import EasyMKL

    return np.array(EasyMKL().fit(matrices, y).solution.weights, dtype=float)


def himalaya(matrices: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    """Return the weights of himalaya's multiple kernel ridge regression, by gradients on cross-validated error."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    model = MultipleKernelRidgeCV(kernels="precomputed", solver="hyper_gradient", random_state=0)
    model.fit(np.stack(matrices), y)
    return np.exp(np.asarray(model.deltas_, dtype=float).ravel())


PEERS = {"EasyMKL": easy_mkl, "himalaya": himalaya}


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--parts", nargs="*", default=["svc", "agree", "uci", "terms", "path", "peers"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with blas_threads(1):
        for part in options.parts:
            if part in ("uci", "agree") and not (DATA / "uci_liver").exists():
                print(f"part {part} skipped: no UCI sets in {DATA}; set KERNELWEAVE_DATA")
                continue
            {
                "uci": lambda: uci(options.splits),
                "agree": agree,
                "svc": against_svc,
                "terms": many_terms,
                "path": path_over_C,
                "peers": peers,
            }[part]()


if __name__ == "__main__":
    main()
