"""Write packaging/locked.txt, the versions that this environment has of all that contributors need.

python packaging/lock.py                                               after `make test lint types docs bench`
pip install --editable . --group dev --constraint packaging/locked.txt  the same versions elsewhere
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
HEAD = "# Versions that were tried together; written by packaging/lock.py.\n"


def wanted() -> list[str]:
    """Return the requirements of the project, of its extras, and of the groups that contributors use."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    named = [one["include-group"] for one in groups["dev"]]
    extras = [one for some in project["project"]["optional-dependencies"].values() for one in some]
    return project["project"]["dependencies"] + extras + [one for name in named for one in groups[name]]


def installed(requirements: list[str]) -> dict[str, str]:
    """Return the versions of these and of all that they need, as far as they are installed here."""
    found: dict[str, str] = {}
    left = list(requirements)
    while left:
        one = Requirement(left.pop())
        name = canonicalize_name(one.name)
        if name in found or (one.marker and not any(one.marker.evaluate({"extra": e}) for e in one.extras or {""})):
            continue
        try:
            there = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = re.sub(r"\+.*", "", there.version)
        left += [need for need in there.requires or [] if "extra ==" not in need]
    return found


if __name__ == "__main__":
    lines = [f"{name}=={version}" for name, version in sorted(installed(wanted()).items())]
    (ROOT / "packaging" / "locked.txt").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} versions in packaging/locked.txt")
