"""Peaks of a scan, and how many of them to expect in letters without meaning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np

from ..errors import InputError
from ..explain.tables import Table
from .scanner import Hits, Progress, Scanner

Callback = Callable[[Progress], None]
#: The smallest share that narrowPeak's −log10 is asked for.
SMALLEST = 1e-300


class Peaks(Table):
    """Windows that score more than all others near them, by falling score.

    The columns are `sequence`, `start`, `end` (from 0 on, the end not included), `strand`, `score` and `q`: the share
    of false ones among all peaks that score at least as much, as a shuffled genome lets expect it.

    Parameters
    ----------
    columns : dict of arrays
    n_peaks, n_shuffled : int
        Peaks from the threshold on, in the genome and in the shuffled one.
    """

    def __init__(self, columns: dict[str, Any], n_peaks: int, n_shuffled: int) -> None:
        super().__init__(columns)
        self.n_peaks, self.n_shuffled = n_peaks, n_shuffled

    def write(self, file: BinaryIO, format: str = "tsv") -> None:
        """Write the peaks to a binary file: "tsv", with a line of names, or "narrowpeak", as browsers read it."""
        if format not in ("tsv", "narrowpeak"):
            raise InputError(f"Peaks are written as 'tsv' or 'narrowpeak'; got {format!r}.")
        if format == "tsv":
            file.write("\t".join(self.columns).encode() + b"\n")
        for row in self:
            name, start, end, strand, score, q = row.values()
            text = f"{name}\t{start}\t{end}\t{strand}\t{score:.6f}\t{q:.6g}\n"
            if format == "narrowpeak":
                shade, certain = round(1000 * (1 - q)), -np.log10(max(q, SMALLEST))
                middle = (end - start) // 2
                text = f"{name}\t{start}\t{end}\t.\t{shade}\t{strand}\t{score:.6f}\t-1\t{certain:.6f}\t{middle}\n"
            file.write(text.encode())


def call_peaks(
    model: Any,
    path: Any,
    *,
    fdr: float = 0.05,
    threshold: float = 0.0,
    random_state: int = 0,
    callback: Callback | None = None,
    **options: Any,
) -> Peaks:
    """Find the windows of a genome that stand out, with a false-discovery rate by a shuffled genome.

    A peak is a window that scores at least `threshold` and more than every window, on either strand, that overlaps it.
    The same genome is scanned once more with its letters in a random order, which keeps pairs of neighbours, and what
    is local within 10,000 letters. Where it has n peaks that score at least s, and the genome has m, the share of false
    ones among these m is about (n + 1) / m. The q of a peak is the smallest of these shares for any s that it reaches.

    Parameters
    ----------
    model : fitted estimator
        Of one view of sequences.
    path : path
        FASTA or FASTQ, plain or gzip; it is read twice.
    fdr : float
        Return peaks with a q of at most this.
    threshold : float
    random_state : int
        Where the random order begins; it also depends on `block`.
    callback : callable or None
        Called with a `Progress` after every block of either scan.
    **options
        `at`, `anchor`, `strands`, `regions`, `unknown`, `window`, `label`, `n_jobs` and `block`: see `Scanner`.

    Returns
    -------
    peaks : Peaks

    Examples
    --------
    >>> peaks = call_peaks(model, "genome.fa.gz", fdr=0.01)  # doctest: +SKIP
    >>> peaks.to_frame()  # doctest: +SKIP
    """
    if not (isinstance(path, (str, os.PathLike)) and os.path.isfile(os.path.expanduser(path))):
        raise InputError("Peaks are called from two scans of the sequences, so they need a file and no pipe.")
    if not 0.0 < fdr <= 1.0:
        raise InputError(f"fdr must be a share above 0, at most 1; got {fdr!r}.")
    scanner = Scanner(model, threshold=threshold, **options)
    found = list(_peaks(scanner, path, None, callback))
    by_chance = [hits.scores for hits in _peaks(scanner, path, random_state, callback)]
    shuffled = np.concatenate(by_chance) if by_chance else np.empty(0)
    columns = {
        "sequence": np.repeat([hits.name for hits in found], [len(hits) for hits in found]),
        "start": _joined([hits.starts for hits in found], np.int64),
        "end": _joined([hits.ends for hits in found], np.int64),
        "strand": _joined([hits.strands for hits in found], np.str_),
        "score": _joined([hits.scores for hits in found], np.float64),
    }
    columns["q"] = q_values(columns["score"], shuffled)
    n_peaks = len(columns["q"])
    chosen = np.flatnonzero(columns["q"] <= fdr)
    chosen = chosen[np.argsort(-columns["score"][chosen], kind="stable")]
    return Peaks({name: values[chosen] for name, values in columns.items()}, n_peaks, len(shuffled))


def _joined(parts: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _peaks(scanner: Scanner, path: Any, seed: int | None, callback: Callback | None) -> Iterator[Hits]:
    """Yield the peaks of every sequence, as far as its windows are known."""
    held: Hits | None = None
    settled = 0  # peaks that start before this are out
    for block, _ in scanner.blocks(path, shuffle=seed):
        for hits in block:
            if held is not None and held.name != hits.name:
                yield _chosen(held, scanner.window, settled, None)
                held, settled = None, 0
            held = hits if held is None else _after(held, hits)
            until = int(held.starts[-1]) - scanner.window + 1
            yield _chosen(held, scanner.window, settled, until)
            settled = max(settled, until)
            # one that is not out yet may lose against those that overlap it
            held = _some(held, held.starts > settled - scanner.window)
        if callback is not None:
            callback(scanner.progress)
    if held is not None:
        yield _chosen(held, scanner.window, settled, None)


def _chosen(hits: Hits, width: int, first: int, last: int | None) -> Hits:
    """The peaks that start from first on, before last."""
    from .._fast.shuffle import local_maxima

    chosen = local_maxima(hits.starts, hits.scores, width) & (hits.starts >= first)
    return _some(hits, chosen if last is None else chosen & (hits.starts < last))


def _some(hits: Hits, chosen: np.ndarray) -> Hits:
    return Hits(hits.name, *(getattr(hits, name)[chosen] for name in ("starts", "ends", "strands", "scores")))


def _after(a: Hits, b: Hits) -> Hits:
    pairs = ((getattr(a, name), getattr(b, name)) for name in ("starts", "ends", "strands", "scores"))
    return Hits(a.name, *(np.concatenate(pair) for pair in pairs))


def q_values(scores: np.ndarray, shuffled: np.ndarray) -> np.ndarray:
    """Return for every score the smallest share of false ones at any threshold that it reaches, (n,).

    At a threshold that m of the scores and n of the shuffled ones reach, that share is min(1, (n + 1) / m).
    """
    order = np.argsort(scores, kind="stable")
    rising = scores[order]
    m = len(rising) - np.searchsorted(rising, rising, side="left")
    n = len(shuffled) - np.searchsorted(np.sort(shuffled), rising, side="left")
    found = np.empty(len(scores))
    found[order] = np.minimum.accumulate(np.minimum(1.0, (n + 1) / m))
    return found
