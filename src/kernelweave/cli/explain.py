"""`kernelweave explain`: what a model learned, as tables and pictures."""

from __future__ import annotations

import importlib.util
import os
import re
from contextlib import ExitStack
from typing import Any

import click

from . import options as opt
from .console import console, write_json
from .data import Reading
from .failures import IO, Failure

EXAMPLES = """\b
Examples:
  kernelweave explain model.kw --output importance/
  kernelweave explain model.kw new.fa --output importance/
  kernelweave explain model.kw --top 100000 --no-plots
  kernelweave explain model.kw peaks.bed --genome hg.fa --width 300 --modisco modisco/ --track bigwig

\b
Writes into the folder, as far as the model has them:
  terms.tsv, terms.png            the weight of every term
  convergence.png                 how the gap went down
  kmers.tsv                       the words of the largest weight, with their places
  importance.tsv, importance.png  how much words of every length matter at every position
  logo.png                        what every letter adds at every position
  contributions.tsv               DATA: what every term adds to the score of every sample
  letters.tsv                     DATA, --letters: what every letter adds, or every other in its place
  letters.bedgraph, letters.bw    places, --track: what every letter adds, along the genome
With more than two classes, every class has its own: kmers-CLASS.tsv and so on.
"""


@click.command(epilog=EXAMPLES, short_help="Show what a model learned: tables and plots.")
@click.argument("model", type=click.Path())
@opt.FILES
@click.option("--output", "-o", type=click.Path(), default="importance", show_default=True, help="The folder.")
@click.option("--top", type=click.IntRange(min=1, max=opt.MOST), default=1000, show_default=True, help="Words to list.")
@click.option("--orders", type=click.IntRange(min=1, max=12), help="Longest words in the map.  [default: up to 8]")
@click.option("--no-plots", is_flag=True, help="Tables only.")
@click.option("--letters", type=click.Choice(["actual", "all"]),
              help="Write what the letters of DATA add; all: also what others would add in their place.")  # fmt: skip
@click.option("--modisco", type=click.Path(), metavar="DIR", help="Write what `modisco motifs` reads into this folder.")
@click.option("--track", type=click.Choice(["bedgraph", "bigwig"]), multiple=True,
              help="Places: write what every letter adds, along the genome.")  # fmt: skip
@opt.READING
@opt.PLACES
@opt.THREADS
@opt.JSON
def explain(**options: Any) -> None:
    """Write what a MODEL file learned into a folder, and how it scores the samples in DATA."""
    from ..io.model_file import load

    how = Reading.taken_from(options)
    model = load(options["model"])
    model.n_jobs = options["threads"] or -1
    folder = _folder(options["output"])
    written = Folder(folder, plots=not options["no_plots"] and _can_draw())
    written.terms(model)
    if _has_words(model):
        written.words(model, options["top"], options["orders"])
    if options["files"]:
        written.contributions(model, options["files"], how)
    if options["letters"] or options["modisco"] or options["track"]:
        from .attributed import write_attributed

        write_attributed(written, model, how, options)
    if options["as_json"]:
        write_json({"folder": folder, "files": written.names})
        return
    out = console()
    for name, words in written.best.items():
        out.print(f"The words of the largest weight{f' for {name}' if name else ''}:")
        out.print(words)
    out.print(f"Wrote {', '.join(written.names)} into {folder}", soft_wrap=True)


def _folder(path: str) -> str:
    """Make the folder, or say now that it cannot be."""
    path = os.path.expanduser(path)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Failure(f"Cannot make the folder {path!r}: {error.strerror}. Name another with --output.", IO) from None
    if not os.access(path, os.W_OK):
        raise Failure(f"Cannot write into {path!r}: permission denied. Name another with --output.", IO)
    return path


def _can_draw() -> bool:
    """Whether matplotlib is at hand; where it is not, say how to get it."""
    found = importlib.util.find_spec("matplotlib") is not None
    if not found:
        click.echo(
            "Note: no pictures: matplotlib is not installed. Get it with: pip install 'kernelweave[plot]'", err=True
        )
    return found


def _has_words(model: Any) -> bool:
    return any(leaf.reads == "sequences" for leaf in model.fitted_.kernel.leaves())


def machines(model: Any) -> list[tuple[int, str]]:
    """Return the machines of a model, each with what it adds to the names of its files: nothing where there is one."""
    names = model.fitted_.machine_names
    if len(names) == 1:
        return [(0, "")]
    return [(i, "-" + re.sub(r"[^\w.+-]", "_", name)) for i, name in enumerate(names)]


class Folder:
    """A folder that fills with tables and pictures."""

    def __init__(self, path: str, plots: bool) -> None:
        self.path, self._plots = path, plots
        self.names: list[str] = []
        #: The first words of every machine.
        self.best: dict[str, str] = {}

    def terms(self, model: Any) -> None:
        """Write the weights of the terms, and the way to them."""
        from ..explain import ConvergenceDisplay, KernelWeightsDisplay, term_table

        term_table(model).to_tsv(self.new("terms.tsv"))
        if len(model.term_names_) > 1:
            self._draw("terms.png", lambda: KernelWeightsDisplay.from_estimator(model))
        if len(model.history_) > 1:
            self._draw("convergence.png", lambda: ConvergenceDisplay.from_estimator(model))

    def words(self, model: Any, top: int, orders: int | None) -> None:
        """Write the words of every machine; kernels that have none leave a part out and say why."""
        from ..errors import InputError
        from ..explain import kmer_table, word_views

        try:
            for machine, suffix in machines(model):
                found = kmer_table(model, top=top, machine=machine)
                found.to_tsv(self.new(f"kmers{suffix}.tsv"))
                self.best[suffix[1:]] = str(found).split("\nand")[0]
                placed = [group for group in word_views(model) if group.placed]
                for group in placed:
                    end = suffix if len(placed) == 1 else f"{suffix}-{group.view}"
                    self._map(model, {"term": list(group.terms), "machine": machine}, orders, end)
        except InputError as error:
            click.echo(f"Note: {error}", err=True)

    def _map(self, model: Any, chosen: dict[str, Any], orders: int | None, suffix: str) -> None:
        """Write the importance of words by position, for words that have one."""
        from ..explain import PositionImportanceDisplay, SequenceLogoDisplay, importance, logo

        maps = importance(model, None if orders is None else range(1, orders + 1), **chosen)
        self._matrix(f"importance{suffix}.tsv", maps)
        self._draw(f"importance{suffix}.png", lambda: PositionImportanceDisplay(maps).plot())
        self._draw(f"logo{suffix}.png", lambda: SequenceLogoDisplay.from_logo(logo(model, **chosen)))

    def contributions(self, model: Any, files: tuple[str, ...], how: Any) -> None:
        """Write what every term adds to the score of every sample, in a table for every machine."""
        from ..explain import contributions
        from .predict import field_text, samples

        with ExitStack() as stack:
            tables = {}
            for machine, suffix in machines(model):
                path = self.new(f"contributions{suffix}.tsv")
                tables[machine] = stack.enter_context(open(path, "w", encoding="utf-8", newline="\n"))
                tables[machine].write("\t".join(["id", "score", "intercept", *model.term_names_]) + "\n")
            for X, ids, _ in samples(model, files, how):
                for machine, file in tables.items():
                    why = contributions(model, X, machine=machine)
                    for name, score, parts in zip(ids, why.decision.tolist(), why.terms.tolist(), strict=True):
                        file.write("\t".join(map(field_text, [name, score, why.intercept, *parts])) + "\n")

    def new(self, name: str) -> str:
        """Return where a file of this name goes, and note it."""
        self.names.append(name)
        return os.path.join(self.path, name)

    def _matrix(self, name: str, maps: Any) -> None:
        from ..explain import Table

        columns: dict[str, Any] = {"position": maps.positions}
        columns |= {f"order {order}": row for order, row in zip(maps.orders, maps.values, strict=True)}
        Table(columns).to_tsv(self.new(name))

    def _draw(self, name: str, make: Any) -> None:
        if not self._plots:
            return
        import matplotlib

        matplotlib.use("Agg")
        figure = make().figure_
        figure.savefig(self.new(name), dpi=150, bbox_inches="tight")
        matplotlib.pyplot.close(figure)
