"""Write docs/reference/choices.md, what there is to choose from by name; Sphinx does so before it reads the pages."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kernelweave import dual, kernels, losses, mkl, norms
from kernelweave.choices import name_of
from kernelweave.cli.kernels import first_sentence, typed_as

HEAD = """# What there is to choose from

For anyone who looks for a name. `kernelweave kernels` prints the same. Both read the registries of the library.
"""


def page() -> str:
    """Return the page as Markdown: one table for each registry."""
    classes = [(kind.__name__, kind) for kind in kernels.KERNELS]
    tables = [
        ("Kernels", classes),
        ("Kernels around kernels", _named(kernels.WRAPPERS)),
        ("Losses (`loss=`, `--loss`)", _named(losses.LOSSES)),
        ("Norms of the weights (`norm=`, `--norm`)", _named(norms.NORMS)),
        ("Solvers of the weights (`solver=`, `--solver`)", _named(mkl.SOLVERS)),
        ("Solvers of the machine (`dual=`, `--dual`)", _named(dual.DUAL_SOLVERS)),
    ]
    return HEAD + "".join(_table(title, rows) for title, rows in tables)


def _named(kinds: Iterable[Callable[..., Any]]) -> list[tuple[str, Callable[..., Any]]]:
    return [(name_of(kind), kind) for kind in kinds]


def _table(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    pairs = [(typed_as(name, kind), first_sentence(kind).replace("|", "\\|")) for name, kind in rows]
    lines = [f"| `{typed}` | {sentence} |" for typed, sentence in pairs]
    return "\n".join([f"\n## {title}\n", "| typed as | is |", "|---|---|", *lines]) + "\n"


def write() -> None:
    """Write the page."""
    (Path(__file__).parent / "reference" / "choices.md").write_text(page(), encoding="utf-8")
