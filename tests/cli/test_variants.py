"""`variants`: VCF in, VCF out, byte for byte but for INFO; skips are counted, and no half file is left."""

import gzip
import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from kernelweave import load
from kernelweave.io import vcf

HEAD = (
    "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=300>\n"
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts1\ts2\n"
)


@pytest.fixture
def letters(folder, kw):
    """A model of windows of 24 letters, a genome, and variants of every kind."""
    kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=5)", "--output", "m.kw")
    rng = np.random.default_rng(1)
    row = "".join(rng.choice(list("ACGT"), 300))
    (folder / "g.fa").write_text(f">chr1\n{row}\n>chr2\nACGTACGT\n")

    def other(at, step=1):
        return "ACGT"[("ACGT".index(row[at]) + step) % 4]

    lines = [
        f"chr1\t100\trs1\t{row[99]}\t{other(99)}\t50\tPASS\tDP=7;X\tGT\t0/1\t1/1",
        f"chr1\t90\t.\t{row[89]}\t{other(89)},{other(89, 2)},<DEL>\t.\t.\t.\tGT\t0/1\t./.",  # not in order
        f"chr1\t120\tins\t{row[119]}\t{row[119]}GATTAC\t.\tq10\tDP=1\tGT\t0|1\t0|0",
        f"chr1\t150\tdel\t{row[149:154]}\t{row[149]}\t1e-3\t.\tDP=2\tGT\t0|1\t0|0",
        f"chr1\t160\tno\t{row[159]}\t.\t.\t.\t.\tGT\t0|0\t0|0",
        f"chr1\t170\twrong\t{other(169)}\t{row[169]}\t.\t.\tDP=3\tGT\t0|0\t0|0",
        f"chr1\t299\tend\t{row[298:]}\t{row[298]}\t.\t.\tDP=4\tGT\t0|0\t0|0",
        "chr1\t400\tout\tA\tC\t.\t.\t.\tGT\t0|0\t0|0",
        "chr2\t4\tshort\tT\tC\t.\t.\t.\tGT\t0|0\t0|0",
        "chrUn\t4\tgone\tT\tC\t.\t.\t.\tGT\t0|0\t0|0",
    ]
    (folder / "in.vcf").write_text(HEAD + "\n".join(lines) + "\n")
    return row


def run(kw, *arguments, code=0):
    return kw("variants", "m.kw", "in.vcf", "--genome", "g.fa", *arguments, code=code)


def info(line):
    return dict(part.partition("=")[::2] for part in line.split("\t")[7].split(";"))


def best(model, text):
    flip = str.maketrans("ACGT", "TGCA")
    windows = [text[i : i + 24] for i in range(len(text) - 23)]
    return model.decision_function(windows + [window.translate(flip)[::-1] for window in windows]).max()


def test_rows_stay_as_they_are_but_for_info(letters, folder, kw):
    told = run(kw, "--output", "out.vcf")
    before, after = (folder / "in.vcf").read_text().splitlines(), (folder / "out.vcf").read_text().splitlines()
    added = [line for line in after if line not in before and line.startswith("##")]
    assert [line.split("=")[0] for line in added] == ["##kernelweave_variants"] + ["##INFO"] * 4
    assert "above 0 the alternative speaks for class 1" in added[3]
    kept = [line for line in after if line not in added]
    assert len(kept) == len(before)
    for old, new in zip(before, kept, strict=True):
        if old.startswith("#"):
            assert new == old
            continue
        was, now = old.split("\t"), new.split("\t")
        assert now[:7] + now[8:] == was[:7] + was[8:]
        stripped = ";".join(part for part in now[7].split(";") if not part.startswith("KW_"))
        assert stripped == (was[7] if was[7] != "." else stripped)
    skipped = ("REF is not what", "the place is not on the", "the genome has no such", "the alternative is not made")
    assert all(f"1 allele is not scored: {reason}" in told.stderr for reason in skipped)
    assert "2 alleles are not scored: too near to the end of a chromosome for a window (first: chr1:299" in told.stderr
    assert "Wrote out.vcf: 10 variants, 5 alleles scored." in told.stderr


def test_scores_are_differences_of_predictions(letters, folder, kw):
    run(kw, "--output", "out.vcf")
    model, rows = load("m.kw"), {}
    for line in (folder / "out.vcf").read_text().splitlines():
        if not line.startswith("#"):
            rows[line.split("\t")[2]] = line.split("\t"), info(line)
    fields, found = rows["rs1"]
    left, right = letters[76:99], letters[100:123]
    ref, alt = best(model, left + fields[3] + right), best(model, left + fields[4] + right)
    assert float(found["KW_REF"]) == pytest.approx(ref, abs=1e-9)
    assert float(found["KW_DELTA"]) == pytest.approx(alt - ref, abs=1e-9)
    assert 0 <= float(found["KW_PCT"]) <= 100
    _, found = rows["ins"]
    left, right = letters[97:120], letters[120:143]
    delta = best(model, left + "GATTAC" + right) - best(model, left + right)
    assert float(found["KW_DELTA"]) == pytest.approx(delta, abs=1e-9)
    _, found = rows["del"]
    left, right = letters[127:150], letters[154:177]
    delta = best(model, left + right) - best(model, left + letters[150:154] + right)
    assert float(found["KW_DELTA"]) == pytest.approx(delta, abs=1e-9)
    _, several = rows["."]
    assert [text == "." for text in several["KW_DELTA"].split(",")] == [False, False, True]
    assert "KW_REF" not in rows["wrong"][1]
    assert rows["no"][0][7] == "."


def test_formats_pipes_and_repetition(letters, folder, kw):
    plain = run(kw).stdout
    told = json.loads(run(kw, "--output", "out.vcf.gz", "--json").stdout)
    assert gzip.decompress((folder / "out.vcf.gz").read_bytes()).decode() == plain
    assert (told["variants"], told["alleles"], told["scored"]) == (10, 11, 5)
    assert told["skipped"] == {"symbolic": 1, "ref": 1, "outside": 1, "short": 2, "sequence": 1}
    again = kw("variants", "m.kw", "out.vcf.gz", "--genome", "g.fa")
    assert again.stdout == plain  # what an earlier run wrote is replaced
    rows = run(kw, "--format", "tsv").stdout.splitlines()
    assert len(rows) == 12
    assert rows[1].split("\t")[:5] == plain.splitlines()[-10].split("\t")[:5]
    assert len(run(kw, "--format", "bed").stdout.splitlines()) == 5
    assert "KW_PCT" not in run(kw, "--background", "0").stdout
    windows = (folder / "in.vcf").read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    (folder / "crlf.vcf").write_bytes(windows)
    text = kw("variants", "m.kw", "crlf.vcf", "--genome", "g.fa").stdout_bytes
    assert text == plain.replace("\n", "\r\n").removesuffix("\r\n").encode()


def test_blocks_do_not_matter(letters, folder, kw, monkeypatch):
    whole = run(kw).stdout
    for size in (64, 1000):
        monkeypatch.setattr(vcf, "BLOCK", size)
        assert run(kw).stdout == whole


def test_bcftools_reads_it(letters, folder, kw):
    if shutil.which("bcftools") is None:
        pytest.skip("bcftools is not installed")
    run(kw, "--output", "out.vcf.gz")
    command = ["bcftools", "query", "-f", "%ID\t%INFO/KW_DELTA\n", "out.vcf.gz"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in told.stdout.splitlines()]
    ours = [line for line in run(kw).stdout.splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == [line.split("\t")[2] for line in ours]
    for (_, delta), line in zip(rows, ours, strict=True):
        values = info(line).get("KW_DELTA", ".").split(",")
        for shown, own in zip(delta.split(","), values, strict=True):
            assert (shown == own == ".") or float(shown) == pytest.approx(float(own), rel=1e-5)


def test_word_weights_go_out_and_in(letters, folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=4, reverse_complement=True)", "--output", "m.kw")
    assert "all words of 4 letters" in kw("variants", "m.kw", "--deltasvm", "w.txt").stderr
    assert len((folder / "w.txt").read_text().splitlines()) == 136
    ours = run(kw, "--format", "tsv", "--background", "0").stdout.splitlines()[1:]
    table = kw("variants", "w.txt", "in.vcf", "--genome", "g.fa", "--format", "tsv", "--background", "0")
    for mine, other in zip(ours, table.stdout.splitlines()[1:], strict=True):
        (*_, a, _, why), (*_, b, _, why_too) = mine.split("\t"), other.split("\t")
        assert why == why_too
        assert (a == b == ".") or float(a) == pytest.approx(float(b), abs=1e-9)


def test_usage_and_faults(letters, folder, kw):
    assert "--genome hg.fa" in kw("variants", "m.kw", "in.vcf", code=2).stderr
    assert "Give a VCF file" in kw("variants", "m.kw", code=2).stderr
    assert "--json needs --output" in run(kw, "--json", code=2).stderr
    before = set(os.listdir(folder))
    assert "REF is not what" in run(kw, "--strict", "--output", "new.vcf", code=3).stderr
    (folder / "bad.vcf").write_text((folder / "in.vcf").read_text() + "chr1\t5\n")
    wrong = kw("variants", "m.kw", "bad.vcf", "--genome", "g.fa", "--output", "new.vcf", code=3)
    assert "bad.vcf, line 16" in wrong.stderr
    assert "not VCF" in kw("variants", "m.kw", "pos.fa", "--genome", "g.fa", code=3).stderr
    assert set(os.listdir(folder)) == before | {"bad.vcf", "g.fa.fai"}
    (folder / "nochr.vcf").write_text((folder / "in.vcf").read_text().replace("\nchr1", "\n1"))
    assert "'chr1' is there" in kw("variants", "m.kw", "nochr.vcf", "--genome", "g.fa", code=3).stderr
    (folder / "none.vcf").write_text(HEAD)
    assert kw("variants", "m.kw", "none.vcf", "--genome", "g.fa").stdout.splitlines()[-1] == HEAD.splitlines()[-1]
