"""What a fit says that it will take is what it takes, for every way to hold a kernel."""

import subprocess
import sys
from pathlib import Path

import pytest

MEMORY = Path(__file__).parents[2] / "benchmarks" / "memory.py"
#: Samples: so many that the process's own memory moves by far less than a fifth of theirs.
N = 2500


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize(
    "plan",
    ["double", "double, three terms", "double, all samples", "single", "single, three terms", "words in place"],
)
def test_the_peak_is_what_was_printed(plan):
    done = subprocess.run([sys.executable, MEMORY, "one", str(N), plan], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    printed, measured = map(float, done.stdout.split()[-4:-2])
    assert 0.8 * printed <= measured <= 1.2 * printed, done.stdout
