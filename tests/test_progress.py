"""FitProgress: callbacks hear of long fits often enough, and what they hear is true."""

import io
import math
import re
import sys

import numpy as np
import pytest

from kernelweave import RBF, Linear, MKLClassifier, MKLOneClass, MKLRegressor, Shards, Spectrum, progress
from kernelweave.cluster.base import RoundState
from kernelweave.datasets import make_splice_sites
from kernelweave.progress import FitProgress, printer, round_printer, seconds_left

KERNEL = RBF(0.2) + Linear() + RBF(2.0)
KEYS = {"iteration", "inside", "upper", "lower", "gap", "active", "support", "seconds", "seconds_left"}


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when it is told to."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


class State:
    """What `FitProgress` reads of a dual solver's state."""

    def __init__(self, upper=2.0, lower=1.0, coef=(0.0, 1.0, 0.0), active=None):
        self.upper, self.lower, self.coef, self.active = upper, lower, np.array(coef), active


# -- what a fit tells --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MKLClassifier(KERNEL), MKLRegressor(KERNEL), MKLOneClass(KERNEL)])
def test_every_estimator_tells_what_it_does(model, blobs, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    told = []
    model.set_params(tol=1e-6).fit(*blobs, callback=told.append)
    assert all(entry.keys() >= KEYS for entry in told)
    after = [entry for entry in told if not entry["inside"]]
    assert [entry["iteration"] for entry in after] == list(range(1, model.n_iter_ + 1))
    for entry, known in zip(after, model.history_, strict=True):
        assert all(entry[key] == known[key] for key in ("upper", "lower", "gap", "n_solves"))
    assert after[-1]["gap"] == pytest.approx(model.gap_)
    assert after[-1]["support"] == len(model.support_)
    assert len(after) < len(told), "it is heard from inside, too"
    seconds = [entry["seconds"] for entry in told]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("solver", ["silp", "hessian", "simple"])
def test_bounds_from_inside_are_bounds(solver, blobs, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    told = []
    model = MKLClassifier(KERNEL, solver=solver, tol=1e-6).fit(*blobs, callback=told.append)
    assert any(entry["inside"] and entry["iteration"] > 1 for entry in told)
    slack = 1e-9 * model.objective_
    for entry in told:
        assert entry["upper"] >= model.lower_bound_ - slack
        assert entry["lower"] <= model.objective_ + slack
        assert entry["gap"] == math.inf or 0 <= entry["gap"] <= 1 + 1e-12


def test_one_kernel_knows_its_gap_from_inside(blobs, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    told = []
    MKLClassifier(RBF(0.5), tol=1e-8).fit(*blobs, callback=told.append)
    inside = [entry["gap"] for entry in told if entry["inside"]]
    assert len(inside) > 1
    assert math.isfinite(inside[0])
    assert inside[-1] < inside[0]


def test_several_problems_are_numbered(blobs):
    X, y = blobs
    told = []
    MKLClassifier(KERNEL, weights="per_class").fit(X, (y > 0).astype(int) + (X[:, 0] > 1), callback=told.append)
    assert {entry["problem"] for entry in told} == {0, 1, 2}
    assert {entry["n_problems"] for entry in told} == {3}


def test_an_error_in_a_callback_is_not_swallowed(blobs):
    def broken(entry):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        MKLClassifier(KERNEL).fit(*blobs, callback=broken)


# -- what is told, and when --------------------------------------------------------------------------------------------


def test_calls_from_inside_are_throttled(clock):
    told = []
    progress = FitProgress([told.append], 1e-3)
    progress.begin(0, 1, True)
    for _ in range(1000):  # ten seconds, a step every hundredth of a second
        progress.inside(0, State(), np.ones(1))
        clock[0] += 0.01
    assert 20 <= len(told) <= 50


def test_entries_from_inside(clock):
    told = []
    run = FitProgress([told.append], 1e-3)
    run.begin(0, 2, False)
    run.inside(0, State(active=7), np.ones(2))
    clock[0] += 1.0
    run.inside(1, State(coef=(1.0, 0.0, 0.0), active=9), np.ones(2))
    assert [entry["upper"] for entry in told] == [math.inf, 4.0], "all machines together make a bound"
    assert [entry["lower"] for entry in told] == [-math.inf, -math.inf], "at weights that may change there is none"
    assert [entry["active"] for entry in told] == [7, 9]
    assert [entry["support"] for entry in told] == [1, 2]
    assert [entry["seconds"] for entry in told] == [0.0, 1.0]
    clock[0] += 1.0
    run.inside(0, State(), np.array([0.5, 1.5]))
    assert told[-1]["upper"] == math.inf, "at other weights, everything begins anew"


def test_seconds_left_follow_the_line():
    for start, rate, done in ((0.0, 0.5, 6.0), (3.0, 2.0, 1.0), (0.0, 0.01, 10.0)):
        trend = [(t, start - rate * t) for t in np.linspace(0.0, done, 9)]
        end = (start - math.log(1e-3)) / rate
        assert seconds_left(trend, 1e-3) == pytest.approx(max(0.0, end - done))


@pytest.mark.parametrize(
    "trend",
    [[], [(0.0, 0.0), (1.0, -1.0)], [(t, 0.1 * t) for t in range(9)], [(1.0, -1.0)] * 5, [(t, 0.0) for t in range(9)]],
)
def test_seconds_left_are_not_made_up(trend):
    assert seconds_left(trend, 1e-3) is None


def test_seconds_left_end_at_zero():
    assert seconds_left([(0.0, -6.0), (1.0, -6.5), (2.0, -7.0)], 1e-3) == 0.0


# -- lines -------------------------------------------------------------------------------------------------------------


def test_verbose_writes_a_line_per_iteration(blobs, capsys):
    model = MKLClassifier(KERNEL, verbose=1).fit(*blobs)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].split() == ["iteration", "upper", "lower", "gap", "seconds"]
    assert [int(line.split()[0]) for line in lines[1:]] == list(range(1, model.n_iter_ + 1))
    assert re.search(r"\d\.\d\de-\d\d", lines[-1])


def test_the_library_does_not_print(blobs, capsys):
    MKLClassifier(KERNEL).fit(*blobs, callback=lambda entry: None)
    assert capsys.readouterr() == ("", "")


def test_long_iterations_get_a_line_now_and_then(capsys):
    write = printer(1)
    for second in range(21):
        write({"iteration": 1, "inside": True, "upper": 2.0, "lower": 1.0, "gap": 0.5, "seconds": float(second)})
    lines = capsys.readouterr().err.splitlines()
    assert [float(line.split()[-1]) for line in lines[1:]] == [5.0, 10.0, 15.0, 20.0]


def test_verbose_zero_is_nobody():
    assert printer(0) is None
    assert round_printer(0) is None


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_rounds_have_one_line_on_a_terminal_which_is_gone_after_them(clock, monkeypatch):
    assert round_printer(1) is None, "this is no terminal"
    monkeypatch.setattr(sys, "stderr", Terminal())
    write = round_printer(1)
    for done in range(5):
        write(RoundState(7, done, 4, 2, 1_500_000))
        clock[0] += 0.2  # told every 0.3 seconds, and when it is over
    lines = sys.stderr.getvalue().split("\r\x1b[2K")
    assert lines == [
        "",
        "round 7: 0 of 4 answered, 2 workers, 1.5 MB sent",
        "round 7: 2 of 4 answered, 2 workers, 1.5 MB sent",
        "",
    ]


def test_verbose_shows_the_rounds_of_an_engine_between_its_lines(monkeypatch, tmp_path):
    X, y = make_splice_sites(300, window=60, positives=0.4, random_state=0)
    shards = Shards.write(X, tmp_path / "w.kwseq", 3)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "EVERY", 0.0)
    MKLClassifier(Spectrum(k=3), C=1, verbose=1).fit(shards, y, engine="serial")
    said = sys.stderr.getvalue()
    assert "round 1: 1 of 3 answered\r\x1b[2K" in said
    shown = [line.rsplit("\r\x1b[2K", 1)[-1] for line in said.split("\n")]  # what is left on the terminal
    shown = [line for line in shown if not line.startswith("compiling")]
    assert shown[0].split() == ["iteration", "upper", "lower", "gap", "seconds"]
    assert not any("round" in line for line in shown)


def test_compiling_and_steps_are_told_on_one_clock():
    """What is compiled in the middle of a fit is told between the steps, not before the first one."""
    from kernelweave.estimators.listeners import Listeners

    told = []
    listeners = Listeners(None, [told.append])
    listeners.compiling("first.one")
    listeners.progress = progress.FitProgress(listeners.callbacks, 1e-3, began=listeners.made)
    listeners.progress.step({"iteration": 1, "upper": 1.0, "lower": 0.5, "gap": 0.5}, [])
    listeners.compiling("second.one")
    assert [entry["what"] for entry in told] == ["first.one", None, "second.one"]
    assert [entry["seconds"] for entry in told] == sorted(entry["seconds"] for entry in told)
