"""Check many random problems, count what was tried, and list what failed: ``python -m certify.run --problems 5000``."""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from .check import check

AXES = ("task", "loss", "norm", "solver", "dual", "kernel", "degeneracy", "held", "scaling", "path", "learn_C", "tol")
#: A bracket of the optimum that is wider than this says little.
WIDE = 1e-6


def main(arguments=None):
    """Run the problems, print and save the table; return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=300, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first problem")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, default=Path("certify.txt"), help="where the table is saved")
    asked = parser.parse_args(arguments)
    started, rows = time.time(), []
    for row in _rows(range(asked.seed, asked.seed + asked.problems), asked.jobs):
        rows.append(row)
        for failure in row["failures"]:
            print(f"{row['seed']}: {failure}", flush=True)
    text = table(rows, time.time() - started)
    print(text)
    asked.output.write_text(text + "\n", encoding="utf-8")
    return sum(bool(row["failures"]) for row in rows)


def _rows(seeds, jobs):
    if jobs == 1:
        yield from map(summary, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(summary, seeds, chunksize=8)


def summary(seed):
    """Return what came of one problem, in words and numbers alone."""
    outcome = check(seed)
    row = {"seed": seed, "status": outcome.status, "failures": outcome.failures, "width": outcome.width}
    return row | outcome.problem.axes


def table(rows, seconds):
    """Return the counts of what was tried and of what came of it, and a line for every failure."""
    failed = [row for row in rows if row["failures"]]
    lines = [f"{len(rows)} problems in {seconds:.0f} s, {len(failed)} failed"]
    lines.append(_counts("outcome", Counter(row["status"] for row in rows)))
    lines.append(_counts("failures", Counter(failure.split(":")[0] for row in rows for failure in row["failures"])))
    wide = sum(not row["width"] <= WIDE for row in rows)
    lines.append(f"{'optimum':<11} known to {WIDE:g} or better for {len(rows) - wide}, less well for {wide}")
    for axis in AXES:
        values = Counter(one for row in rows for one in _listed(row[axis]))
        lines.append(_counts(axis, values))
    for row in failed:
        lines += [f"{row['seed']}: {failure}" for failure in row["failures"]]
        lines.append(f'    make certify ARGS="--problems 1 --seed {row["seed"]}"  # {_shown(row)}')
    return "\n".join(lines)


def _listed(value):
    return value if isinstance(value, tuple) else (value,)


def _counts(name, counter):
    return f"{name:<11} " + (", ".join(f"{key} {count}" for key, count in counter.most_common()) or "none")


def _shown(row):
    return ", ".join(f"{axis} {' + '.join(_listed(row[axis]))}" for axis in AXES)


if __name__ == "__main__":
    sys.exit(min(main(), 100))
