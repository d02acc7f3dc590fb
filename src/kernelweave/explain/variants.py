"""What variants do: the decision value with the alternative allele, less that with the reference allele."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ..io.genome import Genome, open_genome, other_name
from ..io.vcf import Variant, VcfReader
from .haplotypes import Scorer, scorer
from .tables import Table

#: Letters that are scored together, about.
BLOCK_LETTERS = 1 << 21
#: Random variants that a variant is compared with.
BACKGROUND = 1000
#: First sizes of the classes in which alleles are compared: 0, 1, 2-3, 4-7, 8-15, 16 and more; and the end of what is
#: drawn of the last.
SIZES = (0, 1, 2, 4, 8, 16, 32)

#: Why an allele has no score, by what is counted.
REASONS = {
    "ref": "REF is not what the genome has there",
    "outside": "the place is not on the chromosome",
    "sequence": "the genome has no such chromosome",
    "symbolic": "the alternative is not made of letters",
    "short": "too near to the end of a chromosome for a window",
}


@dataclass
class Effects:
    """Scores of some alleles, in order: with REF, with ALT, and the percentage of random variants that are lower."""

    ref: np.ndarray
    alt: np.ndarray
    percent: np.ndarray
    #: Of every allele: "", or a key of `REASONS`.
    why: list[str]

    @property
    def delta(self) -> np.ndarray:
        """ALT less REF: above 0, the alternative speaks for the positive class."""
        return self.alt - self.ref


@dataclass
class Skipped:
    """How many alleles have no score, by reason, and the first of each."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, variant: Variant) -> None:
        """Count one."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self.first.setdefault(reason, variant.text)

    def said(self) -> list[str]:
        """Return a line for every reason."""
        counted = {reason: f"{n:,} {'allele is' if n == 1 else 'alleles are'}" for reason, n in self.counts.items()}
        return [f"{n} not scored: {REASONS[key]} (first: {self.first[key]})." for key, n in counted.items()]


def trimmed(ref: bytes, alt: bytes) -> tuple[int, bytes, bytes]:
    """Return alleles without the letters that they share at their ends, and how many of them were at the start."""
    end = 0
    while end < min(len(ref), len(alt)) and ref[-1 - end] == alt[-1 - end]:
        end += 1
    ref, alt = ref[: len(ref) - end], alt[: len(alt) - end]
    start = 0
    while start < min(len(ref), len(alt)) and ref[start] == alt[start]:
        start += 1
    return start, ref[start:], alt[start:]


class VariantModel:
    """A model that scores variants on a genome.

    Parameters
    ----------
    model : fitted estimator, or a `Scorer`
    genome : Genome or path of a FASTA file
    background : int
        Random variants of the same kind that every variant is compared with; 0 for no comparison.
    random_state : int
        Where the drawing of these begins.
    **options
        `window`, `combine`, `strands`, `label`, `n_jobs`: see `variant_effects`.
    """

    def __init__(
        self, model: Any, genome: Any, *, background: int = BACKGROUND, random_state: int = 0, **options: Any
    ) -> None:
        self.scorer: Scorer = scorer(model, **options)
        self.genome: Genome = open_genome(genome)
        self.background, self._seed = background, random_state
        self.skipped, self._drawn = Skipped(), {}  # type: ignore[var-annotated]

    def effects(self, variants: Sequence[Variant]) -> Effects:
        """Return the scores of all alternatives of some variants, in their order."""
        texts: list[bytes] = []
        why: list[str] = []
        kinds: list[tuple[int, int]] = []
        for variant in variants:
            around, before, problem = self._around(variant)
            for alt in variant.alts:
                reason = problem or ("symbolic" if alt is None else "")
                why.append(reason)
                if reason or alt is None:
                    continue
                pair, kind = self._pair(around, before, variant.ref.upper(), alt.upper())
                texts += pair
                kinds.append(kind)
        scores = self._scores(texts)
        return self._gathered(variants, why, scores[::2], scores[1::2], kinds)

    def _around(self, variant: Variant) -> tuple[bytes, int, str]:
        """The letters around a variant, how many of them stand before it, and what is wrong with it."""
        if variant.name not in self.genome:
            if other_name(variant.name) in self.genome:
                raise self.genome.unknown(variant.name, variant.text)
            return b"", 0, "sequence"
        length, flank = self.genome.length(variant.name), self.scorer.flank
        start, end = variant.start, variant.start + len(variant.ref)
        if start < 0 or end > length:
            return b"", 0, "outside"
        first = max(0, start - flank)
        around = self.genome.fetch(variant.name, first, min(length, end + flank)).tobytes().upper()
        before = start - first
        good = around[before : before + len(variant.ref)] == variant.ref.upper()
        return around, before, "" if good else "ref"

    def _pair(self, around: bytes, before: int, ref: bytes, alt: bytes) -> tuple[list[bytes], tuple[int, int]]:
        """The letters with either allele, and of what sizes the alleles are."""
        shared, short_ref, short_alt = trimmed(ref, alt)
        at, flank = before + shared, self.scorer.flank
        after = at + len(short_ref)
        left, right = around[max(0, at - flank) : at], around[after : after + flank]
        sizes = np.searchsorted(SIZES[:-1], (len(short_ref), len(short_alt)), side="right") - 1
        return [left + short_ref + right, left + short_alt + right], (int(sizes[0]), int(sizes[1]))

    def _scores(self, texts: list[bytes]) -> np.ndarray:
        out, at = np.empty(len(texts)), 0
        step = max(1, BLOCK_LETTERS // (2 * self.scorer.flank + 2))
        while at < len(texts):
            out[at : at + step] = self.scorer.scores(texts[at : at + step])
            at += step
        return out

    def _gathered(self, variants: Sequence[Variant], why: list[str], ref: Any, alt: Any, kinds: list) -> Effects:
        with_ref, with_alt, percent = np.full((3, len(why)), np.nan)
        rows = np.array([i for i, reason in enumerate(why) if not reason], dtype=np.int64)
        with_ref[rows], with_alt[rows] = ref, alt
        if self.background and len(rows):
            percent[rows] = self._percent(alt - ref, kinds)
        owners = [variant for variant in variants for _ in variant.alts]
        for i in rows[np.isnan(alt - ref)]:
            why[i] = "short"
        for variant, reason in zip(owners, why, strict=True):
            if reason:
                self.skipped.add(reason, variant)
        return Effects(with_ref, with_alt, percent, why)

    # -- random variants ---------------------------------------------------------------------------------------------

    def _percent(self, delta: np.ndarray, kinds: list[tuple[int, int]]) -> np.ndarray:
        out = np.full(len(delta), np.nan)
        codes = np.array(kinds)
        for kind in sorted(set(kinds)):
            if kind not in self._drawn:
                self._drawn[kind] = np.sort(self._random(kind))
            known, here = self._drawn[kind], np.flatnonzero((codes == kind).all(axis=1) & ~np.isnan(delta))
            if len(known):
                low, high = (np.searchsorted(known, delta[here], side=side) for side in ("left", "right"))
                out[here] = 50.0 * (low + high) / len(known)
        return out

    def _random(self, kind: tuple[int, int]) -> np.ndarray:
        """The effects of random variants whose alleles are of these sizes."""
        rng = np.random.default_rng([self._seed, *kind])
        pairs = []
        for variant in self._draws(rng, kind):
            around, before, problem = self._around(variant)
            assert not problem
            pairs += self._pair(around, before, variant.ref, variant.alts[0] or b"")[0]
            if len(pairs) >= 2 * self.background:
                break
        scores = self._scores(pairs)
        delta = scores[1::2] - scores[::2]
        return delta[~np.isnan(delta)]

    def _draws(self, rng: np.random.Generator, kind: tuple[int, int]) -> Iterator[Variant]:
        """Random places where all letters are known, with random alleles; as many as can be found in 20 tries each."""
        names, lengths = list(self.genome.lengths), np.array(list(self.genome.lengths.values()), dtype=np.int64)
        if not lengths.sum():
            return
        letters = np.frombuffer(b"ACGT", np.uint8)
        for place in rng.integers(0, lengths.sum(), 20 * self.background).tolist():
            sizes = [int(rng.integers(SIZES[c], max(SIZES[c + 1], SIZES[c] + 1))) for c in kind]
            number = int(np.searchsorted(np.cumsum(lengths), place, side="right"))
            start = place - int(lengths[:number].sum())
            if start + sizes[0] > lengths[number]:
                continue
            ref = self.genome.fetch(names[number], start, start + sizes[0]).tobytes().upper()
            alt = letters[rng.integers(0, 4, sizes[1])].tobytes()
            if set(ref) <= set(b"ACGT") and trimmed(ref, alt)[1:] == (ref, alt):
                yield Variant(names[number], start, ".", ref, (alt,), b"")


def variant_effects(
    model: Any,
    variants: Any,
    genome: Any,
    *,
    background: int = BACKGROUND,
    random_state: int = 0,
    strict: bool = False,
    **options: Any,
) -> Table:
    """Return what variants do to the decision value of a model, one row for every alternative allele.

    delta = alt − ref, the decision values with either allele: above 0, the alternative allele speaks for the positive
    class. What exactly is scored depends on the model, see `haplotypes.scorer`: all windows that cover the variant, the
    words that it changes, or a window around it.

    Parameters
    ----------
    model : fitted estimator of one view of DNA, or a table of word weights from `read_kmer_weights`
    variants : path of a VCF file, table or dict with columns chrom, pos, ref and alt, or rows of these
        `pos` counts from 1, as in VCF.
    genome : Genome or path of a FASTA file
    background : int
        Random variants of the same kind and size that each is compared with; 0 leaves `percentile` out.
    random_state : int
        Where the drawing of these begins.
    strict : bool
        Whether a REF that is not what the genome has there is an error.
    **options
        `window`, letters around a variant for models without a length of their own; `combine`, one of "max", "sum" and
        "mean", over windows and over strands; `strands`, one of "auto", "both", "+" and "-"; `label`, a class where
        there are more than two; `n_jobs`.

    Returns
    -------
    Table
        Columns chrom, pos, id, ref, alt, ref_score, alt_score, delta, percentile and skipped: "", or why there is no
        score.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, Spectrum
    >>> from kernelweave.io.genome import TextGenome
    >>> genome = TextGenome({"chr1": "CCGATTACACC" * 5})
    >>> model = MKLClassifier(Spectrum(k=3)).fit(["GATTACA", "TGATTAC", "CCCCCCC", "GGGGCCC"], [1, 1, 0, 0])
    >>> found = variant_effects(model, [("chr1", 5, "T", "C")], genome, background=0)
    >>> bool(found["delta"][0] < 0)
    True
    """
    given = open_genome(genome)
    try:
        ready = VariantModel(model, given, background=background, random_state=random_state, **options)
        rows: list[tuple] = []
        for block in as_variants(variants):
            found = ready.effects(block)
            if strict:
                refuse_mismatches(ready.skipped, given)
            owners = [(v, alt) for v in block for alt in _written_alts(v)]
            columns = (found.ref, found.alt, found.delta, found.percent)
            scores = zip(*(column.tolist() for column in columns), found.why, strict=True)
            rows += [
                (v.name, v.start + 1, v.id, v.ref.decode(), alt, *score)
                for (v, alt), score in zip(owners, scores, strict=True)
            ]
    finally:
        if given is not genome:
            given.close()
    names = ("chrom", "pos", "id", "ref", "alt", "ref_score", "alt_score", "delta", "percentile", "skipped")
    kinds = (object, np.int64, object, object, object, float, float, float, float, object)
    gathered = list(zip(*rows, strict=True)) or [()] * len(names)
    return Table({n: np.array(column, dtype=kind) for n, column, kind in zip(names, gathered, kinds, strict=True)})


def refuse_mismatches(skipped: Skipped, genome: Genome) -> None:
    """Raise the error for variants of another genome."""
    for reason in ("ref", "outside"):
        if reason in skipped.counts:
            raise InputError(
                f"{skipped.first[reason]}: {REASONS[reason]} ({genome.name}). Is it another release of the genome, or "
                "are the variants on the other strand?"
            )


def _written_alts(variant: Variant) -> list[str]:
    """The alternatives as they stand in the file, also those that are not made of letters."""
    if not variant.line:
        return [alt.decode() if alt else "" for alt in variant.alts]
    return variant.line.split(b"\t", 5)[4].decode("utf-8", "backslashreplace").split(",")[: len(variant.alts)]


def as_variants(variants: Any) -> Iterator[list[Variant]]:
    """Yield blocks of variants of a VCF file, of a table with columns chrom, pos, ref and alt, or of rows of these."""
    if isinstance(variants, (str, os.PathLike)) or hasattr(variants, "read"):
        with VcfReader(variants) as reader:
            yield from reader.blocks()
        return
    if isinstance(variants, (list, tuple)):
        rows = variants
    else:
        try:
            columns = [np.asarray(variants[name]).tolist() for name in ("chrom", "pos", "ref", "alt")]
        except (KeyError, IndexError, TypeError):
            raise InputError("A table of variants needs the columns chrom, pos, ref and alt.") from None
        rows = list(zip(*columns, strict=True))
    yield [_from_row(row) for row in rows]


def _from_row(row: Any) -> Variant:
    try:
        name, pos, ref, alt = row[:4]
        alts = [part if part and set(part.upper()) <= set("ACGTUNRYSWKMBDHV") else None for part in str(alt).split(",")]
        return Variant(
            str(name), int(pos) - 1, ".", str(ref).encode(), tuple(p.encode() if p else None for p in alts), b""
        )
    except (TypeError, ValueError):
        raise InputError(
            f"A variant is (chrom, pos, ref, alt), such as ('chr1', 100, 'A', 'C'); got {row!r}."
        ) from None
