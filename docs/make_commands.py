"""Write docs/reference/commands.md and errors.md from the commands and the errors themselves; Sphinx does so first."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click

from kernelweave import errors
from kernelweave.cli.app import cli

HERE = Path(__file__).resolve().parent
COMMANDS = """# Every command and option

For anyone who looks for an option. This page is made from the commands themselves, so it says what `--help` says;
[the command line](command_line.md) tells what they are for.
"""
ERRORS = """# Errors and warnings

For programs that call the library, and for people who read a message. Messages say what is wrong, what was given and
what would work; the classes say which kind it is. All are in `kernelweave.errors`, and are what Python would call them
as well: an `InputError` is a `ValueError`.

| class | is also | means |
|---|---|---|
"""
AFTER = """
A fit that ends before its gap is small enough warns with scikit-learn's `ConvergenceWarning`; the model is usable, and
`gap_` and `stop_reason_` say how far it came. Warnings about data are `DataWarning`.

The command line turns errors into one message and an [exit code](command_line.md#exit-codes). A traceback from it is a
bug; `KERNELWEAVE_TRACEBACK=1` shows one for expected errors, too. What happens on each of some eighty faults, from
damaged files to power cuts, is listed with its tests under [faults](faults.md).
"""


def commands_page() -> str:
    """Return the page of all commands as Markdown."""
    return COMMANDS + "".join(_command(name, command) for name, command in cli.commands.items())


def errors_page() -> str:
    """Return the page of all errors and warnings as Markdown."""
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    kinds.sort(key=lambda kind: inspect.getsourcelines(kind)[1])
    rows = [
        f"| `{kind.__name__}` | {', '.join(f'`{base.__name__}`' for base in kind.__bases__)} | {_line(kind.__doc__)} |"
        for kind in kinds
    ]
    return ERRORS + "\n".join(rows) + "\n" + AFTER


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"kernelweave {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    about = [" ".join(part.split()) for part in re.split(r"\n\s*\n", command.help or "")]
    text = [f"\n## {name}\n", f"```text\nkernelweave {name} {usage}\n```\n", *(f"{_text(part)}\n" for part in about)]
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if options:
        text += ["| option | value | |", "|---|---|---|", *(_option(one, context) for one in options), ""]
    if command.epilog:
        text += [f"```text\n{inspect.cleandoc(command.epilog.replace(chr(8), ''))}\n```", ""]
    return "\n".join(text)


def _option(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    shown, said = record or ("", "")
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    value = " ".join(shown.split()[len(option.opts) :]) if not option.is_flag else ""
    value = "" if value.startswith("-") else value
    return f"| {names} | {f'`{_cell(value)}`' if value else ''} | {_text(_cell(said))} |"


def _line(text: str | None) -> str:
    return _cell(" ".join((text or "").split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _text(text: str) -> str:
    """Return help as Markdown: signs that would be markup mean themselves."""
    return re.sub(r"([*_<>\[\]$'])", r"\\\1", text)


def write() -> None:
    """Write both pages."""
    (HERE / "reference" / "commands.md").write_text(commands_page(), encoding="utf-8")
    (HERE / "reference" / "errors.md").write_text(errors_page(), encoding="utf-8")
