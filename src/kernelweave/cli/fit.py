"""`kernelweave fit`: train a model on files."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

import click

from ..memory import budget_bytes, readable
from . import options as opt
from .console import bar, console, count, facts, gap_bar, note, seconds, short, table, write_json
from .engines import ENGINE, on_engine
from .failures import NOT_CONVERGED, Failure, check_output
from .machine import check_positive_label, check_task, estimator, put_positive_last, task_of
from .notes import SampleNotes
from .runfile import run_path, use_run, versions, write_run
from .splits import HOLD_OUT, chosen

EXAMPLES = """\b
Examples:
  kernelweave fit pos.fa neg.fa --kernel 'WeightedDegree(degree=20)' --output model.kw
  kernelweave fit sites.fa --label-field class --preset splice --class-weight balanced
  kernelweave fit table.csv --target outcome --kernel "RBF(gamma=0.5).on('age') + Spectrum(k=6).on('utr')"
  kernelweave fit peaks.narrowPeak --genome hg.fa --width 300 --negatives matched
  kernelweave fit data.svm --C 10 --time-limit 10m --strict
  kernelweave fit --run model.toml --C 10 --output other.kw
  kernelweave fit windows.*.kwseq --preset splice --engine dask://10.0.0.5:8786

\b
Data are FASTA or FASTQ (positives, then negatives; or one file with labels in its headers; or one file
for each of several classes), the same as BED or GFF with --genome, tables (CSV, TSV, Parquet), svmlight
files, or packed files (see convert); plain or gzip; - is standard input.
Ctrl-C leaves a checkpoint, and the same command goes on from it.
Exit codes: 0 done, 2 usage, 3 bad input, 4 not converged (with --strict), 5 files, 130 interrupted.
"""

#: A gap below this is nothing but rounding.
ROUNDING = 1e-9
#: Letters of the longest name in what is printed.
WIDTH = len("certificate")


@click.command(epilog=EXAMPLES, short_help="Train a model on files.")
@opt.FILES
@click.option("--kernel", type=opt.KernelText(), help="What is similar, as typed in Python; see `kernelweave kernels`.")
@click.option("--preset", type=opt.Choice("name", "cli.presets", "PRESETS"), metavar="NAME",
              help="A kernel for a task: splice, promoter, tf, protein, text, table.")  # fmt: skip
@click.option("--output", "-o", type=click.Path(), default="model.kw", show_default=True, help="The model file.")
@click.option("--C", "C", type=opt.Cost(), help="Cost of errors, against a smooth machine; auto chooses it by what is "
              "missed when samples are left out.  [default: 1; auto for tables without --kernel]")  # fmt: skip
@opt.LEARNING
@click.option("--probability", is_flag=True, help="Classes: five more fits, for `predict --probability`.")
@click.option("--intervals", is_flag=True, help="Regression: ten more fits, for `predict --coverage`.")
@opt.READING
@opt.PLACES
@opt.NEGATIVES
@HOLD_OUT
@ENGINE
@click.option("--checkpoint", type=click.Path(), help="Where to save on the way.  [default: OUTPUT.checkpoint]")
@click.option("--force-new", is_flag=True, help="Begin anew where a checkpoint is there.")
@click.option("--strict", is_flag=True, help="Exit with 4 where the gap stayed above --tol.")
@click.option("--run", type=click.Path(), is_eager=True, expose_value=False, callback=use_run, metavar="FILE",
              help="Do again what a run file says; other options beside it win.")  # fmt: skip
@opt.JSON
def fit(**options: Any) -> None:
    """Train a model on DATA, and write it to a file.

    Without --kernel or --preset, a kernel is chosen that suits the look of the data.
    """
    if options["kernel"] and options["preset"]:
        raise click.UsageError("--kernel and --preset both say what is similar; give one of them.")
    for path in (options["output"], run_path(options["output"]), options["checkpoint"] or options["output"]):
        check_output(path)
    with on_engine(options):
        run = TrainingRun(options)
        if not options["as_json"]:
            run.announce()
        run.train()
        run.keep()
    if options["as_json"]:
        write_json(run.facts())
    else:
        run.show()
    if options["strict"] and not run.model.converged_:
        raise Failure(f"Not converged ({run.model.stop_reason_}): the gap is {run.model.gap_:.2g}.", NOT_CONVERGED)


class TrainingRun:
    """One training run, from options to a model file."""

    def __init__(self, options: dict[str, Any]) -> None:
        from ..io.checkpoint import Checkpoint
        from ..kernels import parse
        from .arrange import arranged
        from .data import Reading, read
        from .presets import default_choice, default_kernel, preset_kernel

        self.options = dict(options)
        how = Reading.taken_from(options)
        data = read(tuple(options["files"]), how, labelled=options["task"] != "one-class")
        data = chosen(data, options, inside=False)
        if options["kernel"]:
            kernel = parse(options["kernel"])
        else:
            kernel = preset_kernel(options["preset"], data) if options["preset"] else default_kernel(data)
        for name in ("C", "norm"):
            if self.options[name] is None:
                self.options[name] = default_choice(data, options)
        self.data, self.names = arranged(data, kernel, how)
        self.task = task_of(data.y, options["task"])
        check_task(self.task, self.data)
        check_positive_label(self.task, self.data, options["positive"])
        self.target = how.target if self.task != "one-class" else None
        self.notes = SampleNotes(kernel)
        self.model = estimator(self.task, kernel, self.data.y, self.options)
        path = options["checkpoint"] or options["output"] + ".checkpoint"
        self.checkpoint = Checkpoint(path, restart=options["force_new"])
        self.seconds = 0.0

    def train(self) -> None:
        """Fit the model; an interrupt says how to go on."""
        from ..views import as_views

        X = self.data.X
        views = as_views(X) if isinstance(X, dict) or hasattr(X, "alphabet") else X
        self.notes.add(views)
        for text in self.notes.said():
            note(text)
        start, resumed = time.monotonic(), self.checkpoint.exists() and not self.checkpoint.restart
        if resumed:
            click.echo(f"Going on from {self.checkpoint.path}", err=True)
        try:
            with gap_bar(self.options["tol"]) as progress:
                self.model.fit(views, self.data.y, checkpoint=self.checkpoint, callback=progress)
        except KeyboardInterrupt:
            if not self.checkpoint.exists():
                raise
            text = f"Interrupted; the same command goes on from {self.checkpoint.path}"
            raise KeyboardInterrupt(text) from None
        self.seconds = time.monotonic() - start
        put_positive_last(self.model, self.options["positive"])
        self.model.trained_ = replace(self.model.trained_, target=self.target)
        self.model.notes_ += [*self.data.notes, *self.notes.said()]
        if self.names is not None:
            import numpy as np

            self.model.feature_names_in_ = np.array(self.names, dtype=object)

    def keep(self) -> None:
        """Write the model and its run file."""
        from ..io.model_file import save
        from ..parallel import count_jobs

        output = self.options["output"]
        save(self.model, output)
        if self.model.converged_:
            self.checkpoint.remove()
        ran = {key: value for key, value in self.options.items() if key not in ("as_json", "force_new", "preset")}
        ran |= {"files": list(self.options["files"]), "kernel": repr(self.model.kernel), "task": self.task}
        ran["threads"] = count_jobs(self.model.n_jobs)  # the last bits may depend on it
        told = ("model", "run_file", "kernel")
        result = {key: value for key, value in self.facts().items() if isinstance(value, (int, float, str))}
        result = {key: value for key, value in result.items() if key not in told}
        write_run(run_path(output), ran, {**result, "versions": versions()})

    def facts(self) -> dict[str, Any]:
        """Return what came out."""
        model = self.model
        shared = model.weights_.ndim == 1
        terms = zip(model.term_names_, (model.weights_ if shared else model.weights_.T).tolist(), strict=True)
        return {
            "model": self.options["output"],
            "run_file": run_path(self.options["output"]),
            "estimator": type(model).__name__,
            "kernel": repr(model.kernel),
            "learned_kernel": repr(model.kernel_),
            "terms": [{"term": name, "weight": weight} for name, weight in terms],
            "classes": getattr(model, "classes_", None),
            "positive": model.classes_[1] if _is_binary(model) else None,
            "target": self.target,
            "n_samples": len(self.data),
            "n_support": len(model.support_),
            "objective": model.objective_,
            "lower_bound": model.lower_bound_,
            "gap": model.gap_,
            "converged": model.converged_,
            "stop_reason": model.stop_reason_,
            "solver": model.solver_,
            "steps": model.n_iter_,
            "seconds": round(self.seconds, 3),
            "notes": model.notes_,
        }

    def announce(self) -> None:
        """Print what is about to be learned from what."""
        (how, need), why = self.model.memory_needed(self.data.X), self.model.plan(self.data.X).why
        allowed = readable(budget_bytes(self.model.memory))
        rows = {
            "data": describe(self.data),
            "kernel": short(repr(self.model.kernel), 300),
            "memory": f"{how}: about {readable(need)} beside the data, of {allowed} allowed; {why}",
        }
        console().print(facts(rows, WIDTH))

    def show(self) -> None:
        """Print what came out, for people."""
        from ..estimators.intervals import half_width

        model, out = self.model, console()
        machine = type(model).__name__ + (f", {model.loss or model.loss_}" if hasattr(model, "loss") else "")
        cost = f"C = {model.C_:g}" if hasattr(model, "C_") else f"nu = {model.nu:g}"
        better = f"no other weights and machine are more than {100 * model.gap_:.2g} % better"
        if model.gap_ < ROUNDING:
            better = "this is the optimum, up to rounding"
        stopped = better if model.converged_ else f"NOT CONVERGED ({model.stop_reason_}), asked for {model.tol:g}"
        rows = {
            "machine": f"{machine}, {cost}, {len(model.support_):,} of {count(len(self.data), 'sample')} support it",
            "certificate": f"gap {model.gap_:.1e}: {stopped}",
            "time": f"{seconds(self.seconds)}, {count(model.n_iter_, 'step')} of solver {model.solver_!r}",
        }
        if _is_binary(model):
            rows["positive"] = f"scores above 0 stand for class {model.classes_[1]}" + (
                "" if self.options["positive"] else f"; --positive {model.classes_[0]} would turn that round"
            )
        if self.options["intervals"]:
            half = float(half_width(model.left_out_errors_, 0.9))
            rows["intervals"] = f"nine of ten new numbers lie within {half:.3g} of what is predicted"
        out.print(facts(rows, WIDTH))
        if len(model.term_names_) > 1:
            out.print(weights_table(model))
        for text in model.notes_:
            if text not in (*self.data.notes, *self.notes.said()):  # which were said before
                out.print(f"Note: {text}")
        output = self.options["output"]
        size = os.path.getsize(os.path.expanduser(output))
        out.print(f"Wrote {output} ({readable(size)}) and {run_path(output)}, which repeats this run.", soft_wrap=True)
        if self.checkpoint.exists():
            text = f"The same command with more time or steps goes on from {self.checkpoint.path}"
            out.print(text, soft_wrap=True)
        kinds = {"table": "new.csv", "svmlight": "new.svm"}
        example = kinds.get(self.data.kind, "new.fa")
        if self.data.intervals is not None:
            example = f"new.bed --genome {self.options['genome']}"
        out.print(f"Next: kernelweave predict {output} {example} > scores.tsv", soft_wrap=True)


def _is_binary(model: Any) -> bool:
    return len(getattr(model, "classes_", ())) == 2


def describe(data: Any) -> str:
    """Return what was read, in one line."""
    import numpy as np

    X = data.X
    if hasattr(X, "alphabet"):
        lengths = X.lengths
        span = f"{lengths.min():,}" if X.length is not None else f"{lengths.min():,} to {lengths.max():,}"
        place = "mapped" if getattr(X, "path", None) else f"{readable(X.nbytes)} of memory"
        place = f"{len(X.files)} mapped files" if hasattr(X, "files") else place
        text = f"{count(len(X), 'sequence')} of {span} letters ({X.alphabet.name}, {place})"
    elif isinstance(X, dict):
        text = f"{count(len(data), 'row')} of {count(len(X), 'column')}"
    else:
        text = f"{count(X.shape[0], 'row')} of {count(X.shape[1] if X.ndim == 2 else 1, 'column')}"
    if data.y is None:
        return text
    if data.y.dtype.kind == "f" or len(np.unique(data.y)) > 20:
        return f"{text}; target from {data.y.min():g} to {data.y.max():g}"
    labels, counts = np.unique(data.y, return_counts=True)
    return f"{text}; " + ", ".join(f"{n:,} of class {label}" for label, n in zip(labels, counts, strict=True))


def weights_table(model: Any, most: int = 20) -> Any:
    """Return the terms with their weights, the largest first where there are many."""
    import numpy as np

    weights = np.atleast_2d(model.weights_).mean(axis=0)
    order = np.arange(len(weights)) if len(weights) <= most else np.argsort(-weights, kind="stable")[:most]
    made = table("weight", "", "term", right=("weight",))
    for m in order:
        share = weights[m] / max(weights.max(), 1e-300)
        made.add_row(
            f"{weights[m]:.3f}", bar(share), short(model.term_names_[m]), style=None if weights[m] > 0 else "dim"
        )
    zero = int((weights == 0).sum())
    left = len(weights) - len(order)
    if left:
        made.caption, made.caption_justify = f"and {left:,} more; {zero:,} of {len(weights):,} have weight 0", "left"
    return made
