"""`kernelweave cv`: cross-validated scores, and a small search over C and kernels."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import click

from . import options as opt
from .console import console, short, step_bar, table, write_json
from .engines import ENGINE, on_engine
from .failures import check_printable
from .splits import SPLITS, Split, split

EXAMPLES = """\b
Examples:
  kernelweave cv table.csv --target outcome --kernel "RBF(0.5).on('age') + Linear().on('dose')" --folds 5
  kernelweave cv pos.fa neg.fa --kernel 'Spectrum(k=6)' --kernel 'WeightedDegree(degree=10)' --C 0.1,1,10
  kernelweave cv peaks.bed --genome hg.fa --negatives matched --groups chrom
  kernelweave cv proteins.fa --groups homology --label-field class

\b
Every combination of --kernel and --C is trained on the same folds, which keep the shares of the classes.
Scores are of the samples that were left out: auROC, auPRC, MCC and accuracy for two classes, accuracy and
balanced accuracy for more, R2 and RMSE for numbers; mean and standard deviation over the folds. For two
classes, 95 % intervals follow by the bootstrap, over whole groups where each fold has five or more.
Neighbours on a chromosome, and relatives, are alike: --groups and --hold-out keep them on one side.
"""


@dataclass
class Row:
    """One combination, with a list of scores over the folds for every measure."""

    kernel: str
    C: Any
    scores: dict[str, list[float]]
    seconds: float
    converged: bool
    #: By measure, where it lies in 95 of 100 drawings; for two classes.
    intervals: dict[str, Any] = field(default_factory=dict)

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over the folds."""
        return sum(self.scores[measure]) / len(self.scores[measure])

    def spread(self, measure: str) -> float:
        """Return its standard deviation."""
        values, mean = self.scores[measure], self.mean(measure)
        return (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5


@click.command(epilog=EXAMPLES, short_help="Cross-validate, and search over C and kernels.")
@opt.FILES
@click.option("--kernel", type=opt.KernelText(), multiple=True, help="What is similar; repeat it to compare several.")
@click.option("--preset", type=opt.Choice("name", "cli.presets", "PRESETS"), multiple=True, metavar="NAME",
              help="A kernel for a task: splice, promoter, tf, protein, text, table; may be repeated.")  # fmt: skip
@click.option("--C", "C", type=opt.Costs(), help="Costs of errors to compare: 0.1,1,10, or auto, as in fit; default "
              "1, or auto for a table without --kernel.")  # fmt: skip
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Parts that are left out.")
@SPLITS
@opt.LEARNING
@opt.READING
@opt.PLACES
@opt.NEGATIVES
@ENGINE
@opt.JSON
def cv(**options: Any) -> None:
    """Estimate by cross-validation on DATA how well a model will do on new samples."""
    from ..kernels import parse
    from .arrange import arranged
    from .data import Reading, read
    from .machine import check_positive_label, check_task, task_of
    from .presets import default_choice, default_kernel, preset_kernel

    check_printable()
    given = dict(options)
    how = Reading.taken_from(options)
    if options["task"] == "one-class":
        raise click.UsageError("Cross-validation needs something to predict; a one-class machine has no targets.")
    data = read(options["files"], how)
    task = task_of(data.y, options["task"])
    check_task(task, data)
    check_positive_label(task, data, options["positive"])
    kernels = [parse(text) for text in options["kernel"]]
    kernels += [preset_kernel(name, data) for name in options["preset"]]
    kernels = kernels or [default_kernel(data)]
    options["C"] = options["C"] or [default_choice(data, options)]
    options["norm"] = default_choice(data, options) if options["norm"] is None else options["norm"]
    rows: list[Row] = []
    n_folds = 1 if options["hold_out"] else options["folds"]
    with (
        on_engine(options),
        step_bar("Cross-validating", len(kernels) * len(options["C"]) * n_folds) as step,
    ):
        for kernel in kernels:
            arranged_data, _ = arranged(data, kernel, how)
            parts = split(task, arranged_data, options)
            rows += _evaluate(kernel, arranged_data, parts, task, options, step)
    measure = next(iter(rows[0].scores))
    best = max(rows, key=lambda row: row.mean(measure))
    if options["as_json"]:
        write_json({**_as_json(rows, best, task, measure, options), "split": parts.text})
    else:
        _show(rows, best, measure, parts.text, given)


@dataclass(frozen=True)
class FoldScores:
    """What one fold says of one C."""

    scores: dict[str, float]
    seconds: float
    converged: bool
    #: For two classes.
    judged: Any = None


@dataclass(frozen=True)
class FoldJob:
    """The job of fitting without one fold, and of judging on it; called with C and the number of the fold."""

    kernel: Any
    X: Any
    y: Any
    parts: Split
    task: str
    options: dict[str, Any]

    def __call__(self, given: tuple[Any, int]) -> FoldScores:
        from ..explain.validation import Fold
        from ..views import as_views
        from .machine import estimator, put_positive_last

        C, number = given
        start, views, y = time.monotonic(), as_views(self.X), self.y
        train, test = self.parts.folds[number]
        model = estimator(self.task, self.kernel, y, {**self.options, "C": C})
        model.fit(views.rows(train), y[train])
        put_positive_last(model, self.options["positive"])
        scores, judged = _scores(model, self.task, views.rows(test), y[test]), None
        if self.task == "classification" and len(model.classes_) == 2:
            own = None if self.parts.groups is None else self.parts.groups[test]
            judged = Fold(y[test] == model.classes_[1], model.decision_function(views.rows(test)), own)
        return FoldScores(scores, time.monotonic() - start, bool(model.converged_), judged)


def _evaluate(kernel: Any, data: Any, parts: Split, task: str, options: dict[str, Any], step: Any) -> list[Row]:
    """Return one row for every C; all folds of all of them are jobs, on whatever engine there is."""
    from ..cluster import Job, run_jobs
    from ..explain.validation import intervals

    work = FoldJob(kernel, data.X, data.y, parts, task, options)
    numbers, costs = range(len(parts.folds)), options["C"]
    jobs = [Job(f"fold {k + 1} of {len(numbers)} for C = {C}", (C, k)) for C in costs for k in numbers]
    found = run_jobs(work, jobs, lambda number, answer: step())
    rows = []
    for at, C in enumerate(costs):
        folds = found[at * len(numbers) : (at + 1) * len(numbers)]
        row = Row(repr(kernel), C, {}, sum(fold.seconds for fold in folds), all(fold.converged for fold in folds))
        for fold in folds:
            for name, value in fold.scores.items():
                row.scores.setdefault(name, []).append(value)
        judged = [fold.judged for fold in folds if fold.judged is not None]
        if judged:
            row.intervals = intervals(judged, random_state=options["seed"])
        rows.append(row)
    return rows


def _scores(model: Any, task: str, X: Any, y: Any) -> dict[str, float]:
    """Return the measures of one fold; the first is the one to choose by."""
    import numpy as np
    from sklearn import metrics

    from ..explain.validation import MEASURES

    predicted = model.predict(X)
    if task == "regression":
        error = float(np.sqrt(np.mean((predicted - y) ** 2)))
        return {"R2": float(metrics.r2_score(y, predicted)), "RMSE": error}
    accuracy = float(metrics.accuracy_score(y, predicted))
    if len(model.classes_) > 2:
        return {"accuracy": accuracy, "balanced accuracy": float(metrics.balanced_accuracy_score(y, predicted))}
    decision, positive = model.decision_function(X), y == model.classes_[1]
    return {**{name: measure(positive, decision) for name, measure in MEASURES.items()}, "accuracy": accuracy}


def _as_json(rows: list[Row], best: Row, task: str, measure: str, options: dict[str, Any]) -> dict[str, Any]:
    def plain(row: Row) -> dict[str, Any]:
        means = {
            name: {"mean": row.mean(name), "std": row.spread(name), "folds": row.scores[name]} for name in row.scores
        }
        for name, found in row.intervals.items():
            means[name] |= {"interval": [found.low, found.high], "interval_over": found.over}
        return {"kernel": row.kernel, "C": row.C, "scores": means, "seconds": row.seconds, "converged": row.converged}

    return {
        "task": task,
        "folds": options["folds"],
        "seed": options["seed"],
        "chosen_by": measure,
        "results": [plain(row) for row in rows],
        "best": {"kernel": best.kernel, "C": best.C},
    }


def _show(rows: list[Row], best: Row, measure: str, split_text: str, options: dict[str, Any]) -> None:
    out = console()
    out.print(f"Split: {split_text}.", soft_wrap=True)
    if len(next(iter(rows[0].scores.values()))) > 1:
        out.print("Mean ± standard deviation over the folds, on the samples that were left out.", soft_wrap=True)
    measures = list(rows[0].scores)
    for kernel in dict.fromkeys(row.kernel for row in rows):
        out.print()
        out.print(short(kernel, 200))
        made = table("C", *measures, "time", "", right=("C", *measures, "time"))
        for row in (row for row in rows if row.kernel == kernel):
            cells = [_cell(row, name) for name in measures]
            chosen = row is best and len(rows) > 1
            notes = ["best"] * chosen + ["not converged"] * (not row.converged)
            style = "bold" if chosen else None
            made.add_row(_cost(row), *cells, f"{row.seconds:.1f} s", ", ".join(notes), style=style)
        out.print(made)
    if best.intervals:
        over = next(iter(best.intervals.values())).over
        shown = ", ".join(f"{name} {found.low:.4f} to {found.high:.4f}" for name, found in best.intervals.items())
        which = "" if len(rows) == 1 else " of the best"
        out.print(f"95 % intervals{which}, by the bootstrap over {over}: {shown}.", soft_wrap=True)
    if len(rows) > 1:
        out.print(f"The best {measure} has C = {_cost(best)}. To train it on all data:")
        quoted = best.kernel.replace('"', '\\"')
        # a kernel that was chosen will be chosen again
        kernel = f' --kernel "{quoted}"' if options["kernel"] or options["preset"] else ""
        files = " ".join(options["files"])
        names = ("target", "genome", "negatives", "ratio", "exclude", "width", "slop", "feature")
        given = {name: options.get(name) for name in names if options.get(name) not in (None, 1)}
        target = "".join(f" --{name} {value}" for name, value in given.items())
        out.print(f"  kernelweave fit {files}{target} --C {_cost(best)}{kernel}", soft_wrap=True)


def _cost(row: Row) -> str:
    return row.C if row.C == "auto" else f"{row.C:g}"


def _cell(row: Row, measure: str) -> str:
    mean = f"{row.mean(measure):.4f}"
    return mean if len(row.scores[measure]) == 1 else f"{mean} ± {row.spread(measure):.4f}"
