"""`kernelweave report`: one page about a model."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import click

from ..errors import DataWarning, InputError
from . import options as opt
from .arrange import arranged, model_alphabet
from .console import console, table, write_json
from .data import Reading, read
from .failures import check_output
from .splits import HOLD_OUT, chosen

EXAMPLES = """\b
Examples:
  kernelweave report model.kw test_pos.fa test_neg.fa --output report.html
  kernelweave report model.kw test.csv --target outcome
  kernelweave report model.kw

\b
DATA are samples that the model has not seen; without them the page says what was learned, but not how good it is.
Samples that it was trained on are recognised, and scored apart. A table needs no --target where fit was told one.
The page holds everything it needs: it loads nothing from the network, and can be mailed or printed.
"""


@click.command(epilog=EXAMPLES, short_help="Write one HTML page about a model.")
@click.argument("model", type=click.Path())
@opt.FILES
@click.option("--output", "-o", type=click.Path(), default="report.html", show_default=True, help="The page.")
@click.option("--title", help="The heading of the page.")
@opt.READING
@opt.PLACES
@opt.NEGATIVES
@HOLD_OUT
@opt.THREADS
@opt.SEED
@opt.JSON
def report(**options: Any) -> None:
    """Write an HTML page about a MODEL file, with its scores on the labelled samples in DATA."""
    from ..io.atomic import AtomicFile
    from ..io.model_file import load
    from ..report.builder import written
    from ..report.context import Options
    from ..report.scores import scores
    from ..report.trained import TRAINING, UNSURE

    check_output(options["output"])
    how = Reading.taken_from(options)
    model = load(options["model"])
    model.n_jobs = options["threads"] or -1
    given: tuple[Any, Any, Any] = (None, None, None)
    notes: tuple[str, ...] = ()
    if options["files"]:
        data = chosen(labelled(model, options["files"], how), options, inside=True)
        given, notes = (data.X, data.y, data.ids), data.notes
    title = options["title"] or "What the model learned"
    with AtomicFile(options["output"]) as out:
        page, context = written(model, [(TRAINING, None, None, None), (UNSURE, *given)], Options(notes=notes), title)
        out.file.write(page.encode())
    found = scores(context)
    if context.said is not None:
        warnings.warn(context.said, DataWarning, stacklevel=2)
    if options["as_json"]:
        known = model.trained_
        told = {"report": options["output"], "training_samples": None if known is None else known.n_samples}
        write_json({**told, "scores": found, "warning": context.said})
        return
    out_console = console()
    if found:
        out_console.print(scores_table(found))
    out_console.print(f"Wrote {options['output']}; open it in a browser.", soft_wrap=True)


def scores_table(found: dict[str, dict[str, float]]) -> Any:
    """Return the scores of all sets of samples, a row each."""
    names = list(dict.fromkeys(name for row in found.values() for name in row))
    made = table("given", *names, right=tuple(names))
    what = {"held-out": "held out", "trained-on": "trained on", "given": "not known whether trained on"}
    for label, row in found.items():
        cells = [f"{row[name]:,}" if name == "samples" else f"{row[name]:.4f}" if name in row else "" for name in names]
        made.add_row(what.get(label, label), *cells)
    return made


def labelled(model: Any, files: tuple[str, ...], how: Any) -> Any:
    """Return samples with labels, as the model reads them and as it calls its classes."""
    known = model.trained_
    how = replace(how, known_target=None if known is None else known.target)
    how = with_alphabet(model, how)
    data = read(files, how, n_features=model.n_features_in_, labelled=not hasattr(model, "offset_"))
    data, _ = arranged(data, model.fitted_.kernel, how, model)
    return data if data.y is None else replace(data, y=same_labels(model, data))


def with_alphabet(model: Any, how: Any) -> Any:
    """Return how to read with the letters of the model, where nobody named others."""
    if how.alphabet == "auto" and model.n_features_in_ == 1:
        return replace(how, alphabet=model_alphabet(model))
    return how


def same_labels(model: Any, data: Any) -> Any:
    """Return the targets in the type of the model's classes; a class that it does not know is an error."""
    import numpy as np

    if not hasattr(model, "classes_"):
        return data.y
    known = {str(label): label for label in model.classes_.tolist()}
    unknown = sorted({str(label) for label in np.unique(data.y).tolist()} - set(known))
    if unknown:
        raise InputError(
            f"{data.source} has classes {', '.join(unknown[:5])} that the model does not know; it knows "
            f"{', '.join(known)}."
        )
    return np.array([known[str(label)] for label in data.y.tolist()])
