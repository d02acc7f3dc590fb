"""Many targets on the same samples: MKLRegressor beside himalaya's MultipleKernelRidgeCV, in one run.

python benchmarks/targets.py [n_targets] [n_iter ...]     1,000 targets and 20 random weights for himalaya by default

As in studies of brain recordings: 10 groups of 50 columns, a linear kernel for each, 2,000 samples to learn from and
500 to judge by. A target is a sum of straight lines in the groups, which share its variance by a draw of their own, and
as much noise: R² cannot be above 0.5. Both choose C (himalaya: alpha) for every target. himalaya, where it is
installed, draws weights at random and keeps the best ones of every target by five folds; its default is 100 draws.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

from kernelweave import Linear, MKLRegressor
from kernelweave.kernels.base import add_all

N_TRAIN, N_TEST, N_GROUPS, N_COLUMNS = 2000, 500, 10, 50


def data(n_targets: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and targets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_TRAIN + N_TEST, N_GROUPS * N_COLUMNS))
    shares = rng.dirichlet(np.full(N_GROUPS, 0.3), n_targets)
    Y = rng.standard_normal((len(X), n_targets))
    for group in range(N_GROUPS):
        lines = rng.standard_normal((N_COLUMNS, n_targets)) / np.sqrt(N_COLUMNS)
        Y += np.sqrt(shares[:, group]) * (X[:, columns(group)] @ lines)
    return X, Y


def columns(group: int) -> list[int]:
    """Return the columns of a group."""
    return list(range(group * N_COLUMNS, (group + 1) * N_COLUMNS))


def ours(X: np.ndarray, Y: np.ndarray, weights: str) -> Any:
    """Return predictions of our model for the samples after the first ones."""
    kernel = add_all([Linear().on(columns(group)) for group in range(N_GROUPS)])
    model = MKLRegressor(kernel, C="auto", norm="auto", weights=weights).fit(X[:N_TRAIN], Y[:N_TRAIN])
    return model.predict(X[N_TRAIN:])


def himalaya(X: np.ndarray, Y: np.ndarray, n_iter: int) -> Any:
    """Return the same of himalaya, on matrices of the same kernels, centred and of one size."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    parts = [X[:, columns(group)] - X[:N_TRAIN, columns(group)].mean(axis=0) for group in range(N_GROUPS)]
    K = np.array([part @ part[:N_TRAIN].T / N_COLUMNS for part in parts])
    params = {"n_iter": n_iter, "alphas": np.logspace(-2, 4, 13), "progress_bar": False}
    model = MultipleKernelRidgeCV("precomputed", solver="random_search", solver_params=params, cv=5, random_state=0)
    shift = Y[:N_TRAIN].mean(axis=0)
    model.fit(K[:, :N_TRAIN], Y[:N_TRAIN] - shift)
    return np.asarray(model.predict(K[:, N_TRAIN:])) + shift


def measure(label: str, work: Callable[[], Any], Y: np.ndarray) -> float:
    """Print R² and CPU seconds of a fit with its predictions, and return the seconds."""
    started = time.process_time()
    found = work()
    seconds = time.process_time() - started
    print(f"{label:<40} R² {r2_score(Y[N_TRAIN:], found):.4f}   {seconds:7.1f} CPU s", flush=True)
    return seconds


def main(n_targets: int = 1000, *draws: int) -> None:
    """Print the table."""
    ours(*data(2), "shared")  # compile first
    X, Y = data(n_targets)
    print(f"{n_targets} targets, {N_TRAIN} samples, {N_GROUPS} kernels; one thread")
    with threadpool_limits(1):
        shared = measure('MKLRegressor(weights="shared")', lambda: ours(X, Y, "shared"), Y)
        own = measure('MKLRegressor(weights="per_target")', lambda: ours(X, Y, "per_target"), Y)
        for n_iter in draws or (20,):
            try:
                other = measure(f"himalaya, {n_iter} draws", lambda n=n_iter: himalaya(X, Y, n), Y)
            except ImportError:
                print("himalaya is not installed: pip install himalaya")
                return
            print(f"   takes {other / shared:.1f} times as long as shared, {other / own:.1f} times as per_target")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
