"""A share of the fuzzing in every run of the tests; `make fuzz` does more of it."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
#: Inputs of every format, so that all of them together take well under a minute.
INPUTS = 300
FAILURES = ("different", "traceback", "crash", "hang", "memory")

pytestmark = pytest.mark.skipif(importlib.util.find_spec("resource") is None, reason="limits of memory need Unix")


def fuzz(folder, *arguments):
    command = [sys.executable, str(folder / "run.py"), "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_no_input_does_harm():
    table = fuzz(FUZZ, "--inputs", str(INPUTS))
    assert len(table) >= 14
    for name, counts in table.items():
        assert counts.pop("failures") == {}, name
        assert sum(counts.values()) == INPUTS
        assert not set(counts) & set(FAILURES)
        assert counts["clean"] > 0, name


#: A reader for every kind of failure, which fails on all but its seed.
FAULTS = """
import os
FAULTS = {
    "traceback": "raise KeyError('bug')",
    "crash": "os.kill(os.getpid(), 11)",
    "hang": "while True: pass",
    "memory": "bytearray(1 << 30)",
    "different": "assert False, 'another result'",
    "clean": "open('/nowhere')",
}
class Target:
    sealed = False
    def __init__(self, code):
        self.code = compile(code, "fault", "exec")
    def seeds(self):
        return [b"seed"]
    def change(self, data, rng, others):
        return data[:-1]
    def use(self, path, number):
        if os.path.getsize(path) < 4:
            exec(self.code)
CLEAN, TARGETS = (OSError,), {name: Target(code) for name, code in FAULTS.items()}
"""


def test_the_harness_sees_every_kind_of_failure(tmp_path):
    for name in ("run.py", "worker.py"):
        text = (FUZZ / name).read_text()
        (tmp_path / name).write_text(text.replace("CPU_SECONDS, SECONDS = 10.0", "CPU_SECONDS, SECONDS = 0.3"))
    (tmp_path / "targets.py").write_text(FAULTS)
    table = fuzz(tmp_path, "--inputs", "2")
    assert list(table) == ["traceback", "crash", "hang", "memory", "different", "clean"]
    for kind, counts in table.items():
        lines = list(counts.pop("failures").values())
        assert counts == {kind: 2}
        assert len(lines) == (kind != "clean")
        for line in lines:  # python fuzz/run.py --input FILE NUMBER TARGET
            assert Path(line.split()[3]).read_bytes() == b"see"
