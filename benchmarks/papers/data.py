"""Data of the rows: real ones from the folder KERNELWEAVE_DATA, and what is generated where that is absent."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from functools import cache
from pathlib import Path
from typing import Any

import large_scale
import numpy as np

from kernelweave.datasets import make_splice_sites
from kernelweave.sequences import SequenceSet

#: What the row at hand has read, each with its kind before it.
USED: set[str] = set()
Windows = tuple[Any, np.ndarray]
#: Windows of the acceptor set; more come from the whole genome.
ACCEPTOR = 100_000


def folder() -> Path:
    """Return the folder of real data, whether or not there is one."""
    return large_scale.DATA


def has(name: str) -> bool:
    """Say whether a set is at hand."""
    return (folder() / name).is_dir()


def note(name: str, kind: str = "real") -> None:
    """Remember where numbers come from: "real", "generated" as the paper's were, or a "stand-in" for real ones."""
    USED.add(f"{kind}: {name}")


def worm(n: int) -> Windows:
    """Return n windows of 141 letters to learn from: acceptor sites of C. elegans, of its genome, or generated ones."""
    if n <= ACCEPTOR and has("celegans_acceptor"):
        note("celegans_acceptor")
        return _first("acceptor-100000", n)
    if n <= 1_000_000 and has("celegans_genome"):
        note("celegans_genome")
        return _first("genome-1000000", n)
    return generated(n)


def worm_test() -> Windows:
    """Return windows to judge machines by that learned from `worm`."""
    if has("celegans_acceptor"):
        return _first("acceptor-test", None)
    return generated(20_000, seed=1)


def generated(n: int, seed: int = 0, positives: float = 1 / 30) -> Windows:
    """Return generated windows; the first ones of a larger set are the same."""
    note("make_splice_sites", "stand-in")
    return make_splice_sites(n, positives=positives, random_state=seed)


def _first(name: str, n: int | None) -> Windows:
    X, y = _packed(name)
    return (X, y) if n is None or n == len(y) else (X.rows(slice(0, n)), y[:n])


@cache
def _packed(name: str) -> Windows:
    with contextlib.redirect_stdout(io.StringIO()):
        path = large_scale.prepare(name)
    assert path is not None, f"{name} is not at hand"
    return SequenceSet.open(path), np.load(path.with_suffix(".labels.npy"))


def chromosomes(n: int) -> Windows:
    """Return n windows of chromosomes I to V, at random."""
    note("celegans_genome")
    X, y = _packed("genome-I+II+III+IV+V")
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
    return X.rows(rows), y[rows]


def chromosome_x(n: int = 200_000) -> Windows:
    """Return windows of chromosome X, at random."""
    X, y = _packed("genome-X")
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
    return X.rows(rows), y[rows]


#: Regions of the human set to judge by; machines learn from the others.
HUMAN_TEST = ("22", "5")


@cache
def human() -> tuple[Windows, Windows] | None:
    """Return windows of human regions to learn from and of others to judge by, or None where they are absent."""
    if not has("splice_human_hg19"):
        return None
    with gzip.open(folder() / "splice_human_hg19" / "windows.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    test = np.array([row["chrom"] in HUMAN_TEST for row in rows])
    X, y = np.array([row["sequence"] for row in rows], dtype=object), np.array([int(row["label"]) for row in rows])
    order = np.random.default_rng(0).permutation(np.flatnonzero(~test))
    return (X[order].tolist(), y[order]), (X[test].tolist(), y[test])


def messages() -> tuple[np.ndarray, np.ndarray] | None:
    """Return short messages without repeats, spam or not, in a random order, or None where they are absent."""
    if not has("text_sms_spam"):
        return None
    note("text_sms_spam")
    with gzip.open(folder() / "text_sms_spam" / "data.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = {row["text"]: int(row["y"]) for row in csv.DictReader(file)}
    order = np.random.default_rng(0).permutation(len(rows))
    return np.array([text.encode() for text in rows], dtype=object)[order], np.array(list(rows.values()))[order]


def pages(n: int, words: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return generated pages with tags, half of them spam: their words are those of others, one in ten aside."""
    note("pages with tags", "generated")
    rng = np.random.default_rng(seed)
    letters = list("etaoinshrdlcumwfgypbvk")
    known = np.array(["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(3000)])
    usual = rng.dirichlet(np.full(len(known), 0.1))
    odd = 0.9 * usual + 0.1 * rng.dirichlet(np.full(len(known), 0.05))
    tags, y = np.array(["p", "div", "a", "li", "td", "b"]), np.where(np.arange(n) % 2, 1, -1)
    texts = []
    for label in y:
        parts = np.array_split(rng.choice(known, words, p=odd if label > 0 else usual), words // 10)
        inner = [
            f"<{tag}>{' '.join(part)}</{tag}>" for tag, part in zip(rng.choice(tags, len(parts)), parts, strict=True)
        ]
        texts.append(f"<html><body>{chr(10).join(inner)}</body></html>".encode())
    return np.array(texts, dtype=object), y


#: Folder in KERNELWEAVE_DATA, what it holds, where it comes from, what is generated in its place.
SETS: list[list[str]] = [
    [
        "`celegans_acceptor`",
        "100,000 + 20,000 acceptor windows of *C. elegans*, 141 letters, 3.3 % sites; `train141.csv.gz` and "
        "`test141.csv.gz` with the columns label, sequence",
        "`easysvm/C_elegans_acc_100000.fasta.bz2` and `..._modsel.fasta.bz2` of the repository shogun-data, cut to "
        "columns 137 to 277",
        "`make_splice_sites`",
    ],
    [
        "`celegans_genome`",
        "9.9 million windows around every AG of the genome WS220, 1.2 % sites",
        "genome WS220 (WormBase), introns from RNA-seq of the repository GeneMark-EP-ProtHint-exp",
        "`make_splice_sites`",
    ],
    [
        "`splice_human_hg19`",
        "167,888 windows of four human regions, 0.26 % sites; the papers' 15 million windows are no longer published",
        "sequences in Debian's augustus-doc and hisat2, introns of the package spliceai",
        "nothing: the column is left out",
    ],
    [
        "`text_sms_spam`",
        "5,574 short messages, spam or not; the papers' web pages were never public",
        "UCI, SMS Spam Collection",
        "pages with tags, of drawn words",
    ],
    [
        "`uci_ionosphere`, `uci_liver`, `uci_pima`, `uci_sonar`, `uci_wpbc`",
        "classification with numbers; `data.csv` with a column y of ±1",
        "UCI",
        "two classes of drawn numbers, of the same shape",
    ],
    [
        "`uci_airfoil`, `uci_communities`, `uci_slump`, `uci_energy`",
        "regression; `data.csv` with targets y, y_slump, y_cool, y_heat",
        "UCI; the 22 columns of communities that are mostly missing are left out",
        "sums of waves of drawn numbers, of the same shape",
    ],
]
