"""Ctrl-C at any moment: a KeyboardInterrupt, soon, and never a SystemError or a crash."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

#: What is done again and again until the signal comes.
WORK = {
    "fit": "MKLClassifier(RBF(), C=1e3, tol=1e-9).fit(X, y)",
    "terms": "MKLClassifier(sum([RBF(g) for g in (0.01, 0.1, 1.0)], Linear()), solver='silp').fit(X, y)",
    "predict": "model.decision_function(many)",
    "vocabulary": "Mismatch(5, 1)(words)",
    "matrix": "WeightedDegree(degree=8)(words)",
    "sequences": "MKLClassifier(Spectrum(4), dual='coordinate').fit(words, labels)",
    "features": "two_arrays(20_000_000)",
}

SCRIPT = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from kernelweave import MKLClassifier
from kernelweave._fast import jit
from kernelweave.kernels import *

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
model = MKLClassifier(RBF()).fit(X, y)
two_arrays = jit(two_arrays)  # compiled where it is first called

def work():
    WORK

work()
print("ready", flush=True)
try:
    while True:
        work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@pytest.mark.parametrize("name", WORK)
def test_row_10_ctrl_c_is_heard_in_every_phase(name, tmp_path):
    rng = np.random.default_rng(sum(map(ord, name)))
    reset = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    script = tmp_path / "work.py"  # compiled functions are kept beside their file
    script.write_text(SCRIPT.replace("WORK", WORK[name]))
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=reset
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    threading.Timer(float(rng.uniform(0.01, 0.4)), process.send_signal, [signal.SIGINT]).start()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == "interrupted\n"
    assert "SystemError" not in err


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
