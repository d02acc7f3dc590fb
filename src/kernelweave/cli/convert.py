"""`kernelweave convert`: sequence files to one packed file, and models of other programs to model files."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import click

from ..errors import InputError
from . import options as opt
from .console import console, count, work_bar, write_json
from .data import Reading, file_labels, kind_of, labels_or_blanks, labels_path, opened, read
from .failures import check_output

#: More files than anybody wants in a folder.
MOST_SHARDS = 10_000

EXAMPLES = """\b
Examples:
  kernelweave convert pos.fa.gz neg.fa.gz --output sites.kwseq
  kernelweave convert windows.csv --sequence window --target label --output sites.kwseq
  kernelweave fit sites.kwseq --preset splice
  kernelweave convert lsgkm.model.txt model.kw
  kernelweave convert sites.fa.gz --shards 8 --output sites.kwseq
  kernelweave convert test_svalpha.out model.kw

\b
A packed file is mapped, not read: it opens at once and may be larger than memory; DNA takes two bits a letter.
Ids and labels go into a table beside it (sites.labels.tsv), where fit finds them.
Models of LS-GKM (.model.txt, also .gz), gkmsvm-lite (.npz) and gkmSVM for R (_svalpha.out beside _svseq.fa, or
.gkmmodel) become model files for predict, scan and explain. Those of gkmSVM do not name their kernel: --kernel does.
"""


@click.command(epilog=EXAMPLES, short_help="Pack sequence files, or read the model of LS-GKM.")
@opt.FILES
@click.option("--output", "-o", type=click.Path(), help="The packed file (.kwseq is customary), or the model file.")
@click.option("--sequence", metavar="COLUMN", help="Tables: the column with the sequences.")
@click.option(
    "--shards",
    type=click.IntRange(min=1, max=MOST_SHARDS),
    metavar="N",
    help="Write N files, sites.00.kwseq and so on, each with its labels beside it: for several machines.",
)
@click.option(
    "--kernel",
    metavar="KERNEL",
    help="Of a model of gkmSVM for R.  [default: its own, L = 10, K = 6, maxnmm = 3, truncated filter, both strands]",
)
@opt.READING
@opt.JSON
def convert(**options: Any) -> None:
    """Convert FASTA, FASTQ or a table (DATA) to a packed file, or a model of LS-GKM to a model file."""
    from ..io.gkm_pairs import is_pair
    from ..io.gkm_text import looks_like_gkm
    from ..sequences.shards import shard_names

    how, files = Reading.taken_from(options), options["files"]
    if not files:
        raise click.UsageError("No data file was given.")
    if is_pair(files[0]) or looks_like_gkm(files[0]):
        _convert_model(files, options["output"], options["kernel"], options["as_json"])
        return
    if options["kernel"] is not None:
        raise click.UsageError(f"--kernel is for a model of gkmSVM for R; {files[0]} is none.")
    if options["output"] is None:
        raise click.UsageError("Missing option '--output' / '-o': where the packed file goes.")
    output = os.path.expanduser(options["output"])
    names = [output] if options["shards"] is None else shard_names(output, options["shards"])
    for path in (output, *names):
        check_output(path)
        check_output(labels_path(path))
    kind = kind_of(opened(files[0])) if how.file_format == "auto" else how.file_format
    packed = _from_fasta if kind == "sequences" else _from_table
    whole = output if options["shards"] is None else output + ".whole"
    sequences, ids, labels = packed(files, whole, how, options["sequence"])
    if options["shards"] is None:
        _write_labels(labels_path(output), ids, labels)
    else:
        sequences, output = _write_shards(sequences, names, ids, labels), f"{names[0]} to {os.path.basename(names[-1])}"
    beside = labels_path(names[0])
    told = {"output": output, "labels": beside, "n": len(sequences), "alphabet": sequences.alphabet.name}
    told |= {"letters": sequences.n_letters, "bytes": sum(os.path.getsize(path) for path in names)}
    told |= {} if options["shards"] is None else {"shards": names}
    if options["as_json"]:
        write_json(told)
        return
    text = f"Wrote {output}: {count(len(sequences), 'sequence')}, {sequences.n_letters:,} letters "
    console().print(
        f"{text}({sequences.alphabet.name}). Ids{' and labels' if labels is not None else ''} are in {beside}."
    )


def _write_shards(sequences: Any, names: list[str], ids: list[str], labels: Any) -> Any:
    """Write a packed file as several, with what is beside it, and remove it."""
    from ..sequences import Shards
    from ..sequences.shards import shard_slices

    try:
        for name, part in zip(names, shard_slices(len(sequences), len(names)), strict=True):
            sequences.rows(part).save(name)
            _write_labels(labels_path(name), ids[part], None if labels is None else labels[part])
    finally:
        os.unlink(sequences.path)
    return Shards.open(names)


def _convert_model(files: tuple[str, ...], output: str | None, kernel: str | None, as_json: bool) -> None:
    """Write the model of another program as a model file: at --output, or where a second name says."""
    from ..estimators.converted import from_gkm
    from ..io.model_file import save

    if len(files) + (output is not None) != 2:
        raise click.UsageError(f"{files[0]} is a model: give it and the model file to write, and nothing else.")
    output = os.path.expanduser(output or files[1])
    check_output(output)
    model = from_gkm(files[0], kernel=kernel)
    save(model, output)
    told = {"output": output, "kernel": repr(model.kernel_), "support": len(model.support_)}
    if as_json:
        write_json(told)
    else:
        console().print(
            f"Wrote {output}: {model.kernel_!r} with {count(len(model.support_), 'support sequence')}.", soft_wrap=True
        )


def _from_fasta(files: tuple[str, ...], output: str, how: Any, _: str | None) -> tuple[Any, list[str], Any]:
    """Pack sequence files; labels are those of two files, or in the headers if they are there."""
    from ..io.fasta import pack_fasta

    given: Any = file_labels(files) if len(files) > 1 else labels_or_blanks(how.label_field)
    with work_bar("Packing", "record") as progress:
        options = {"alphabet": how.alphabet, "keep_ids": True, "progress": progress, **how.rules}
        loaded = pack_fasta(files, output, labels=given, **options)
    labels = loaded.labels
    if labels is not None and labels.dtype.kind in "UO" and "" in labels:
        if (labels != "").any():
            row = int((labels == "").argmax())
            raise InputError(f"{files[0]}: record {row + 1} has no {how.label_field}=..., others do.")
        labels = None
    return loaded.sequences, loaded.ids or [], labels


def _from_table(files: tuple[str, ...], output: str, how: Any, column: str | None) -> tuple[Any, list[str], Any]:
    import numpy as np

    from ..sequences import SequenceSet, as_sequences

    how = replace(how, columns=column)
    data = read(files, how, labelled=how.target is not None)
    if data.kind != "table" or len(data.X) != 1:
        raise click.UsageError(f"Say which column holds the sequences with --sequence; there are {', '.join(data.X)}.")
    (name, values), *_ = data.X.items()
    try:
        found = as_sequences(values, how.alphabet, ids=data.ids, **how.rules)
    except InputError as error:
        raise type(error)(f"{data.source}, column {name!r}: {error}") from None
    found.save(output)
    skipped = list(found.notes.skipped)
    ids = np.delete(np.array(data.ids, dtype=object), skipped).tolist()
    return SequenceSet.open(output), ids, None if data.y is None else np.delete(data.y, skipped)


def _write_labels(path: str, ids: list[str], labels: Any) -> None:
    from ..io.atomic import AtomicFile

    if labels is None:
        rows = (f"{name}\n" for name in ids)
    else:
        rows = (f"{name}\t{label}\n" for name, label in zip(ids, labels.tolist(), strict=True))
    with AtomicFile(path) as out:
        out.file.write(b"id\n" if labels is None else b"id\tlabel\n")
        for row in rows:
            out.file.write(row.encode())
