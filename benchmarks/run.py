"""Run the benchmarks and keep their tables in benchmarks/results/.

Run as ``python benchmarks/run.py [name ...]``; by default every module of this folder that has a `main`.
Each runs in a process of its own, so that none inherits another's memory, threads or compiled code.
"""

from __future__ import annotations

import ast
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
PACKAGES = ("kernelweave", "numpy", "scipy", "scikit-learn", "numba")


def has_main(path: Path) -> bool:
    """Say whether a file defines `main`, without running it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)


def benchmarks() -> dict[str, Path]:
    """Return the benchmarks by name."""
    files = sorted(path for path in FOLDER.glob("*.py") if path.name != Path(__file__).name)
    return {path.stem: path for path in files if has_main(path)}


def conditions() -> str:
    """Return what the figures depend on."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {versions}; {machine}"


def run(path: Path) -> bool:
    """Run one benchmark, show its output as it comes, and keep it; say whether it went well."""
    lines = [f"{path.stem}: {conditions()}\n\n"]
    print(lines[0], end="", flush=True)
    command = [sys.executable, "-u", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode == 0:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{path.stem}.txt").write_text("".join(lines), encoding="utf-8")
    return process.returncode == 0


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    known = benchmarks()
    names = sys.argv[1:] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(known)}.")
    failed = [name for name in names if not run(known[name])]
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
