"""`kernelweave inspect`: what a model file or a data file holds."""

from __future__ import annotations

import os
from typing import Any

import click

from . import options as opt
from .console import bar, console, count, facts, short, table, write_json
from .data import kind_of, labels_or_blanks, labels_path, opened
from .failures import check_printable

EXAMPLES = """\b
Examples:
  kernelweave inspect model.kw
  kernelweave inspect sites.fa.gz
  kernelweave inspect table.csv --json
"""


@click.command(epilog=EXAMPLES, short_help="Say what a model or data file holds.")
@click.argument("path", type=click.Path())
@opt.JSON
def inspect(path: str, as_json: bool) -> None:
    """Say what the model file or data file PATH holds; a model's data are not read."""
    check_printable()
    source = opened(path)
    kind = kind_of(source)
    known = {"model": _model, "packed": _packed, "sequences": _sequences, "svmlight": _svmlight, "intervals": _places}
    look = known.get(kind, _table)
    told = look(path, source)
    if as_json:
        write_json(told)
        return
    out = console()
    rows = {name: value for name, value in told.items() if name not in ("terms", "columns")}
    out.print(facts({name: _as_text(value) for name, value in rows.items()}))
    for name in ("terms", "columns"):
        if told.get(name):
            out.print(_table_of(told[name]))


def _as_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_as_text(item)}" for name, item in value.items()) or "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else short(str(value), 300)


def _table_of(rows: list[dict[str, Any]], most: int = 40) -> Any:
    numbers = tuple(name for name, value in rows[0].items() if isinstance(value, (int, float)))
    weighed = "weight" in rows[0]
    made = table(*rows[0], *([""] if weighed else []), right=numbers)
    shown = sorted(rows, key=lambda row: -row["weight"]) if weighed and len(rows) > most else rows
    largest = max((row["weight"] for row in rows), default=0.0) if weighed else 0.0
    for row in shown[:most]:
        cells = [f"{value:.4g}" if isinstance(value, float) else short(str(value)) for value in row.values()]
        made.add_row(*cells, *([bar(row["weight"] / (largest or 1.0))] if weighed else []))
    if len(rows) > most:
        made.caption, made.caption_justify = f"and {len(rows) - most:,} more", "left"
    return made


def _model(path: str, _: Any) -> dict[str, Any]:
    import numpy as np

    from ..io.model_file import describe

    found = describe(path)
    training = found["training"]
    weights = np.atleast_2d(np.array(found["weights"], dtype=float)).mean(axis=0).tolist()
    classes = found["classes"]
    told = {
        "file": f"a model, written by kernelweave {found['library_version']}",
        "size": os.path.getsize(os.path.expanduser(path)),
        "estimator": found["estimator"],
        "kernel": found["kernel"],
        "parameters": {name: value for name, value in found["parameters"].items() if value is not None},
        "classes": None if classes is None else classes["values"],
        "positive class": classes["values"][1] if classes is not None and len(classes["values"]) == 2 else None,
        "target": (found.get("trained") or {}).get("target"),
        "columns read": found["feature_names_in"] or found["n_features_in"],
        "training samples": (found.get("trained") or {}).get("n_samples"),
        "support samples": found["n_support"],
        "objective": _number(training["objective"]),
        "lower bound": _number(training["lower_bound"]),
        "gap": _number(training["gap"]),
        "converged": training["converged"] if _number(training["gap"]) is not None else None,
        "stopped": training["stop_reason"],
        "solver": training["solver"],
        "notes": training["notes"],
        "terms": [{"weight": w, "term": t} for w, t in zip(weights, found["terms"], strict=True)],
    }
    return {name: value for name, value in told.items() if value not in (None, [], {})}


def _number(value: Any) -> float | None:
    """A number of the training, or None where it is not known, as of a model that another program trained."""
    return value if isinstance(value, (int, float)) else None


def _of_set(sequences: Any, what: str) -> dict[str, Any]:
    lengths, notes = sequences.lengths, sequences.notes
    same = sequences.length is not None
    return {
        "file": what,
        "sequences": len(sequences),
        "letters": int(sequences.n_letters),
        "length": int(lengths[0]) if same else f"{lengths.min():,} to {lengths.max():,}, mean {lengths.mean():,.1f}",
        "alphabet": sequences.alphabet.name,
        "lower case": notes.n_lower,
        "ambiguous": notes.n_ambiguous,
    }


def _sequences(path: str, source: Any) -> dict[str, Any]:
    from ..io.fasta import read_files

    found = read_files([source], labels=labels_or_blanks("label"), on_short="zero")
    told = _of_set(found.sequences, "FASTA or FASTQ")
    told["empty"] = found.sequences.notes.n_short
    told["first id"], told["last id"] = (found.ids or [""])[0], (found.ids or [""])[-1]
    if found.labels is not None and "" not in found.labels.astype(str):
        told["labels in headers"] = _counts(found.labels)
    return told


def _packed(path: str, _: Any) -> dict[str, Any]:
    from ..sequences import SequenceSet

    beside = labels_path(path)
    told = _of_set(SequenceSet.open(path), "packed sequences")
    return told | {"size": os.path.getsize(path), "labels beside": beside if os.path.exists(beside) else "none"}


def _places(path: str, source: Any) -> dict[str, Any]:
    import numpy as np

    from ..errors import InputError
    from ..io.bed import read_intervals

    try:
        found = read_intervals(source)
    except InputError as error:
        if "feature=" not in str(error):
            raise
        return {"file": "GFF or GTF", "note": str(error)}
    lengths = found.ends - found.starts
    return {
        "file": "places (BED or GFF); --genome cuts out their letters",
        "places": len(found),
        "length": f"{lengths.min():,} to {lengths.max():,}, mean {lengths.mean():,.1f}",
        "sequences": _counts(found.names.astype(str)),
        "strands": _counts(found.strands),
        "summits": int(np.sum(found.summits >= 0)),
    }


def _svmlight(path: str, source: Any) -> dict[str, Any]:
    from ..io.tables import read_svmlight

    X, y = read_svmlight(source)
    share = X.nnz / max(1, X.shape[0] * X.shape[1])
    told = {"file": "svmlight", "rows": X.shape[0], "columns read": X.shape[1], "share of non-zeros": share}
    return told | {"target": _counts(y)}


def _table(path: str, source: Any) -> dict[str, Any]:
    import numpy as np

    from ..io.tables import read_table

    columns = read_table(source)
    rows = []
    for name, values in columns.items():
        if values.dtype.kind == "O":
            texts = [str(value) for value in values]
            missing = sum(not text.strip() or value is None for text, value in zip(texts, values, strict=True))
            span = f"{count(len(set(texts)), 'value')}, such as {short(texts[0], 30)!r}" if texts else ""
            rows.append({"column": name, "kind": "text", "missing": missing, "values": span})
        else:
            good = values[np.isfinite(values)] if values.dtype.kind == "f" else values
            span = f"{good.min():g} to {good.max():g}" if len(good) else ""
            kind = "numbers" if values.dtype.kind == "f" else "whole numbers"
            rows.append({"column": name, "kind": kind, "missing": int(len(values) - len(good)), "values": span})
    return {"file": "a table", "rows": len(next(iter(columns.values()))), "columns": rows}


def _counts(labels: Any) -> Any:
    import numpy as np

    values, counts = np.unique(labels, return_counts=True)
    if len(values) > 20:
        return f"{len(values):,} different values"
    return {str(value): int(n) for value, n in zip(values, counts, strict=True)}
