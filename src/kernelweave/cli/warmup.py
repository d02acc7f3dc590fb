"""`kernelweave warmup`: compile beforehand what a first use would compile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click


def _table() -> None:
    """Fit and ask a small table, with a kernel and without."""
    import numpy as np

    from .. import RBF, Linear, MKLClassifier, MKLRegressor

    X = np.random.default_rng(0).standard_normal((120, 3))
    MKLClassifier(RBF(0.1) + RBF(1.0) + Linear()).fit(X, X[:, 0] * X[:, 1] > 0).predict(X)
    MKLRegressor().fit(X, X[:, 0] + X[:, 1] ** 2).predict(X)


def _windows(n: int) -> tuple[list[str], Any]:
    """Return n random windows of 40 letters around an AG, of which every other one holds a word."""
    import numpy as np

    letters = np.random.default_rng(0).choice(list("ACGT"), size=(n, 40))
    letters[:, 20:22] = ["A", "G"]
    letters[::2, 10:16] = list("TTTCTT")
    return ["".join(row) for row in letters], np.where(np.arange(n) % 2, -1, 1)


def _splice() -> None:
    """Fit the preset for splice sites, and a kernel whose word lengths are weighed, with a matrix and without."""
    from .. import MKLClassifier, WeightedDegree

    X, y = _windows(300)
    MKLClassifier(WeightedDegree(degree=10, shift=3)).fit(X, y).predict(X)
    MKLClassifier(WeightedDegree(degree=4).split("degree")).fit(X, y).predict(X)
    X, y = _windows(3_200)
    MKLClassifier(WeightedDegree(degree=10).normalized(), norm="fixed").fit(X, y).predict(X)


def _gapped() -> None:
    """Fit words with gaps, as the preset for binding sites does."""
    from .. import GappedKmer, MKLClassifier

    X, y = _windows(200)
    kernel = GappedKmer(11, 7, True, filter="truncated", max_mismatches=3, center_weight=50, half_life=50)
    MKLClassifier(kernel.normalized()).fit(X, y).predict(X)


def _scan() -> None:
    """Slide a model along a sequence."""
    import tempfile
    from pathlib import Path

    from .. import MKLClassifier, WeightedDegree, scan_to_file

    X, y = _windows(200)
    model = MKLClassifier(WeightedDegree(degree=10, shift=3)).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        fasta = Path(folder) / "genome.fa"
        fasta.write_text(">genome\n" + "".join(X[:50]) + "\n", encoding="utf-8")
        scan_to_file(model, fasta, Path(folder) / "all.tsv")
        scan_to_file(model, fasta, Path(folder) / "sites.bed", at="AG")


#: What people do first, by name.
PATHS: dict[str, Callable[[], None]] = {"table": _table, "splice": _splice, "gapped": _gapped, "scan": _scan}


@click.command(
    short_help="Compile beforehand what a first use would compile.",
    epilog="""\b
Examples:
  kernelweave warmup
  kernelweave warmup table splice
  NUMBA_CACHE_DIR=/shared/compiled kernelweave warmup""",
)
@click.argument("paths", nargs=-1, metavar="[" + "|".join(PATHS) + "]...", type=click.Choice(list(PATHS)))
def warmup(paths: tuple[str, ...]) -> None:
    """Compile what tables, splice sites, gapped words and scans need, so that nobody waits for it later.

    It is done once per machine, user and version. Where the package lies in a folder that cannot be written to, set
    NUMBA_CACHE_DIR to one that can; on a cluster, to one that all nodes of one kind share.
    """
    from .console import compile_bar, seconds

    for name in paths or PATHS:
        start = time.monotonic()
        compiled: list[str] = []
        with compile_bar(name, compiled):
            PATHS[name]()
        done = f"compiled {len(compiled)} functions" if compiled else "all was compiled already"
        click.echo(f"{name:<8} {done}, {seconds(round(time.monotonic() - start, 1))}")
