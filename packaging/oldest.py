"""Print constraints that install the oldest versions which pyproject.toml allows: python packaging/oldest.py."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What tests bring along, as old as the oldest dependencies: these do not know newer tables.
COMPANIONS = ["pandas>=2.2", "pyparsing>=3.1"]


def oldest(requirements: list[str]) -> list[str]:
    """Return ``name==version`` for every requirement that has a lower limit."""
    found = [re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", one) for one in requirements]
    return [f"{match[1]}=={_full(match[2])}" for match in found if match]


def _full(version: str) -> str:
    """Return a version as releases are numbered: 2.0 is 2.0.*, the newest of its line."""
    return version if version.count(".") >= 2 else f"{version}.*"


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for some in project["optional-dependencies"].values() for one in some]
    print("\n".join(oldest(project["dependencies"] + extras + COMPANIONS)))
