"""Ctrl-C at any moment: a KeyboardInterrupt, soon, and never a SystemError or a crash."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kernelweave import MKLClassifier
from kernelweave.dual import SMO
from kernelweave.kernels import RBF

#: What is done again and again, and how often the signal comes.
WORK = {
    "fit": ("MKLClassifier(RBF(), C=1e3, tol=1e-9).fit(X, y)", 5),
    "terms": ("MKLClassifier(sum([RBF(g) for g in (0.01, 0.1, 1.0)], Linear()), solver='silp').fit(X, y)", 2),
    "predict": ("model.decision_function(many)", 5),
    "vocabulary": ("Mismatch(5, 1)(words)", 2),
    "matrix": ("WeightedDegree(degree=8)(words)", 2),
    "places": ("Oligo(3)(words[:60])", 2),
    "sequences": ("MKLClassifier(Spectrum(4), dual='coordinate').fit(words, labels)", 2),
    "scan": ("list(scan_file(scanned, genome))", 3),
    "bootstraps": ("refit(); assert 'interrupted' in refit.note; raise KeyboardInterrupt", 3),
    "features": ("two_arrays(20_000_000)", 2),
}
#: Seconds after which an interrupt counts as not heard. The aim is one; a busy machine is given more.
GUARD = 10.0

SCRIPT = """
import sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from kernelweave import MKLClassifier
from kernelweave._fast import jit
from kernelweave.explain import stability
from kernelweave.kernels import *
from kernelweave.scan import scan_file

def two_arrays(n):
    total = 0.0
    for i in range(n):
        total = np.sin(total + i)
    return np.full(3, total), np.zeros(2)

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 5)); y = np.sign(rng.standard_normal(600))
many = rng.standard_normal((20000, 5))
words = ["".join(row) for row in rng.choice(list("ACGT"), (400, 120))]
labels = np.sign(rng.standard_normal(400))
if "NAME" == "predict":
    model = MKLClassifier(RBF()).fit(X, y)
two_arrays = jit(two_arrays)  # compiled where it is first called
genome = sys.argv[2]
if "NAME" == "scan":
    scanned = MKLClassifier(WeightedDegree(degree=8)).fit(words, labels)
    with open(genome, "w") as file:
        file.write(">chromosome\\n" + "".join(rng.choice(list("ACGT"), 200_000)) + "\\n")

kernel_machine = MKLClassifier(RBF() + Linear()).fit(X, y) if "NAME" == "bootstraps" else None

def refit():  # which takes an interrupt as the wish to see what there is
    refit.note = stability(kernel_machine, X, y, n_bootstrap=999, n_permutations=0).note

def work():
    WORK

if "NAME" != "bootstraps":
    work()  # compiles what it needs
for _ in range(int(sys.argv[1])):
    try:
        print("begin", flush=True)
        while True:
            work()
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), flush=True)
"""


def listening(command):
    """Start a process that hears Ctrl-C, whoever started us; it is killed if it does not end."""
    reset = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, preexec_fn=reset, **pipes)
    watchdog = threading.Timer(120.0, process.kill)
    watchdog.daemon = True
    watchdog.start()
    return process, watchdog


@pytest.mark.parametrize("name", WORK)
def test_row_10_ctrl_c_is_heard_in_every_phase(name, tmp_path):
    rng = np.random.default_rng(sum(map(ord, name)))
    work, times = WORK[name]
    script = tmp_path / "work.py"  # compiled functions are kept beside their file
    script.write_text(SCRIPT.replace("WORK", work).replace("NAME", name))
    process, watchdog = listening([sys.executable, str(script), str(times), str(tmp_path / "genome.fa")])
    delays = []
    for _ in range(times):
        line = process.stdout.readline()
        assert line == "begin\n", line + process.stderr.read()
        time.sleep(rng.uniform(0.01, 0.4))  # the work goes on until the signal comes, however long that takes
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        word, _, heard = process.stdout.readline().partition(" ")
        assert word == "interrupted", process.stderr.read()
        delays.append(float(heard) - sent)
    _, err = process.communicate()
    watchdog.cancel()
    print(f"{name}: heard after {max(delays):.3f} s at most")
    assert process.returncode == 0, err
    assert "SystemError" not in err
    assert min(delays) > 0
    assert max(delays) < GUARD


#: Where the command is when the signal comes: the function that says so, just before it does its work.
PHASES = {"preparation": ("kernelweave.estimators.base", "prepare_terms"), "solving": ("kernelweave.dual.SMO", "step")}

COMMAND = """
import pkgutil, sys
owner, name = pkgutil.resolve_name(sys.argv.pop(1)), sys.argv.pop(1)
real = getattr(owner, name)

def announced(*args, **options):
    print("here", flush=True)
    while True:  # again and again, so that the signal finds it at work
        real(*args, **options)

setattr(owner, name, announced)
from kernelweave.cli import main
main()
"""


@pytest.mark.parametrize("phase", PHASES)
def test_row_10_the_command_ends_with_130_in_every_phase(phase, tmp_path):
    rng = np.random.default_rng(len(phase))
    table, model = tmp_path / "t.csv", tmp_path / "m.kw"
    X = np.round(rng.standard_normal((400, 5)), 3)
    rows = [",".join(map(str, row)) + f",{label}" for row, label in zip(X, rng.choice(["a", "b"], 400), strict=True)]
    table.write_text("\n".join(["a,b,c,d,e,target", *rows]) + "\n")
    options = ["fit", str(table), "--target", "target", "--kernel", "RBF(0.1) + RBF(1.0)", "--output", str(model)]
    process, watchdog = listening([sys.executable, "-c", COMMAND, *PHASES[phase], *options])
    assert "here\n" in iter(process.stdout.readline, ""), process.stderr.read()
    time.sleep(rng.uniform(0.01, 0.4))
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    delay = time.monotonic() - sent
    watchdog.cancel()
    print(f"{phase}: ended after {delay:.3f} s")
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert delay < GUARD
    assert not model.exists()


def test_row_10_an_interrupt_of_a_fit_that_is_good_enough_already_is_not_lost(monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((200, 5)), np.repeat([1, -1], 100)
    step = SMO.step

    def interrupted_when_good(self, machine, K, state, effort):
        if state.certified(machine).gap <= 1e-3:
            raise KeyboardInterrupt
        return step(self, machine, K, state, effort)

    monkeypatch.setattr(SMO, "step", interrupted_when_good)
    model = MKLClassifier(RBF(), C=1e3)
    with pytest.raises(KeyboardInterrupt, match="the model is usable"):
        model.fit(X, y)
    assert model.converged_
    assert model.gap_ <= 1e-3


def forever(spin, timer):
    timer.start()
    while True:
        spin(1_000_000)


def test_a_compiled_call_finishes_before_a_handler_raises():
    from kernelweave._fast import jit

    @jit
    def spin(n):
        total = 0.0
        for i in range(n):
            total = np.sin(total + i)
        return np.full(2, total), np.zeros(2)

    spin(1)
    before = signal.getsignal(signal.SIGINT)
    heard = []

    def handler(number, frame):
        heard.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)
    try:
        for _ in range(3):
            timer = threading.Timer(0.01, signal.raise_signal, [signal.SIGINT])
            with pytest.raises(KeyboardInterrupt):
                forever(spin, timer)
            timer.join()
            assert signal.getsignal(signal.SIGINT) is handler
        assert heard == [signal.SIGINT] * 3
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("inside", [False, True])
def test_behind_a_gate_a_compiled_call_finishes_before_a_handler_raises(inside):
    from kernelweave._fast import interrupts, jit

    @jit
    def twice(x):
        return np.full(2, x), np.zeros(2)

    class Pressed:
        """An argument that presses Ctrl-C while Numba looks at what it is."""

        @property
        def _numba_type_(self):
            seen.append(signal.getsignal(signal.SIGINT))
            signal.raise_signal(signal.SIGINT)
            after.append("went on")
            raise AttributeError("no number")  # of others Python 3.13 prints a report

    seen, after, heard = [], [], []

    def handler(number, frame):
        heard.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        with interrupts.gated():
            assert signal.getsignal(signal.SIGINT) is not handler
            with interrupts.gated():  # one is enough
                twice(1.0)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)  # between two calls it is heard at once
            if inside:  # somebody puts another handler there: then every call waits by itself
                signal.signal(signal.SIGINT, handler)
            with pytest.raises(KeyboardInterrupt):
                twice(Pressed())
            assert set(after) == {"went on"}  # Numba looks more than once
            assert handler not in seen
        assert signal.getsignal(signal.SIGINT) is handler
        assert heard == [signal.SIGINT] * 2
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_is_put_back_after_the_gate_is_gone_interrupts():
    from kernelweave._fast import interrupts

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interrupts.gated():
            kept = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, kept)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupting(monkeypatch):
    """Let a function press Ctrl-C when it is called for the n-th time."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(owner, name, at=1):
        real, calls = getattr(owner, name), []

        def pressed(*args, **options):
            calls.append(name)
            if len(calls) == at:
                signal.raise_signal(signal.SIGINT)
            return real(*args, **options)

        monkeypatch.setattr(owner, name, pressed)
        return calls

    yield interrupt
    signal.signal(signal.SIGINT, before)


KEPT = """
from kernelweave._fast import jit

@jit
def double(x):
    return x + x
"""


def loaded(path):
    """Return the function of a file, as a later process would: with nothing compiled yet."""
    space = {"__name__": "kept", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["double"]


@pytest.mark.parametrize("name", ["_load_index", "_load_data"])
def test_a_function_is_read_from_its_file_before_an_interrupt_is_heard(name, interrupting, tmp_path):
    from kernelweave._fast.kept import CheckedFiles

    path = tmp_path / "kept.py"
    path.write_text(KEPT)
    assert loaded(path)(1.0) == 2.0
    again = loaded(path)
    calls = interrupting(CheckedFiles, name)
    with pytest.raises(KeyboardInterrupt):
        again(1.0)
    assert calls
    assert again.stats.cache_hits, "it was read all the same"
    assert again(1.0) == 2.0


@pytest.mark.parametrize("at", [1, 5, 20])
def test_a_compiler_hears_an_interrupt_between_two_passes(at, interrupting, tmp_path):
    from numba.core.compiler_machinery import PassManager

    path = tmp_path / "kept.py"
    path.write_text(KEPT)
    double = loaded(path)
    calls = interrupting(PassManager, "_runPass", at)
    with pytest.raises(KeyboardInterrupt):
        double(1.0)
    assert len(calls) == at, "it did not go on"
    assert not double.signatures
    assert double(1.0) == 2.0


#: Ctrl-C comes when this module is imported for the first time; the same is then tried again.
IMPORT = """
import signal, sys
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE and self in sys.meta_path:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
X, y = np.random.default_rng(0).standard_normal((20, 2)), np.repeat([1, -1], 10)

def work():
    from kernelweave import MKLClassifier
    from kernelweave.kernels import RBF
    return MKLClassifier(RBF()).fit(X, y).converged_

try:
    work()
except KeyboardInterrupt:
    print("interrupted")
print(work())
"""


@pytest.mark.parametrize("module", ["numba.core.types", "numba.core.registry"])
def test_row_10_numba_survives_an_interrupt_of_its_import(module):
    script = IMPORT.replace("MODULE", repr(module))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "interrupted\nTrue\n", done.stdout + done.stderr
