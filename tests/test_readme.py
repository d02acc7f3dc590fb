"""The README's snippets and the commands of the documentation run as printed, and links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelweave import load
from kernelweave.cli.app import cli

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
COMMANDS = ROOT / "docs" / "reference" / "command_line.md"


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


def commands(path):
    """The lines of every ```sh block."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def run(line):
    """Run a line as a shell would; what is piped into another program is only looked at."""
    words = shlex.split(line, comments=True)
    end = next((i for i, word in enumerate(words) if word in (">", "|")), len(words))
    assert words[0] == "kernelweave"
    result = CliRunner().invoke(cli, words[1:end], catch_exceptions=False)
    assert result.exit_code == 0, f"{line}\n{result.stderr}"
    if words[end : end + 1] == [">"]:
        Path(words[end + 1]).write_text(result.stdout, encoding="utf-8")
    return result.stdout


def test_commands_run_as_printed(tmp_path, monkeypatch):
    """One test, because the demonstration that makes the data takes seconds: both pages begin with it."""
    monkeypatch.chdir(tmp_path)
    readme, page = commands(README), commands(COMMANDS)
    assert readme[0] == page[0] == "kernelweave demo"
    told = run(readme[0])
    for words in ("Where to look next", "auROC", "lower bound", "demo_output/sites.html"):
        assert words in told
    for name in ("sites.kw", "sites.html", "table.kw", "table.html", "sites_train.fa", "table_test.csv"):
        assert (tmp_path / "demo_output" / name).stat().st_size > 1000
    weights = load("demo_output/table.kw").weights_
    assert set(weights.argsort()[-2:]) == {1, 2}  # the two terms that made the data
    for line in readme[1:] + page[1:]:
        run(line)
    assert len((tmp_path / "scores.tsv").read_text().splitlines()) == 1001
    for name in ("importance/kmers.tsv", "hits.bed", "sites.html", "other.toml"):
        assert (tmp_path / name).exists()


def test_there_are_snippets():
    assert len(snippets()) >= 4


def links():
    for path in (README, COMMANDS):
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
            yield pytest.param(path.parent / target, id=f"{path.name}: {target}")


@pytest.mark.parametrize("target", list(links()))
def test_link_leads_somewhere(target):
    assert target.exists()


def test_picture_is_small():
    assert (ROOT / "docs" / "_static" / "learned.png").stat().st_size < 150_000


def test_the_walk_along_a_genome(tmp_path, monkeypatch):
    """The page on genomes begins with Python, goes on in the shell, and ends in Python."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "tutorials" / "genomes.md"
    make, use = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(make, {"__name__": "__page__"})
    for line in commands(page):
        run(line)
    exec(use, {"__name__": "__page__"})
    assert {"small.html", "scored.vcf.gz", "importance", "modisco"} <= {path.name for path in tmp_path.iterdir()}
