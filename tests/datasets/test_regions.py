"""Matched negatives: they overlap nothing that they must not, look like the positives, and come again by seed."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.datasets import make_genome, matched_regions
from kernelweave.datasets.regions import QUANTILES, shares
from kernelweave.errors import InputError
from kernelweave.io.bed import Intervals
from kernelweave.io.genome import TextGenome, open_genome


def rows(intervals):
    return list(zip(intervals.names, intervals.starts.tolist(), intervals.ends.tolist(), strict=True))


def overlaps(some):
    """How many neighbours overlap, of regions on all sequences."""
    ordered = sorted(some)
    return sum(a[0] == b[0] and b[1] < a[2] for a, b in pairwise(ordered))


def test_no_overlap_in_ten_thousand_draws():
    made = make_genome(500, length=800_000, n_sequences=4, width=40, random_state=0)
    exclude = [("chr1", 0, 100_000), ("chr3", 5_000, 90_000), ("chr3", 80_000, 95_000)]
    found = matched_regions(made.peaks, made.genome, ratio=20, exclude=exclude, random_state=1)
    assert len(found) + found.n_unmatched == found.n_wanted == 10_000
    assert len(found) > 9_000
    chosen = rows(found.regions)
    assert overlaps(chosen) == 0
    peaks = rows(made.peaks)
    barred = peaks + exclude
    for name, start, end in barred:
        assert not any(n == name and a < end and start < b for n, a, b in chosen)
    gc, lower, unknown = shares(made.genome, found.regions)
    assert not unknown.any()
    own_gc, own_lower, _ = shares(made.genome, made.peaks.rows(found.matches))
    assert np.abs(gc - own_gc).max() <= 0.02 + 1e-12
    assert np.abs(lower - own_lower).max() <= 0.02 + 1e-12
    for table in (found.gc, found.repeats):
        assert list(table) == list(QUANTILES)
        assert all(abs(a - b) <= 0.02 + 1e-12 for a, b in table.values())
    assert (found.regions.ends - found.regions.starts == 40).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 30))
def test_small_genomes(seed, ratio, n):
    """Also where there is hardly any room, nothing overlaps, and everything is counted."""
    rng = np.random.default_rng(seed)
    genome = TextGenome({"a": "".join(rng.choice(list("ACGTacgtN"), 400)), "b": "ACGT" * 20, "c": "A"})
    starts = rng.integers(0, 300, n)
    peaks = Intervals.of([("a", int(s), int(s + rng.integers(1, 30))) for s in starts])
    found = matched_regions(
        peaks, genome, ratio=ratio, gc_tol=0.3, repeat_tol=1.0, max_tries=50, random_state=seed, exclude=[("b", 0, 10)]
    )
    assert len(found) + found.n_unmatched == n * ratio
    chosen = rows(found.regions)
    assert overlaps(chosen) == 0
    for name, start, end in [*rows(peaks), ("b", 0, 10)]:
        assert not any(m == name and a < end and start < b for m, a, b in chosen)
    assert all(b"N" not in genome.fetch(*row).tobytes() for row in chosen)
    lengths = found.regions.ends - found.regions.starts
    assert (lengths == (peaks.ends - peaks.starts)[found.matches]).all()
    again = matched_regions(
        peaks, genome, ratio=ratio, gc_tol=0.3, repeat_tol=1.0, max_tries=50, random_state=seed, exclude=[("b", 0, 10)]
    )
    assert rows(again.regions) == chosen


def test_what_cannot_be_matched_is_counted_and_said():
    genome = TextGenome({"a": "G" * 50 + "A" * 500})
    found = matched_regions([("a", 0, 20), ("a", 100, 120)], genome, ratio=2, random_state=0)
    assert found.n_unmatched >= 1  # one region of G alone has room, or none
    assert set(found.matches) <= {0, 1}
    assert f"{len(found)} of 4 negatives were matched ({found.n_unmatched} were not found)" in str(found)
    nothing = matched_regions([("a", 0, 550)], genome, random_state=0)
    assert len(nothing) == 0
    assert nothing.gc == {}


def test_errors():
    genome = TextGenome({"chr1": "ACGT" * 100})
    with pytest.raises(InputError, match="from 1 to 50; got 51"):
        matched_regions([("chr1", 0, 20)], genome, ratio=51)
    with pytest.raises(InputError, match="outside"):
        matched_regions([("chr1", 0, 500)], genome)
    with pytest.raises(InputError, match="names the sequence '1'"):
        matched_regions([("chr1", 0, 20)], genome, exclude=[("1", 0, 50)])


def test_made_genome(tmp_path):
    made = make_genome(60, 40, length=20_000, random_state=0, path=tmp_path)
    again = make_genome(60, 40, length=20_000, random_state=0)
    assert all(np.array_equal(made.variants[key], again.variants[key]) for key in made.variants)
    with open_genome(tmp_path / "genome.fa") as genome:
        assert genome.fetch("chr2", 0, 20_000).tobytes() == again.genome.fetch("chr2", 0, 20_000).tobytes()
    assert overlaps(rows(made.peaks)) == 0
    table = zip(*(made.variants[key] for key in ("chrom", "pos", "ref")), strict=True)
    for name, pos, ref in table:
        assert made.genome.fetch(name, pos - 1, pos - 1 + len(ref)).tobytes().decode().upper() == ref
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "effects.tsv", "genome.fa", "genome.fa.fai", "peaks.bed", "variants.vcf",
    ]  # fmt: skip
    with pytest.raises(InputError, match="do not fit"):
        make_genome(1000, length=1000)
