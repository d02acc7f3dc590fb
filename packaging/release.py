"""Build the sdist and the wheel, and try them as a stranger would: python packaging/release.py [--tag v1.2.3].

Both are built from what git tracks, checked for what they must and must not hold, and installed, each in an environment
of its own, where the command runs its demonstration and a model is fitted, saved and loaded. Nothing is published.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
#: More than this, and something was packed that does not belong there.
MOST_BYTES = 3 * 2**20
#: What a wheel may hold beside Python: data that the package generates, and the marker of typed packages.
ALLOWED = {".py", ".typed", ".html", ".css", ".js", ".svg", ".gz", ".npz", ".fa", ".txt"}
SMOKE = """
import kernelweave as kw, numpy as np, tempfile, pathlib
X = np.random.default_rng(0).normal(size=(80, 3))
model = kw.MKLClassifier(kw.RBF(0.5) + kw.Linear()).fit(X, X[:, 0] > 0)
path = pathlib.Path(tempfile.mkdtemp()) / "model.kw"
kw.save(model, path)
assert (kw.load(path).decision_function(X) == model.decision_function(X)).all()
print(kw.__version__, repr(model.kernel_), "gap", model.gap_)
"""


def main() -> None:
    """Build, check and try both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", help="the tag of the release, which must name the version")
    options = parser.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if options.tag is not None and options.tag != f"v{version}":
        sys.exit(f"The tag is {options.tag}, but pyproject.toml has version {version}: make them agree.")
    shutil.rmtree(DIST, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    files = sorted(DIST.iterdir())
    _run(sys.executable, "-m", "twine", "check", "--strict", *files)
    for file in files:
        names = _names(file)
        _check(file, names, version)
        print(f"{file.name}: {file.stat().st_size / 2**20:.2f} MiB, {len(names)} files")
        _try(file)
    print(f"{len(files)} files in dist/ are ready.")


def _names(file: Path) -> list[str]:
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return wheel.namelist()
    with tarfile.open(file) as sdist:
        return [member.name for member in sdist.getmembers() if member.isfile()]


def _check(file: Path, names: list[str], version: str) -> None:
    """Complain where a file is too large, has the wrong version, or holds what it should not."""
    faults = [] if version in file.name else [f"its name has not version {version}"]
    if file.stat().st_size > MOST_BYTES:
        faults.append(f"it has {file.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
    if not any(name.endswith("LICENSE") for name in names):
        faults.append("it has no LICENSE")
    if file.suffix == ".whl":
        inside = [name for name in names if ".dist-info/" not in name]
        faults += [f"it has {name}" for name in inside if Path(name).suffix not in ALLOWED]
    if faults:
        sys.exit(f"{file.name}: " + "; ".join(faults))


def _try(file: Path) -> None:
    """Install one file in a new environment, away from the checkout, and use it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        bin_ = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        _run(
            bin_ / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"{file}[plot]",
            at=folder,
        )
        _run(bin_ / "kernelweave", "--version", at=folder)
        _run(bin_ / "kernelweave", "demo", at=folder)
        _run(bin_ / "python", "-W", "error", "-c", SMOKE, at=folder)


def _run(*command: object, at: Path = ROOT) -> None:
    done = subprocess.run([str(part) for part in command], cwd=at)
    if done.returncode:
        sys.exit(f"This failed with {done.returncode}: {' '.join(str(part) for part in command)}")


if __name__ == "__main__":
    main()
