"""Small files, and the command as a function."""

import numpy as np
import pytest
from click.testing import CliRunner

from kernelweave.cli.app import cli


def dna(rng, n, motif=""):
    letters = rng.choice(list("ACGT"), size=(n, 24))
    if motif:
        letters[:, 8 : 8 + len(motif)] = list(motif)
    return ["".join(row) for row in letters]


def write_fasta(path, rows, prefix, field=""):
    path.write_text("".join(f">{prefix}{i}{field}\n{row}\n" for i, row in enumerate(rows)), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with data of every kind; it is the current one."""
    rng = np.random.default_rng(0)
    write_fasta(tmp_path / "pos.fa", dna(rng, 25, "GATTAC"), "p")
    write_fasta(tmp_path / "neg.fa", dna(rng, 35), "n")
    write_fasta(tmp_path / "new.fa", dna(rng, 4, "GATTAC") + dna(rng, 4), "x")
    age, gc = rng.normal(50, 10, 60).round(2), rng.random(60).round(3)
    utr = dna(rng, 60)
    outcome = np.where(age > 50, "ill", "well")
    rows = zip(range(60), age, gc, utr, outcome, strict=True)
    text = "name,age,gc,utr,outcome\n" + "".join(f"r{i},{a},{g},{u},{o}\n" for i, a, g, u, o in rows)
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    lines = (f"{1 if a > 50 else -1} 1:{(a - 50) / 10:.3f} 3:{g}\n" for a, g in zip(age, gc, strict=True))
    (tmp_path / "data.svm").write_text("".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kw():
    """Run a command in this process: kw("fit", "pos.fa", ...) -> result; `code` is the exit code that is expected."""

    def run(*arguments, code=0, stdin=None):
        result = CliRunner().invoke(cli, [str(a) for a in arguments], input=stdin, catch_exceptions=False)
        assert result.exit_code == code, result.stderr or result.stdout
        return result

    return run
