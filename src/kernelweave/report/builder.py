"""`build`: a fitted model as one page that needs nothing else."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from ..errors import InputError
from ..estimators.fitted import steps_of, through
from ..estimators.trained import overlap
from ..io.atomic import AtomicFile
from .certificate import certificate_section
from .context import Context, Options, Section
from .examples import examples_section
from .markup import Html, source_hash, tag, text
from .overview import data_section, header, notes_section, reproduce_section
from .quality import quality_section
from .samples import SERIES, Samples, gather
from .term_weights import terms_section
from .trained import SEEN, TRAINING, UNSEEN, UNSURE, not_known, repeated
from .words import words_section

#: A set of samples as it is given: what it is called, samples, targets, names.
Given = tuple[str, Any, Any, Sequence[Any] | None]


def build(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    names: Sequence[Any] | None = None,
    names_test: Sequence[Any] | None = None,
    title: str | None = None,
    path: str | os.PathLike | None = None,
    top: int = 100,
    n_examples: int = 2,
    orders: Sequence[int] | None = None,
) -> str | Path:
    """Write what a fitted model learned, how sure that is and how good, as one HTML page.

    The page holds everything it needs: it loads nothing, sends nothing, and can be mailed or printed.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
        Or a pipeline or a search that ends with one; also one from `load`.
    X, y : samples and targets that the model was fitted on, optional
        Without them, the parts that need samples say so.
    X_test, y_test : samples and targets that it has not seen, optional
        Those that it was trained on all the same are recognised; they are shown apart, and the page says so.
    names, names_test : sequence, optional
        What the samples are called, such as the identifiers of a FASTA file.
    title : str, optional
    path : path of the file, optional
        Without it the page is returned as text.
    top : int
        Rows of the table of words.
    n_examples : int
        Samples to explain of each kind: highest, lowest, nearest the threshold.
    orders : sequence of int, optional
        Lengths of words in the map of importance; 1 to 8, or fewer where the alphabet has many letters.

    Returns
    -------
    str or Path
        The page, or the path that it was written to.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelweave import MKLClassifier, RBF, Linear, report
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = MKLClassifier(RBF(1.0) + Linear()).fit(X[:50], y[:50])
    >>> page = report.build(model, X[:50], y[:50], X_test=X[50:], y_test=y[50:], title="Two moons")
    >>> page[:15]
    '<!doctype html>'
    """
    options = Options(_count("top", top), _count("n_examples", n_examples), None if orders is None else tuple(orders))
    data: list[Given] = [(TRAINING, X, y, names), (UNSURE, X_test, y_test, names_test)]
    title = "What the model learned" if title is None else str(title)
    if path is None:
        return written(model, data, options, title)[0]
    with AtomicFile(path) as out:  # a folder that is not there is found out before the work
        out.file.write(written(model, data, options, title)[0].encode())
    return Path(os.path.expanduser(os.fspath(path)))


def written(model: Any, data: list[Given], options: Options, title: str) -> tuple[str, Context]:
    """Return the page, and what it is made from; what is warned of on the way is on it."""
    steps = steps_of(model)
    machine = steps[-1]
    machine.fitted_.refuse_several("A report")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train, given = (
            gather(machine, label, None if X is None else through(steps, X), y, names) for label, X, y, names in data
        )
        context = _context(machine, train, given, options)
        head, sections = header(context, title), _sections(context)
    warned = list(dict.fromkeys(str(warning.message) for warning in caught))
    last = [notes_section(context, warned), reproduce_section(context, steps)]
    return _page(title, head, [*sections, *last]), context


def _context(machine: Any, train: Samples | None, given: Samples | None, options: Options) -> Context:
    """Part the given samples into those that the model has not seen, and those that it was trained on."""
    if given is None:
        return Context(machine, train, None, options)
    found = overlap(machine, given.X)
    if found is None:
        return Context(machine, train, given, options, said=not_known(machine))
    said = repeated(len(given), int(found.seen.sum()), int((found.seen | found.unseen).sum()))
    if not found.seen.any():
        return Context(machine, train, replace(given, label=UNSEEN, series=SERIES[UNSEEN]), options, said=said)
    # with the training samples on the page, those among the given ones have their scores there already
    again = train is not None and (train.y is not None or given.y is None)
    seen = None if again else given.part(found.seen, SEEN)
    test = given.part(found.unseen, UNSEEN) if found.unseen.any() else None
    return Context(machine, train, test, options, seen, said)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
        raise InputError(f"{name} must be a whole number ≥ 0; got {value!r}.")
    return int(value)


def _sections(context: Context) -> list[Section]:
    found = [data_section(context), terms_section(context), certificate_section(context), quality_section(context)]
    return found + [part for part in (words_section(context), examples_section(context)) if part is not None]


def _page(title: str, head: Html, sections: list[Section]) -> str:
    """Put the parts into the page; its policy allows its own style and its own script, and nothing else."""
    source = files(__package__)
    style, script, page = (
        (source / name).read_text(encoding="utf-8").replace("\r\n", "\n")
        for name in ("page.css", "page.js", "page.html")
    )
    return Template(page).substitute(
        title=text(title),
        policy=text(
            f"default-src 'none'; style-src {source_hash(style)}; script-src {source_hash(script)}; base-uri 'none'; "
            "form-action 'none'"
        ),
        style=style,
        script=script,
        header=head,
        links=tag("nav", *(tag("a", part.title, href=f"#{part.name}") for part in sections), aria_label="sections"),
        sections="\n".join(part.html for part in sections),
        date=date.today().isoformat(),
    )
