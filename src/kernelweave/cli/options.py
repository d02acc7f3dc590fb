"""Options that several commands share, and the kinds of values that they take."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

Decorator = Callable[[Callable], Callable]
#: More threads than any machine has cores.
MAX_THREADS = 4096
#: Longest sequence, and most of anything that is counted.
MOST = 2**31 - 1
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Choice(click.ParamType):
    """One of the names in a registry, or in several, read only when a value is there to be checked."""

    def __init__(self, name: str, module: str, table: str, extra: Sequence[str] = ()) -> None:
        self.name, self._module, self._table, self._extra = name, module, table, extra

    def names(self) -> list[str]:
        """Return all names that may be given."""
        module = import_module(f"kernelweave.{self._module}")
        kinds = [kind for table in self._table.split() for kind in getattr(module, table)]
        return [*self._extra, *(kind if isinstance(kind, str) else kind.__name__ for kind in kinds)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name if it is there."""
        if value not in self.names():
            self.fail(f"{value!r} is not one of {', '.join(self.names())}.", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin like this."""
        return [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]


KERNEL_NAMES = Choice("name", "kernels", "KERNELS WRAPPERS")


class KernelText(click.ParamType):
    """A kernel as it is typed in Python; what cannot be read is a usage error."""

    name = "expression"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, once it is known to be a kernel."""
        from ..errors import InputError
        from ..kernels import parse

        try:
            parse(value)
        except InputError as error:
            self.fail(f"{error}\n`kernelweave kernels` lists what there is.", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the kernels whose names begin like the last word typed."""
        start, word = re.fullmatch(r"(?s)(.*?)(\w*)", incomplete).groups()  # type: ignore[union-attr]
        return [CompletionItem(f"{start}{name}(") for name in KERNEL_NAMES.names() if name.startswith(word)]


class Seconds(click.ParamType):
    """A length of time: 90, 90s, 10m, 1h30m."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, (int, float)):
            value = f"{value:f}"
        parts = re.findall(r"([0-9]*\.?[0-9]+)\s*([smhd]?)", value)
        seconds = sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)
        if not re.fullmatch(r"(\s*[0-9]*\.?[0-9]+\s*[smhd]?)+\s*", value) or seconds <= 0:
            self.fail(f"{value!r} is not a length of time such as 90, 10m or 1h30m.", param, ctx)
        return seconds


class Memory(click.ParamType):
    """An amount of memory: 500MB, 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text, once it is known to be an amount."""
        from ..errors import InputError
        from ..memory import budget_bytes

        try:
            budget_bytes(value)
        except InputError:
            self.fail(f"{value!r} is not an amount of memory such as 500MB or 2GB.", param, ctx)
        return value


class Costs(click.ParamType):
    """Several numbers above 0, or auto, with commas between them."""

    name = "costs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        """Return the numbers, and "auto" as it is."""
        given = value if isinstance(value, list) else str(value).split(",")
        try:
            costs: list[Any] = ["auto" if part == "auto" else float(part) for part in given]
        except ValueError:
            costs = []
        if not costs or not all(cost == "auto" or 0 < cost < float("inf") for cost in costs):
            self.fail(f"{value!r} is not a list of numbers above 0 such as 0.1,1,10.", param, ctx)
        return costs


class Named(Choice):
    """One of the names in a registry, with parameters where wanted: text that is checked, and kept as it is."""

    def names(self) -> list[str]:
        """Return all names that may be given; help asks for them, and must not load the classes and NumPy with them."""
        return [*self._extra, *registered(self._module, self._table)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text, once it is known to stand for something."""
        from ..choices import from_text
        from ..errors import InputError

        kinds = getattr(import_module(f"kernelweave.{self._module}"), self._table)
        try:
            if value not in self._extra:
                from_text(value, kinds, f"{self.name} must be one of {', '.join(self.names())}")
        except InputError as error:
            self.fail(f"{error}\n`kernelweave kernels` lists what there is.", param, ctx)
        return value


class Cost(click.ParamType):
    """A number above 0, or auto."""

    name = "cost"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number, or "auto"."""
        if value == "auto":
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a cost: give a number above 0, or auto.", param, ctx)


class NormText(Named):
    """1, a number above it, or one of the names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number or the text of a norm."""
        try:
            number = float(value)
        except ValueError:
            return super().convert(value, param, ctx)
        if not 1 <= number < float("inf"):
            self.fail(f"{value!r} is not a norm: 1 for few terms, a number above 1 for all, or fixed.", param, ctx)
        return int(number) if number == 1 else number


class NamedOption(click.Option):
    """An option whose help lists the names in a registry."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help."""
        option, text = super().get_help_record(ctx) or ("", "")
        return option, text.replace("{names}", ", ".join(self.type.names()))  # type: ignore[attr-defined]


def registered(folder: str, table: str) -> list[str]:
    """Return the names in a registry: from its classes where they are loaded, and else from their source."""
    from ..choices import name_of

    package = sys.modules.get(f"kernelweave.{folder}")
    if package is not None:
        return [name_of(kind) for kind in getattr(package, table) if getattr(kind, "reads", "") != "nothing"]
    text = "\n".join(path.read_text("utf-8") for path in (Path(__file__).parents[1] / folder).glob("*.py"))
    kinds = re.search(rf"^{table} = \(([\w\s,]+)\)", text, re.M)[1]  # type: ignore[index]
    bodies = dict(re.findall(r"(?ms)^class (\w+)(.*?)(?=^\S|\Z)", text))
    used = [bodies[name] for name in re.findall(r"\w+", kinds) if 'reads = "nothing"' not in bodies[name]]
    return [re.search(r'^    name = "(\w+)"$', body, re.M)[1] for body in used]  # type: ignore[index]


def grouped(*options: Decorator) -> Decorator:
    """Return one decorator that adds all options, in this order."""

    def add(command: Callable) -> Callable:
        for option in reversed(options):
            command = option(command)
        return command

    return add


FILES = click.argument("files", nargs=-1, type=click.Path(), metavar="DATA...")
JSON = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of tables.")
THREADS = click.option(
    "--threads", type=click.IntRange(min=1, max=MAX_THREADS), metavar="N", help="Threads to use.  [default: all cores]"
)
SEED = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Where randomness begins."
)

#: How data are read.
READING = grouped(
    click.option("--target", metavar="COLUMN", help="Tables: the column to be predicted."),
    click.option("--columns", metavar="A,B,...", help="Tables: the columns to learn from.  [default: all others]"),
    click.option("--id", "id_column", metavar="COLUMN", help="Tables: the column that names the rows."),
    click.option("--labels", type=click.Path(), metavar="FILE", help="Sequences: a table of ids and labels."),
    click.option(
        "--label-field",
        metavar="NAME",
        default="label",
        show_default=True,
        help="One sequence file: the header field with the label, as in '>s1 label=1', or a regular expression "
        "with one group.",
    ),
    click.option(
        "--format",
        "file_format",
        type=click.Choice(["auto", "sequences", "table", "svmlight"]),
        default="auto",
        help="What the files are.  [default: seen from their content]",
    ),
    click.option("--alphabet", type=Choice("name", "sequences", "ALPHABETS", ["auto"]), default="auto", metavar="NAME",
                 help="Letters of the sequences: dna, rna, protein, text, bytes.  [default: guessed]"),
    click.option("--on-short", type=click.Choice(["error", "skip", "zero"]), default="error", show_default=True,
                 help="Empty sequences, and those below --min-length: refuse, leave out, or keep without features."),
    click.option("--min-length", type=click.IntRange(min=1, max=MOST), default=1, help="Letters that each needs."),
    click.option("--ambiguous", type=click.Choice(["skip", "error"]), default="skip", show_default=True,
                 help="Letters such as N: skip the words that hold one, or refuse them."),
    click.option("--lower", type=click.Choice(["upper", "mask"]), default="upper", show_default=True,
                 help="Lower-case letters: the same as upper case, or unknown (soft masking)."),
)  # fmt: skip

#: Where samples are cut out of a genome.
PLACES = grouped(
    click.option("--genome", type=click.Path(), metavar="FASTA",
                 help="DATA are BED, narrowPeak, GFF or GTF files, and these are the letters: plain, bgzip or gzip."),
    click.option("--width", type=click.IntRange(min=1, max=MOST), metavar="N",
                 help="Windows of N letters around summits or middles."),
    click.option("--slop", type=click.IntRange(min=0, max=MOST), metavar="N", help="N more letters on either side."),
    click.option("--feature", metavar="KIND", help="GFF and GTF: the rows to read, such as gene."),
)  # fmt: skip

#: Where negatives for peaks come from.
NEGATIVES = grouped(
    click.option("--negatives", type=click.Path(), metavar="matched|BED",
                 help="Negatives for a file of peaks: drawn from the genome, alike in length, G and C and repeats; or "
                 "a file of them."),
    click.option("--ratio", type=click.IntRange(min=1, max=50), default=1, show_default=True,
                 help="Matched negatives for every peak."),
    click.option("--exclude", type=click.Path(), metavar="BED", help="Where no negative may lie."),
)  # fmt: skip

#: How a machine is trained.
LEARNING = grouped(
    click.option("--task", type=click.Choice(["auto", "classification", "regression", "one-class"]), default="auto",
                 help="What is learned.  [default: seen from the target]"),
    click.option("--loss", cls=NamedOption, type=Named("loss", "losses", "LOSSES"), metavar="NAME",
                 help="What an error costs: {names}; with parameters as in 'smooth_hinge(sigma=3)'."),
    click.option("--epsilon", type=float,
                 help="Regression: how far off is no error, as a share of the target's spread."),
    click.option("--nu", type=float, default=0.1, show_default=True, help="One-class: share that may lie outside."),
    click.option("--norm", cls=NamedOption, type=NormText("norm", "norms", "NORMS", ["auto"]),
                 help="Weights: 1 keeps few terms, a number above 1 keeps all, fixed learns none, auto chooses; or one "
                 "of {names} with parameters, as in 'fixed(weights=[1, 2])'.  [default: 1; auto where --C is]"),
    click.option("--solver", cls=NamedOption, type=Named("solver", "mkl", "SOLVERS", ["auto"]), default="auto",
                 metavar="NAME", help="How the weights are found: {names}; with parameters as in "
                 "'two_stage(method=\"alignment\")'."),
    click.option("--dual", cls=NamedOption, type=Named("dual", "dual", "DUAL_SOLVERS", ["auto"]), default="auto",
                 metavar="NAME", help="How the machine at given weights is found: {names}."),
    click.option("--positive", metavar="LABEL",
                 help="Two classes: which one scores above 0 stand for.  [default: the one that sorts last]"),
    click.option("--class-weight", metavar="balanced|A=2,B=1", help="Multiply C by class."),
    click.option("--tol", type=float, default=1e-3, show_default=True, help="Relative gap at which to stop."),
    click.option("--max-iter", type=click.IntRange(min=1, max=MOST), default=1000, show_default=True,
                 help="Most steps."),
    click.option("--time-limit", type=Seconds(), help="Stop after this time (90, 10m, 1h30m) with what there is."),
    click.option("--memory", type=Memory(), help="Budget for matrices: 500MB, 2GB.  [default: half of what is free]"),
    THREADS,
    SEED,
)  # fmt: skip
