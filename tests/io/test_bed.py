"""Places on a genome: every format, both strands, windows, and errors that name the line."""

import gzip
import shutil
import subprocess

import numpy as np
import pytest

from kernelweave.errors import InputError
from kernelweave.io.bed import Intervals, cut_out, looks_like_intervals, read_intervals, reverse_complement
from kernelweave.io.genome import TextGenome, open_genome

BED = "track name=x\n#note\nchr1\t2\t6\tpeak\t0\t+\textra\nchr1\t0\t4\tp2\t0\t-\n\nchr2 1 3\n"
PEAKS = "chr1\t2\t6\tp\t0\t.\t1.5\t-1\t2e3\t1\nchr1\t0\t4\tp\t0\t-\t1\t-1\t-1\t-1\n"
GFF = "##gff-version 3\nchr1\tx\tgene\t3\t6\t.\t-\t.\tID=g\nchr1\tx\texon\t1\t4\t.\t+\t0\tID=e\n##FASTA\n>chr1\nACGT\n"
GENOME = TextGenome({"chr1": "AACCGGTTNa", "chr2": "GATTACA"}, "g.fa")


def read(tmp_path, text, **options):
    path = tmp_path / "file"
    path.write_text(text)
    return read_intervals(path, **options)


def test_bed(tmp_path):
    found = read(tmp_path, BED)
    assert found.ids == ["chr1:2-6(+)", "chr1:0-4(-)", "chr2:1-3"]
    assert found.lines.tolist() == [3, 4, 6]
    assert list(cut_out(GENOME, found)) == ["CCGG", "GGTT", "AT"]
    (tmp_path / "x.bed.gz").write_bytes(gzip.compress(BED.replace("\n", "\r\n").encode()))
    assert read_intervals(tmp_path / "x.bed.gz").ids == found.ids


def test_summits_widths_and_slop(tmp_path):
    found = read(tmp_path, PEAKS)
    assert found.summits.tolist() == [3, -1]
    assert found.widened(2).ids == ["chr1:2-4", "chr1:1-3(-)"]
    assert found.widened(3).ids == ["chr1:2-5", "chr1:1-4(-)"]
    assert found.widened(slop=2).ids == ["chr1:0-8", "chr1:-2-6(-)"]
    assert found.widened(slop=2).inside(GENOME).tolist() == [True, False]


def test_gff(tmp_path):
    assert read(tmp_path, GFF, feature="gene").ids == ["chr1:2-6(-)"]
    assert read(tmp_path, GFF, feature="exon").ids == ["chr1:0-4(+)"]
    with pytest.raises(InputError, match=r"feature=...: gene \(1\), exon \(1\)"):
        read(tmp_path, GFF)
    with pytest.raises(InputError, match=r"choose one with feature="):
        read(tmp_path, GFF, feature="tRNA")
    assert looks_like_intervals(GFF.splitlines()[1].encode())
    assert looks_like_intervals(b"chr1\t1\t5\r\n")
    assert not looks_like_intervals(b"chr1,1,5\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\t2\t6\nchr1\t5\n", "line 2: a BED row"),
        ("chr1\t6\t2\n", "line 1: a BED row"),
        ("chr1\t-1\t2\n", "line 1: a BED row"),
        ("chr1\t1\t99999999999999999999\n", "line 1: a BED row"),
        ("chr1\t1\t2\tx\t0\t*\n", "line 1: a BED row"),
        ("#only comments\n", "holds no rows"),
        ("\x00\x01", "NUL"),
        (PEAKS.replace("2e3\t1", "2e3\t9"), "line 1: a narrowPeak row"),
        (GFF.replace("3\t6", "6\t3"), "line 2: a GFF row"),
    ],
)
def test_errors_name_the_line(text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, feature="gene" if "gff" in text else None)


def test_places_outside_and_other_names(tmp_path):
    with pytest.raises(InputError, match=r"line 2 \(chr1:5-11\).*'chr1' has 10 letters \(1 of 2 rows do\)"):
        cut_out(GENOME, read(tmp_path, "chr1\t2\t6\nchr1\t5\t11\n"))
    with pytest.raises(InputError, match=r"line 1 .* names the sequence '1', but g.fa has 'chr1', 'chr2'"):
        cut_out(GENOME, read(tmp_path, "1\t2\t6\n"))


def test_ambiguous_letters_have_complements():
    assert reverse_complement(b"ACGTNRYSWKMBDHVacgtn") == b"nacgtBDHVKMWSRYNACGT"


def test_letters_are_those_of_bedtools(tmp_path):
    if shutil.which("bedtools") is None:
        pytest.skip("bedtools is not installed")
    rng = np.random.default_rng(0)
    (tmp_path / "g.fa").write_text(">a\n" + "".join(rng.choice(list("ACGTacgt"), 500)) + "\n")
    starts = rng.integers(0, 480, 50)
    rows = [(int(s), int(s + rng.integers(1, 20)), "+-"[int(rng.integers(2))]) for s in starts]
    (tmp_path / "p.bed").write_text("".join(f"a\t{s}\t{e}\tx\t0\t{strand}\n" for s, e, strand in rows))
    command = ["bedtools", "getfasta", "-s", "-tab", "-fi", tmp_path / "g.fa", "-bed", tmp_path / "p.bed"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    intervals = read_intervals(tmp_path / "p.bed")
    with open_genome(tmp_path / "g.fa") as genome:
        found = cut_out(genome, intervals)
    assert [line.split("\t")[0] for line in told] == intervals.ids
    assert [line.split("\t")[1].upper() for line in told] == list(found)


def test_rows_of_tuples():
    found = Intervals.of([("chr2", 0, 3), ("chr2", 1, 3, "-")])
    assert list(cut_out(GENOME, found)) == ["GAT", "AT"]
    assert found.rows([1]).ids == ["chr2:1-3(-)"]
