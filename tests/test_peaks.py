"""Peaks of scans: which windows stand out, and how many would do so by chance."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelweave import InputError, MKLClassifier, WeightedDegree, call_peaks, scan_file
from kernelweave.scan import Scanner, q_values

MOTIF, LENGTH = "TGACTCAGCATT", 24
FLIP = str.maketrans("ACGT", "TGCA")


def letters(rng, n):
    return "".join(rng.choice(list("ACGT"), n, p=[0.3, 0.2, 0.2, 0.3]))


@pytest.fixture(scope="module")
def model():
    """Of windows of 24 letters, half of them with a motif in the middle."""
    rng = np.random.default_rng(0)
    X = [letters(rng, LENGTH) for _ in range(300)]
    X = [row[:6] + MOTIF + row[18:] if i % 2 else row for i, row in enumerate(X)]
    return MKLClassifier(WeightedDegree(6).normalized()).fit(X, [i % 2 for i in range(300)])


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    """A file of two sequences, and where the motif was planted: (name, start of the window, strand)."""
    rng, planted, lines = np.random.default_rng(1), [], []
    for name, n in (("one", 20_000), ("two", 6_000)):
        row = letters(rng, n)
        for at in range(200, n - 200, 400):
            strand = "+-"[int(rng.integers(2))]
            word = MOTIF if strand == "+" else MOTIF.translate(FLIP)[::-1]
            row = row[: at + 6] + word + row[at + 18 :]
            planted.append((name, at, strand))
        lines += [f">{name}", row]
    path = tmp_path_factory.mktemp("genome") / "genome.fa"
    path.write_text("\n".join(lines) + "\n")
    return path, planted


def places(peaks):
    return set(zip(*(peaks[name].tolist() for name in ("sequence", "start", "strand")), strict=True))


def test_planted_windows_are_found_and_few_others(model, genome):
    path, planted = genome
    peaks = call_peaks(model, path, fdr=0.1)
    found = places(peaks)
    assert len(found & set(planted)) >= 0.95 * len(planted)
    assert len(found - set(planted)) <= 0.15 * len(found)
    assert (peaks["q"] <= 0.1).all()
    assert (np.diff(peaks["score"]) <= 0).all()
    assert peaks.n_peaks >= len(peaks)


def test_letters_without_meaning_have_no_peaks(model, tmp_path):
    path = tmp_path / "random.fa"
    path.write_text(f">one\n{letters(np.random.default_rng(5), 30_000)}\n")
    peaks = call_peaks(model, path, fdr=0.05)
    assert len(peaks) == 0
    assert peaks.n_shuffled > 0


def test_peaks_are_those_of_the_whole_scan(model, genome):
    path, _ = genome
    expected = set()
    for name in ("one", "two"):
        hits = [h for h in scan_file(model, path, threshold=-0.5) if h.name == name]
        rows = [row for h in hits for row in zip(h.starts, h.scores, h.strands, strict=True)]
        for start, score, strand in rows:
            if score >= max(other for at, other, _ in rows if abs(at - start) < LENGTH):
                expected.add((name, int(start), str(strand)))
    for block in (301, 1 << 20):
        assert places(call_peaks(model, path, fdr=1.0, threshold=-0.5, block=block)) == expected


def test_the_same_seed_gives_the_same_peaks(model, genome):
    a, b, c = (call_peaks(model, genome[0], random_state=seed, threshold=-1.0) for seed in (3, 3, 4))
    assert a["q"].tolist() == b["q"].tolist()
    assert (a.n_shuffled, a["q"].tolist()) != (c.n_shuffled, c["q"].tolist())


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)))
def test_q_is_the_smallest_share_at_any_threshold(scores, shuffled):
    shares = {t: min(1.0, (sum(x >= t for x in shuffled) + 1) / sum(x >= t for x in scores)) for t in set(scores)}
    expected = [min(shares[t] for t in shares if t <= score) for score in scores]
    assert q_values(np.array(scores, float), np.array(shuffled, float)).tolist() == pytest.approx(expected)


def test_a_threshold_that_few_windows_reach_changes_no_score(model, genome):
    """Most windows are then left out by an upper bound of their score; no other may be."""
    path, _ = genome
    every = {
        (h.name, s, d): f for h in scan_file(model, path) for s, d, f in zip(h.starts, h.strands, h.scores, strict=True)
    }
    threshold = float(np.quantile(list(every.values()), 0.99))
    scanner = Scanner(model, threshold=threshold, block=1000)
    tables = [one for part in scanner.windows.prepared.parts for one in part.tables.values()]
    found = {}
    for block, _ in scanner.blocks(path):
        found |= {(h.name, s, d): f for h in block for s, d, f in zip(h.starts, h.strands, h.scores, strict=True)}
    expected = {key: score for key, score in every.items() if score >= threshold}
    assert found.keys() == expected.keys()
    assert [found[key] for key in expected] == pytest.approx(list(expected.values()), rel=1e-9)
    assert all("bounds" in vars(one) for one in tables), "the bounds were not asked"


@pytest.mark.parametrize(
    ("given_path", "options", "message"),
    [(io.BytesIO(b">a\nACGT\n"), {}, "no pipe"), ("genome", {"fdr": 0.0}, "share above 0"), ("none.fa", {}, "file")],
)
def test_what_is_refused(model, genome, given_path, options, message):
    with pytest.raises(InputError, match=message):
        call_peaks(model, genome[0] if given_path == "genome" else given_path, **options)


def test_what_is_written(model, genome):
    peaks, out = call_peaks(model, genome[0]), io.BytesIO()
    peaks.write(out, "narrowpeak")
    rows = [line.split("\t") for line in out.getvalue().decode().splitlines()]
    assert [len(row) for row in rows] == [10] * len(peaks)
    assert [float(row[8]) for row in rows] == pytest.approx((-np.log10(peaks["q"])).tolist(), abs=1e-5)
    assert {int(row[9]) for row in rows} == {LENGTH // 2}
    with pytest.raises(InputError, match="narrowpeak"):
        peaks.write(out, "bedgraph")
