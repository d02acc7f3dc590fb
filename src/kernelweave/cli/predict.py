"""`kernelweave predict`: scores for new samples, as lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import click

from ..errors import InputError, MemoryBudgetError
from . import options as opt
from .arrange import arranged, model_alphabet
from .console import json_line, note, work_bar
from .data import Reading, kind_of, opened, read
from .engines import ENGINE, on_engine
from .failures import check_output, check_printable
from .notes import SampleNotes, Seen

EXAMPLES = """\b
Examples:
  kernelweave predict model.kw new.fa > scores.tsv
  zcat reads.fq.gz | kernelweave predict model.kw - | sort -k2,2gr | head
  kernelweave predict model.kw table.csv --id patient --output scores.tsv
  kernelweave predict model.kw table.csv --coverage 0.9

\b
One line for each sample, in their order: id, score, predicted class. The score is the decision value: above 0
is the positive class (the one that sorts last, 1 of 1 and -1, unless fit was told --positive); with more than two
classes it is that of the predicted class. Standard error says how many of the samples the model was trained on.
Regression has id and prediction, and lower and upper with --coverage; a model of several targets one prediction or
label for each. The id of a table's row is its number, unless --id names a column.
"""


@click.command(epilog=EXAMPLES, short_help="Score new samples.")
@click.argument("model", type=click.Path())
@opt.FILES
@click.option("--output", "-o", type=click.Path(),
              help="For the lines; with commas if it ends in .csv, else tabs.  [default: standard output]")  # fmt: skip
@click.option("--all-scores", is_flag=True, help="One column for the score of every class.")
@click.option(
    "--probability",
    is_flag=True,
    help="Add class probabilities, for models that were trained with --probability or --loss logistic.",
)
@click.option("--coverage", type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True), metavar="SHARE",
              help="Regression: add the ends, lower and upper, between which this share of new numbers lies, such as "
              "0.9; for models that were trained with --intervals.")  # fmt: skip
@opt.READING
@opt.PLACES
@opt.THREADS
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per line instead of columns.")
def predict(**options: Any) -> None:
    """Write scores of the samples in DATA by a MODEL file."""
    from ..io.model_file import load

    if options["output"]:
        check_output(options["output"])
    else:
        check_printable()
    with on_engine(options):
        how = Reading.taken_from(options)
        model = load(options["model"])
        model.n_jobs = options["threads"] or -1
        columns = Columns(model, options["all_scores"], options["probability"], options["coverage"])
        blocks = columns.blocks(options["files"], how)
        first = next(blocks, [])  # what is wrong with the input is found out before anything is written
        line = csv_line if (options["output"] or "").lower().endswith(".csv") else tab_line
        with _lines(options["output"]) as write:
            if not options["as_json"]:
                write(line(columns.names))
            for rows in chain([first], blocks):
                if options["as_json"]:
                    named = (dict(zip(columns.names, row, strict=True)) for row in rows)
                    write("".join(f"{json_line(row)}\n" for row in named))
                else:
                    write("".join(map(line, rows)))
        for text in columns.said():
            note(text)


def tab_line(row: Sequence[Any]) -> str:
    """Return a row as a line with tabs."""
    return "\t".join(map(field_text, row)) + "\n"


def csv_line(row: Sequence[Any]) -> str:
    """Return a row as a line with commas, and quotes where a field needs them."""
    fields = map(field_text, row)
    return ",".join('"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text for text in fields) + "\n"


def field_text(value: Any) -> str:
    """Return a value as text that is read back to the last bit; an id keeps to its line and column."""
    return str(value).translate({9: " ", 10: " ", 13: " "})


class Columns:
    """What is written of every sample."""

    def __init__(self, model: Any, all_scores: bool, probability: bool, coverage: float | None = None) -> None:
        from ..estimators.intervals import half_width

        self.model = model
        classes = getattr(model, "classes_", None)
        self._targets = model.fitted_.machine_names if model.fitted_.several else []
        self._several = classes is not None and len(classes) > 2
        self._all = all_scores and self._several
        self._regression = not hasattr(model, "decision_function")
        if probability and not hasattr(model, "predict_proba"):
            raise click.UsageError(
                "--probability needs a model that was trained with --probability or --loss logistic."
            )
        if coverage is not None and not hasattr(model, "predict_interval"):
            why = "was trained with --intervals" if self._regression else "predicts numbers, and this one says classes"
            raise click.UsageError(f"--coverage needs a model that {why}.")
        self._probability = probability
        self._half_widths = [] if coverage is None else half_width(model.left_out_errors_, coverage).ravel().tolist()
        names = ["id", "prediction"] if self._regression else ["id", "score", "class"]
        if self._targets:
            kind = "prediction" if self._regression else "label"
            names = ["id", *(f"{kind}:{name}" for name in self._targets)]
            self._all = all_scores and not self._regression
        if self._all:
            names += [f"score:{label}" for label in classes]  # type: ignore[union-attr]
        if probability:
            names += [f"probability:{label}" for label in classes]  # type: ignore[union-attr]
        if coverage is not None:
            ends = [f":{name}" for name in self._targets] or [""]
            names += [f"{end}{target}" for target in ends for end in ("lower", "upper")]
        self.names = names
        self._reading, self._seen = SampleNotes(model.fitted_.kernel), Seen(model)

    def said(self) -> list[str]:
        """Return what is good to know of the samples so far."""
        seen = self._seen.said()
        return self._reading.said() + ([] if seen is None else [seen])

    def blocks(self, files: tuple[str, ...], how: Any) -> Iterator[Iterable[tuple[Any, ...]]]:
        """Yield lists of rows; sequences are read and scored some megabytes at a time."""
        from ..views import as_views

        unique = Unique()
        for number, (X, ids, source) in enumerate(samples(self.model, files, how)):
            if number == 1:  # there is more than one block: what they share is worth being added up once
                with suppress(MemoryBudgetError):
                    self.model.compile()
            views = as_views(X) if isinstance(X, dict) or hasattr(X, "alphabet") else X
            try:
                yield self._rows(views, [unique(name) for name in ids])
                self._reading.add(views)
                self._seen.add(views)
            except InputError as error:
                raise type(error)(f"{source}: {error}") from None

    def _rows(self, X: Any, ids: list[str]) -> list[tuple[Any, ...]]:
        model = self.model
        if self._regression:
            return list(zip(ids, *self._numbers(X), strict=True))
        scores = model.decision_function(X)
        if self._targets:
            columns = [ids, *(scores > 0).astype(int).T.tolist()]
        elif self._several:
            best = scores.argmax(axis=1)
            columns = [ids, scores.max(axis=1).tolist(), model.classes_[best].tolist()]
        elif hasattr(model, "classes_"):
            columns = [ids, scores.tolist(), model.classes_[(scores > 0).astype(int)].tolist()]
        else:
            columns = [ids, scores.tolist(), [1 if score >= 0 else -1 for score in scores]]
        if self._all:
            columns += scores.T.tolist()
        if self._probability:
            columns += model.predict_proba(X).T.tolist()
        return list(zip(*columns, strict=True))

    def _numbers(self, X: Any) -> list[list[float]]:
        """Return columns of numbers: the prediction of each target, then both ends of each."""
        columns = list(self.model.predict(X).reshape(len(X), -1).T)
        ends = [f + way * half for f, half in zip(columns, self._half_widths, strict=False) for way in (-1, 1)]
        return [column.tolist() for column in columns + ends]


class Unique:
    """Names that an output has not had yet: a second "a" becomes "a_2"."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, name: str) -> str:
        new, number = name, 2
        while new in self._seen:
            new, number = f"{name}_{number}", number + 1
        self._seen.add(new)
        return new


def samples(model: Any, files: tuple[str, ...], how: Any) -> Iterator[tuple[Any, list[str], str]]:
    """Yield the samples of files as the model reads them, their names, and what the source is called."""
    from ..io.fasta import read_blocks
    from .packed import elsewhere

    sources = [] if elsewhere(files) else [opened(path) for path in files]
    kinds = {kind_of(source) if how.file_format == "auto" else how.file_format for source in sources}
    if kinds != {"sequences"}:
        data = read(
            files, replace(how, alphabet=model_alphabet(model)), labelled=False, n_features=model.n_features_in_
        )
        data, _ = arranged(data, model.fitted_.kernel, how, model)
        yield data.X, data.ids, data.source
        return
    if model.n_features_in_ != 1:
        names = ", ".join(map(repr, getattr(model, "feature_names_in_", [])))
        raise InputError(f"The model reads the columns {names} of a table; {files[0]} holds sequences.")
    with work_bar("Scoring", "sequence") as progress:
        done = 0
        for path, source in zip(files, sources, strict=True):
            for block in read_blocks(source, model_alphabet(model), **how.rules):
                done += len(block.ids)
                yield block.sequences, block.ids, path
                progress(done, block.fraction)


@contextmanager
def _lines(path: str | None) -> Iterator[Any]:
    """Yield a function that writes text: to standard output, or to a file that appears when it is whole."""
    if path is None:
        out = sys.stdout.buffer  # whatever the locale, files are UTF-8
        yield lambda text: out.write(text.encode())
        out.flush()
        return
    from ..io.atomic import AtomicFile

    with AtomicFile(path) as whole:
        yield lambda text: whole.file.write(text.encode())
