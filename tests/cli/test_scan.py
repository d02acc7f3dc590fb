"""`scan`: scores along a sequence are those of the cut windows."""

import json

import numpy as np
import pytest

from kernelweave import load
from kernelweave.cli.scan import region

FLIP = str.maketrans("ACGT", "TGCA")


@pytest.fixture
def genome(folder, kw):
    """A model of windows of 24 letters, and two sequences that are longer."""
    kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=5)")
    rng = np.random.default_rng(1)
    rows = {name: "".join(rng.choice(list("ACGT"), n)) for name, n in (("one", 300), ("two", 100))}
    lines = (f">{name} a sequence\n{row[:60]}\n{row[60:]}\n" for name, row in rows.items())
    (folder / "genome.fa").write_text("".join(lines))
    return rows


def windows(genome):
    """(name, start, strand) -> window, by hand."""
    found = {}
    for name, row in genome.items():
        for start in range(len(row) - 23):
            window = row[start : start + 24]
            found[name, start, "+"] = window
            found[name, start, "-"] = window.translate(FLIP)[::-1]
    return found


def hits(text):
    head, *rows = [line.split("\t") for line in text.splitlines()]
    assert head == ["sequence", "start", "end", "strand", "score"]
    return {(row[0], int(row[1]), row[3]): float(row[4]) for row in rows}


def test_scores_equal_predict_on_the_cut_windows(genome, kw):
    cut = windows(genome)
    scores = dict(zip(cut, load("model.kw").decision_function(list(cut.values())), strict=True))
    found = hits(kw("scan", "model.kw", "genome.fa").stdout)
    assert found.keys() == scores.keys()
    assert [found[key] for key in scores] == pytest.approx(list(scores.values()), abs=1e-6)


def test_words_strands_thresholds_and_regions(genome, kw, folder):
    cut = windows(genome)
    everything = hits(kw("scan", "model.kw", "genome.fa").stdout)
    at = hits(kw("scan", "model.kw", "genome.fa", "--at", "AG", "--anchor", 3).stdout)
    assert at == {key: everything[key] for key, window in cut.items() if window[3:5] == "AG"}
    high = hits(kw("scan", "model.kw", "genome.fa", "--strand", "+", "--threshold", "-0.5").stdout)
    assert high == {key: score for key, score in everything.items() if key[2] == "+" and score >= -0.5}
    inside = hits(kw("scan", "model.kw", "genome.fa", "--region", "one:11-60", "--region", "two:1-24").stdout)
    assert inside.keys() == {k for k in cut if (k[0] == "one" and 10 <= k[1] <= 36) or (k[0] == "two" and k[1] == 0)}
    (folder / "r.bed").write_text("one\t10\t60\ntwo\t0\t24\n")
    assert hits(kw("scan", "model.kw", "genome.fa", "--regions", "r.bed").stdout) == inside


def test_files_standard_input_and_summaries(genome, kw, folder):
    text = kw("scan", "model.kw", "genome.fa").stdout
    told = json.loads(kw("scan", "model.kw", "genome.fa", "--output", "hits.tsv", "--json").stdout)
    assert (folder / "hits.tsv").read_text() == text
    assert (told["sequences"], told["letters"], told["hits"]) == (2, 400, 2 * (277 + 77))
    assert kw("scan", "model.kw", "-", stdin=(folder / "genome.fa").read_bytes()).stdout == text
    assert "Wrote sites.bed: 708 hits" in kw("scan", "model.kw", "genome.fa", "--output", "sites.bed").stdout
    assert len((folder / "sites.bed").read_text().splitlines()[0].split("\t")) == 7
    assert kw("scan", "model.kw", "genome.fa", "--format", "bedgraph").stdout.startswith("track type=bedGraph")


def test_usage(genome, kw):
    scan = ["scan", "model.kw", "genome.fa"]
    assert "like chrI:1,000-2,000" in kw(*scan, "--region", "one", code=2).stderr
    assert "counts from 1" in kw(*scan, "--region", "one:0-5", code=2).stderr
    assert "give one of them" in kw(*scan, "--region", "one:1-5", "--regions", "x.bed", code=2).stderr
    assert "--json needs --output" in kw(*scan, "--json", code=2).stderr
    assert "no class '7'" in kw(*scan, "--class", "7", code=3).stderr
    assert "--anchor" in kw(*scan, "--at", "AGGT", code=3).stderr
    assert region("chr:I:1,000-2,000") == ("chr:I", 999, 2000)


def test_peaks_with_a_false_discovery_rate(genome, kw, folder):
    told = json.loads(kw("scan", "model.kw", "genome.fa", "--fdr", 1, "--output", "p.narrowPeak", "--json").stdout)
    rows = [line.split("\t") for line in (folder / "p.narrowPeak").read_text().splitlines()]
    assert told["peaks"] == len(rows) == told["above_threshold"]
    everything = hits(kw("scan", "model.kw", "genome.fa").stdout)
    for name, start, end, _, _, strand, score, *_ in rows:
        near = [v for (n, s, _), v in everything.items() if n == name and abs(s - int(start)) < 24]
        assert int(end) == int(start) + 24
        assert float(score) == everything[name, int(start), strand] == max(near)
    head, *lines = kw("scan", "model.kw", "genome.fa", "--fdr", 1).stdout.splitlines()
    assert head == "sequence\tstart\tend\tstrand\tscore\tq"
    assert len(lines) == len(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--format", "narrowpeak"), "--fdr"), (("--fdr", "0.1", "--format", "bigwig"), "tsv or narrowpeak")],
)
def test_peaks_that_are_refused(genome, kw, options, message):
    assert message in kw("scan", "model.kw", "genome.fa", *options, code=2).stderr
