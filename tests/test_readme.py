"""The README's snippets run as printed, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def snippets():
    """Every ```python block with its first line number, which names the test."""
    found = re.finditer(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    lined = [(block[1], TEXT.count("\n", 0, block.start(1)) + 1) for block in found]
    return [pytest.param(code, line, id=f"line {line}") for code, line in lined]


@pytest.mark.parametrize(("code", "line"), snippets())
def test_snippet_runs(code, line, capsys):
    # as many empty lines before, so that a traceback names the line of the README
    exec(compile("\n" * (line - 1) + code, str(README), "exec"), {"__name__": "__readme__"})
    assert capsys.readouterr().out.strip()


def test_there_are_snippets():
    assert len(snippets()) >= 4


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", TEXT))))
def test_link_leads_somewhere(target):
    assert (README.parent / target).exists()
