"""`kernelweave report`: one page about a model."""

from __future__ import annotations

import warnings
from typing import Any

import click

from . import options as opt
from .console import console, write_json
from .failures import check_output

EXAMPLES = """\b
Examples:
  kernelweave report model.kw test_pos.fa test_neg.fa --output report.html
  kernelweave report model.kw test.csv --target outcome
  kernelweave report model.kw

\b
DATA are samples that the model has not seen; without them the page says what was learned, but not how good it is.
The page holds everything it needs: it loads nothing from the network, and can be mailed or printed.
"""


@click.command(epilog=EXAMPLES, short_help="Write one HTML page about a model.")
@click.argument("model", type=click.Path())
@opt.FILES
@click.option("--output", "-o", type=click.Path(), default="report.html", show_default=True, help="The page.")
@click.option("--title", help="The heading of the page.")
@opt.READING
@opt.THREADS
@opt.JSON
def report(**options: Any) -> None:
    """Write an HTML page about a MODEL file, with its scores on the labelled samples in DATA."""
    from ..io.model_file import load
    from ..report import build
    from .data import Reading

    check_output(options["output"])
    how = Reading.taken_from(options)
    model = load(options["model"])
    model.n_jobs = options["threads"] or -1
    tested: dict[str, Any] = {}
    if options["files"]:
        data = labelled(model, options["files"], how)
        tested = {"X_test": data.X, "y_test": data.y, "names_test": data.ids}
        warn_seen(model, data)
    build(model, title=options["title"], path=options["output"], **tested)
    if options["as_json"]:
        write_json({"report": options["output"]})
    else:
        console().print(f"Wrote {options['output']}; open it in a browser.", soft_wrap=True)


def labelled(model: Any, files: tuple[str, ...], how: Any) -> Any:
    """Return samples with labels, as the model reads them and as it calls its classes."""
    from dataclasses import replace

    from .arrange import arranged, model_alphabet
    from .data import read

    if how.alphabet == "auto" and model.n_features_in_ == 1:
        how = replace(how, alphabet=model_alphabet(model))
    data = read(files, how, n_features=model.n_features_in_, labelled=not hasattr(model, "offset_"))
    data, _ = arranged(data, model._kernel(), how, model)
    return data if data.y is None else replace(data, y=same_labels(model, data))


def same_labels(model: Any, data: Any) -> Any:
    """Return the targets in the type of the model's classes; a class that it does not know is an error."""
    import numpy as np

    from ..errors import InputError

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


def warn_seen(model: Any, data: Any) -> None:
    """Warn where test sequences are among those that support the model: their scores say nothing about new ones."""
    from ..errors import DataWarning

    if not hasattr(data.X, "alphabet"):
        return
    seen = set(model._support_views.sequences(data.X.alphabet))
    n = sum(sequence in seen for sequence in data.X)
    if n:
        warnings.warn(
            f"{n} of {len(data.X)} test sequences are among those that the model was trained on, so that it looks "
            "better than it is. Test on sequences that it has not seen.",
            DataWarning,
            stacklevel=2,
        )
