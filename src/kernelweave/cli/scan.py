"""`kernelweave scan`: score every window of a genome."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import click

from ..errors import InputError
from . import options as opt
from .console import count, work_bar, write_json
from .engines import ENGINE, on_engine
from .failures import check_output, check_printable

EXAMPLES = """\b
Examples:
  kernelweave scan model.kw genome.fa.gz --at AG --output sites.bed
  kernelweave scan model.kw genome.fa --region chrI:1,000,000-2,000,000 --threshold 1 > hits.tsv
  kernelweave scan model.kw genome.fa --strand + --output scores.bedgraph
  kernelweave scan model.kw genome.fa --output scores.bw
  kernelweave scan model.kw genome.fa --fdr 0.05 --output sites.narrowPeak

\b
Coordinates are those of the forward strand, from 0 on, the end not included; --region counts from 1, as browsers do.
With --at, only windows are scored that have the word where the training windows have it (--anchor says otherwise).
With --fdr, only peaks are written, windows that score more than all that overlap them, with their q: the genome is
scanned once more, shuffled. Written to a file, an interrupted scan goes on after the last sequence that was finished.
"""


@click.command(epilog=EXAMPLES, short_help="Score every window of a genome.")
@click.argument("model", type=click.Path())
@click.argument("genome", type=click.Path())
@click.option("--at", metavar="WORD", help="Score only windows with this word in its place, such as AG.")
@click.option(
    "--anchor",
    type=click.IntRange(min=0, max=opt.MOST),
    metavar="N",
    help="Where the word stands in a window, from 0 on.  [default: where all training windows have it]",
)
@click.option("--strand", type=click.Choice(["both", "+", "-"]), default="both", show_default=True)
@click.option("--threshold", type=float, help="Write only scores of at least this.  [default with --fdr: 0]")
@click.option(
    "--fdr",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="Q",
    help="Write peaks with at most this share of false ones among them, by a scan of the shuffled genome.",
)
@click.option("--seed", type=click.IntRange(min=0, max=opt.MOST), default=0, help="Of the order of --fdr.")
@click.option("--region", multiple=True, metavar="NAME:FROM-TO", help="Only this stretch; may be repeated.")
@click.option("--regions", type=click.Path(), metavar="BED", help="Only the stretches in a BED file.")
@click.option(
    "--unknown",
    type=click.Choice(["score", "skip"]),
    default="score",
    show_default=True,
    help="Windows with letters such as N: score what is known, or leave them out.",
)
@click.option(
    "--window",
    type=click.IntRange(min=1, max=opt.MOST),
    metavar="N",
    help="Letters of a window, where training had several.",
)
@click.option("--class", "label", metavar="LABEL", help="Which class to score, where there are more than two.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "bed", "bedgraph", "bigwig", "narrowpeak"]),
    help="What is written.  [default: by the ending of --output]",
)
@click.option("--output", "-o", type=click.Path(), help="A file for the hits.  [default: standard output]")
@click.option("--resume/--no-resume", default=True, help="Go on where an interrupted scan to the same file ended.")
@opt.THREADS
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Say at the end, as JSON, how much was scored.")  # fmt: skip
def scan(**options: Any) -> None:
    """Score the windows of the sequences in GENOME (FASTA, plain or gzip, or a packed file) by a MODEL file."""
    from ..io.model_file import load

    if options["region"] and options["regions"]:
        raise click.UsageError("--region and --regions both say where; give one of them.")
    if (options["form"] == "narrowpeak") > bool(options["fdr"]):
        raise click.UsageError("--format narrowpeak is for peaks; say by --fdr 0.05 how many of them may be false.")
    if options["output"]:
        check_output(options["output"])
    elif options["as_json"]:
        raise click.UsageError("--json needs --output, because the hits themselves go to standard output.")
    else:
        check_printable()
    model = load(options["model"])
    regions = [region(text) for text in options["region"]] or options["regions"]
    given = {name: options[name] for name in ("at", "anchor", "threshold", "unknown", "window")}
    given |= {"strands": options["strand"], "regions": regions, "n_jobs": options["threads"] or -1}
    given["label"] = class_of(model, options["label"])
    with on_engine(options):
        _scan(model, options, given)


def _scan(model: Any, options: dict[str, Any], given: dict[str, Any]) -> None:
    if options["fdr"]:
        _run_peaks(model, options, given)
        return
    with work_bar("Scanning", "letter") as bar:
        done = _run(model, options, given, lambda progress: bar(progress.n_letters, progress.fraction))
    told = {
        name: getattr(done, f"n_{name}") for name in ("sequences", "letters", "windows", "unknown", "hits", "short")
    }
    if options["as_json"]:
        write_json({"output": options["output"], **told})
    elif options["output"]:
        text = f"Wrote {options['output']}: {count(told['hits'], 'hit')} of {count(told['windows'], 'window')} in "
        click.echo(text + f"{count(told['sequences'], 'sequence')}, {count(told['letters'], 'letter')}.")


def _run(model: Any, options: dict[str, Any], given: dict[str, Any], callback: Any) -> Any:
    from ..scan import IntervalWriter, Scanner, scan_to_file
    from .data import opened

    source, output = opened(options["genome"]), options["output"]
    if options["form"] == "bigwig" or (options["form"] is None and (output or "").endswith((".bw", ".bigwig"))):
        return _run_bigwig(model, options, given, callback)
    if output:
        resume = options["resume"] and isinstance(source, str) and os.path.isfile(source)
        return scan_to_file(model, source, output, format=options["form"], resume=resume, callback=callback, **given)
    scanner = Scanner(model, **given)
    writer = IntervalWriter(sys.stdout.buffer, options["form"] or "tsv")
    writer.begin()
    for blocks, _ in scanner.blocks(source):
        for hits in blocks:
            writer.write(hits.name, hits.starts, hits.ends, hits.strands, hits.scores)
        callback(scanner.progress)
    sys.stdout.buffer.flush()
    return scanner.progress


def _run_peaks(model: Any, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Call peaks, and write them when all are known."""
    from ..io.atomic import AtomicFile
    from ..scan import call_peaks

    output, form = options["output"], options["form"]
    if form is None:
        form = "narrowpeak" if (output or "").lower().endswith((".narrowpeak", ".bed")) else "tsv"
    if form not in ("tsv", "narrowpeak"):
        raise click.UsageError(f"Peaks are written as tsv or narrowpeak; got --format {form}.")
    given["threshold"] = 0.0 if given["threshold"] is None else given["threshold"]
    with work_bar("Scanning", "letter") as bar:
        peaks = call_peaks(
            model,
            options["genome"],
            fdr=options["fdr"],
            random_state=options["seed"],
            callback=lambda progress: bar(progress.n_letters, progress.fraction),
            **given,
        )
    told = {"peaks": len(peaks), "above_threshold": peaks.n_peaks, "shuffled": peaks.n_shuffled}
    if not output:
        peaks.write(sys.stdout.buffer, form)
        sys.stdout.buffer.flush()
        return
    with AtomicFile(output) as out:
        peaks.write(out.file, form)
    if options["as_json"]:
        write_json({"output": output, **told})
    else:
        text = f"Wrote {output}: {count(len(peaks), 'peak')} with q ≤ {options['fdr']:g}, of {peaks.n_peaks:,} that "
        click.echo(
            f"{text}score {given['threshold']:g} or more; the shuffled genome has {peaks.n_shuffled:,} of these."
        )


def _run_bigwig(model: Any, options: dict[str, Any], given: dict[str, Any], callback: Any) -> Any:
    """Scan to bedGraph beside the output, and turn that into bigWig when it is whole."""
    import tempfile

    from ..io.faidx import build_index
    from ..io.tracks import bigwig_package, read_bedgraph, write_bigwig
    from ..scan import scan_to_file

    output = options["output"]
    if not output or not os.path.isfile(os.path.expanduser(options["genome"])):
        raise click.UsageError("bigWig needs --output and a genome in a file.")
    lengths = {name: entry.length for name, entry in build_index(os.path.expanduser(options["genome"])).items()}
    bigwig_package()  # which says now that it is missing
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(os.path.expanduser(output)))) as folder:
        rows = os.path.join(folder, "scores.bedgraph")
        done = scan_to_file(model, options["genome"], rows, format="bedgraph", callback=callback, **given)
        write_bigwig(output, read_bedgraph(rows), lengths)
    return done


def region(text: str) -> tuple[str, int, int]:
    """Return (name, start, end), from 0 on and half open, of "name:from-to", which counts from 1 and has both ends."""
    found = re.fullmatch(r"(.+):([0-9,]+)-([0-9,]+)", text)
    if found is None:
        raise click.UsageError(f"--region is like chrI:1,000-2,000; got {text!r}.")
    start, end = (int(number.replace(",", "") or 0) for number in found.groups()[1:])
    if not 1 <= start <= end:
        raise click.UsageError(f"--region counts from 1, and does not end before it begins; got {text!r}.")
    return found[1], start - 1, end


def class_of(model: Any, text: str | None) -> Any:
    """Return the class that was named, in the type that the model has."""
    if text is None:
        return None
    known = {str(label): label for label in getattr(model, "classes_", [])}
    if text not in known:
        raise InputError(f"The model has no class {text!r}; it has {', '.join(known) or 'none'}.")
    return getattr(known[text], "item", lambda: known[text])()
