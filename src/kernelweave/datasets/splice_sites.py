"""Generated acceptor splice sites: windows of DNA whose truth is known, as many as wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import InputError
from ..sequences import SequenceSet, SequenceWriter
from ..sequences.alphabet import find_alphabet
from ..sequences.build import MemorySink, SequenceBuilder
from ..sequences.rules import Rules

#: What a window can be, by its number.
SPLICE_KINDS = ("site", "intergenic", "intron", "exon", "half a site", "shifted site", "unknown site")
#: Where the signals of a site are, first and last letter, counted from the A of its AG.
SPLICE_SIGNALS = {"branch point": (-26, -13), "tract": (-25, -8), "core": (-7, 2)}
#: Windows that are made at a time.
BLOCK = 50_000

#: How likely A, C, G, T follow A, C, G, T (by row): between genes, in introns, in exons.
_CHAINS = (
    ((0.41, 0.15, 0.18, 0.26), (0.34, 0.19, 0.19, 0.28), (0.37, 0.18, 0.20, 0.25), (0.20, 0.20, 0.20, 0.40)),
    ((0.44, 0.13, 0.15, 0.28), (0.36, 0.18, 0.14, 0.32), (0.33, 0.15, 0.17, 0.35), (0.24, 0.15, 0.15, 0.46)),
    ((0.35, 0.20, 0.19, 0.26), (0.33, 0.20, 0.22, 0.25), (0.36, 0.22, 0.20, 0.22), (0.15, 0.30, 0.27, 0.28)),
)
#: How likely A, C, G, T are in the tract before a site, and at each letter from seven before its AG to one after.
_TRACT = (0.20, 0.24, 0.04, 0.52)
_CORE = (
    (0.25, 0.14, 0.06, 0.55),
    (0.25, 0.10, 0.05, 0.60),
    (0.16, 0.09, 0.04, 0.71),
    (0.05, 0.05, 0.01, 0.89),
    (0.02, 0.02, 0.01, 0.95),
    (0.08, 0.16, 0.06, 0.70),
    (0.03, 0.84, 0.01, 0.12),
    (1.00, 0.00, 0.00, 0.00),
    (0.00, 0.00, 1.00, 0.00),
    (0.42, 0.14, 0.31, 0.13),
)
#: The shares of the kinds of decoys, in the order of `SPLICE_KINDS`, but for sites that nobody knows of.
_DECOYS = (0.47, 0.26, 0.23, 0.02, 0.02)
_N_ELEMENTS, _ELEMENT = 16, 40


def make_splice_sites(
    n: int,
    *,
    window: int = 141,
    positives: float = 0.011,
    site: int | None = None,
    unknown: float = 5e-4,
    repeats: float = 0.08,
    random_state: int | np.random.Generator | None = None,
    path: str | os.PathLike | None = None,
    return_kinds: bool = False,
) -> tuple[Any, ...]:
    """Return windows of DNA around an AG, and whether it ends an intron (1) or is a decoy (−1).

    All windows have AG at `site`. A **site** is an intron before it and an exon after it, each a Markov chain of its
    own; exons have one reading frame without stop codons, and some introns begin inside the window, with GT.
    Signals, counted from the A of AG:

    - the core, −7 to +2: TTTTTTC, AG, then A or G, each letter by its own probabilities (0.95 for the T three
      before AG, 0.84 for C); one site in ten is weak, and has four in ten of these letters from the intron;
    - a tract rich in T and C, −25 to −8: eight letters in ten are drawn anew;
    - the branch point CTAAC, in eight sites of ten, beginning anywhere from −26 to −17, each letter drawn with 0.9.

    **Decoys** have AG by chance: between genes (47 %), inside an intron (26 %) or an exon (23 %); or are half a site
    (2 %: the tract, four in ten letters of the core, no branch point), or a whole site up to 20 letters away from
    `site` (2 %). A share `unknown` of the decoys are sites that nobody annotated, so no machine can be right about all
    windows. A share `repeats` of all windows, sites or not, holds a repeat, over the chains and under the signals: one
    to four letters in tandem, or one of 16 elements of 40 letters with one letter in ten changed.

    Parameters
    ----------
    n : int
        Number of windows. The first windows of a larger set are the same.
    window : int
        Letters of a window, at least 60.
    positives : float
        Probability of a site.
    site : int or None
        Where AG begins, at least 40; three sevenths into the window by default (60 for 141 letters).
    unknown : float
        Probability that a decoy is in truth a site.
    repeats : float
        Probability of a repeat.
    random_state : int, Generator or None
    path : path or None
        Write the windows to this packed file as they are made, in bounded memory, and the labels beside it:
        ``sites.kwseq`` gets ``sites.labels.npy``, for `numpy.load`. None keeps them in memory, four letters to a byte.
    return_kinds : bool
        Return what every window is, too: numbers into `SPLICE_KINDS`.

    Returns
    -------
    X : SequenceSet of n windows
        In memory, or mapped from the file.
    y : array of int8, shape (n,)
    kinds : array of uint8, shape (n,), with return_kinds=True

    Examples
    --------
    >>> from kernelweave.datasets import make_splice_sites
    >>> X, y = make_splice_sites(1000, positives=0.5, random_state=0)
    >>> len(X), X[0][60:62], sorted(set(y.tolist()))
    (1000, 'AG', [-1, 1])
    """
    site = max(40, 3 * window // 7) if site is None else site
    _check(n, window, site, positives=positives, unknown=unknown, repeats=repeats)
    seed = int(np.random.default_rng(random_state).integers(2**63))
    shares = _cumulated((positives, *((1 - positives) * (1 - unknown) * np.array(_DECOYS)), (1 - positives) * unknown))
    kinds = np.empty(n, np.uint8)
    blocks = _blocks(seed, site, window, shares, repeats, kinds)
    X = _in_memory(blocks) if path is None else _to_file(blocks, path)
    y = np.where(kinds == 0, 1, -1).astype(np.int8)
    if path is not None:
        save_labels(y, path)
    return (X, y, kinds) if return_kinds else (X, y)


def labels_path(path: str | os.PathLike) -> str:
    """Return where the labels of a packed file are kept: beside it, as ``.labels.npy``."""
    return os.path.splitext(os.fspath(path))[0] + ".labels.npy"


def save_labels(y: np.ndarray, path: str | os.PathLike) -> None:
    """Write labels beside the packed file that they belong to."""
    from ..io.atomic import AtomicFile

    with AtomicFile(labels_path(path)) as out:
        np.save(out.file, y, allow_pickle=False)


def _check(n: int, window: int, site: int, **shares: float) -> None:
    for name, value, least in (("n", n, 1), ("window", window, 60), ("site", site, 40)):
        if not (isinstance(value, (int, np.integer)) and value >= least):
            raise InputError(f"{name} must be a whole number ≥ {least}; got {value!r}.")
    if site > window - 10:
        raise InputError(f"site must leave ten letters behind it in a window of {window}; got {site}.")
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise InputError(f"{name} must be a probability, from 0 to 1; got {share!r}.")


def _cumulated(shares: Any) -> np.ndarray:
    return np.cumsum(np.asarray(shares, dtype=np.float64), axis=-1)


def _blocks(
    seed: int, site: int, window: int, shares: np.ndarray, repeats: float, kinds: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield blocks of letters, (m, window), while their kinds are filled in."""
    from .._fast.splice_sites import windows

    chains = np.rint(65536 * _cumulated(_CHAINS)[:, :, :3]).astype(np.int64)
    letters = np.frombuffer(b"ACGT", np.uint8)
    elements = np.random.default_rng(seed).integers(0, 4, (_N_ELEMENTS, _ELEMENT)).astype(np.uint8)
    for start in range(0, len(kinds), BLOCK):
        part = kinds[start : start + BLOCK]
        out = np.empty((len(part), window), np.uint8)
        windows(
            start,
            np.uint64(seed),
            site,
            shares,
            repeats,
            chains,
            _cumulated(_TRACT),
            _cumulated(_CORE),
            elements,
            letters,
            out,
            part,
        )
        yield out


def _in_memory(blocks: Iterator[np.ndarray]) -> SequenceSet:
    builder = SequenceBuilder(find_alphabet("dna"), Rules(), True, MemorySink())
    for block in blocks:
        builder.add(block.ravel(), _offsets(block), str)
    return builder.finish()


def _to_file(blocks: Iterator[np.ndarray], path: str | os.PathLike) -> SequenceSet:
    from ..io.atomic import check_writable

    check_writable(labels_path(path))  # before the work, not after it
    with SequenceWriter(path, "dna") as out:
        for block in blocks:
            out.add(block.ravel(), _offsets(block), str)
    return SequenceSet.open(path)


def _offsets(block: np.ndarray) -> np.ndarray:
    return np.arange(len(block) + 1, dtype=np.int64) * block.shape[1]
