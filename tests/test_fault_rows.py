"""The list of faults in the documentation is the list of tests that show them."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def made():
    return runpy.run_path(str(DOCS / "make_faults.py"))


def test_the_page_is_up_to_date(made):
    kept = (DOCS / "reference" / "faults.md").read_text(encoding="utf-8")
    assert kept == made["page"](), "run python docs/make_faults.py"


def test_every_row_has_a_test(made):
    listed = {int(row[0]) for row in made["ROWS"]}
    assert listed >= set(range(16, 81))
    assert listed == set(made["tests_by_row"]())
