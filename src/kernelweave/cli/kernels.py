"""`kernelweave kernels`: what there is to choose from."""

from __future__ import annotations

import inspect as python_inspect
from collections.abc import Callable
from typing import Any

import click

from . import options as opt
from .console import console, table, write_json
from .presets import PRESETS

EXAMPLES = """\b
Examples:
  kernelweave kernels
  kernelweave kernels WeightedDegree
"""

#: Letters of the longest default that is shown.
LONGEST = 12
JOINING = {
    "a + b": "two terms; learning finds the weight of each",
    "a * b": "similar in both ways at once; one term",
    "a.on('age'), a.on(['age', 'gc'])": "looks at these columns of the table only",
    "a.part(0, 60), a.part(-40)": "looks at these letters of every sequence only",
    "a.normalized()": "cosine: every sample is as long as any other",
    "a.split('degree'), a.split('position')": "string kernels: one term for each word length or place",
}


@click.command(epilog=EXAMPLES, short_help="List kernels, presets, losses, norms and solvers.")
@click.argument("name", required=False, type=opt.KERNEL_NAMES)
@opt.JSON
def kernels(name: str | None, as_json: bool) -> None:
    """List what there is to choose from, or say all about the kernel NAME."""
    from .failures import check_printable

    check_printable()
    from ..choices import name_of
    from ..dual import DUAL_SOLVERS
    from ..kernels import KERNELS, WRAPPERS
    from ..losses import LOSSES
    from ..mkl import SOLVERS
    from ..norms import NORMS

    by_name = {kind.__name__: kind for kind in KERNELS}
    if name is not None:
        kind = (by_name | {name_of(make): make for make in WRAPPERS})[name]
        text = f"{name}{python_inspect.signature(kind)}\n\n{python_inspect.getdoc(kind)}"
        if as_json:
            write_json({"name": name, **_entry(name, kind), "help": text})
        else:
            console().print(text, soft_wrap=True)
        return
    # a file holds no row numbers of a matrix that is given in Python
    listed = {key: _entry(key, kind) for key, kind in by_name.items() if kind.reads != "ids"}
    tables: dict[str, tuple[Callable[..., Any], ...]] = {"wrappers": WRAPPERS, "losses": LOSSES, "norms": NORMS}
    tables |= {"solvers": SOLVERS, "duals": DUAL_SOLVERS}
    others = {title: {name_of(kind): _entry(name_of(kind), kind) for kind in kinds} for title, kinds in tables.items()}
    if as_json:
        presets = {key: {"kernel": preset.kernel, "about": preset.about} for key, preset in PRESETS.items()}
        told = {title: {key: entry["formula"] for key, entry in rows.items()} for title, rows in others.items()}
        write_json({"kernels": listed, "presets": presets, **told})
    else:
        _show(listed, others)


def _entry(name: str, kind: Callable[..., Any]) -> dict[str, str]:
    """Return what is listed of a class: what it says of itself, and how it is typed."""
    return {"formula": first_sentence(kind), "example": typed_as(name, kind)}


def typed_as(name: str, kind: Any) -> str:
    """Return a class as it is typed: what has to be given, and what it takes where nothing is given."""
    given = []
    for parameter in python_inspect.signature(kind).parameters.values():
        if parameter.default is parameter.empty:
            given.append(parameter.name)
        elif isinstance(parameter.default, (int, float, str)) and len(str(parameter.default)) <= LONGEST:
            given.append(f"{parameter.name}={parameter.default!r}")
    return f"{name}({', '.join(given)})" if given or kind.__name__ == name else name


def first_sentence(kind: Any) -> str:
    """Return the first sentence of what is said about a class: for a kernel, its formula."""
    return " ".join((python_inspect.getdoc(kind) or "").split("\n\n")[0].split())


def _show(listed: dict[str, dict[str, str]], others: dict[str, dict[str, dict[str, str]]]) -> None:
    out = console()
    made = table("typed as", "is", title="Kernels (more about one: kernelweave kernels NAME)")
    for entry in listed.values():
        made.add_row(entry["example"], entry["formula"])
    out.print(made)
    typed = {key: {entry["example"]: entry["formula"] for entry in rows.values()} for key, rows in others.items()}
    for title, rows in (
        ("Joining them", JOINING | typed["wrappers"]),
        ("Presets (--preset)", {name: preset.about for name, preset in PRESETS.items()}),
        ("Losses (--loss)", typed["losses"]),
        ("Norms of the weights (--norm)", typed["norms"]),
        ("Solvers of the weights (--solver)", typed["solvers"]),
        ("Solvers of the machine (--dual)", typed["duals"]),
    ):
        made = table("", "", title=title)
        made.show_header = False
        for key, text in rows.items():
            made.add_row(key, text)
        out.print(made)
