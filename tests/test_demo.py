"""The demonstration: the data that come with it are the data that it says they are."""

import gzip
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np

from kernelweave.datasets import make_splice_sites
from kernelweave.demo import N_TEST, N_WINDOWS, SITE, WINDOW, read_windows

sys.path.insert(0, str(Path(__file__).parent / "data"))


def test_windows_are_those_that_the_generator_makes():
    import make_windows

    packed = (files("kernelweave") / "data" / "splice_sites.fa.gz").read_bytes()
    assert gzip.decompress(packed).decode("ascii") == make_windows.windows()
    assert packed[4:8] == bytes(4), "the same windows give the same file, whenever it is written"


def test_windows_are_read_as_they_were_made():
    X, names, y = read_windows()
    made, labels = make_splice_sites(N_WINDOWS + N_TEST, window=WINDOW, site=SITE, positives=0.2, random_state=0)
    assert made == X
    assert np.array_equal(y, labels)
    assert names == [f"window{i + 1}" for i in range(N_WINDOWS + N_TEST)]
