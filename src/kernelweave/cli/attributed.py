"""What letters add, for other tools: a table, MoDISco's files, and tracks along a genome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .data import Reading, read
from .explain import machines
from .report import with_alphabet

if TYPE_CHECKING:
    from ..explain import Attributions
    from .explain import Folder


def write_attributed(folder: Folder, model: Any, how: Reading, options: dict[str, Any]) -> None:
    """Write what --letters, --modisco and --track ask for, of the samples in DATA."""
    from ..explain import attributions

    if not options["files"]:
        raise click.UsageError("--letters, --modisco and --track say what letters add: give DATA.")
    data = read(options["files"], with_alphabet(model, how), labelled=False)
    if not hasattr(data.X, "alphabet"):
        raise InputError(f"--letters, --modisco and --track are about sequences; {data.source} is a {data.kind}.")
    if options["track"] and data.intervals is None:
        raise click.UsageError("--track writes along a genome: give places (BED or GFF) and --genome.")
    for machine, suffix in machines(model):
        found = attributions(model, data.X, machine=machine)
        if options["letters"]:
            _letters(folder.new(f"letters{suffix}.tsv"), found, data.ids, options["letters"] == "all")
        if options["modisco"]:
            place = options["modisco"] + suffix
            found.save_modisco(place)
            click.echo(f"Next: modisco motifs -s {place}/sequences.npz -a {place}/attributions.npz -n 2000 -w "
                       f"{found.one_hot.shape[2]} -o modisco.h5", err=True)  # fmt: skip
        for form in options["track"]:
            _track(folder, form, suffix, found, data, how)


def _letters(path: str, found: Attributions, ids: list[str], others: bool) -> None:
    from ..io.atomic import AtomicFile

    names = ["id", "position", "letter", "contribution", *(found.letters if others else "")]
    with AtomicFile(path) as out:
        out.file.write(("\t".join(names) + "\n").encode())
        for i, (name, text) in enumerate(zip(ids, found.sequences, strict=True)):
            added, all_letters = found.contributions[i].tolist(), found.hypothetical[i].T.tolist()
            rows = [
                [name, str(p), letter, repr(added[p]), *(map(repr, all_letters[p]) if others else ())]
                for p, letter in enumerate(text)
            ]
            out.file.write("".join("\t".join(row) + "\n" for row in rows).encode())


def _track(folder: Folder, form: str, suffix: str, found: Attributions, data: Any, how: Reading) -> None:
    from ..io.genome import open_genome
    from ..io.tracks import letter_track, write_bedgraph, write_bigwig

    with open_genome(str(how.genome)) as genome:
        lengths = dict(genome.lengths)
    rows = [row[: len(text)] for row, text in zip(found.contributions, found.sequences, strict=True)]
    track = letter_track(data.intervals, rows, list(lengths))
    if form == "bedgraph":
        write_bedgraph(folder.new(f"letters{suffix}.bedgraph"), track)
    else:
        write_bigwig(folder.new(f"letters{suffix}.bw"), track, lengths)
