"""Run files: what was done, in TOML, so that it can be done again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tomllib
import warnings
from collections.abc import Mapping
from typing import Any

import click

from ..errors import DataWarning, InputError

#: Entries that are names of files; in a run file they are seen from its folder.
PATHS = ("files", "labels", "output", "checkpoint")
_COMMENT = """Written by kernelweave. This does the same again, and options beside it win:
    kernelweave fit --run {name}"""


def run_path(output: str) -> str:
    """Return where the run file of a model lies."""
    start, end = os.path.splitext(output)
    return f"{start}.run.toml" if end == ".toml" else f"{start}.toml"


def write_run(path: str, options: dict[str, Any], result: dict[str, Any]) -> None:
    """Write the options of a run, the digests of what it read, and what came out."""
    from ..io.atomic import AtomicFile

    folder = os.path.dirname(os.path.abspath(os.path.expanduser(path)))
    placed = {key: _seen_from(value, folder) if key in PATHS else value for key, value in options.items()}
    names = [*options["files"], *([options["labels"]] if options.get("labels") else [])]
    digests = {_seen_from(name, folder): _sha256(name) for name in names if os.path.isfile(os.path.expanduser(name))}
    text = dumps({"fit": placed, "sha256": digests, "result": result}, _COMMENT.format(name=os.path.basename(path)))
    with AtomicFile(path) as out:
        out.file.write(text.encode())


def use_run(ctx: click.Context, _: click.Parameter, path: str | None) -> str | None:
    """Take the options of a run file as defaults of the command, and warn where its data have changed."""
    if path is None:
        return None
    try:
        with open(os.path.expanduser(path), "rb") as file:
            run = tomllib.load(file)
    except ValueError as error:  # bad TOML, bad UTF-8, or a number of thousands of digits
        raise InputError(f"{path} is not a run file: {error}.") from None
    except RecursionError:
        raise InputError(f"{path} is not a run file: it is nested too deeply.") from None
    options = run.get("fit")
    if not isinstance(options, dict):
        raise InputError(f"{path} is not a run file: it has no table [fit].")
    known = {parameter.name: parameter for parameter in ctx.command.params if parameter.name != "run"}
    unknown = [key for key in options if key not in known]
    if unknown:
        raise InputError(f"{path}: [fit] has unknown entries: {', '.join(unknown)}.")
    for key, value in options.items():
        _check_kind(path, key, value, known[key])
    folder = os.path.dirname(os.path.abspath(os.path.expanduser(path)))
    ctx.default_map = {key: _put_back(value, folder) if key in PATHS else value for key, value in options.items()}
    digests = run.get("sha256", {})
    if not isinstance(digests, dict) or not all(isinstance(digest, str) for digest in digests.values()):
        raise InputError(f"{path}: [sha256] is not a table of file names and their digests.")
    for name, digest in digests.items():
        found = _put_back(name, folder)
        if os.path.isfile(found) and _sha256(found) != digest:
            warnings.warn(f"{found} has changed since {path} was written.", DataWarning, stacklevel=2)
    return path


def _check_kind(path: str, key: str, value: Any, parameter: click.Parameter) -> None:
    """Refuse a value that no option could have had; what numbers and names may be, the option says itself."""
    from .options import NormText, Seconds

    whole = isinstance(parameter.type, click.types.IntParamType)
    if parameter.multiple if isinstance(parameter, click.Option) else parameter.nargs == -1:
        what, fits = "a list of text", isinstance(value, list) and all(isinstance(item, str) for item in value)
    elif getattr(parameter, "is_flag", False):
        what, fits = "true or false", isinstance(value, bool)
    elif whole or isinstance(parameter.type, (click.types.FloatParamType, Seconds, NormText)):
        number = (int, str) if whole else (int, float, str)
        what = (
            "a whole number" if whole else "a number or a name" if isinstance(parameter.type, NormText) else "a number"
        )
        huge = isinstance(value, int) and abs(value) >= 10**300  # no number of the machine
        fits = isinstance(value, number) and not isinstance(value, bool) and not huge
    else:
        what, fits = "text", isinstance(value, str)
    if not fits or "\0" in str(value):
        raise InputError(f"{path}: {key} in [fit] must be {what}; got {str(value)[:40]!r}.")


def _seen_from(value: Any, folder: str) -> Any:
    if isinstance(value, (list, tuple)):
        return [_seen_from(item, folder) for item in value]
    if value is None or value == "-":
        return value
    full = os.path.abspath(os.path.expanduser(value))
    try:
        return os.path.relpath(full, folder).replace(os.sep, "/")
    except ValueError:  # another drive, on Windows
        return full


def _put_back(value: Any, folder: str) -> Any:
    if isinstance(value, list):
        return [_put_back(item, folder) for item in value]
    if not isinstance(value, str) or value == "-":
        return value
    full = os.path.normpath(os.path.join(folder, value))
    here = os.path.relpath(full) if os.path.splitdrive(full)[0] == os.path.splitdrive(os.getcwd())[0] else full
    return here if len(here) < len(full) else full


def _sha256(path: str) -> str:
    with open(os.path.expanduser(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """Return what did the work."""
    from importlib.metadata import version

    names = ("kernelweave", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": sys.version.split()[0], **{name: version(name) for name in names}}


# -- TOML, which Python reads by itself --------------------------------------------------------------------------------


def dumps(tables: Mapping[str, Mapping[str, Any]], comment: str = "") -> str:
    """Return tables of names and values as TOML; values that are None are left out.

    Examples
    --------
    >>> print(dumps({"fit": {"files": ["a.fa", "b.fa"], "C": 1.0, "seed": None}}))
    [fit]
    files = ["a.fa", "b.fa"]
    C = 1.0
    <BLANKLINE>
    """
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    for name, table in tables.items():
        lines += ["", f"[{_key(name)}]"]
        lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value is not None]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)  # also inf and nan, which TOML writes as Python does
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    raise TypeError(f"TOML has no place for a {type(value).__name__}.")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON and TOML escape alike, but for this
