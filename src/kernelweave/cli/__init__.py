"""The `kernelweave` command: from files to answers without writing Python.

Modules here import nothing heavy at their top, so that `kernelweave --help` answers at once; what a command needs is
imported when it runs.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

INTERRUPTED = 130
#: Standard streams that were closed when the command began (`>&-`).
CLOSED: set[str] = set()


def open_streams() -> None:
    """Give every standard stream that was closed a place, so that no file of ours gets its number by chance."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            CLOSED.add(name)
            found = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one's
            setattr(sys, name, open(found, mode, encoding="utf-8", closefd=found > number))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what the terminal's letters do not have is written in their place
            stream.reconfigure(errors="backslashreplace")


def main() -> NoReturn:
    """Run the command, and leave with its exit code."""
    open_streams()
    from .app import cli

    try:
        cli.main(prog_name="kernelweave")
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            # threads may still be inside compiled loops; whoever pressed Ctrl-C does not want to wait for them
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise
    raise SystemExit(0)
