"""Run the tests from the sdist on several Pythons, with the newest and the oldest dependencies.

python packaging/matrix.py                          every Python from 3.11 on that is found, all tests
python packaging/matrix.py 3.12 3.13 --tests tests/test_docs.py tests/mkl -- -x
python packaging/matrix.py 3.11 --oldest            the lowest versions that pyproject.toml allows

The sdist is built and unpacked into a folder of its own, so that nothing of the checkout is seen. Every environment is
new. A table at the end says what passed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What the project says it supports; the newest may not be installed, which is said.
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def main() -> None:
    """Build once, then test on every Python that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", default=list(VERSIONS), help="3.12, or the path of an interpreter")
    parser.add_argument("--oldest", action="store_true", help="with the lowest versions of the dependencies, too")
    parser.add_argument("--tests", nargs="*", default=[], help="a part of the tests")
    options, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = unpacked(folder)
        cases = [(python, False) for python in options.pythons]
        cases += [(python, True) for python in options.pythons[:1] if options.oldest]
        told = [test(folder, source, python, oldest, [*options.tests, *rest]) for python, oldest in cases]
    print("\n".join(line for line, _ in told))
    sys.exit(any(code for _, code in told))


def unpacked(folder: Path) -> Path:
    """Build the sdist and unpack it; the tests need no more than what is in it."""
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--outdir", folder, ROOT], check=True, stdout=-3)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as sdist:
        sdist.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def interpreter(python: str) -> str | None:
    """Return the path of an interpreter: as given, on the path, or where pyenv keeps them."""
    if os.sep in python:
        return python
    kept = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{python}.*/bin/python"))
    return str(kept[-1]) if kept else shutil.which(f"python{python}")


def test(folder: Path, source: Path, python: str, oldest: bool, arguments: list[str]) -> tuple[str, int]:
    """Return what to say of one Python, and 0 where all is well."""
    name = f"{python}{', oldest' if oldest else ''}"
    path = interpreter(python)
    if path is None:
        return f"{name:<14} not tried: there is no such Python here", 0
    start, place = time.monotonic(), folder / f"env-{len(list(folder.glob('env-*')))}"
    subprocess.run([path, "-m", "venv", place], check=True)
    ours = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [ours, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--upgrade", "pip"], check=True)
    limits = []
    if oldest:
        lowest = subprocess.run([sys.executable, source / "packaging" / "oldest.py"], check=True, capture_output=True)
        (folder / "oldest.txt").write_bytes(lowest.stdout)
        limits = ["--constraint", folder / "oldest.txt"]
    if subprocess.run([*pip, source, "--group", f"{source / 'pyproject.toml'}:test", *limits]).returncode:
        return f"{name:<14} NOT INSTALLED: the dependencies do not allow it", 1
    run = [ours, "-m", "pytest", "-q", "-n", "auto", *arguments]
    done = subprocess.run(run, cwd=source, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, text=True, stdout=-1)
    print(done.stdout[-3000:])
    last = done.stdout.strip().splitlines()[-1].strip("= ")
    return f"{name:<14} {last}; {(time.monotonic() - start) / 60:.1f} min with installing", done.returncode


if __name__ == "__main__":
    main()
