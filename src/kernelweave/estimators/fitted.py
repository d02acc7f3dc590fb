"""`FittedModel`: what a fitted estimator knows, as one record that others may read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError, InputTypeError, MemoryBudgetError
from ..gram import Gram, for_prediction, sharded_values
from ..gram.prepared import Prepared, PreparedTogether
from ..kernels import Kernel
from ..memory import budget_bytes
from ..parallel import blas_threads
from ..views import Views

#: Most bytes of tables that a model keeps without being asked to.
KEPT_BYTES = 2 * 2**30


@dataclass
class Shelf:
    """The place where a model keeps its tables, from when they are first worth it to the next fit."""

    prepared: Prepared | None = None


@dataclass(frozen=True)
class FittedModel:
    """What a fitted model knows, as one record.

    Machine c decides by f_c(x) = intercepts[c] + Σ_m weights[c, m] / scales[m] Σ_q coef[c, q] k_m(x, support q).

    `model.fitted_` is this record; `fitted_model` also finds it in a pipeline or a search. Its arrays are those of the
    model, not copies: read them, and leave them as they are.

    Attributes
    ----------
    kernel : Kernel
        As the model was given it, with what it learned from the training samples: `base_kernel_`.
    terms : tuple of Kernel
        Its terms on the training samples, each with a weight of its own.
    term_names : list of str
    support : Views
        The support samples: all that is kept of the training samples.
    rows : array of int
        Where they stood among the training samples.
    coef : array of shape (n_machines, n_support)
    intercepts : array of shape (n_machines,)
    weights : array of shape (1 or n_machines, n_terms)
        One row where all machines share their weights.
    scales : array of shape (n_terms,)
        What each term was divided by.
    classes : array or None
        The labels of a classifier: one machine for two, one for each of more.
    n_jobs : int
        Threads.
    several : bool
        Whether every machine stands for a target of its own, or for one of several labels that a sample may have.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, Spectrum, WeightedDegree
    >>> model = MKLClassifier(WeightedDegree(degree=2) + Spectrum(k=2), norm=2)
    >>> fitted = model.fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0]).fitted_
    >>> fitted.term_names, fitted.coef.shape
    (['WeightedDegree(degree=2)', 'Spectrum(k=2)'], (1, 4))
    >>> parts = fitted.parts(["AACG"])  # what every term adds, for every sample and machine
    >>> bool(abs(parts.sum() + fitted.intercepts[0] - model.decision_function(["AACG"])[0]) < 1e-9)
    True
    """

    kernel: Kernel = field(repr=False)
    terms: tuple[Kernel, ...] = field(repr=False)
    term_names: list[str]
    support: Views = field(repr=False)
    rows: np.ndarray = field(repr=False)
    coef: np.ndarray = field(repr=False)
    intercepts: np.ndarray
    weights: np.ndarray
    scales: np.ndarray
    classes: np.ndarray | None
    n_jobs: int = field(repr=False)
    #: Turns samples, as for `predict`, into views, and refuses others than the model was fitted on.
    views: Callable[[Any], Views] = field(repr=False, compare=False)
    _memory: Any = field(repr=False, compare=False)
    _shelf: Shelf = field(repr=False, compare=False)
    several: bool = False

    @property
    def n_machines(self) -> int:
        """How many decision values a sample has."""
        return len(self.intercepts)

    @property
    def used(self) -> np.ndarray:
        """The numbers of the terms that add anything to the decision values of new samples."""
        found = [m for m in np.flatnonzero(self.weights.any(axis=0)) if not self.terms[m].training_only]
        return np.array(found if len(self.rows) else [], dtype=np.int64)

    @property
    def prepared(self) -> Prepared | None:
        """The tables that the model keeps; None where it keeps none."""
        return self._shelf.prepared

    @property
    def machine_names(self) -> list[str]:
        """What the machines stand for: classes, or the numbers of targets."""
        if self.classes is None or len(self.classes) != self.n_machines:
            return [str(number) for number in range(self.n_machines)]
        return [str(label) for label in self.classes]

    def refuse_several(self, what: str) -> None:
        """Raise an error for what shows one target, where the model has several."""
        if self.several:
            raise InputError(
                f"{what} is about one target, and this model has {self.n_machines}. Fit a model to one column of y, or "
                "ask explain.contributions(model, X, machine=...) and model.fitted_.parts(X), which know several."
            )

    def machine(self, number: Any) -> int:
        """Return the number of a machine, checked."""
        if not (isinstance(number, (int, np.integer)) and 0 <= number < self.n_machines):
            raise InputError(f"machine must be a number from 0 to {self.n_machines - 1}; got {number!r}.")
        return int(number)

    def factors(self, machine: int) -> np.ndarray:
        """Return what every term is multiplied with in a machine: weights / scales."""
        return self.weights[0 if len(self.weights) == 1 else machine] / self.scales

    # -- decision values ---------------------------------------------------------------------------------------------

    def decide(self, X: Any) -> np.ndarray:
        """Return the decision values of samples, as for `predict`: (n_samples, n_machines)."""
        views = self.views(X)
        with blas_threads(self.n_jobs):
            found = self._decided_elsewhere(views)
            if found is not None:
                return found
            return self.values(self.ready(len(views)), views)

    def _decided_elsewhere(self, views: Views) -> np.ndarray | None:
        """Return the decision values of samples in shards, by an engine; None where they are no shards."""
        used = self.used
        if not len(used):
            return None
        coef, gram = np.ascontiguousarray(self.coef.T), self._gram(used, n_jobs=1)
        found = sharded_values(gram, coef, self.weights[:, used], views, self.n_jobs)
        return None if found is None else found + self.intercepts

    def values(self, prepared: Prepared, views: Views) -> np.ndarray:
        """Return the decision values of checked samples by way of `prepare()`."""
        out = np.tile(self.intercepts, (len(views), 1))
        prepared.add(views, out, self.n_jobs)
        return out

    def prepare(self) -> Prepared:
        """Return the terms and coefficients without the intercepts, ready for new samples."""
        coef, used = np.ascontiguousarray(self.coef.T), self.used
        return (
            self._gram(used).prepare(coef, self.weights[:, used]) if len(used) else PreparedTogether([], len(self.coef))
        )

    def ready(self, n_samples: int) -> Prepared:
        """Return the same for so many samples: the tables that the model keeps, also from now on if they need them."""
        prepared = self._shelf.prepared or self.prepare()
        if self._shelf.prepared is None and prepared.pays(n_samples):
            with suppress(MemoryBudgetError):
                prepared = self._shelf.prepared = prepared.kept(min(KEPT_BYTES, budget_bytes(self._memory)))
        return prepared

    def keep(self) -> Prepared:
        """Return tables of what the support has to say; the model keeps them, and has later samples look them up."""
        if self._shelf.prepared is None:
            with blas_threads(self.n_jobs):
                self._shelf.prepared = self.prepare().kept(budget_bytes(self._memory))
        return self._shelf.prepared

    def parts(self, X: Any) -> np.ndarray:
        """Return what every term adds to every decision value: (n_terms, n_samples, n_machines)."""
        views, used = self.views(X), self.used
        out = np.zeros((len(self.terms), len(views), self.n_machines))
        if len(used):
            with blas_threads(self.n_jobs):
                each = self._gram(used).apply_each(np.ascontiguousarray(self.coef.T), views)
            out[used] = each * self.weights.T[used][:, None, :]
        return out

    def shares(self, X: Any) -> np.ndarray:
        """Return the part of every term in the variance of the decision values; they add up to 1."""
        parts = self.parts(X)
        parts = parts - parts.mean(axis=1, keepdims=True)
        total = parts.sum(axis=0)
        variance = float((total * total).sum())
        if variance == 0.0:
            return np.full(len(parts), 1.0 / len(parts))
        return np.einsum("mnc,nc->m", parts, total) / variance

    def _gram(self, used: np.ndarray, n_jobs: int | None = None) -> Gram:
        terms, n_jobs = [self.terms[m] for m in used], self.n_jobs if n_jobs is None else n_jobs
        return for_prediction(terms, self.support, 1.0 / self.scales[used], n_jobs)


def fitted_model(model: Any) -> FittedModel:
    """Return what a fitted model knows, also from inside a pipeline or a search.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
        Or a pipeline or a search that ends with one; samples are then what that last step is given. A record is
        returned as it is.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernelweave import RBF, Linear, MKLClassifier, fitted_model
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = make_pipeline(StandardScaler(), MKLClassifier(RBF(1.0) + Linear())).fit(X, y)
    >>> fitted_model(model).term_names
    ['RBF(gamma=1.0)', 'Linear()']
    """
    return model if isinstance(model, FittedModel) else steps_of(model)[-1].fitted_


def steps_of(model: Any) -> list[Any]:
    """Return what samples go through in a pipeline or a search, the fitted estimator with learned weights last."""
    before: list[Any] = []
    while hasattr(model, "best_estimator_") or hasattr(model, "steps"):
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            before += [step for _, step in model.steps[:-1]]
            model = model.steps[-1][1]
    if not hasattr(type(model), "fitted_"):
        raise InputTypeError(
            "A model with learned weights is needed: MKLClassifier, say, or a pipeline or search that ends with one; "
            f"got {type(model).__name__}."
        )
    check_is_fitted(model)
    return [*before, model]


def through(steps: list[Any], X: Any) -> Any:
    """Return samples as the last of some steps is given them."""
    for step in steps[:-1]:
        X = X if step in (None, "passthrough") else step.transform(X)
    return X
