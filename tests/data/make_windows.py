"""Write the windows that come with the package: python tests/data/make_windows.py src/kernelweave/data."""

import gzip
import sys
from pathlib import Path

from kernelweave.datasets import make_splice_sites
from kernelweave.demo import N_TEST, N_WINDOWS, SITE, WINDOW, fasta


def windows():
    """The text of the file."""
    n = N_WINDOWS + N_TEST
    X, y = make_splice_sites(n, window=WINDOW, site=SITE, positives=0.2, random_state=0)
    return fasta([f"window{i + 1}" for i in range(n)], X, y)


if __name__ == "__main__":
    packed = gzip.compress(windows().encode("ascii"), mtime=0)
    (Path(sys.argv[1]) / "splice_sites.fa.gz").write_bytes(packed)
