"""Compiled functions on disk: damaged ones are compiled anew, with one message."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import numpy as np, warnings
warnings.simplefilter("always")
from kernelweave._fast.packing import histogram
print(histogram(np.frombuffer(b"aab", np.uint8))[[97, 98]].tolist())
"""


def run(folder):
    """Use one compiled function in a process of its own, with its cache in a folder."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[2, 1]\n"
    return done.stderr


def kept(folder, ending):
    """The files of the function that is used."""
    (found,) = Path(folder).glob(f"**/packing._count-*{ending}")
    return found


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder with the compiled function in it."""
    folder = tmp_path_factory.mktemp("cache")
    assert run(folder) == ""
    return folder


def cut(data):
    return data[: len(data) // 2]


def flipped(data):
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


@pytest.mark.parametrize(("ending", "harm"), [("nbi", cut), ("nbc", cut), ("nbc", flipped)])
def test_damaged_files_are_compiled_anew_and_said_once(cache, ending, harm):
    path = kept(cache, ending)
    path.write_bytes(harm(path.read_bytes()))
    said = run(cache)
    assert said.count("UserWarning") == 1
    assert "was damaged, and is compiled anew" in said
    assert path.name in said
    assert run(cache) == ""  # what was compiled is kept again


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_no_failure(cache):
    kept(cache, "nbi").unlink()
    folder = kept(cache, "nbc").parent
    folder.chmod(0o500)
    try:
        assert "cannot be kept" in run(cache)
    finally:
        folder.chmod(0o700)
