"""Solvers side by side: the same data, the same hold-outs, one table."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata, ttest_rel
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from ..errors import InputError
from ..mkl import Solver
from ..views import as_views
from .classifier import MKLClassifier
from .regressor import MKLRegressor

COLUMNS = ("solver", "error", "std", "seconds", "terms", "gap", "p_value", "rank", "mean_rank")


@dataclass
class Comparison:
    """What `compare_solvers` saw.

    `rows` holds one dict per solver: mean and standard deviation of the error, CPU seconds of a fit, terms kept,
    relative gap (means all), p_value of a paired t-test against the solver of least mean error, rank (1 + how many
    solvers are better by a significant difference) and mean_rank over the hold-outs.
    """

    rows: list[dict[str, Any]]
    #: Error of every hold-out and solver, (n_splits, n_solvers).
    errors: np.ndarray = field(repr=False)
    #: What the error is: "RMSE" or "error rate".
    measure: str
    #: The level at which a difference counts for `rank`.
    level: float

    def to_text(self) -> str:
        """Return the table as plain text."""
        width = max(len("solver"), *(len(row["solver"]) for row in self.rows))
        head = f"{'solver':<{width}}  {self.measure + ' ± std':>19}  {'seconds':>9}  {'terms':>6}  {'gap':>8}"
        lines = [f"{head}  {'p':>8}  {'rank':>4}  {'mean rank':>9}"]
        for row in self.rows:
            error = f"{row['error']:.5g} ± {row['std']:.2g}"
            line = f"{row['solver']:<{width}}  {error:>19}  {row['seconds']:>9.3g}  {_shown(row['terms'], '.1f'):>6}"
            line += f"  {_shown(row['gap'], '.1e'):>8}  {row['p_value']:>8.2g}  {row['rank']:>4}"
            lines.append(f"{line}  {row['mean_rank']:>9.2f}")
        n = len(self.errors)
        lines.append(f"{n} hold-outs; p: paired t-test against the least error; rank at level {self.level:g}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("A DataFrame needs pandas: pip install pandas. `rows` and `to_text` do not.") from None
        return pd.DataFrame(self.rows, columns=COLUMNS).set_index("solver")

    def __str__(self) -> str:
        return self.to_text()


def compare_solvers(
    X: Any,
    y: Any,
    kernel: Any = None,
    solvers: Sequence[Any] | Mapping[str, Any] = ("auto", "two_stage"),
    *,
    n_splits: int = 30,
    test_size: float = 0.3,
    level: float = 0.1,
    random_state: int | None = 0,
    **parameters: Any,
) -> Comparison:
    """Fit several solvers on the same repeated hold-outs, and compare error, time, terms and gap.

    Numbers are predicted and judged by RMSE, anything else by the error rate. The hold-outs overlap, so the t-test
    takes differences for surer than they are: read p-values near the level with care.

    Parameters
    ----------
    X, y : as `fit` takes them
        y of floats means regression, all else classification.
    kernel : Kernel, str or None
    solvers : list, or dict by label
        Each a name of a solver, a Solver, or a whole estimator with `fit` and `predict` (a search, a pipeline, ...).
    n_splits : int
        How many hold-outs.
    test_size : float
        Share of the samples that is held out each time; by class for labels.
    level : float
        p-values below count as a difference.
    random_state : int or None
        Seed of the hold-outs.
    **parameters
        Of the estimators: C, loss, norm, tol, ...

    Returns
    -------
    Comparison
        `rows`, `errors`, `to_text()`, `to_frame()`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import RBF, Linear, compare_solvers
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 2))
    >>> table = compare_solvers(X, np.sin(2 * X[:, 0]), RBF(1.0) + Linear(), loss="squared", C=100.0, n_splits=3)
    >>> [row["solver"] for row in table.rows]
    ['auto', 'two_stage']
    """
    views, y = as_views(X), np.asarray(y)
    if y.shape != (len(views),):
        raise InputError(f"y must hold one target for each of the {len(views)} samples; got shape {y.shape}.")
    numbers = y.dtype.kind == "f"
    models = _models(solvers, kernel, MKLRegressor if numbers else MKLClassifier, parameters)
    splitter = (ShuffleSplit if numbers else StratifiedShuffleSplit)(
        n_splits=n_splits, test_size=test_size, random_state=random_state
    )
    runs = [
        [_hold_out(model, views, y, train, test) for model in models.values()]
        for train, test in splitter.split(np.empty((len(y), 0)), y)
    ]
    return _table(list(models), np.array(runs), "RMSE" if numbers else "error rate", level)


def _models(solvers: Any, kernel: Any, kind: type, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return an unfitted estimator per label."""
    if not isinstance(solvers, Mapping):
        solvers = {s if isinstance(s, str) else getattr(s, "name", None) or repr(s): s for s in _distinct(solvers)}
    if not solvers:
        raise InputError("solvers is empty; name at least one, such as 'auto'.")
    return {
        label: kind(kernel, solver=solver, **parameters) if isinstance(solver, (str, Solver)) else solver
        for label, solver in solvers.items()
    }


def _distinct(solvers: Sequence[Any]) -> Sequence[Any]:
    labels = [s if isinstance(s, str) else getattr(s, "name", None) or repr(s) for s in solvers]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise InputError(f"Several solvers are called {twice[0]!r}; give a dict {{label: solver}} to tell them apart.")
    return solvers


def _hold_out(model: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> tuple[float, ...]:
    """Return error, CPU seconds of the fit, terms kept and gap of one model on one hold-out."""
    model = clone(model)
    X_train, X_test = X.rows(train).native(), X.rows(test).native()
    started = time.process_time()
    model.fit(X_train, y[train])
    seconds = time.process_time() - started
    f = model.predict(X_test)
    error = np.sqrt(np.mean((f - y[test]) ** 2)) if y.dtype.kind == "f" else np.mean(f != y[test])
    best = getattr(model, "best_estimator_", model)  # a search keeps what it found there
    best = best.steps[-1][1] if hasattr(best, "steps") else best
    weights = getattr(best, "weights_", None)
    terms = np.nan if weights is None else float(np.count_nonzero(np.atleast_2d(weights).any(axis=0)))
    return float(error), seconds, terms, float(getattr(best, "gap_", np.nan))


def _table(labels: list[str], runs: np.ndarray, measure: str, level: float) -> Comparison:
    """Return the table from (n_splits, n_solvers, 4) figures."""
    errors, means = runs[:, :, 0], runs.mean(axis=0)
    best = int(np.argmin(means[:, 0]))
    mean_ranks = rankdata(errors, axis=1).mean(axis=0)
    rows = []
    for i, label in enumerate(labels):
        ahead = np.flatnonzero(means[:, 0] < means[i, 0])
        better = [j for j in ahead if p_value(errors[:, i], errors[:, j]) < level]
        std = float(errors[:, i].std(ddof=1)) if len(errors) > 1 else 0.0
        figures = (means[i, 0], std, *means[i, 1:], p_value(errors[:, i], errors[:, best]))
        row = dict(zip(COLUMNS[1:7], map(float, figures), strict=True))
        rows.append({"solver": label, **row, "rank": 1 + len(better), "mean_rank": float(mean_ranks[i])})
    return Comparison(rows, errors, measure, level)


def p_value(a: np.ndarray, b: np.ndarray) -> float:
    """Return the p-value of a paired t-test; 1 where there is nothing to tell apart."""
    if len(a) < 2 or np.array_equal(a, b):
        return 1.0
    if np.ptp(a - b) <= 1e-15 * np.abs(a).max():  # a constant difference: no doubt at all
        return 0.0
    return float(ttest_rel(a, b).pvalue)


def _shown(value: float, how: str) -> str:
    return "-" if np.isnan(value) else format(value, how)
