"""A small genome whose truth is known: peaks with a planted motif, and variants of known effect."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..io.atomic import AtomicFile
from ..io.bed import Intervals
from ..io.genome import Genome, TextGenome

LETTERS = np.frombuffer(b"ACGT", np.uint8)
#: Letters with the same share of G and C, letters of a repeat, and letters of a gap.
STRETCH, REPEAT, GAP = 2000, 300, 500
#: Places of the motif that is planted, and what other letters than the best one cost there: no two the same.
PLACES, COSTS = 20, (0.4, 3.2)
_COMPLEMENT = np.zeros(256, np.uint8)
_COMPLEMENT[list(b"ACGT")] = list(b"TGCA")


@dataclass(frozen=True)
class MadeGenome:
    """A generated genome.

    Attributes
    ----------
    genome : Genome
    peaks : Intervals
        Where a motif is planted, each in the middle of its peak, on the strand of the peak.
    variants : dict of arrays
        `chrom`, `pos` (from 1 on), `ref`, `alt` as in a VCF file, and `effect`: the best log-odds of the motif in any
        window of both strands that covers the variant, with it less without it.
    """

    genome: Genome
    peaks: Intervals
    variants: dict[str, np.ndarray]


def make_genome(
    n_peaks: int = 300,
    n_variants: int = 0,
    *,
    n_sequences: int = 3,
    length: int = 100_000,
    width: int = 30,
    motif: Any = None,
    random_state: int | np.random.Generator | None = None,
    path: str | os.PathLike | None = None,
) -> MadeGenome:
    """Return a genome with planted motifs, and variants in and around them.

    Stretches of the genome differ in G and C, some are repeats (in lower case), and some are gaps (N). Peaks do not
    overlap. Two variants in three are single letters, the others insertions and deletions of 1 to 3 letters; all of
    them touch a planted motif.

    Parameters
    ----------
    n_peaks, n_variants : int
    n_sequences : int
        Chromosomes: chr1, chr2, ...
    length : int
        Letters of each.
    width : int
        Letters of a peak.
    motif : array of shape (places, 4) or None
        Chances of A, C, G and T; None for one of 20 letters.
    random_state : int, Generator or None
    path : path of a folder, or None
        Writes genome.fa, peaks.bed, variants.vcf and effects.tsv there.

    Examples
    --------
    >>> from kernelweave.datasets import make_genome
    >>> made = make_genome(n_peaks=50, n_variants=10, length=20_000, random_state=0)
    >>> len(made.peaks), made.variants["ref"].shape
    (50, (10,))
    """
    rng, chances = np.random.default_rng(random_state), np.asarray(_motif() if motif is None else motif, np.float64)
    if chances.ndim != 2 or chances.shape[1] != 4 or not np.allclose(chances.sum(axis=1), 1.0):
        raise InputError(f"motif must be chances of A, C, G and T, shape (places, 4); got shape {chances.shape}.")
    slots = length // (3 * width) * n_sequences
    if n_peaks > slots or width < len(chances):
        raise InputError(
            f"{n_peaks} peaks of {width} letters, each with a motif of {len(chances)}, do not fit into {n_sequences} "
            f"sequences of {length} letters; at most {slots} do."
        )
    texts = [_background(rng, length) for _ in range(n_sequences)]
    peaks = _plant(rng, texts, n_peaks, width, chances)
    names = [f"chr{i + 1}" for i in range(n_sequences)]
    genome = TextGenome({name: text.tobytes() for name, text in zip(names, texts, strict=True)})
    made = MadeGenome(genome, peaks, _variants(rng, genome, peaks, n_variants, chances))
    if path is not None:
        _write(made, os.path.expanduser(os.fspath(path)))
    return made


def _motif() -> np.ndarray:
    """Chances of the letters of a motif; no two letters differ by as much, so that effects can be ranked."""
    rng, costs = np.random.default_rng(3), np.zeros((PLACES, 4))
    worse = rng.permutation(np.linspace(*COSTS, 3 * PLACES)).reshape(PLACES, 3)
    for row, others in zip(costs, worse, strict=True):
        row[np.arange(4) != rng.integers(4)] = others
    return np.exp(-costs) / np.exp(-costs).sum(axis=1, keepdims=True)


def _background(rng: np.random.Generator, length: int) -> np.ndarray:
    """Random letters in stretches of different G and C, with repeats in lower case and gaps."""
    gc = np.repeat(rng.uniform(0.3, 0.6, length // STRETCH + 1), STRETCH)[:length]
    strong = rng.random(length) < gc
    text = np.where(strong, LETTERS[[1, 2]][rng.integers(0, 2, length)], LETTERS[[0, 3]][rng.integers(0, 2, length)])
    for start in rng.integers(0, max(1, length - REPEAT), length // (5 * REPEAT)):
        text[start : start + REPEAT] |= 32
    for start in rng.integers(0, max(1, length - GAP), length // 50_000):
        text[start : start + GAP] = ord("N")
    return text


def _plant(rng: np.random.Generator, texts: list, n: int, width: int, chances: np.ndarray) -> Intervals:
    """Write motifs into the letters, each drawn anew, and return the peaks around them."""
    per = len(texts[0]) // (3 * width)
    chosen = np.sort(rng.choice(per * len(texts), n, replace=False))
    rows = []
    for slot in chosen.tolist():
        number, start = slot // per, slot % per * 3 * width + int(rng.integers(0, 2 * width))
        word = LETTERS[[rng.choice(4, p=row) for row in chances]]
        strand = "+-"[int(rng.integers(0, 2))]
        text, at = texts[number], start + (width - len(word)) // 2
        gaps = text[start : start + width] == ord("N")
        text[start : start + width][gaps] = LETTERS[rng.integers(0, 4, int(gaps.sum()))]
        if strand == "-":
            word, at = _COMPLEMENT[word[::-1]], start + width - (width - len(word)) // 2 - len(word)
        text[at : at + len(word)] = word | (text[at : at + len(word)] & 32)  # a repeat stays one
        rows.append((f"chr{number + 1}", start, start + width, strand))
    return Intervals.of(rows, "the peaks")


def _variants(rng: np.random.Generator, genome: Genome, peaks: Intervals, n: int, chances: np.ndarray) -> dict:
    """Variants that touch a planted motif, by place, and what each does to the best motif there."""
    odds, reach, width = np.log(chances / 0.25), len(chances), int(peaks.ends[0] - peaks.starts[0]) if len(peaks) else 0
    found: set[tuple[str, int, str, str]] = set()
    while len(found) < n:
        peak = int(rng.integers(0, len(peaks)))
        name, kind, size = str(peaks.names[peak]), int(rng.integers(0, 6)), int(rng.integers(1, 4))
        at = int(peaks.starts[peak]) + (width - reach) // 2 + int(rng.integers(0, reach))
        ref = genome.fetch(name, at, at + 1 + size * (kind == 5)).tobytes().decode().upper()
        if "N" in ref:
            continue
        new = "".join("ACGT"[i] for i in rng.integers(0, 4, size))
        alt = ref[0] + new if kind == 4 else ref[0] if kind == 5 else new[0]
        if alt != ref:
            found.add((name, at + 1, ref, alt))
    rows = sorted(found)
    effects = [_effect(genome, name, pos - 1, ref, alt, odds) for name, pos, ref, alt in rows]
    columns = dict(zip(("chrom", "pos", "ref", "alt"), zip(*rows, strict=True), strict=True)) if rows else {}
    kinds = {"chrom": object, "pos": np.int64, "ref": object, "alt": object}
    made = {key: np.array(columns.get(key, ()), dtype=kind) for key, kind in kinds.items()}
    return made | {"effect": np.array(effects)}


def _effect(genome: Genome, name: str, at: int, ref: str, alt: str, odds: np.ndarray) -> float:
    flank = len(odds) - 1
    left = genome.fetch(name, max(0, at - flank), at).tobytes()
    after = at + len(ref)
    right = genome.fetch(name, after, min(genome.length(name), after + flank)).tobytes()
    without, with_it = (_best(left + allele.encode() + right, odds) for allele in (ref, alt))
    return with_it - without


def _best(text: bytes, odds: np.ndarray) -> float:
    """The best log-odds of a motif in any window of both strands."""
    letters = np.frombuffer(text.upper(), np.uint8)
    codes = np.searchsorted(LETTERS, letters)
    known = np.isin(letters, LETTERS)
    padded = np.column_stack([odds, np.full(len(odds), -20.0)])
    scores = []
    for strand in (np.where(known, codes, 4), np.where(known, 3 - codes, 4)[::-1]):
        windows = np.lib.stride_tricks.sliding_window_view(strand, len(odds))
        scores.append(padded[np.arange(len(odds)), windows].sum(axis=1).max())
    return float(max(scores))


def _write(made: MadeGenome, folder: str) -> None:
    """Write everything into a folder."""
    os.makedirs(folder, exist_ok=True)
    lines = []
    for name, length in made.genome.lengths.items():
        text = made.genome.fetch(name, 0, length).tobytes().decode()
        lines += [f">{name}", *(text[i : i + 60] for i in range(0, length, 60))]
    peaks, variants = made.peaks, made.variants
    places = zip(peaks.names, peaks.starts, peaks.ends, peaks.strands, strict=True)
    head = ["##fileformat=VCFv4.2", *(f"##contig=<ID={k},length={n}>" for k, n in made.genome.lengths.items())]
    head.append("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO")
    columns = [variants[key].tolist() for key in ("chrom", "pos", "ref", "alt", "effect")]
    calls = list(zip(*columns, strict=True))
    files = {
        "genome.fa": lines,
        "peaks.bed": [
            f"{name}\t{start}\t{end}\tpeak{i}\t0\t{strand}" for i, (name, start, end, strand) in enumerate(places)
        ],
        "variants.vcf": head + [f"{c}\t{p}\tv{i}\t{r}\t{a}\t.\t.\t." for i, (c, p, r, a, _) in enumerate(calls)],
        "effects.tsv": ["id\teffect", *(f"v{i}\t{row[4]!r}" for i, row in enumerate(calls))],
    }
    for name, text_lines in files.items():
        with AtomicFile(os.path.join(folder, name)) as out:
            out.file.write(("\n".join(text_lines) + "\n").encode())
