"""What the three estimators share: from views to a solved problem and back to predictions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import clock
from ..dual import Machine, needs_of
from ..errors import DataWarning, InputError, TimeLimitError
from ..gram import Needs, Plan, bind
from ..gram.plan import plan
from ..kernels import Kernel, learned_kernel
from ..kernels.low_rank import notes_of, with_landmarks
from ..kernels.values import same_value
from ..losses import Loss
from ..memory import budget_bytes
from ..mkl import Problem, Result, as_solver, run
from ..norms import Fixed, Polyhedral, WeightNorm
from ..parallel import blas_threads, count_jobs
from ..progress import Callback, printer, relative_gap, round_printer
from ..validation import check_positive, check_X, warn_scales
from ..views import Views, as_views
from .chosen import Choosing, grouped, with_choice
from .expressions import learned_expression, learned_html
from .fitted import FittedModel, Shelf
from .learned_cost import learned_C, with_learned_C
from .learned_widths import check_widths, with_widths
from .listeners import Listeners
from .path import Searching
from .prepared_terms import Terms, identity_scale, prepare_terms
from .support_notes import notes_on_support
from .tags import input_tags
from .trained import Trained, remember
from .verify import is_certain, units_of_targets, verify

#: A cost below this share of the highest is none: it could not change a digit of the objective, but overflow as 1/C.
NOTHING = 1e-100
#: Samples from which on BLAS has nothing to do but sums of one number per sample where it makes no other products: its
#: threads would wait for each other, and keep ours waiting.
MANY = 8_000
#: Where the optimum is 0 but for rounding.
NOTHING_LEARNED = (
    "The optimum is 0: the samples lie around the origin of the kernel's features, and no plane keeps most of them on "
    "one side of it. So this machine tells nothing apart. Use a kernel such as RBF(), which has them all on one side."
)


class BaseMKL(Searching, Choosing, BaseEstimator):
    """Binds the kernel, learns weights and machines, and keeps what prediction needs."""

    kernel: Any
    dual: Any
    tol: float
    max_iter: int
    max_seconds: float | None
    learn_C: bool = False
    trained_: Trained | None
    notes_: list[str]

    def _check_parameters(self) -> None:
        check_positive("tol", self.tol, what="a relative gap > 0 such as 1e-3")
        if not (isinstance(self.max_iter, (int, np.integer)) and self.max_iter >= 1):
            raise InputError(f"max_iter must be a whole number ≥ 1; got {self.max_iter!r}.")
        if self.max_seconds is not None:
            check_positive("max_seconds", self.max_seconds, what="a number of seconds > 0, or None")

    def _listeners(self, checkpoint: Any, callback: Callback | None, engine: Any) -> Listeners:
        """Return what goes on beside a fit."""
        callbacks = [told for told in (printer(self.verbose), callback) if told is not None]
        return Listeners(checkpoint, callbacks, engine, self._searches(), round_printer(self.verbose))

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _fit_problem(
        self,
        X: Views,
        targets: list[np.ndarray],
        C: np.ndarray,
        share: np.ndarray,
        listeners: Listeners,
        target: Any = None,
    ) -> None:
        """Learn weights and machines for samples with C > 0, and set the fitted attributes.

        Parameters
        ----------
        targets : one array of y per machine
        C : the cost of every sample, with class and sample weights inside: (n,), or a row for every machine
        share : the sample weights, for the scaling of the terms
        listeners : callbacks and checkpoint
        target : what y is called, where it has a name
        """
        with listeners.on_engine():
            self._fit_machines(X, targets, C, share, listeners, target)

    def _fit_machines(
        self,
        X: Views,
        targets: list[np.ndarray],
        C: np.ndarray,
        share: np.ndarray,
        listeners: Listeners,
        target: Any,
    ) -> None:
        self._check_parameters()
        self._n = len(X)
        loss = self._loss()
        for y in targets:
            loss.check(y)
        C = np.broadcast_to(C, (len(targets), len(X)))
        kept = np.flatnonzero((NOTHING * C.max() < C).all(axis=0))
        if len(kept) < len(X):  # a weight of zero is the same as not being there
            X, C, share, targets = X.rows(kept), C[:, kept], share[kept], [y[kept] for y in targets]
        warn_scales(X, self._kernel())
        from .._fast.interrupts import gated

        limited, budget = clock.limited(self.max_seconds, listeners.compiling), budget_bytes(self.memory)
        with blas_threads(count_jobs(self.n_jobs)), gated(), ExitStack() as later, limited as deadline:
            machines = [Machine(loss, y, own) for y, own in zip(targets, C, strict=True)]
            self.base_kernel_, said = learned_kernel(self._kernel(), X, share)
            kernel, self.widths_ = with_widths(
                self.base_kernel_, X, machines, deadline, self.random_state, self.scaling, share, budget
            )
            kernel = with_landmarks(kernel, X)
            listeners.begin(self, kernel, X, machines, 1 if self._shared() else len(machines))
            norm = self._norm()

            def bound() -> Terms:
                gram, merge = bind(kernel, X, memory=budget, needs=self._needs()), isinstance(norm, Polyhedral)
                centred = loss.total == 0
                return prepare_terms(gram, self.scaling, share, centred=centred, merge=merge, quiet=bool(said))

            terms = bound() if self.widths_ is not None else self._bound_once(X, bound)
            if not terms.gram.held.blas and terms.gram.n > MANY:
                later.enter_context(blas_threads(1))
            if self.learn_C:
                terms, machines = with_learned_C(
                    terms, machines, C[0] / self._cost(), identity_scale(self.scaling, share)
                )
            norm = _norm_of_terms(norm, terms)
            left = max(0.0, budget - terms.gram.bytes.held)
            whole = Problem(terms.gram, machines, norm, self.tol, deadline, None, self.dual, left, is_certain(kernel))
            groups, choices = grouped(whole, share, self._shared(), self._several(), *self._chosen())
            results, apart = list[Result](), bool(choices)
            for number, group in enumerate(groups):
                problem = replace(group.problem, deadline=_deadline_of_share(deadline, len(groups) - number))
                if not apart:
                    problem, choice = with_choice(problem, share, *self._chosen())
                    choices += [] if choice is None else [choice]
                results.append(self._solve_problem(problem, results, listeners))
        listeners.end(results)
        self._check_usable(results)
        order = np.argsort([number for group in groups for number in group.numbers])
        self._set_fitted(X, kept, terms, results, order)
        self._note_choices(choices, said)
        verify(self, X, terms, results, order)
        self.trained_ = remember(self.base_kernel_, X, target, count_jobs(self.n_jobs))
        self._warn_or_raise_end(results)

    def _check_usable(self, results: list[Result]) -> None:
        """Raise an error where time was over before every machine had begun: such a model knows nothing."""
        late = [result for result in results if result.stop_reason == "max_seconds"]
        empty = any(not state.coef.any() for result in late for state in result.step.states)
        if empty or not all(np.isfinite(result.gap) for result in late):
            raise TimeLimitError(clock.too_short(float(self.max_seconds or 0.0)))

    def memory_needed(self, X: Any) -> tuple[str, float]:
        """Return how a fit to X would hold the kernel, in words, and about how many bytes it takes beside the data."""
        views, budget = as_views(X), budget_bytes(self.memory)
        before = check_widths(learned_kernel(self._kernel(), views)[0], len(views), budget)
        found = self.plan(views)
        return found.how, max(before, found.need)

    def plan(self, X: Any) -> Plan:
        """Return how a fit to X would hold the terms of the kernel, why, and in how many bytes. Nothing is computed."""
        views = as_views(X)
        kernel, _ = learned_kernel(self._kernel(), views)
        return plan(kernel, views, budget_bytes(self.memory), self._needs())

    def _needs(self) -> Needs:
        """Return what `bind` has to know of the fit."""
        n_jobs, ridged = count_jobs(self.n_jobs), bool(self.learn_C)
        return needs_of(self._loss(), self.dual, ridged=ridged, n_jobs=n_jobs, tol=self.tol)

    def _shared(self) -> bool:
        return True

    def _several(self) -> bool:
        """Say whether there are several targets, and not one of several classes."""
        return False

    def _solve_problem(self, problem: Problem, before: list[Result], listeners: Listeners) -> Result:
        problem = replace(problem, start=self._warm_step(problem, len(before)))
        solver = as_solver(self.solver, problem)
        self.solver_ = solver.name
        stage = solver.first_stage(problem)
        if stage is not None:  # what is left to certify is the machine at these weights
            problem = replace(problem, norm=Fixed(stage.weights))
        problem, told = listeners.attach(problem, len(before))
        # after an interrupt the other machines only get as far as a start: a usable model at once
        interrupted = any(result.interrupted for result in before)
        return replace(run(solver, problem, max_iter=self.max_iter, interrupted=interrupted, **told), stage=stage)

    def _warm_step(self, problem: Problem, number: int) -> Any:
        """Return the last step where `warm_start` is set and it fits the new problem."""
        if not self.warm_start or not hasattr(self, "_last") or number >= len(self._last):
            return None
        step = self._last[number]
        fits = len(step.weights) == problem.gram.n_terms and len(step.states) == len(problem.machines)
        fits = fits and len(step.states[0].coef) == problem.gram.n
        return step if fits and problem.norm.holds(step.weights) else None  # weights of another norm prove nothing

    def _set_fitted(self, X: Views, kept: np.ndarray, terms: Terms, results: list[Result], order: np.ndarray) -> None:
        coef = np.column_stack([result.step.coef for result in results])[:, order]
        support = np.flatnonzero(coef.any(axis=1))
        shift, spread = units_of_targets(self)
        self.restore(
            terms.all_terms,
            terms.scales,
            _weight_rows(terms, results, self._shared())[slice(None) if self._shared() else order],
            X.rows(support),
            kept[support],
            np.reshape(spread, (-1, 1)) * coef[support].T,
            shift + spread * np.array([s.intercept for result in results for s in result.step.states])[order],
        )
        self.notes_ = list(terms.notes) + ([] if self.widths_ is None else [self.widths_.note])
        self.notes_ += notes_of(terms.all_terms)
        if not self._needs().on_all:
            self.notes_ += notes_on_support(self._loss(), len(support), terms.gram.n)
        for note in {result.stage.note for result in results if result.stage is not None and result.stage.note}:
            self.notes_.append(note)
            warnings.warn(note, DataWarning, stacklevel=4)
        alignments = [None if r.stage is None else r.stage.alignment(terms.share) for r in results]
        self.alignment_ = alignments[0] if self._shared() else alignments
        if self.learn_C:
            self.C_, notes = learned_C(terms, self.weights_)
            self.notes_ += notes
        self._last = [result.step for result in results] if self.warm_start else []
        self._keep_certificate(results)

    def restore(
        self,
        terms: Sequence[Kernel],
        scales: np.ndarray,
        weights: np.ndarray,
        support: Views,
        rows: np.ndarray,
        coef: np.ndarray,
        intercepts: np.ndarray,
    ) -> None:
        """Set all that predictions are made from, as `FittedModel` has it; for fits, and for readers of model files."""
        self._terms, self._support_views, self._shelf = tuple(terms), support, Shelf()
        self.support_, self.dual_coef_, self.intercept_, self.scales_ = rows, coef, intercepts, scales
        self.term_names_ = [repr(term) for term in terms]
        learned = [learned_expression(terms, scales, row) for row in weights]
        self.weights_ = weights[0] if self._shared() else weights
        self.kernel_ = learned[0] if self._shared() else learned

    def _keep_certificate(self, results: list[Result]) -> None:
        upper, lower = sum(r.upper for r in results), sum(r.lower for r in results)
        self.objective_ = upper
        self.lower_bound_ = lower
        self.gap_ = relative_gap(upper, lower, sum(r.unit for r in results))
        self.converged_ = all(result.converged for result in results)
        self.stop_reason_ = next((r.stop_reason for r in results if not r.converged), "converged")
        self.n_iter_ = sum(len(result.history) for result in results)
        self.n_solves_ = sum(result.n_solves for result in results)
        self.history_ = [entry | {"problem": i} for i, result in enumerate(results) for entry in result.history]

    def _warn_or_raise_end(self, results: list[Result]) -> None:
        if any(result.interrupted for result in results):
            raise KeyboardInterrupt(f"fit was interrupted at a relative gap of {self.gap_:.2g}; the model is usable.")
        if any(max(abs(result.upper), abs(result.lower)) < result.unit for result in results):
            warnings.warn(NOTHING_LEARNED, DataWarning, stacklevel=4)
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} stopped ({self.stop_reason_}) at a relative duality gap of {self.gap_:.2g}, "
                f"above tol={self.tol:g}. Scale the data, lower C, or raise max_iter, max_seconds or tol; with "
                "warm_start=True another fit goes on from here.",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def fitted_(self) -> FittedModel:
        """What the model knows, as a `FittedModel`."""
        check_is_fitted(self)
        kernel = getattr(self, "base_kernel_", None) or self._kernel()  # which a pickle of an older version lacks
        return FittedModel(
            kernel,
            self._terms,
            self.term_names_,
            self._support_views,
            self.support_,
            self.dual_coef_,
            self.intercept_,
            np.atleast_2d(self.weights_),
            self.scales_,
            getattr(self, "classes_", None),
            count_jobs(self.n_jobs),
            lambda X: check_X(self, X, kernel, reset=False),
            self.memory,
            self._tables(),
            self._several(),
        )

    def _tables(self) -> Shelf:
        """Return where tables are kept: a model that was copied or unpickled begins without any."""
        if not hasattr(self, "_shelf"):
            self._shelf = Shelf()
        return self._shelf

    def compile(self) -> Self:
        """Add up what the support has to say, once: later predictions only look it up.

        String kernels are kept as tables, the normals of listed features as they are; other terms stay as they were.
        Large models do this by themselves where many samples are predicted at once. It pays for streams of small
        batches. The tables are dropped by `fit`, and neither pickled nor saved.

        Raises
        ------
        MemoryBudgetError
            Where the tables would not fit into `memory`.
        """
        check_is_fitted(self)
        self._shelf = Shelf()
        self.fitted_.keep()
        return self

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_shelf", "_held")}

    def __sklearn_tags__(self) -> Any:
        return input_tags(super().__sklearn_tags__(), self._kernel)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # scikit-learn would take kernels apart; here they print as they are typed
        changed = {k: v for k, v in self.get_params(deep=False).items() if not same_value(v, _default(self, k))}
        text = f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"
        if getattr(self, "converged_", True):
            return text
        return f"{text}  # not converged: gap {self.gap_:.2g} ({self.stop_reason_})"

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + learned_html(self)


def _default(estimator: BaseMKL, name: str) -> Any:
    return signature(type(estimator)).parameters[name].default


def _deadline_of_share(deadline: float, n_left: int) -> float:
    """Return until when the next of some problems may go on: all of them get as much of the time that is left."""
    here = clock.now()
    return deadline if np.isinf(deadline) else here + (deadline - here) / n_left


def _weight_rows(terms: Terms, results: Sequence[Result], shared: bool) -> np.ndarray:
    """Return the weights of all terms: one row where they are shared, else one for each machine."""
    rows = [(terms.spread(result.step.weights), len(result.step.states)) for result in results]
    return np.array([row for row, n_machines in rows for _ in range(1 if shared else n_machines)])


def _norm_of_terms(norm: WeightNorm, terms: Terms) -> WeightNorm:
    """Return the norm for the terms that take part."""
    if isinstance(norm, Fixed):
        return Fixed(norm.start(len(terms.all_terms))[[group[0] for group in terms.groups]])
    return Fixed() if len(terms.groups) == 1 and norm.dual_norm(np.ones(1)) == 1.0 else norm
