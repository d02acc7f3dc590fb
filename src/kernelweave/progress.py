"""Progress as callbacks: the library itself never prints."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Callback = Callable[[dict[str, Any]], Any]


def printer(verbose: int) -> Callback | None:
    """Return a callback that writes one line per iteration to standard error, or None for verbose=0."""
    if not verbose:
        return None

    def write(entry: dict[str, Any]) -> None:
        if entry["iteration"] == 1:
            print(f"{'iteration':>9} {'upper':>14} {'lower':>14} {'gap':>9} {'seconds':>8}", file=sys.stderr)
        print(
            f"{entry['iteration']:>9} {entry['upper']:>14.7g} {entry['lower']:>14.7g} {entry['gap']:>9.2e} "
            f"{entry['seconds']:>8.2f}",
            file=sys.stderr,
        )

    return write
