"""Peaks and a genome instead of letters: the same model as from the letters, and splits that do not leak."""

import json
import tomllib

import numpy as np
import pytest

from kernelweave import load
from kernelweave.datasets import make_genome, matched_regions
from kernelweave.io.bed import read_intervals, texts
from kernelweave.io.genome import open_genome

KERNEL = ("--kernel", "WeightedDegree(degree=4)")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    make_genome(80, length=20_000, width=40, random_state=0, path=tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(kw, *arguments, code=0):
    return kw("fit", "peaks.bed", "--genome", "genome.fa", *KERNEL, "--output", "m.kw", *arguments, code=code)


def test_the_model_is_that_of_the_letters(folder, kw):
    told = fit(kw, "--negatives", "matched", "--ratio", "2", "--seed", "3")
    assert "negatives were matched" in told.stderr
    assert "new.bed --genome genome.fa" in told.stdout
    with open_genome("genome.fa") as genome:
        peaks = read_intervals("peaks.bed")
        drawn = matched_regions(peaks, genome, ratio=2, random_state=3).regions
        for name, part in (("pos.fa", peaks), ("neg.fa", drawn)):
            rows = zip(part.ids, texts(genome, part), strict=True)
            (folder / name).write_text("".join(f">{key}\n{text.decode()}\n" for key, text in rows))
    kw("fit", "pos.fa", "neg.fa", *KERNEL, "--output", "letters.kw")
    ours, letters = load("m.kw"), load("letters.kw")
    np.testing.assert_array_equal(ours.dual_coef_, letters.dual_coef_)
    assert any("Share of G and C at the quantiles" in text for text in ours.notes_)
    scores = kw("predict", "m.kw", "peaks.bed", "--genome", "genome.fa").stdout
    assert scores == kw("predict", "letters.kw", "pos.fa").stdout
    kw("explain", "m.kw", "peaks.bed", "--genome", "genome.fa", "--no-plots", "--output", "out")
    assert len((folder / "out" / "contributions.tsv").read_text().splitlines()) == 81
    page = kw("report", "m.kw", "peaks.bed", "--genome", "genome.fa", "--negatives", "matched", "--json")
    assert {"accuracy", "MCC"} <= json.loads(page.stdout)["scores"]["trained-on"].keys()
    assert "Share of G and C at the quantiles" in (folder / "report.html").read_text()


def test_run_files_repeat_it(folder, kw):
    fit(kw, "--negatives", "matched")
    run = tomllib.loads((folder / "m.toml").read_text())
    assert (run["fit"]["genome"], run["fit"]["negatives"]) == ("genome.fa", "matched")
    assert "genome.fa.fai" in run["sha256"]
    before = load("m.kw").dual_coef_
    kw("fit", "--run", "m.toml", "--output", "again.kw")
    np.testing.assert_array_equal(load("again.kw").dual_coef_, before)


def test_windows_and_negatives_of_a_file(folder, kw):
    (folder / "other.bed").write_text("chr1\t5000\t5040\nchr2\t100\t140\nchr3\t7\t47\n")
    (folder / "edge.bed").write_text("chr1\t0\t10\nchr1\t500\t510\nchr2\t19990\t20000\n")
    told = kw("fit", "edge.bed", "--genome", "genome.fa", "--negatives", "other.bed", "--width", "40", *KERNEL)
    assert "2 windows of 3 would run over the end of a chromosome, and are left out" in told.stderr
    assert "4 sequences of 40 letters" in told.stdout
    told = kw("fit", "edge.bed", "other.bed", "--genome", "genome.fa", "--slop", "0", "--kernel", "Spectrum(k=3)")
    assert "6 sequences of 10 to 40 letters" in told.stdout


def test_usage_and_errors(folder, kw):
    assert "--genome hg.fa" in kw("fit", "peaks.bed", code=2).stderr
    assert "--negatives matched" in fit(kw, code=3).stderr
    assert "give one of them" in fit(kw, "--width", "9", "--slop", "9", "--negatives", "matched", code=2).stderr
    assert "one file of positives" in fit(kw, "peaks.bed", "--negatives", "matched", code=2).stderr
    assert "--groups chrom" in fit(kw, "--negatives", "matched", "--group-field", "x", code=2).stderr
    (folder / "nochr.bed").write_text("1\t0\t10\n")
    wrong = kw("fit", "nochr.bed", "--genome", "genome.fa", "--negatives", "matched", code=3).stderr
    assert "nochr.bed, line 1" in wrong
    assert "'chr1' is there" in wrong
    assert "gone.fa" in kw("fit", "peaks.bed", "--genome", "gone.fa", "--negatives", "matched", code=5).stderr


def test_splits_by_chromosome(folder, kw):
    cv = ["cv", "peaks.bed", "--genome", "genome.fa", "--negatives", "matched", *KERNEL]
    told = json.loads(kw(*cv, "--groups", "chrom", "--folds", "3", "--json").stdout)
    assert told["split"] == "3 folds of whole groups: 3 chromosomes"
    scores = told["results"][0]["scores"]
    assert scores.keys() == {"auROC", "auPRC", "MCC", "accuracy"}
    assert scores["MCC"]["interval_over"] == "samples"
    low, high = scores["auROC"]["interval"]
    assert low <= scores["auROC"]["mean"] <= high
    shown = kw(*cv, "--hold-out", "chr2").stdout
    assert "Split: trained without chr2, tested on it (chromosomes)." in shown
    assert "95 % intervals, by the bootstrap over samples: auROC" in shown
    assert "has the groups chr1, chr2, chr3" in kw(*cv, "--hold-out", "2", code=3).stderr
    assert "fewer than 5 folds" in kw(*cv, "--groups", "chrom", code=3).stderr
    assert "genome.fa --negatives matched" in kw(*cv, "--groups", "homology", "--C", "1,2").stdout


def test_held_out_chromosomes_stay_out(folder, kw):
    fit(kw, "--negatives", "matched", "--hold-out", "chr1")
    whole = len(read_intervals("peaks.bed"))
    model = load("m.kw")
    assert model.trained_.n_samples < 2 * whole
    assert any(text.startswith("Trained without chr1: ") for text in model.notes_)
    report = ["report", "m.kw", "peaks.bed", "--genome", "genome.fa", "--negatives", "matched", "--hold-out", "chr1"]
    told = json.loads(kw(*report, "--json").stdout)
    assert told["scores"].keys() == {"held-out"}
    page = (folder / "report.html").read_text()
    assert "Only chr1: " in page
    assert "by the bootstrap over samples" in page


def test_groups_of_headers_tables_and_ids(folder, kw):
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(40)]
    heads = [f"chr{i % 4}:{i}-{i + 20}(+) family=f{i % 8} label={1 if i % 3 else -1}" for i in range(40)]
    (folder / "s.fa").write_text("".join(f">{head}\n{row}\n" for head, row in zip(heads, rows, strict=True)))
    cv = ["cv", "s.fa", "--kernel", "Spectrum(k=2)", "--folds", "2", "--json"]
    assert "8 groups by --group-field" in json.loads(kw(*cv, "--group-field", "family").stdout)["split"]
    assert "4 chromosomes" in json.loads(kw(*cv, "--groups", "chrom").stdout)["split"]
    lines = [f"{i},{row},f{i % 5},{i % 2}" for i, row in enumerate(rows)]
    (folder / "t.csv").write_text("\n".join(["id,seq,lab,y", *lines]))
    table = ["cv", "t.csv", "--target", "y", "--kernel", "Spectrum(k=2)", "--folds", "2", "--json"]
    told = json.loads(kw(*table, "--group-field", "lab").stdout)
    assert "5 groups by --group-field" in told["split"]
    assert "does not say on which chromosome" in kw(*table, "--groups", "chrom", code=3).stderr


def test_letters_for_other_tools(folder, kw):
    fit(kw, "--negatives", "matched")
    head = "".join(line + "\n" for line in (folder / "peaks.bed").read_text().splitlines()[:5])
    (folder / "few.bed").write_text(head)
    explain = ["explain", "m.kw", "few.bed", "--genome", "genome.fa", "--no-plots", "--output", "out"]
    told = kw(*explain, "--letters", "all", "--modisco", "md", "--track", "bedgraph")
    assert "modisco motifs -s md/sequences.npz -a md/attributions.npz" in told.stderr
    assert np.load("md/attributions.npz")["arr_0"].shape == (5, 4, 40)
    names, *rows = [line.split("\t") for line in (folder / "out" / "letters.tsv").read_text().splitlines()]
    assert names == ["id", "position", "letter", "contribution", "A", "C", "G", "T"]
    assert len(rows) == 200
    assert all(row[3] == row[4 + "ACGT".index(row[2])] for row in rows)
    track = (folder / "out" / "letters.bedgraph").read_text().splitlines()[1:]
    peaks = read_intervals("few.bed")
    assert len(track) == 200
    first = next(row for row in rows if row[0] == peaks.ids[0])
    at = peaks.starts[0] if peaks.strands[0] == "+" else peaks.ends[0] - 1
    found = {tuple(line.split("\t")[:2]): float(line.split("\t")[3]) for line in track}
    assert found[peaks.names[0], str(at)] == pytest.approx(float(first[3]), rel=1e-5)
    kw(*explain, "--letters", "actual")
    assert len((folder / "out" / "letters.tsv").read_text().splitlines()[0].split("\t")) == 4
    assert "give DATA" in kw("explain", "m.kw", "--letters", "all", "--no-plots", code=2).stderr


def test_scan_to_bigwig(folder, kw):
    package = pytest.importorskip("pyBigWig", reason="pyBigWig is not installed")
    fit(kw, "--negatives", "matched")
    kw("scan", "m.kw", "genome.fa", "--output", "s.bw")
    rows = [
        line.split("\t") for line in kw("scan", "m.kw", "genome.fa", "--format", "bedgraph").stdout.splitlines()[1:]
    ]
    file = package.open("s.bw")
    assert file.chroms() == {"chr1": 20_000, "chr2": 20_000, "chr3": 20_000}
    for name, start, end, value in rows[:: len(rows) // 50]:
        assert file.values(name, int(start), int(end)) == pytest.approx([float(value)], abs=1e-5)
    file.close()
