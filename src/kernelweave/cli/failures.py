"""Ends of a command that are neither success nor a bug."""

from __future__ import annotations

import re

NOT_CONVERGED, IO = 4, 5


class Failure(Exception):
    """The command cannot go on, or its result is not what was asked for; the exit code says which kind it is."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def check_printable() -> None:
    """Fail now where the result is to be printed, and standard output is closed."""
    from . import CLOSED

    if "stdout" in CLOSED:
        raise Failure("Standard output is closed, so the result has nowhere to go; send it to a file.", IO)


def check_output(path: str) -> None:
    """Fail now where a file could not be written later, after hours of training."""
    from ..errors import InputError
    from ..io.atomic import check_writable

    try:
        check_writable(path)
    except InputError as error:
        raise Failure(f"{error} Name another place with --output.", IO) from None
    except OSError as error:
        raise Failure(f"Cannot write {path!r}: {error.strerror}. Name another place with --output.", IO) from None


#: What the library says to programmers, and what it is on the command line.
_NAMES = "on_short|alphabet|ambiguous|anchor|class_weight|norm|solver|dual|loss|window"
_IN_OPTIONS = (
    ("; with warm_start=True another fit goes on from here", ""),
    ("max_iter, max_seconds or tol", "--max-iter, --time-limit or --tol"),
    (r"\bmax_seconds\b", "--time-limit"),
    (r"Checkpoint\(path, restart=True\)", "--force-new"),
    (r"text or Alphabet\('\.\.\.'\)", "text; --alphabet"),
    (r"or 'zero' \(no features\)", "or zero (no features)"),
    (rf"""\b({_NAMES})=['"]?(\w+|\.\.\.)['"]?""", None),
)


def in_options(text: str) -> str:
    """Return a message of the library with the options of the command instead of the parameters of Python."""
    for pattern, words in _IN_OPTIONS:
        text = re.sub(pattern, _option if words is None else words, text)
    return text


def _option(found: re.Match[str]) -> str:
    return f"--{found[1].replace('_', '-')} {found[2]}"
