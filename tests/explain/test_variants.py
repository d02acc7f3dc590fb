"""Effects of variants: equal to the difference of two predictions, and in the order of the truth."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from kernelweave import GappedKmer, MKLClassifier, Spectrum, WeightedDegree
from kernelweave.datasets import make_genome, matched_regions
from kernelweave.errors import InputError
from kernelweave.explain import kmer_weights, read_kmer_weights, variant_effects
from kernelweave.explain.deltasvm import KmerWeights, reverse_numbers
from kernelweave.explain.variants import trimmed
from kernelweave.io.bed import cut_out
from kernelweave.io.genome import TextGenome

FLIP = str.maketrans("ACGTN", "TGCAN")
ROWS = [
    ("chr1", 50, "", "C"),  # filled in below: REF is what stands there
    ("chr1", 60, "2", "A"),
    ("chr1", 70, "", "insertion"),
    ("chr1", 80, "4", "deletion"),
    ("chr2", 30, "3", "GGATC"),
    ("chr1", 1, "", "T"),
    ("chr2", 120, "", "A"),
]


@pytest.fixture(scope="module")
def genome():
    rng = np.random.default_rng(0)
    letters = {name: "".join(rng.choice(list("ACGT"), size)) for name, size in (("chr1", 200), ("chr2", 120))}
    letters["chr1"] = letters["chr1"][:100].lower() + letters["chr1"][100:150] + "N" * 5 + letters["chr1"][155:]
    return letters, TextGenome(letters)


def calls(letters):
    """Substitutions, insertions, deletions, several letters, and both ends of a chromosome."""
    found = []
    for name, pos, size, alt in ROWS:
        ref = letters[name][pos - 1 : pos - 1 + int(size or 1)].upper()
        alt = {"insertion": ref + "GAT", "deletion": ref[0]}.get(alt, alt)
        found.append((name, pos, ref, alt if alt != ref else "G"))
    return found


def fitted(kernel, length, n=60, **options):
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ACGT"), length or int(rng.integers(20, 40)))) for _ in range(n)]
    y = [1 if "GA" in row[:12] else -1 for row in X]
    return MKLClassifier(kernel, **options).fit(X, y)


def haplotypes(letters, name, pos, ref, alt, flank):
    row, at = letters[name].upper(), pos - 1
    shared, ref, alt = trimmed(ref.encode(), alt.encode())
    at += shared
    left, right = row[max(0, at - flank) : at], row[at + len(ref) : at + len(ref) + flank]
    return [left + ref.decode() + right, left + alt.decode() + right]


@pytest.mark.parametrize("combine", ["max", "sum", "mean"])
@pytest.mark.parametrize("strands", ["both", "+", "-"])
def test_windows_of_positional_models(genome, combine, strands):
    letters, source = genome
    model = fitted(WeightedDegree(degree=4), 12)
    found = variant_effects(model, calls(letters), source, combine=combine, strands=strands, background=0)
    for row, call in zip(found, calls(letters), strict=True):
        expected = []
        for text in haplotypes(letters, *call, 11):
            windows = [text[i : i + 12] for i in range(len(text) - 11)]
            flipped = [window.translate(FLIP)[::-1] for window in windows]
            used = {"+": windows, "-": flipped, "both": windows + flipped}[strands]
            if not used:
                expected.append(np.nan)
                continue
            values = model.decision_function(used)
            expected.append({"max": values.max(), "sum": values.sum(), "mean": values.mean()}[combine])
        if np.isnan(expected).any():
            assert row["skipped"] == "short"
            continue
        assert row["ref_score"] == pytest.approx(expected[0], abs=1e-9)
        assert row["delta"] == pytest.approx(expected[1] - expected[0], abs=1e-9)
        assert row["skipped"] == ""


@pytest.mark.parametrize(
    ("kernel", "length", "flank"),
    [
        (Spectrum(k=4), None, 3),
        (Spectrum(k=3, min_k=1, reverse_complement=True), 15, 2),
        (GappedKmer(length=5, k=3, reverse_complement=True), None, 4),
        (Spectrum(k=3).normalized(), None, 14),
        (Spectrum(k=3, values="binary"), 20, 9),
        (0.5 * Spectrum(k=2) + GappedKmer(length=4, k=2), 20, 3),
    ],
)
def test_words(genome, kernel, length, flank):
    """Deltas of models whose words add up are those of any larger window, too."""
    letters, source = genome
    model = fitted(kernel, length)
    found = variant_effects(model, calls(letters), source, background=0)
    additive = ".normalized" not in repr(kernel) and "binary" not in repr(kernel)
    for row, call in zip(found, calls(letters), strict=True):
        for size in (flank, 40) if additive else (flank,):
            ref, alt = model.decision_function(haplotypes(letters, *call, size))
            assert row["delta"] == pytest.approx(alt - ref, abs=1e-9)
    wide = variant_effects(model, calls(letters), source, background=0, window=31)
    ref, alt = model.decision_function(haplotypes(letters, *calls(letters)[0], 15))
    assert wide["delta"][0] == pytest.approx(alt - ref, abs=1e-9)
    assert wide["ref_score"][0] == pytest.approx(ref, abs=1e-9)


def test_rank_of_planted_variants():
    made = make_genome(2500, 400, length=300_000, width=22, random_state=0)
    drawn = matched_regions(made.peaks, made.genome, ratio=2, random_state=0)
    X = [*cut_out(made.genome, made.peaks), *cut_out(made.genome, drawn.regions)]
    model = MKLClassifier(WeightedDegree(degree=1), C=0.1).fit(X, [1] * len(made.peaks) + [-1] * len(drawn))
    found, truth = variant_effects(model, made.variants, made.genome, background=0), made.variants["effect"]
    indels = np.array([len(a) != len(b) for a, b in zip(found["ref"], found["alt"], strict=True)])
    assert indels.sum() > 80
    assert spearmanr(found["delta"], truth)[0] >= 0.95
    assert spearmanr(found["delta"][indels], truth[indels])[0] >= 0.95
    clear = np.abs(truth) > 0.5
    assert (np.sign(found["delta"]) == np.sign(truth))[clear].mean() > 0.95


def test_rank_of_variants_for_words():
    """Peaks are walks of a Markov chain: a variant changes their log-odds by a sum over the words that it changes."""
    rng, n, length = np.random.default_rng(0), 1200, 150
    chances = rng.dirichlet(np.full(4, 12.0), 16)
    codes = rng.integers(0, 4, (2 * n, length))
    for i in range(2, length):
        before = 4 * codes[:n, i - 2] + codes[:n, i - 1]
        codes[:n, i] = (rng.random((n, 1)) > chances[before].cumsum(axis=1)[:, :3]).sum(axis=1)
    model = MKLClassifier(Spectrum(k=3), loss="logistic")
    model.fit(["".join("ACGT"[c] for c in row) for row in codes], [1] * n + [-1] * n)
    letters = "".join("ACGT"[c] for c in rng.integers(0, 4, 5000))

    def odds(text):
        found = ["ACGT".index(letter) for letter in text]
        return sum(np.log(4 * chances[4 * a + b, c]) for a, b, c in zip(found, found[1:], found[2:], strict=False))

    rows, truth = [], []
    for _ in range(300):
        at, kind = int(rng.integers(10, 4990)), int(rng.integers(3))
        new = "".join(rng.choice(list("ACGT"), 3))
        ref, alt = [(letters[at], new[0]), (letters[at], letters[at] + new), (letters[at : at + 3], letters[at])][kind]
        if ref != alt:
            left, right = letters[at - 2 : at], letters[at + len(ref) : at + len(ref) + 2]
            rows.append(("chr1", at + 1, ref, alt))
            truth.append(odds(left + alt + right) - odds(left + ref + right))
    table = dict(zip(("chrom", "pos", "ref", "alt"), map(list, zip(*rows, strict=True)), strict=True))
    found = variant_effects(model, table, TextGenome({"chr1": letters.encode()}), background=0)["delta"]
    sizes, truth = np.array([len(row[3]) - len(row[2]) for row in rows]), np.array(truth)
    for chosen in (sizes == 0, sizes > 0, sizes < 0):
        assert chosen.sum() > 50
        assert spearmanr(found[chosen], truth[chosen])[0] >= 0.95
    clear = np.abs(truth) > 0.3
    assert (np.sign(found) == np.sign(truth))[clear].mean() > 0.97


def test_percentiles(genome):
    letters, source = genome
    model = fitted(Spectrum(k=3), None)
    rows = calls(letters)
    found = variant_effects(model, rows, source, background=400, random_state=1)
    again = variant_effects(model, rows[::-1], source, background=400, random_state=1)
    np.testing.assert_array_equal(found["percentile"], again["percentile"][::-1])  # whatever else there is
    # random substitutions have percentiles of all sizes
    rng, many = np.random.default_rng(3), []
    while len(many) < 500:
        pos, alt = int(rng.integers(2, 99)), "ACGT"[int(rng.integers(4))]
        ref = letters["chr1"][pos - 1].upper()
        if alt != ref:
            many.append(("chr1", pos, ref, alt))
    share = variant_effects(model, many, source, background=1000)["percentile"]
    assert 35 < share.mean() < 65
    assert np.quantile(share, 0.05) < 15
    assert np.quantile(share, 0.95) > 85


def test_alleles_of_any_length_are_compared(genome):
    letters, sequences = genome
    model = fitted(Spectrum(k=3), None)
    ref = letters["chr1"][59].upper()
    long = [("chr1", 60, ref, ref + "GATC" * size) for size in (3, 4, 8, 20)]
    found = variant_effects(model, long, sequences, background=20)
    assert np.isfinite(found["delta"]).all()
    assert ((found["percentile"] >= 0) & (found["percentile"] <= 100)).all()


def test_tables_of_every_kind_and_what_is_skipped(genome):
    letters, source = genome
    model = fitted(Spectrum(k=3), None)
    rows = calls(letters)
    columns = {key: [row[i] for row in rows] for i, key in enumerate(("chrom", "pos", "ref", "alt"))}
    expected = variant_effects(model, rows, source, background=0)["delta"]
    for table in (columns, pd.DataFrame(columns), pl.DataFrame(columns)):
        np.testing.assert_array_equal(variant_effects(model, table, source, background=0)["delta"], expected)
    wrong = "A" if rows[0][2] != "A" else "C"
    odd = [("chr1", 50, wrong, "G"), ("chr1", 999, "A", "C"), ("chrM", 5, "A", "C"), (*rows[0][:3], "<DEL>")]
    found = variant_effects(model, odd, source, background=0)
    assert found["skipped"].tolist() == ["ref", "outside", "sequence", "symbolic"]
    assert np.isnan(found["delta"]).all()
    with pytest.raises(InputError, match="REF is not what the genome has"):
        variant_effects(model, odd, source, background=0, strict=True)
    with pytest.raises(InputError, match="'chr1' is there"):
        variant_effects(model, [("1", 5, "A", "C")], source)
    with pytest.raises(InputError, match="columns chrom, pos, ref and alt"):
        variant_effects(model, {"chrom": ["chr1"]}, source)
    with pytest.raises(InputError, match="A variant is"):
        variant_effects(model, [("chr1", "x", "A", "C")], source)
    for option in ({"combine": "best"}, {"strands": "left"}):
        with pytest.raises(InputError, match="must be"):
            variant_effects(model, rows, source, **option)


@settings(max_examples=100, deadline=None)
@given(st.text("ACGT", min_size=1, max_size=6), st.text("ACGT", min_size=1, max_size=6))
def test_trimming_keeps_what_differs(ref, alt):
    start, short_ref, short_alt = trimmed(ref.encode(), alt.encode())
    end = len(ref) - start - len(short_ref)
    assert ref[:start] + short_alt.decode() + ref[len(ref) - end :] == alt
    if short_ref and short_alt:
        assert short_ref[0] != short_alt[0]
        assert short_ref[-1] != short_alt[-1]


# -- tables of words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [Spectrum(k=4), Spectrum(k=4, reverse_complement=True), GappedKmer(length=5, k=3, reverse_complement=True)],
)
def test_word_weights(genome, kernel, tmp_path):
    letters, source = genome
    model = fitted(kernel, None)
    weights = kmer_weights(model)
    weights.save(tmp_path / "w.txt")
    again = read_kmer_weights(tmp_path / "w.txt")
    np.testing.assert_allclose(again.weights, weights.weights, atol=1e-12)
    both = "reverse" in repr(kernel)
    assert weights.both_strands == both
    assert (len((tmp_path / "w.txt").read_text().splitlines()) < 4**weights.k) == both
    rows = calls(letters)
    ours = variant_effects(model, rows, source, background=0)["delta"]
    np.testing.assert_allclose(variant_effects(again, rows, source, background=0)["delta"], ours, atol=1e-9)


def test_word_weights_are_looked_up_like_this():
    rng = np.random.default_rng(0)
    table = KmerWeights(3, rng.normal(size=64))
    texts = ["".join(rng.choice(list("ACGTN"), int(n), p=[0.24] * 4 + [0.04])) for n in rng.integers(0, 30, 50)]
    number = {"A": 0, "C": 1, "G": 2, "T": 3}
    for text, found in zip(texts, table.scores([text.encode() for text in texts]), strict=True):
        words = [text[i : i + 3] for i in range(len(text) - 2)]
        known = [word for word in words if "N" not in word]
        weights = [table.weights[16 * number[a] + 4 * number[b] + number[c]] for a, b, c in known]
        assert found == pytest.approx(sum(weights), abs=1e-12)
    assert reverse_numbers(2).tolist() == [15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table of words"),
        ("AC\t1\nACG\t2\n", "row 2"),
        ("AC\tx\n", "row 1"),
        ("A\t1\nC\t2\nC\t2\n", "comes twice"),
        ("A\t1\nB\t2\n", "A, C, G and T"),
        ("AC\t1\n", "lacks 14 of 16"),
        ("A\tnan\n", "row 1"),
    ],
)
def test_damaged_tables_of_words(text, message, tmp_path):
    (tmp_path / "w.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        read_kmer_weights(tmp_path / "w.txt")


def test_models_without_such_words():
    with pytest.raises(InputError, match="count anywhere"):
        kmer_weights(fitted(WeightedDegree(degree=3), 10))
    with pytest.raises(InputError, match="from 4"):
        kmer_weights(fitted(Spectrum(k=4), 10), 3)
