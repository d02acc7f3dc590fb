"""Light imports, pipes, signals, terminals and locales; in a process of its own where nothing else will do."""

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from kernelweave import load
from kernelweave.cli import console, fit
from kernelweave.io import read_fasta

HEAVY = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "pandas", "highspy", "rich")


def test_help_loads_nothing_heavy():
    commands = [
        ["--help"],
        ["--version"],
        *([name, "--help"] for name in ("fit", "predict", "scan", "kernels", "demo")),
    ]
    code = (
        f"import sys\nfrom kernelweave.cli.app import cli\nfor arguments in {commands!r}:\n"
        "    try:\n        cli.main(arguments)\n    except SystemExit as stop:\n        assert stop.code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.count("Examples:") >= 4


def test_rows_78_80_reader_that_goes_away(folder, kw):
    """`| head` ends a pipe early: no traceback, no failure; and neither locale nor FORCE_COLOR changes a byte."""
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)")
    rows = list(read_fasta("new.fa")[0]) * 600
    (folder / "big.fa").write_text("".join(f">s{i}\n{row}\n" for i, row in enumerate(rows)))
    odd = "LC_ALL=de_DE.UTF-8 FORCE_COLOR=1 OPENBLAS_NUM_THREADS=1"
    piped = f"env {odd} '{sys.executable}' -m kernelweave predict model.kw big.fa | head -2"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", piped], capture_output=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    head, first = done.stdout.decode().splitlines()
    assert head == "id\tscore\tclass"
    assert float(first.split("\t")[1]) == pytest.approx(load("model.kw").decision_function(rows[:1])[0])


@pytest.mark.skipif(not os.path.exists("/proc/self/syscall"), reason="only Linux says what a process waits for")
def test_row_10_interrupt_at_any_moment_is_130():
    command = [sys.executable, "-m", "kernelweave", "inspect", "-"]
    # a shell that starts jobs in the background lets them ignore Ctrl-C; what a terminal starts does not
    reset = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, preexec_fn=reset, **pipes) as process:
        process.stdin.write(">a\n")  # and then nothing: it waits for more
        process.stdin.flush()
        while _state(process.pid) != "S" or not _waits_for_input(process.pid):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read().strip() == "Interrupted."


def _state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def _waits_for_input(pid):
    with open(f"/proc/{pid}/syscall") as file:
        return file.read().startswith("0 0x0 ")  # read(0, ...)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_row_10_interrupted_training_leaves_a_checkpoint_and_goes_on(folder, kw, monkeypatch, number):
    kernel = "RBF(1.0).on('age') + Linear().on('gc') + Spectrum(k=2).on('utr')"
    table = ["fit", "table.csv", "--target", "outcome", "--id", "name", "--tol", "1e-6", "--kernel", kernel]
    before = signal.getsignal(number)

    @contextmanager
    def pressed(tol):
        yield lambda entry: os.kill(os.getpid(), number) if entry["iteration"] == 2 else None

    with monkeypatch.context() as patch:
        patch.setattr(fit, "gap_bar", pressed)
        result = kw(*table, "--output", "m.kw", code=130)
    assert "the same command goes on from m.kw.checkpoint" in result.stderr
    assert "Traceback" not in result.stderr
    assert "certificate" not in result.stdout
    assert sorted(name for name in os.listdir(folder) if "m.kw" in name) == ["m.kw.checkpoint"]
    assert "Going on from m.kw.checkpoint" in kw(*table, "--output", "m.kw").stderr
    kw(*table, "--output", "fresh.kw")
    assert load("m.kw").objective_ == pytest.approx(load("fresh.kw").objective_, rel=2e-6)
    assert signal.getsignal(number) is before


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("colour", "escapes"), [("", True), ("1", False)])
def test_row_78_colours_on_a_terminal_unless_they_are_not_wanted(monkeypatch, colour, escapes):
    monkeypatch.setenv("NO_COLOR", colour)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    console.console(stream).print(console.facts({"name": "text"}))
    assert ("\x1b" in stream.getvalue()) == escapes
    plain = io.StringIO()
    console.console(plain).print(console.facts({"name": "text", "long name": "x" * 500}))
    assert plain.getvalue() == f"name       text\nlong name  {'x' * 500}\n"


def test_row_78_bars_are_for_terminals(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with console.gap_bar(1e-3) as update:
        update({"iteration": 0, "gap": float("inf")})
        update({"iteration": 1, "gap": 0.1, "seconds_left": 90.0})
        update({"iteration": 2, "gap": 1e-4})
    assert "Step 2, gap 1.0e-04 of 1e-03" in stream.getvalue()
    with console.work_bar("Reading", "record") as progress:
        progress(3, 0.5)
        progress(1000, None)
    assert "Reading: 1,000 records" in stream.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with console.gap_bar(1e-3) as update, console.work_bar("Reading", "record") as progress:
        assert update is None
        progress(3, 0.5)
    assert sys.stderr.getvalue() == ""


def test_a_stream_that_was_closed_first_is_no_trouble():
    stream = io.StringIO()
    trimmed = console.Trimmed(stream)
    trimmed.write("a  \n")
    assert stream.getvalue() == "a\n"
    stream.close()
    trimmed.close()  # as Python does where it lets go of a stream; from 3.13 on it says what goes wrong there


def test_a_stream_is_left_open():
    stream = io.StringIO()
    console.Trimmed(stream).close()
    assert not stream.closed
