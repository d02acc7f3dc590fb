"""`kernelweave variants`: what every variant of a VCF file does to the decision value of a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from . import options as opt
from .console import count, note, work_bar, write_json
from .data import kind_of, opened
from .failures import check_output, check_printable
from .scan import class_of

if TYPE_CHECKING:
    from ..explain.variants import Effects, VariantModel
    from ..io.vcf import Variant

EXAMPLES = """\b
Examples:
  kernelweave variants model.kw calls.vcf.gz --genome hg.fa --output scored.vcf.gz
  kernelweave variants model.kw calls.vcf --genome hg.fa --output effects.tsv --background 10000
  kernelweave variants model.kw --deltasvm weights.txt
  kernelweave variants weights.txt calls.vcf --genome hg.fa > scored.vcf

\b
Adds to INFO, one number for each alternative: KW_REF and KW_ALT, the decision values with either allele, KW_DELTA
= KW_ALT - KW_REF (above 0, the alternative speaks for the positive class), and KW_PCT, the percentage of random
variants of the same kind whose KW_DELTA is lower. Everything else stays as it is, byte for byte.
A model of windows whose words have places scores all windows that cover the variant (--combine); one whose words
count anywhere scores the words that change; any other scores a window around the variant (--window).
Where REF is not what the genome has, there is no score; such rows are counted, and with --strict an error.
"""

FORMATS = ("vcf", "tsv", "bed")
PREFIX = b"KW_"
COLUMNS = ("chrom", "pos", "id", "ref", "alt", "KW_REF", "KW_ALT", "KW_DELTA", "KW_PCT", "skipped")


@click.command(epilog=EXAMPLES, short_help="Score the variants of a VCF file.")
@click.argument("model", type=click.Path())
@click.argument("calls", type=click.Path(), metavar="[VCF]", required=False)
@click.option("--genome", type=click.Path(), metavar="FASTA", help="The genome that the variants are of.")
@click.option("--output", "-o", type=click.Path(), help="A file; .gz is bgzipped.  [default: standard output]")
@click.option("--format", "form", type=click.Choice(FORMATS), help="What is written.  [default: by --output, or vcf]")
@click.option("--combine", type=click.Choice(["max", "sum", "mean"]), default="max", show_default=True,
              help="How the windows that cover a variant become one number.")  # fmt: skip
@click.option("--strand", type=click.Choice(["auto", "both", "+", "-"]), default="auto", show_default=True,
              help="auto: both for models of windows; kernels with reverse_complement see both anyway.")  # fmt: skip
@click.option("--window", type=click.IntRange(min=1, max=opt.MOST), metavar="N",
              help="Letters around a variant, for models without a length of their own.")  # fmt: skip
@click.option("--class", "label", metavar="LABEL", help="Which class to score, where there are more than two.")
@click.option("--background", type=click.IntRange(min=0, max=10**7), default=1000, show_default=True,
              help="Random variants for KW_PCT; 0 leaves it out.")  # fmt: skip
@click.option("--deltasvm", type=click.Path(), metavar="FILE", help="Write the weights of all words, as deltaSVM does.")
@click.option("--word", type=click.IntRange(min=1, max=12), metavar="K", help="Letters of these words.")
@click.option("--strict", is_flag=True, help="A REF that is not what the genome has is an error.")
@opt.SEED
@opt.THREADS
@click.option("--json", "as_json", is_flag=True, help="Say at the end, as JSON, how much was scored.")
def variants(**options: Any) -> None:
    """Score the variants in a VCF file by a MODEL file, or by a table of word weights."""
    if options["calls"] is None and options["deltasvm"] is None:
        raise click.UsageError("Give a VCF file to score, or --deltasvm FILE to write the weights of all words.")
    if options["calls"] is not None and options["genome"] is None:
        raise click.UsageError("Say which genome the variants are of: --genome hg.fa.")
    for path in (options["output"], options["deltasvm"]):
        if path:
            check_output(path)
    if options["calls"] is not None and not options["output"]:
        if options["as_json"]:
            raise click.UsageError("--json needs --output, because the variants themselves go to standard output.")
        check_printable()
    model = _model(options)
    told: dict[str, Any] = {}
    if options["deltasvm"]:
        told["weights"] = _write_weights(model, options)
    if options["calls"] is not None:
        told |= _score(model, options)
    if options["as_json"]:
        write_json(told)


def _model(options: dict[str, Any]) -> Any:
    """A model file, or a table of words and weights."""
    if kind_of(opened(options["model"])) == "model":
        from ..io.model_file import load

        return load(options["model"])
    from ..explain.deltasvm import read_kmer_weights

    return read_kmer_weights(options["model"])


def _write_weights(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    from ..explain.deltasvm import KmerWeights, kmer_weights

    found = model if isinstance(model, KmerWeights) else None
    if found is None:
        found = kmer_weights(model, options["word"], label=class_of(model, options["label"]))
    found.save(options["deltasvm"])
    if not options["as_json"]:
        click.echo(f"Wrote {options['deltasvm']}: the weights of all words of {found.k} letters.", err=True)
    return {"file": options["deltasvm"], "k": found.k, "both_strands": found.both_strands}


def _score(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    from ..explain.variants import VariantModel, refuse_mismatches
    from ..io.genome import open_genome
    from ..io.vcf import VcfReader

    given = {"window": options["window"], "combine": options["combine"], "strands": options["strand"]}
    given |= {"n_jobs": options["threads"] or -1, "label": class_of(model, options["label"])}
    n_variants = n_alleles = 0
    with open_genome(options["genome"]) as genome, VcfReader(opened(options["calls"])) as reader:
        ready = VariantModel(model, genome, background=options["background"], random_state=options["seed"], **given)
        form = options["form"] or form_of(options["output"])
        blocks = _scored(ready, reader, options["strict"], refuse_mismatches)
        first = next(blocks, None)  # what is wrong with the input is found out before anything is written
        with _output(options["output"]) as write, work_bar("Scoring", "variant") as progress:
            write(_header(form, reader.header, ready, model, options))
            for rows, effects in _again(first, blocks):
                write(_body(form, rows, effects))
                n_variants, n_alleles = n_variants + len(rows), n_alleles + len(effects.why)
                progress(n_variants, reader.fraction)
        for line in ready.skipped.said():
            note(line)
    done = n_alleles - sum(ready.skipped.counts.values())
    if options["output"] and not options["as_json"]:
        click.echo(
            f"Wrote {options['output']}: {count(n_variants, 'variant')}, {count(done, 'allele')} scored.", err=True
        )
        click.echo(f"KW_REF and KW_ALT are the decision value, {ready.scorer.about}.", err=True)
    return {
        "output": options["output"],
        "variants": n_variants,
        "alleles": n_alleles,
        "scored": done,
        "skipped": ready.skipped.counts,
        "score": ready.scorer.about,
    }


def _scored(ready: VariantModel, reader: Any, strict: bool, refuse: Any) -> Iterator[tuple[list[Variant], Effects]]:
    for rows in reader.blocks():
        effects = ready.effects(rows)
        if strict:
            refuse(ready.skipped, ready.genome)
        yield rows, effects


def _again(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    return iter(()) if first is None else chain([first], rest)


def form_of(output: str | None) -> str:
    """Return the format that the name of a file stands for."""
    name = (output or "").lower().removesuffix(".gz")
    ending = os.path.splitext(name)[1].removeprefix(".")
    return {"bed": "bed", "tsv": "tsv", "txt": "tsv"}.get(ending, "vcf")


@contextmanager
def _output(path: str | None) -> Iterator[Callable[[bytes], Any]]:
    """Yield a function that writes: to standard output, or to a file that appears when it is whole."""
    if path is None:
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    from ..io.atomic import AtomicFile
    from ..io.bgzip import BgzipWriter

    with AtomicFile(path) as out:
        if not path.endswith(".gz"):
            yield out.file.write
            return
        packed = BgzipWriter(out.file)
        yield packed.write
        packed.close()


# -- what is written ---------------------------------------------------------------------------------------------------


def _header(form: str, header: list[bytes], ready: VariantModel, model: Any, options: dict[str, Any]) -> bytes:
    from ..io.vcf import with_header

    if form == "bed":
        return b""
    if form == "tsv":
        return ("\t".join(COLUMNS) + "\n").encode()
    return b"".join(with_header(header, _info_lines(ready, model, options), PREFIX))


def _info_lines(ready: VariantModel, model: Any, options: dict[str, Any]) -> dict[str, bytes]:
    from importlib.metadata import version

    classes = list(getattr(model, "classes_", ()))
    positive = options["label"] or (str(classes[1]) if len(classes) == 2 else "positive")
    about = ready.scorer.about
    told = {
        "KW_REF": f"Decision value with the reference allele: {about}",
        "KW_ALT": f"Decision value with the alternative allele: {about}",
        "KW_DELTA": f"KW_ALT minus KW_REF: above 0 the alternative speaks for class {positive}, below 0 against it",
    }
    if ready.background:
        told["KW_PCT"] = f"Percentage of {ready.background} random variants of this kind whose KW_DELTA is lower"
    lines = {
        name: f'##INFO=<ID={name},Number=A,Type=Float,Description="{_quoted(text)}">'.encode()
        for name, text in told.items()
    }
    source = f"{version('kernelweave')}, model {os.path.basename(options['model'])}, genome "
    return {"run": f"##kernelweave_variants={source}{os.path.basename(options['genome'])}".encode()} | lines


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _body(form: str, rows: list[Variant], effects: Effects) -> bytes:
    columns = [_numbers(column) for column in (effects.ref, effects.alt, effects.delta, effects.percent)]
    return {"vcf": _vcf, "tsv": _tsv, "bed": _bed}[form](rows, columns, effects)


def _numbers(column: Any) -> list[str]:
    return ["." if value != value else f"{value:.12g}" for value in column.tolist()]


def _vcf(rows: list[Variant], columns: list[list[str]], effects: Effects) -> bytes:
    from ..io.vcf import with_info

    names, out, at = [name for name in COLUMNS if name.startswith("KW_")], [], 0
    for row in rows:
        end = at + len(row.alts)
        found = {name: ",".join(column[at:end]) for name, column in zip(names, columns, strict=True)}
        known = {name: text for name, text in found.items() if text.strip(".,")}
        out.append(with_info(row.line, known, PREFIX))
        at = end
    return b"".join(out)


def _alleles(rows: list[Variant]) -> Iterator[tuple[Variant, str]]:
    for row in rows:
        texts = row.line.split(b"\t", 5)[4].decode("utf-8", "backslashreplace").split(",")
        yield from ((row, text) for text in texts[: len(row.alts)])


def _tsv(rows: list[Variant], columns: list[list[str]], effects: Effects) -> bytes:
    lines = [
        "\t".join((row.name, str(row.start + 1), row.id, row.ref.decode(), alt, *scores, why))
        for (row, alt), *scores, why in zip(_alleles(rows), *columns, effects.why, strict=True)
    ]
    return "".join(line + "\n" for line in lines).encode()


def _bed(rows: list[Variant], columns: list[list[str]], effects: Effects) -> bytes:
    """Scored alleles only: the shade from 0 to 1000 is 1000 / (1 + exp(−KW_DELTA)), and KW_DELTA itself comes last."""
    import numpy as np

    shades = np.nan_to_num(np.rint(500.0 * (1.0 + np.tanh(0.5 * effects.delta)))).astype(int).tolist()
    lines = [
        f"{row.name}\t{row.start}\t{row.start + len(row.ref)}\t{row.ref.decode()}>{alt}\t{shade}\t.\t{delta}\n"
        for (row, alt), shade, delta, why in zip(_alleles(rows), shades, columns[2], effects.why, strict=True)
        if not why
    ]
    return "".join(lines).encode()
