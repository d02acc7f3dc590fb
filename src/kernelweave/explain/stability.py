"""Weights under refits: how much they vary with the samples, and which of them are more than chance."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..errors import DataWarning, InputError
from ..estimators.fitted import FittedModel
from ..parallel import count_jobs
from ..progress import Callback
from ..views import Views, as_views
from .refits import Refits
from .tables import Table
from .terms import Places, places_of

#: A term counts as selected where its weight is above this share of the largest one of its refit.
SELECTED = 1e-3
CORRECTIONS = ("holm", "bh")


@dataclass
class Stability:
    """What `stability` found; one entry per term (and class, with weights="per_class")."""

    names: list[str]
    #: Weights of the fit on all samples, (n_terms,).
    weights: np.ndarray
    #: Weights of the refits on bootstrap samples, (n_bootstrap, n_terms).
    bootstrap: np.ndarray
    #: Weights of the refits with permuted labels, (n_permutations, n_terms).
    permuted: np.ndarray
    #: What every term gained in those refits on the samples left out, in units of the decision value; of both shapes.
    gains: np.ndarray
    permuted_gains: np.ndarray
    alpha: float
    correction: str
    places: Places
    #: What the reader should know, such as that the refits were interrupted; empty where all went well.
    note: str = ""

    @property
    def mean(self) -> np.ndarray:
        """Return the mean weight over the bootstrap samples; NaN without any."""
        return self.bootstrap.mean(axis=0) if len(self.bootstrap) else np.full(len(self.names), np.nan)

    @property
    def interval(self) -> np.ndarray:
        """Return the percentile interval of every weight, (2, n_terms), that holds 1 − alpha of the refits."""
        if not len(self.bootstrap):
            return np.full((2, len(self.names)), np.nan)
        return np.quantile(self.bootstrap, [self.alpha / 2, 1 - self.alpha / 2], axis=0)

    @property
    def frequency(self) -> np.ndarray:
        """Return the share of the bootstrap samples in which every term was selected."""
        if not len(self.bootstrap):
            return np.full(len(self.names), np.nan)
        return (self.bootstrap > SELECTED * self.bootstrap.max(axis=1, keepdims=True)).mean(axis=0)

    @property
    def gain(self) -> np.ndarray:
        """Return the mean gain of every term on samples left out, in units of the decision value."""
        return self.gains.mean(axis=0) if len(self.gains) else np.full(len(self.names), np.nan)

    @property
    def p_values(self) -> np.ndarray:
        """Return the p-value of every term, before correction; see `stability`."""
        return p_values(self.gains, self.permuted_gains)

    @property
    def corrected(self) -> np.ndarray:
        """Return the p-values after correction for the number of terms."""
        return correct(self.p_values, self.correction)

    @property
    def significant(self) -> np.ndarray:
        """Return True for terms whose corrected p-value is at most alpha."""
        return self.corrected <= self.alpha

    def table(self) -> Table:
        """Return everything per term: a `Table` with `columns`, `to_csv` and `to_frame`."""
        lower, upper = self.interval
        return Table(
            {
                "name": self.names,
                "weight": self.weights,
                "mean": self.mean,
                "lower": lower,
                "upper": upper,
                "frequency": self.frequency,
                "gain": self.gain,
                "p_value": self.p_values,
                "corrected": self.corrected,
                "significant": self.significant,
            }
        )

    def to_csv(self, path: str | os.PathLike) -> None:
        """Write `table()` to a file."""
        self.table().to_csv(path)

    def to_text(self, top: int = 20) -> str:
        """Return the terms of the largest weights as plain text."""
        head = f"{'weight':>8}  {f'{1 - self.alpha:.0%} of refits':>18}  {'selected':>8}  {'p':>8}  term"
        lines = [head]
        rows = sorted(self.table(), key=lambda row: -row["weight"])
        for row in rows[:top]:
            interval = f"{row['lower']:.3g} to {row['upper']:.3g}"
            mark = " *" if row["significant"] else ""
            line = f"{row['weight']:>8.3g}  {interval:>18}  {row['frequency']:>8.0%}  {row['corrected']:>8.2g}"
            lines.append(f"{line}  {row['name']}{mark}")
        if len(rows) > top:
            lines.append(f"and {len(rows) - top} more terms")
        lines.append(
            f"{len(self.bootstrap)} bootstrap samples, {len(self.permuted)} permutations; p corrected "
            f"({self.correction}), * at most {self.alpha:g}"
        )
        return "\n".join([*lines, self.note] if self.note else lines)

    def __str__(self) -> str:
        return self.to_text()


def stability(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    n_bootstrap: int = 100,
    n_permutations: int = 100,
    alpha: float = 0.05,
    correction: str = "holm",
    n_jobs: int | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
) -> Stability:
    """Refit a model many times, and say which of its weights can be relied on.

    Refits on bootstrap samples (by class for labels) tell how much the weights vary with the samples. What a term is
    worth shows on the samples that a refit has not seen:

        gain[m] = Σ_i (y_i − mean y) · part_m(i) / Σ_i abs(y_i − mean y),

    part_m(i) being what term m adds to the decision value of sample i, and y = ±1 for labels: half of how far the term
    sets the two classes apart. Further refits have their labels permuted, and gain by chance only. The p-value of a
    term is

        p[m] = (1 + #{gains of all terms in all permuted refits ≥ mean gain[m]}) / (1 + n_permutations · n_terms),

    which is then corrected for the number of terms. As one threshold serves all terms, n_terms · p[m] is how many of
    them pass it by chance in one fit, however unlike the terms are. A mean over refits varies less than the gains of
    single ones it is compared with, so the test errs on the safe side.

    Parameters
    ----------
    model : estimator
        MKLClassifier, MKLRegressor or MKLOneClass, or a pipeline or search that ends with one. It is cloned; whether it
        is fitted does not matter.
    X, y : as `fit` takes them
    n_bootstrap : int
        How many refits on bootstrap samples.
    n_permutations : int
        How many refits with permuted labels; at least 1 / alpha, or nothing can be significant. 0 for no test.
    alpha : float
        Level of the tests, and one minus what the intervals hold.
    correction : {"holm", "bh"}
        Holm's, which bounds the chance of a single false finding, or Benjamini and Hochberg's, which bounds the
        expected share of false ones among the findings.
    n_jobs : int or None
        Threads, each with a refit of its own. The results do not depend on it.
    random_state : int, Generator or None
        Draws bootstrap samples and permutations.
    callback : callable, optional
        Called after every refit with a dict of "done", "total" and "seconds".

    Returns
    -------
    Stability
        `mean`, `interval`, `frequency`, `gain`, `p_values`, `corrected`, `significant`, `table()`, `to_text()`. After
        an interrupt (Ctrl-C), whatever the finished refits say, with a `note`.

    Notes
    -----
    The cost is that of n_bootstrap + n_permutations + 1 fits, and of as many predictions. A bootstrap sample of a bare
    machine is given as sample weights, so that only about 63 % of the samples take part in its fit.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import Linear, MKLClassifier, per_feature
    >>> from kernelweave.explain import stability
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> found = stability(MKLClassifier(per_feature(Linear())), X, X[:, 2] > 0, n_bootstrap=20, n_permutations=30,
    ...                   random_state=0)
    >>> [name for name, sure in zip(found.names, found.significant) if sure]
    ['Linear().on(2)']
    """
    views = as_views(X)
    y = _check(views, y, n_bootstrap, n_permutations, alpha, correction)
    rng = np.random.default_rng(random_state)
    refits = Refits(clone(model), views, y, rng, n_bootstrap, n_permutations, callback)
    interrupted = refits.run(count_jobs(n_jobs))
    fitted: FittedModel = refits.machine.fitted_
    note = refits.note(interrupted)
    if note:
        warnings.warn(note, DataWarning, stacklevel=2)
    names = list(fitted.term_names)
    if len(fitted.weights) > 1:
        names = [f"{name} for {c}" for c in fitted.machine_names for name in names]
    places = places_of(list(fitted.terms) * (len(names) // len(fitted.terms)), fitted.support)
    (weights,), _ = refits.found("fit")
    bootstrap, gained = refits.found("bootstrap")
    permuted, by_chance = refits.found("permuted")
    return Stability(
        names, weights, bootstrap, permuted, gained, by_chance, alpha, correction, places=places, note=note
    )


def p_values(gains: np.ndarray, permuted: np.ndarray) -> np.ndarray:
    """Return the p-value of every term's mean gain against gains by chance; 1 where either is missing.

    p[m] = (1 + #{permuted ≥ mean gains[m]}) / (1 + n_permutations · n_terms), over all terms and permuted refits.
    """
    if not len(gains):
        return np.ones(gains.shape[1])
    null, mean = np.sort(permuted.ravel()), gains.mean(axis=0)
    reached = len(null) - np.searchsorted(null, mean, side="left")
    p = (1.0 + reached) / (1.0 + len(null))
    return np.where(mean > 0, p, 1.0)  # no gain is no evidence, even if all others lose


def correct(p: np.ndarray, correction: str) -> np.ndarray:
    """Return p-values corrected for their number, by Holm's or by Benjamini and Hochberg's method."""
    n, order = len(p), np.argsort(p, kind="stable")
    if correction == "holm":
        sorted_p = np.maximum.accumulate(p[order] * (n - np.arange(n)))
    else:
        sorted_p = np.minimum.accumulate((p[order] * n / np.arange(1, n + 1))[::-1])[::-1]
    out = np.empty(n)
    out[order] = np.minimum(sorted_p, 1.0)
    return out


def _check(X: Views, y: Any, n_bootstrap: int, n_permutations: int, alpha: float, correction: str) -> np.ndarray | None:
    for name, value in (("n_bootstrap", n_bootstrap), ("n_permutations", n_permutations)):
        if not (isinstance(value, (int, np.integer)) and value >= 0):
            raise InputError(f"{name} must be a whole number ≥ 0; got {value!r}.")
    if not 0 < alpha < 1:
        raise InputError(f"alpha must be a level between 0 and 1, such as 0.05; got {alpha!r}.")
    if correction not in CORRECTIONS:
        raise InputError(f"correction must be one of {CORRECTIONS}; got {correction!r}.")
    if 0 < n_permutations < 1 / alpha:
        raise InputError(
            f"With {n_permutations} permutations no p-value can be as low as alpha={alpha:g}; "
            f"take at least {int(np.ceil(1 / alpha))}, or 0 for no test."
        )
    if n_permutations and not n_bootstrap:
        raise InputError(
            "The test compares bootstrap samples with permuted ones; set n_bootstrap=100, or no permutations."
        )
    if y is None:
        if n_permutations:
            raise InputError("There are no labels y to permute; give them, or set n_permutations=0 for no test.")
        return None
    y = np.asarray(y)
    if y.shape != (len(X),):
        raise InputError(f"y must hold one target for each of the {len(X)} samples; got shape {y.shape}.")
    return y
