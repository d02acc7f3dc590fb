"""The group of all commands, and what every one of them does when something goes wrong."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from ..errors import CheckpointError, EngineError, KernelweaveError, TimeLimitError
from . import INTERRUPTED
from .convert import convert
from .cv import cv
from .demo import demo
from .explain import explain
from .failures import NOT_CONVERGED, Failure, in_options
from .fit import fit
from .inspect import inspect
from .kernels import kernels
from .predict import predict
from .report import report
from .scan import scan
from .variants import variants
from .warmup import warmup

USAGE, BAD_INPUT, IO = 2, 3, 5

EXAMPLES = """\b
Examples:
  kernelweave fit pos.fa neg.fa --output model.kw
  kernelweave predict model.kw new.fa > scores.tsv
  kernelweave fit table.csv --target outcome --kernel "RBF(0.5).on('age') + Spectrum(k=6).on('utr')"
  kernelweave cv table.csv --target outcome --C 0.1,1,10
  kernelweave variants model.kw calls.vcf.gz --genome hg.fa --output scored.vcf.gz
  kernelweave demo
"""


class PipeClosed(Exception):
    """Whoever read our output has seen enough, as `head` does."""


class Commands(click.Group):
    """A group whose commands end with the documented exit codes, and with a traceback for bugs only."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; that its reader went away is not for click to judge, who would call it a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise PipeClosed from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are used."""
        return list(self.commands)

    def main(self, args: Any = None, prog_name: str | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run a command and exit."""
        extra["standalone_mode"] = False

        def work() -> Any:
            check_arguments(sys.argv[1:] if args is None else args)
            return super(Commands, self).main(args, prog_name, *rest, **extra)

        with _signals(), _plain_warnings():
            code = exit_code(work)
        sys.exit(code)


def check_arguments(arguments: Sequence[Any]) -> None:
    """Refuse arguments with bytes that are no text: neither a message nor a run file could repeat them."""
    for argument in map(str, arguments):
        if any("\ud800" <= sign <= "\udfff" for sign in argument):
            shown = argument.encode("utf-8", "backslashreplace").decode()
            raise click.UsageError(
                f"The argument '{shown}' is not valid UTF-8. Rename the file or column, and try again."
            )


def exit_code(work: Callable[[], Any]) -> int:
    """Do the work; say in one message what went wrong, if anything did, and return the exit code that stands for it."""
    try:
        done = work()
        sys.stdout.flush()
        return done if isinstance(done, int) else 0
    except click.UsageError as error:
        with suppress(OSError):  # nobody may be listening
            error.show()
        return USAGE
    except Failure as failure:
        return _end_with_message(str(failure), failure.code)
    except (KeyboardInterrupt, click.Abort) as stop:
        why = stop.__cause__ if isinstance(stop, click.Abort) else stop  # click wraps it
        return _end_with_message(str(why or "") or "Interrupted.", INTERRUPTED, "")
    except (PipeClosed, BrokenPipeError):
        _silence()
        return 0
    except Exception as error:
        code = _code_of(error)
        if code is None or os.environ.get("KERNELWEAVE_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.filename is None:
            _silence()  # it may be standard output that failed
        return _end_with_message(_text_of(error), code)


def _silence() -> None:
    """Send what is left in the buffer of standard output nowhere: it must not complain when the process ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _code_of(error: Exception) -> int | None:
    """Return the exit code of an error that is no bug, and None for one that is."""
    if isinstance(error, ImportError):  # a package that is not installed; the message has the line that installs it
        return None if (error.name or "").startswith("kernelweave") else IO
    if isinstance(error, TimeLimitError):
        return NOT_CONVERGED
    if isinstance(error, (OSError, CheckpointError, EngineError)):
        return IO
    if isinstance(error, (KernelweaveError, ValueError, MemoryError)):
        return BAD_INPUT
    return None


def _text_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{'Reading or writing failed' if error.filename is None else error.filename}: {error.strerror}."
    if isinstance(error, ValueError) and not isinstance(error, KernelweaveError):
        return f"{error}\n(KERNELWEAVE_TRACEBACK=1 shows where this was raised.)"
    return str(error) or type(error).__name__


def _end_with_message(text: str, code: int, start: str = "Error: ") -> int:
    with suppress(OSError):  # nobody may be listening
        click.echo(start + in_options(text), err=True)
    return code


@contextmanager
def _signals() -> Iterator[None]:
    """A polite request to stop (SIGTERM) is an interrupt like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show what concerns the user's data in one line each, and nothing that concerns programmers."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        click.echo(f"Warning: {in_options(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=EXAMPLES,
)
@click.version_option(package_name="kernelweave", message="kernelweave %(version)s")
def cli() -> None:
    """Learn which similarities matter: multiple kernel learning on tables, DNA, protein and text."""


for command in (fit, predict, scan, variants, explain, report, cv, kernels, convert, inspect, demo, warmup):
    cli.add_command(command)
