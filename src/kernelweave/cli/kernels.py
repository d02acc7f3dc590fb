"""`kernelweave kernels`: what there is to choose from."""

from __future__ import annotations

import inspect as python_inspect
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

#: One line that can be copied, for every kernel.
TYPED = {
    "Linear": "Linear().on('dose')",
    "Polynomial": "Polynomial(degree=2)",
    "RBF": "RBF(gamma=0.5).on(['age', 'gc'])",
    "Laplacian": "Laplacian(gamma=1.0)",
    "Identity": "Identity()",
    "WeightedDegree": "WeightedDegree(degree=20, shift=5)",
    "LocalityImproved": "LocalityImproved(length=3)",
    "Oligo": "Oligo(k=3, width=4.0)",
    "Spectrum": "Spectrum(k=6).normalized()",
    "Mismatch": "Mismatch(k=5, mismatches=1)",
    "GappedKmer": "GappedKmer(length=8, k=5)",
    "BagOfWords": "BagOfWords().on('comment')",
}
JOINING = {
    "a + b": "two terms; learning finds the weight of each",
    "a * b": "similar in both ways at once; one term",
    "a.on('age'), a.on(['age', 'gc'])": "looks at these columns of the table only",
    "a.normalized()": "cosine: every sample is as long as any other",
    "a.split('degree'), a.split('position')": "string kernels: one term for each word length or place",
    "per_feature(a)": "one term for each column",
    "Frozen(a + b)": "a sum that stays one term",
}


@click.command(epilog=EXAMPLES, short_help="List kernels, presets, losses and solvers.")
@click.argument("name", required=False, type=opt.Choice("name", "cli.kernels", "TYPED"))
@opt.JSON
def kernels(name: str | None, as_json: bool) -> None:
    """List what there is to choose from, or say all about the kernel NAME."""
    from .failures import check_printable

    check_printable()
    from ..kernels import KERNELS
    from ..losses import LOSSES
    from ..mkl import SOLVERS

    known = {kind.__name__: kind for kind in KERNELS if kind.__name__ in TYPED}
    if name is not None:
        kind = known[name]
        text = f"{name}{python_inspect.signature(kind)}\n\n{python_inspect.getdoc(kind)}"
        if as_json:
            write_json({"name": name, "formula": _formula(kind), "example": TYPED[name], "help": text})
        else:
            console().print(text, soft_wrap=True)
        return
    listed = {key: {"formula": _formula(kind), "example": TYPED[key]} for key, kind in known.items()}
    losses = {kind.name: _formula(kind) for kind in LOSSES}
    solvers = {kind.name: _formula(kind) for kind in SOLVERS}
    if as_json:
        presets = {key: {"kernel": preset.kernel, "about": preset.about} for key, preset in PRESETS.items()}
        write_json({"kernels": listed, "presets": presets, "losses": losses, "solvers": solvers})
        return
    _show(listed, losses, solvers)


def _formula(kind: Any) -> str:
    """Return the first sentence of what is said about a class: for a kernel, its formula."""
    return " ".join((python_inspect.getdoc(kind) or "").split("\n\n")[0].split())


def _show(listed: dict[str, dict[str, str]], losses: dict[str, str], solvers: dict[str, str]) -> None:
    out = console()
    made = table("typed as", "is", title="Kernels (more about one: kernelweave kernels NAME)")
    for entry in listed.values():
        made.add_row(entry["example"], entry["formula"])
    out.print(made)
    for title, rows in (
        ("Joining them", JOINING),
        ("Presets (--preset)", {name: preset.about for name, preset in PRESETS.items()}),
        ("Losses (--loss)", losses),
        ("Solvers (--solver)", solvers),
    ):
        made = table("", "", title=title)
        made.show_header = False
        for key, text in rows.items():
            made.add_row(key, text)
        out.print(made)
