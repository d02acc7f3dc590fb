"""The `kernelweave` command: from files to answers without writing Python.

Modules here import nothing heavy at their top, so that `kernelweave --help` answers at once; what a command needs is
imported when it runs.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command, and leave with its exit code."""
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
