"""Write docs/reference/faults.md, the list of faults with the tests that show them: python docs/make_faults.py."""

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
#: Number, what goes wrong, what then happens.
ROWS = [
    line.split(" | ") for line in (HERE / "faults.txt").read_text(encoding="utf-8").splitlines() if line[:1].isdigit()
]
HEAD = """# Faults and bad input

For anyone who wants to know what happens when something goes wrong. Every fit ends, says how far from the optimum it
stopped, and can be gone on from; bad input is an error that names the record and the remedy; no partial file is left.
Each row is shown by the tests named beside it. This page is written by `docs/make_faults.py`.

| # | what goes wrong | what happens | shown by |
|---|---|---|---|
"""


def tests_by_row() -> dict[int, list[str]]:
    """Return the tests whose names begin with the number of a row: test_row_33_..., test_rows_38_39_..."""
    found: dict[int, list[str]] = {}
    for path in sorted((HERE.parent / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = re.match(r"test_rows?_((?:\d+_)+)", getattr(node, "name", None) or "")
            if isinstance(node, ast.FunctionDef) and named:
                for number in named[1].strip("_").split("_"):
                    found.setdefault(int(number), []).append(f"{path.relative_to(HERE.parent / 'tests')}::{node.name}")
    return found


def page() -> str:
    """Return the whole page."""
    tests = tests_by_row()
    lines = [
        f"| {number} | {fault} | {then} | {'<br>'.join(f'`{name}`' for name in tests.get(int(number), ['–']))} |"
        for number, fault, then in ROWS
    ]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    (HERE / "reference" / "faults.md").write_text(page(), encoding="utf-8")
