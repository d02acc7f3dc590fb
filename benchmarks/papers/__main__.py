"""Measure rows and write the pages: python -m papers [row ...] [--quick] [--publish]."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings

from . import frame, pages
from .frame import HOME, OWN, PUBLISHED, measure, path_of
from .registry import ROWS, by_id


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(prog="make papers ARGS=", description=__doc__)
    options.add_argument("rows", nargs="*", help="such as table-4.2; all where none is named")
    options.add_argument("--quick", action="store_true", help="small sizes: all rows in less than 20 minutes")
    options.add_argument("--resume", action="store_true", help="keep what an earlier run in the same mode has measured")
    options.add_argument("--limit", type=float, help="seconds for one row, instead of its own limit")
    options.add_argument("--publish", action="store_true", help="into docs/papers, and not into benchmarks/results")
    options.add_argument("--pages", action="store_true", help="measure nothing, only write the pages and pictures")
    options.add_argument("--list", action="store_true", help="only name the rows")
    return options


def chosen(names: list[str]) -> list[frame.Row]:
    """Return the rows of these names, each after those that it needs."""
    known = by_id()
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"There is no row {', '.join(unknown)}; there are {', '.join(known)}.")
    picked = [known[name] for name in names] or list(ROWS)
    needed = [known[need] for row in picked for need in row.needs if not names or not path_of(need).exists()]
    return sorted({row.id: row for row in [*needed, *picked]}.values(), key=lambda row: bool(row.needs))


def measured(row: frame.Row, given: argparse.Namespace) -> bool:
    """Measure one row, and say whether that went well; others go on where it did not."""
    started = time.perf_counter()
    print(f"{row.id}: {row.text['title']}", flush=True)
    try:
        result = measure(row, given.quick, given.resume, given.limit, lambda line: print(line, flush=True))
    except Exception:
        traceback.print_exc()
        return False
    left = f"; out of time for {len(result['left_out'])} of its tasks" if result["left_out"] else ""
    print(f"    {time.perf_counter() - started:.1f} s{left}", flush=True)
    return True


def main() -> None:
    """Run the rows that are named."""
    given = parser().parse_args()
    HOME.folder = PUBLISHED if given.publish else OWN
    if given.list:
        print("\n".join(f"{row.id:<18} {row.text['title']}" for row in ROWS))
        return
    warnings.simplefilter("ignore")  # half of the widths of a grid fit no data; results say how near the optimum is
    failed = [row.id for row in ([] if given.pages else chosen(given.rows)) if not measured(row, given)]
    written = pages.write()
    print(f"Pages in {written}.")
    if made := [row.id for row in ROWS if path_of(row.id).exists() and pages.stand_in(frame.load(row.id))]:
        print(f"On generated data in place of real ones: {', '.join(made)}.")
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
