"""The last look at a fit: the model, as it is kept, has to say what the solver solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InternalError
from ..kernels import Kernel
from ..mkl import Result
from ..parallel import blas_threads
from ..views import Views
from .prepared_terms import Terms

if TYPE_CHECKING:
    from .base import BaseMKL

#: Training samples that are looked at.
SAMPLES = 64
#: How far decision values may be off: relative to the sizes that they are summed up from (in double and in single
#: precision), and to the largest of them.
DOUBLE, SINGLE, SHARE = 1e-11, 1e-5, 1e-7


def verify(model: BaseMKL, X: Views, terms: Terms, results: Sequence[Result], order: np.ndarray) -> None:
    """Check that the kept weights, scales, support and intercept give the decision values that were certified.

    The model is asked for some of its training samples, as it would be for new ones; `order` says where each of its
    machines stands in the results. Where terms that share a weight
    differ by a constant, the intercept takes up that constant first.

    Raises
    ------
    InternalError
        Where the values differ by more than rounding explains.
    """
    rows = _samples_to_verify(results)
    machines = [(result, number) for result in results for number in range(len(result.step.states))]
    wanted = np.column_stack([_certified_values(terms, result, number, rows) for result, number in machines])[:, order]
    shift, spread = units_of_targets(model)
    wanted, fitted = shift + spread * wanted, model.fitted_
    with blas_threads(fitted.n_jobs):
        found = fitted.values(fitted.ready(1), X.rows(rows))  # keeps tables that any sample would ask for
    if terms.shifted:
        shift = (wanted - found).mean(axis=0)
        model.intercept_ = model.intercept_ + shift
        found = found + shift
    # an identity inside a term knows training samples only: samples outside of the support do not notice
    clear: np.ndarray = np.ones(len(rows), bool)
    if _has_inner_identity(terms.all_terms):
        clear = np.logical_not(np.column_stack([result.step.coef[rows] for result in results]).any(axis=1))
    off = np.abs(wanted - found)
    allowed = spread * _allowed_rounding(terms, results, rows)[order] + SHARE * np.abs(wanted).max(initial=0.0)
    if not (off <= allowed)[clear].all():
        raise InternalError(
            f"The model as kept gives other decision values for its training samples than those that were certified "
            f"(off by up to {off.max():.3g}), so it is not returned. If a kernel of your own is in it, make sure that "
            "k(x, y) does not depend on which other samples are asked for at the same time; otherwise this is a fault "
            f"of kernelweave: please report it, with the call. Terms: {', '.join(model.term_names_[:3])}."
        )


def units_of_targets(model: BaseMKL) -> tuple[Any, Any]:
    """Return what targets were moved and divided by before the fit: numbers, or arrays with one for each target."""
    return getattr(model, "y_units_", (0.0, 1.0))


def is_certain(kernel: Kernel) -> bool:
    """Say whether no leaf of the kernel was let in unchecked, as with Precomputed(K, psd="ignore")."""
    return all(getattr(leaf, "psd", "error") != "ignore" for leaf in kernel.leaves())


def _samples_to_verify(results: Sequence[Result]) -> np.ndarray:
    """Return some samples, half of them from the support where there are that many."""
    used = np.column_stack([result.step.coef for result in results]).any(axis=1)
    rng, chosen = np.random.default_rng(0), []
    for members in (np.flatnonzero(used), np.flatnonzero(~used)):
        chosen.append(rng.choice(members, min(len(members), SAMPLES // 2), replace=False))
    return np.sort(np.concatenate(chosen))


def _certified_values(terms: Terms, result: Result, machine: int, rows: np.ndarray) -> np.ndarray:
    """Return the certified decision values of some samples, without identities: they know training samples only."""
    state, gram = result.step.states[machine], terms.gram
    values = state.f[rows] + state.intercept
    for m, term in enumerate(gram.terms):
        if term.training_only and result.step.weights[m] > 0:
            own = gram.only([m])
            values = values - (result.step.weights[m] * own.factors[0] * own.diag_each()[0] * state.coef)[rows]
    return values


def _allowed_rounding(terms: Terms, results: Sequence[Result], rows: np.ndarray) -> np.ndarray:
    """Return what rounding may add up to in every decision value: a share of Σ_j |coef_j| k(x, x)."""
    share, some, sizes = SINGLE if terms.gram.held.single else DOUBLE, terms.gram.X.rows(rows), []
    for result in results:
        used = np.flatnonzero(result.step.weights)
        parts = result.step.weights[used] * terms.gram.factors[used]
        diag = sum(w * terms.gram.terms[m].compute_diag(some) for w, m in zip(parts, used, strict=True))
        sizes += [np.max(diag) * np.abs(state.coef).sum() for state in result.step.states]
    return share * np.array(sizes)


def _has_inner_identity(terms: Sequence[Kernel]) -> bool:
    return any(leaf.training_only for term in terms if not term.training_only for leaf in term.leaves())
