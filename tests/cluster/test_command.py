"""--engine in the terminal: files that only workers see, and how rounds are shown."""

import io
import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from kernelweave import load
from kernelweave.cli.app import cli
from kernelweave.datasets import make_splice_sites

FIT = ["--kernel", "WeightedDegree(degree=4) + Spectrum(k=3)", "--C", "1"]


@pytest.fixture
def kw():
    """Run a command in this process; `code` is the exit code that is expected."""

    def run(*arguments, code=0):
        result = CliRunner().invoke(cli, [str(a) for a in arguments])
        assert result.exit_code == code, result.stderr or result.stdout
        return result

    return run


@pytest.fixture
def far(tmp_path, kw):
    """A folder with shards and their labels, and the files of a master that sees them: model and scores."""
    folder, here = tmp_path / "far", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    X, y = make_splice_sites(300, window=60, positives=0.4, random_state=0)
    with open(here / "x.fa", "w") as file:
        file.writelines(f">s{i} label={label}\n{text}\n" for i, (text, label) in enumerate(zip(X, y, strict=True)))
    kw("convert", here / "x.fa", "--shards", 3, "--output", folder / "w.kwseq")
    names = sorted(str(path) for path in folder.glob("*.kwseq"))
    kw("fit", *names, *FIT, "--engine", "threads:2", "--output", here / "near.kw")
    scores = kw("predict", here / "near.kw", *names).stdout
    return folder, here, scores


def test_files_that_only_workers_see(client, workers, far, hide, kw, tmp_path):
    folder, here, wanted = far
    address, pattern = f"dask:{client.scheduler.address.removeprefix('tcp:')}", folder / "w.*.kwseq"
    (here / "scheduler.json").write_text(json.dumps({"address": client.scheduler.address}))
    hide(folder)
    kw("fit", folder / "w.00.kwseq", *FIT, "--output", here / "no.kw", code=5)
    told = json.loads(kw("fit", pattern, *FIT, "--engine", address, "--output", here / "far.kw", "--json").stdout)
    assert told["n_samples"] == 300
    one, two = load(here / "near.kw"), load(here / "far.kw")
    assert np.array_equal(one.dual_coef_, two.dual_coef_)
    assert (one.objective_, one.gap_) == (two.objective_, two.gap_)
    assert kw("predict", here / "far.kw", pattern, "--engine", address).stdout == wanted
    by_file = ["--engine", "dask", "--scheduler-file", here / "scheduler.json"]
    assert kw("predict", here / "far.kw", pattern, *by_file).stdout == wanted


def test_files_that_no_worker_sees(client, workers, tmp_path, kw):
    address = f"dask:{client.scheduler.address.removeprefix('tcp:')}"
    said = kw("fit", tmp_path / "w.*.kwseq", *FIT, "--engine", address, "--output", tmp_path / "m.kw", code=3).stderr
    assert "No file is called" in said
    assert "Worker" in said
    assert list(tmp_path.iterdir()) == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("engine", ["threads:2", "dask"])
def test_rounds_are_shown_on_a_terminal_only(client, workers, far, kw, monkeypatch, engine):
    folder, here, _ = far
    names = sorted(folder.glob("*.kwseq"))
    address = f"dask:{client.scheduler.address.removeprefix('tcp:')}"
    call = ["fit", *names, *FIT, "--engine", address if engine == "dask" else engine, "--force-new", "--output"]
    assert "answered" not in kw(*call, here / "silent.kw").stderr
    from kernelweave.cli import console

    seen, terminal, plain = [], Terminal(), console.round_bar
    monkeypatch.setattr(console, "round_bar", lambda shown: plain(Heard(shown, seen)))
    monkeypatch.setattr(console.sys, "stderr", terminal)
    from kernelweave.cli.fit import TrainingRun

    said = TrainingRun.train
    monkeypatch.setattr(TrainingRun, "train", lambda self: on_terminal(terminal, said, self))
    kw(*call, here / "told.kw")
    rounds = [text for text in seen if text]
    assert rounds
    assert all(text.startswith("Round ") and "answered" in text for text in rounds)
    assert any("3 of 3 answered" in text for text in rounds)
    assert all(("2 workers" in text and " sent" in text) == (engine == "dask") for text in rounds)


def on_terminal(terminal, train, run):
    before, sys.stderr = sys.stderr, terminal  # the runner has put its own in its place
    try:
        train(run)
    finally:
        sys.stderr = before


class Heard:
    """Lines of progress, whose texts are kept."""

    def __init__(self, shown, texts):
        self.shown, self.texts = shown, texts

    def add_task(self, *given, **options):
        return self.shown.add_task(*given, **options)

    def update(self, task, **given):
        self.texts.append(given.get("description"))
        self.shown.update(task, **given)
