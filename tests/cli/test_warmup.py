"""Compiling beforehand: what is compiled is counted and named, and a second time there is nothing left."""

import sys

import pytest
from click.testing import CliRunner

from kernelweave.cli.app import cli
from kernelweave.cli.console import compile_bar
from kernelweave.cli.warmup import PATHS


def test_every_path_runs_and_leaves_nothing_to_compile():
    run = CliRunner().invoke(cli, ["warmup"], catch_exceptions=False)
    assert [line.split()[0] for line in run.stdout.splitlines()] == list(PATHS)
    again = CliRunner().invoke(cli, ["warmup", "scan"], catch_exceptions=False)
    assert again.stdout.startswith("scan     all was compiled already, ")


def test_an_unknown_path_is_told_which_there_are():
    run = CliRunner().invoke(cli, ["warmup", "genes"])
    assert run.exit_code == 2
    assert all(name in run.stderr for name in PATHS)


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_compiled_is_named(terminal, monkeypatch, capsys):
    from numba import njit

    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    compiled = []
    with compile_bar("table", compiled):
        assert njit(lambda x: x + 1)(1) == 2
    assert compiled == ["test_warmup.<lambda>"]
    njit(lambda x: x + 2)(1)
    assert len(compiled) == 1, "nobody listens any more"
