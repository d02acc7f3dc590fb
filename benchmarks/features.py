"""Kernels whose vectors are written out (`Linear`, `LowRank`), and matrices that people bring, beside scikit-learn.

One routine scores every contender: the primal objective C Σ loss + ½‖w‖² with the best intercept for its decision
values, so that a regularised intercept (LIBLINEAR's) is no disadvantage. Times are CPU seconds of this process, the
best of some rounds; both sides start from the same arrays. Rows:

- ``linear``: `Linear()` with the hinge loss on many rows, beside LIBLINEAR (`LinearSVC`), to the same objective;
- ``smooth``: logistic and squared losses on `Linear()` and `LowRank`, beside `LogisticRegression` and `Ridge`; for
  `LowRank`, these are given the features, and the time of making them is added;
- ``million``: `LowRank(RBF(widths), 1000) + Linear()` on a million rows with widths learned from 2,000 of them, with
  peak memory, beside boosted trees and an exact machine on 50,000 rows;
- ``precomputed``: from a matrix to a certified machine, beside `SVC(kernel="precomputed")`.

Run as ``python benchmarks/features.py [row ...] [--rows N]``; all rows at their full sizes by default.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from kernelweave import RBF, Linear, LowRank, MKLClassifier, MKLRegressor, Precomputed
from kernelweave.losses import Hinge, Logistic, Loss, Squared
from kernelweave.views import as_views

ROUNDS = 2


def table(n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised numbers and labels ±1, one in ten of them wrong."""
    X, y = make_classification(
        n, columns, n_informative=columns // 2, n_clusters_per_class=8, flip_y=0.1, random_state=0
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y > 0, 1.0, -1.0)


def timed(work: Callable[[], Any], rounds: int = ROUNDS) -> tuple[Any, float]:
    """Return what a piece of work gives, and its CPU seconds, the best of some rounds."""
    best = np.inf
    for _ in range(rounds):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = work()
        best = min(best, time.process_time() - start)
    return found, best


def objective(loss: Loss, f: np.ndarray, y: np.ndarray, C: float, square: float) -> float:
    """Return C Σ loss + ½‖w‖² with the best intercept: the one scorer of all contenders."""
    costs = np.full(len(y), C)
    return float(costs @ loss.value(y, f + loss.intercept(y, f, costs)) + 0.5 * square)


def linear_value(loss: Loss, X: np.ndarray, y: np.ndarray, C: float, w: np.ndarray) -> float:
    """Return the objective of a linear machine."""
    return objective(loss, X @ w, y, C, float(w @ w))


def normal_of(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the normal of a machine on `Linear()`: Σ coef x, as the model keeps it."""
    return model.dual_coef_[0] @ X[model.support_]


def show(name: str, ours: tuple[float, float], theirs: tuple[float, float], peer: str) -> None:
    """Print one row: seconds and objectives of both, and the ratio of the times."""
    print(
        f"{name:34} {ours[0]:8.2f} s  {ours[1]:.8g}   {peer:24} {theirs[0]:8.2f} s  {theirs[1]:.8g}   "
        f"ratio {ours[0] / theirs[0]:.2f}",
        flush=True,
    )


def linear(n: int) -> None:
    """`Linear()` beside LIBLINEAR, which gets as many passes as it needs for our objective."""
    X, y = table(n, 20)
    X /= np.sqrt(X.shape[1])
    for C in (1.0,):
        model, seconds = timed(lambda C=C: MKLClassifier(Linear(), C=C, scaling=None, tol=1e-4).fit(X, y))
        own = linear_value(Hinge(), X, y, C, normal_of(model, X))
        for passes in (10, 20, 40, 80, 160):
            peer, theirs = timed(
                lambda C=C, passes=passes: LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=passes).fit(X, y), 1
            )
            value = linear_value(Hinge(), X, y, C, peer.coef_[0])
            show(f"Linear, hinge, {n:,} × 20", (seconds, own), (theirs, value), f"LIBLINEAR, {passes} passes")
            if value <= own * (1 + 1e-5):
                break


def smooth(n: int) -> None:
    """Logistic and squared losses."""
    X, y = table(n, 50)
    target = np.sin(X[:, 0]) + X @ np.random.default_rng(0).normal(size=50)
    plain, ranked = Linear(), LowRank(RBF(0.01), rank=500)
    for kernel in (plain, ranked):
        name = type(kernel).__name__
        model, seconds = timed(lambda k=kernel: MKLClassifier(k, loss="logistic", scaling=None, tol=1e-5).fit(X, y))
        Z, making = X, 0.0
        if kernel is ranked:
            Z, making = timed(lambda m=model: m.fitted_.terms[0].embed(as_views(X)), 1)
        own = objective(Logistic(), model.decision_function(X) - model.intercept_[0], y, 1.0, _square(model, Z))
        for tol in (1e-4, 1e-6):
            peer, theirs = timed(lambda Z=Z, tol=tol: LogisticRegression(tol=tol, max_iter=2000).fit(Z, y))
            value = linear_value(Logistic(), Z, y, 1.0, peer.coef_[0])
            show(f"{name}, logistic, {n:,} × 50", (seconds, own), (making + theirs, value), f"lbfgs, tol={tol:g}")
        model, seconds = timed(lambda k=kernel: MKLRegressor(k, loss="squared", scaling=None).fit(X, target))
        own = objective(Squared(), model.predict(X) - model.intercept_[0], target, 1.0, _square(model, Z))
        ridge, theirs = timed(lambda Z=Z: Ridge(alpha=0.5).fit(Z, target))
        value = linear_value(Squared(), Z, target, 1.0, ridge.coef_)
        show(f"{name}, squared, {n:,} × 50", (seconds, own), (making + theirs, value), "Ridge")


def _square(model: Any, Z: np.ndarray) -> float:
    normal = model.dual_coef_[0] @ Z[model.support_]
    return float(normal @ normal)


def million(n: int) -> None:
    """A million rows on two threads, with widths learned from 2,000 of them; beside trees, and an exact machine."""
    X, y = table(n + n // 20, 20)
    X, y, new, truth = X[:n].copy(), y[:n], X[n:].copy(), y[n:]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, cpu = time.perf_counter(), time.process_time()
    gamma = MKLClassifier(RBF("learn"), random_state=0).fit(X[:2000], y[:2000]).widths_.gamma
    learning = time.process_time() - cpu
    model = MKLClassifier(LowRank(RBF((gamma / 2).tolist()), rank=1000) + Linear(), n_jobs=2, memory="6GB")
    need = model.memory_needed(X)[1]
    model.fit(X, y)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = model.notes_[0].rpartition("trace error ")[2]
    print(
        f"LowRank(1000) + Linear, {n:,} × 20: {wall:.0f} s on the clock, {cpu:.0f} CPU s ({learning:.0f} for widths), "
        f"gap {model.gap_:.1e}, peak {peak / 1e6:.2f} GB, {(peak - before) / 1e6:.2f} GB beside the data (printed "
        f"{need / 1e9:.2f}); accuracy {np.mean(model.predict(new) == truth):.4f}; trace error {error}",
        flush=True,
    )
    others = {
        f"exact RBF on {min(n, 50_000):,}": lambda: MKLClassifier(RBF(gamma.tolist())).fit(X[:50_000], y[:50_000])
    }
    others["HistGradientBoosting"] = lambda: HistGradientBoostingClassifier(max_iter=300).fit(X, y)
    try:
        from lightgbm import LGBMClassifier

        others["LightGBM"] = lambda: LGBMClassifier(n_estimators=300, n_jobs=2, verbose=-1).fit(X, y)
    except ImportError:
        print("LightGBM is not installed")
    for name, work in others.items():
        other, theirs = timed(work, 1)
        print(f"{name}: {theirs:.0f} CPU s, accuracy {np.mean(other.predict(new) == truth):.4f}", flush=True)


def precomputed(n: int) -> None:
    """From a matrix to a certified machine."""
    X, y = table(n, 20)
    K = RBF(0.05)(X)
    model, seconds = timed(lambda: MKLClassifier(Precomputed(K), scaling=None).fit(np.arange(n), y), 1)
    peer, theirs = timed(lambda: SVC(kernel="precomputed", cache_size=4000).fit(K, y), 1)
    values = []
    for support, coef in ((model.support_, model.dual_coef_[0]), (peer.support_, peer.dual_coef_[0])):
        f = coef @ K[support]
        values.append(objective(Hinge(), f, y, 1.0, float(coef @ f[support])))
    show(f"Precomputed, {n:,}", (seconds, values[0]), (theirs, values[1]), "SVC(precomputed)")


ROWS = {"linear": (linear, 1_000_000), "smooth": (smooth, 100_000)}
ROWS |= {"precomputed": (precomputed, 20_000), "million": (million, 1_000_000)}


def main() -> None:
    """Run the rows that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", nargs="*", choices=[*ROWS, []], default=[])
    parser.add_argument("--rows", type=int, default=None, help="samples, instead of the full size")
    asked = parser.parse_args()
    small, labels = table(8000, 20)  # compiles what is timed below
    MKLClassifier(LowRank(RBF(0.05), rank=20) + Linear(), memory="2MB").fit(small, labels)
    for loss in ("hinge", "logistic"):
        MKLClassifier(Linear(), loss=loss).fit(small, labels)
    for name in asked.row or ROWS:
        work, n = ROWS[name]
        with threadpool_limits(2 if name == "million" else 1):
            work(asked.rows or n)


if __name__ == "__main__":
    main()
