"""C by cross-validation: on every fold a path of fits over C, each of which goes on from the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

from ..cluster import Job, current_engine, engine, run_jobs
from ..errors import InputError
from ..progress import Callback
from ..validation import check_positive
from ..views import Views

CV = "cv"
#: What C="cv" tries.
COSTS = np.logspace(-2, 3, 11)

Found = TypeVar("Found")


@dataclass(frozen=True)
class FoldPath:
    """The job of one fold: the scores of every C on the samples left out; called with those for training, and these."""

    model: Any
    X: Views
    y: np.ndarray
    weight: np.ndarray
    costs: np.ndarray
    limit: float | None

    def __call__(self, fold: tuple[np.ndarray, np.ndarray], callback: Callback | None = None) -> np.ndarray:
        train, test = fold
        part: Any = clone(self.model)
        part.set_params(warm_start=True, verbose=0, max_seconds=self.limit)
        part._holding = True
        known, left_out, scores = self.X.rows(train), self.X.rows(test), np.empty(len(self.costs))
        for number, C in enumerate(self.costs):
            part.set_params(C=float(C)).fit(known, self.y[train], self.weight[train], callback=callback)
            scores[number] = check_scoring(part, part.scoring)(part, left_out, self.y[test])
        return scores


class Searching:
    """What estimators share: C by the scores of samples that were left out."""

    C: Any
    cv: Any
    scoring: Any
    learn_C: bool
    max_seconds: float | None
    cv_results_: dict[str, np.ndarray]
    #: Whether the terms on the last samples are kept for the next fit to them, and what is kept.
    _holding = False
    _held: tuple[Views, Any] | None = None

    def _searches(self) -> bool:
        """Say whether C is looked for by cross-validation."""
        C = getattr(self, "C", None)  # which a one-class machine has not
        return isinstance(C, (list, tuple, np.ndarray)) or (isinstance(C, str) and C == CV)

    def _bound_once(self, X: Views, bound: Callable[[], Found]) -> Found:
        """Return what `bound` makes of the samples; of a path, only its first fit makes it."""
        if self._held is not None and self._held[0] is X:
            return self._held[1]
        found = bound()
        self._held = (X, found) if self._holding else None
        return found

    def _search(
        self, X: Views, y: np.ndarray, weight: np.ndarray, groups: Any, callback: Callback | None, given: Any = None
    ) -> None:
        """Find C, and set `cv_results_`: one row for every C, one column for every fold; `given` is the engine."""
        if self.learn_C:
            raise InputError("learn_C=True and C by cross-validation contradict each other; give one of them.")
        costs = self._path()
        folds = list(self._folds(y, groups))
        limit = None if self.max_seconds is None else self.max_seconds / (len(costs) * len(folds) + 1)
        work = FoldPath(clone(self), X, y, weight, costs, limit)
        if given is None and current_engine() is None:
            found = [work(fold, callback) for fold in folds]
        else:
            jobs = [Job(f"fold {k + 1} of {len(folds)}", fold) for k, fold in enumerate(folds)]
            with nullcontext() if given is None else engine(given):
                found = run_jobs(work, jobs)
        scores = np.column_stack(found)
        mean = scores.mean(axis=1)
        if not np.isfinite(mean).any():
            raise InputError("No C has a score: every fold needs samples of all classes; use fewer folds.")
        self.cv_results_ = {"C": costs, "mean_test_score": mean, "std_test_score": scores.std(axis=1)}
        self.cv_results_["split_test_scores"] = scores

    def _searched_C(self) -> float:
        """Return the C with the best mean score; the lowest of several, whose machine is the smoothest."""
        return float(self.cv_results_["C"][int(np.nanargmax(self.cv_results_["mean_test_score"]))])

    def _searched_note(self) -> str:
        found, C = self.cv_results_, self._searched_C()
        best = int(np.flatnonzero(found["C"] == C)[0])
        n_folds, score = found["split_test_scores"].shape[1], found["mean_test_score"][best]
        edge = len(found["C"]) > 1 and best in (0, len(found["C"]) - 1)
        more = "; it is at the end of what was tried, so look further" if edge else ""
        return f"C = {C:.3g} has the best score of samples left out by {n_folds} folds, {score:.4g}{more}"

    def _path(self) -> np.ndarray:
        if isinstance(self.C, str):
            return COSTS
        costs = np.unique([check_positive("every C", C) for C in self.C])
        if len(costs) == 0:
            raise InputError('C is an empty list; give the values to try, or C="cv".')
        return costs

    def _folds(self, y: np.ndarray, groups: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        cv = self.cv
        labels = is_classifier(self) and y.ndim == 1
        if groups is not None and isinstance(cv, (int, np.integer)):
            cv = StratifiedGroupKFold(int(cv)) if labels else GroupKFold(int(cv))
        splitter = check_cv(cv, y, classifier=labels)
        yield from splitter.split(np.zeros((len(y), 1)), y, groups)
