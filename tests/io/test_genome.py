"""A genome by its index: letters are those of the file, in every form, and damage is never silent."""

import gzip
import io
import os
import shutil
import subprocess

import numpy as np
import pytest

from kernelweave.errors import DataWarning, InputError
from kernelweave.io import genome as module
from kernelweave.io.bgzip import BgzipWriter, BlockFile
from kernelweave.io.faidx import build_index, cached_index, read_index
from kernelweave.io.genome import TextGenome, open_genome


def bgzipped(data):
    out = io.BytesIO()
    writer = BgzipWriter(out)
    for at in range(0, len(data), 10_007):
        writer.write(data[at : at + 10_007])
    writer.close()
    return out.getvalue()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    sizes = {"chr1": 150_003, "chr2": 600, "chr3": 61, "empty": 0, "one": 1, "chrX": 200_000}
    return {name: "".join(rng.choice(list("ACGTacgtN"), size)) for name, size in sizes.items()}


@pytest.fixture(scope="module")
def text(rows):
    cut = {name: "".join(row[i : i + 60] + "\n" for i in range(0, len(row), 60)) for name, row in rows.items()}
    return "".join(f">{name} a description\n{lines}" for name, lines in cut.items()).encode()


FORMS = {
    "plain.fa": lambda text: text,
    "crlf.fa": lambda text: text.replace(b"\n", b"\r\n"),
    "no_end.fa": lambda text: text.rstrip(b"\n"),
    "blocks.fa.gz": bgzipped,
    "stream.fa.gz": lambda text: gzip.compress(text, 1),
}


@pytest.mark.parametrize("form", FORMS)
def test_letters_are_those_of_the_file(form, rows, text, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 1 << 14)
    path = tmp_path / form
    path.write_bytes(FORMS[form](text))
    rng = np.random.default_rng(1)
    for _ in range(2):  # the second time by the index that the first one left
        with open_genome(path) as genome:
            assert genome.lengths == {name: len(row) for name, row in rows.items()}
            for name, row in rows.items():
                for _ in range(40):
                    start, end = np.sort(rng.integers(0, len(row) + 1, 2)).tolist()
                    assert genome.fetch(name, start, end).tobytes().decode() == row[start:end]
    assert (tmp_path / f"{form}.fai").exists() == (form != "stream.fa.gz")


def test_a_gzipped_genome_is_held_at_two_bits_a_letter(tmp_path):
    row = "ACGT" * 100_000 + "N" * 1000 + "acgt" * 1000
    path = tmp_path / "g.fa.gz"
    path.write_bytes(gzip.compress(f">c\n{row}\n".encode()))
    genome = open_genome(path)
    assert genome.nbytes < 0.26 * len(row)
    assert genome.fetch("c", 0, len(row)).tobytes().decode() == row


def test_one_long_line(tmp_path):
    path = tmp_path / "g.fa"
    path.write_bytes(b">c\n" + b"ACGTTGCA" * 600_000)
    with open_genome(path) as genome:
        assert genome.fetch("c", 4_799_990, 4_800_000).tobytes() == b"CAACGTTGCA"


def test_index_is_that_of_samtools(text, tmp_path):
    if shutil.which("samtools") is None:
        pytest.skip("samtools is not installed")
    for form in ("plain.fa", "crlf.fa", "blocks.fa.gz"):
        path = tmp_path / form
        path.write_bytes(FORMS[form](text))
        ours = {name: entry for name, entry in build_index(str(path)).items() if entry.length}  # which it leaves out
        subprocess.run(["samtools", "faidx", path], check=True)
        assert read_index(f"{path}.fai") == ours


def test_stale_index_is_noticed(tmp_path):
    path = tmp_path / "g.fa"
    path.write_text(">a\nACGT\nAC\n")
    open_genome(path).close()
    path.write_text(">a\nACGTT\nACGTT\nA\n>b\nGGGG\n")
    os.utime(f"{path}.fai", ns=(0, 0))
    with pytest.warns(DataWarning, match="is older than the file; an index is made anew"):
        genome = open_genome(path)
    assert genome.lengths == {"a": 11, "b": 4}
    genome.close()
    path.write_text(">a\nACGTT\nACGTT\nA\n>b\nGGGG\n>c\nAAAAAAAAAAAAAAAAAAAA\n")
    os.utime(f"{path}.fai", ns=(2**62, 2**62))  # newer, but of a shorter file
    with pytest.warns(DataWarning, match="does not end where the file ends"):
        genome = open_genome(path)
    assert genome.fetch("c", 0, 2).tobytes() == b"AA"
    genome.close()


@pytest.mark.parametrize(
    "line", ["a\t11\t3\t5\t6", "a\t5\t3\t5\t6", "a\t10\t3\t5\t6", "a\t11\t2\t5\t6", "b\t11\t3\t5\t6", "a\t11\t3\t6\t7"]
)
def test_index_of_another_file_reads_no_letters(line, tmp_path):
    """A wrong index that could be true is found at the first letter."""
    path = tmp_path / "g.fa"
    path.write_text(">a\nACGTT\nACGTT\nA\n>z\nGG\n")
    (tmp_path / "g.fa.fai").write_text(f"{line}\nz\t2\t20\t2\t3\n")
    with open_genome(path) as genome:
        name = line[0]
        if line == "a\t11\t3\t5\t6":
            assert genome.fetch(name, 4, 11).tobytes() == b"TACGTTA"
        else:
            with pytest.raises(InputError, match=r"does not fit the file at .*Remove .*\.fai"):
                genome.fetch(name, 0, 5)


@pytest.mark.parametrize("line", ["", "a\t11\t3\t5", "a\tx\t3\t5\t6", "a\t1\t3\t5\t9", "a\t1\t2\t3\t4\na\t1\t2\t3\t4"])
def test_damaged_index_is_made_anew(line, tmp_path):
    path = tmp_path / "g.fa"
    path.write_text(">a\nACGTT\nA\n")
    (tmp_path / "g.fa.fai").write_text(f"{line}\n")
    with pytest.warns(DataWarning, match="cannot be used"), open_genome(path) as genome:
        assert genome.lengths == {"a": 6}
    assert (tmp_path / "g.fa.fai").read_text() == "a\t6\t3\t5\t6\n"


def test_index_goes_to_the_cache_where_the_folder_is_read_only(tmp_path, monkeypatch):
    path = tmp_path / "g.fa"
    path.write_text(">a\nACGTT\nA\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "g.fa.fai").mkdir()  # nothing can be written there, whoever runs the test
    (tmp_path / "g.fa.fai").rmdir()
    real = module.index_of.__globals__["AtomicFile"]

    def refuse(target):
        if str(target) == f"{path}.fai":
            raise PermissionError(13, "Permission denied", str(target))
        return real(target)

    monkeypatch.setitem(module.index_of.__globals__, "AtomicFile", refuse)
    for _ in range(2):
        with open_genome(path) as genome:
            assert genome.fetch("a", 4, 6).tobytes() == b"TA"
    assert not (tmp_path / "g.fa.fai").exists()
    assert os.path.exists(cached_index(str(path)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"ACGT\n", "does not begin with '>'"),
        (b">a\nACGT\nAC\nACGT\n", "lines of 'a' differ in length"),
        (b">a\nACGT\n\nAC\n", "lines of 'a' differ in length"),
        (b">a\nAC\n>a\nAC\n", "two records named 'a'"),
        (b">a\rAC\r>b\rGG\r", "CR alone"),
        (b"\xef\xbb\xbf>a\nAC\n", "byte order mark"),
        (b">a\nA\0C\n", "NUL bytes"),
        (b">a\nACGT\n> \r\nACGT\nAC\nACGT\n", "lines of '' differ in length"),
    ],
)
def test_files_without_an_index(data, message, tmp_path):
    path = tmp_path / "g.fa"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        open_genome(path)
    assert os.listdir(tmp_path) == ["g.fa"]


def test_names_and_places_that_are_not_there():
    genome = TextGenome({"chr1": "ACGT", "chr2": "AC"}, "hg.fa")
    with pytest.raises(InputError, match=r"'1', but hg.fa has 'chr1', 'chr2'. 'chr1' is there.*sed 's/\^/chr/'"):
        genome.fetch("1", 0, 1)
    with pytest.raises(InputError, match="same release"):
        genome.fetch("chrM", 0, 1)
    with pytest.raises(InputError, match="'chr1' has 4 letters"):
        genome.fetch("chr1", 2, 5)


@pytest.mark.parametrize("cut", [10, 1000, 28, 1])
def test_truncated_blocks(cut, text, tmp_path):
    path = tmp_path / "g.fa.gz"
    path.write_bytes(bgzipped(text)[:-cut])
    with pytest.raises(InputError, match="damaged or truncated"):
        open_genome(path)


def test_damaged_block(text, tmp_path):
    path = tmp_path / "g.fa.gz"
    data = bytearray(bgzipped(text))
    path.write_bytes(data)
    open_genome(path).close()
    data[5000] ^= 1
    path.write_bytes(data)
    os.utime(f"{path}.fai", ns=(2**62, 2**62))
    with pytest.raises(InputError, match="damaged or truncated: wrong data in the block at byte 0"):
        open_genome(path)


def test_blocks_are_read_by_others(tmp_path):
    rng = np.random.default_rng(0)
    data = rng.bytes(200_000) + b"A" * 300_000  # noise, which does not get smaller
    packed = bgzipped(data)
    assert gzip.decompress(packed) == data
    path = tmp_path / "x.gz"
    path.write_bytes(packed)
    file = BlockFile(str(path))
    assert file.read_at(199_000, 2_000) == data[199_000:201_000]
    assert file.read_at(499_990, 100) == data[499_990:]
    file.close()
    if shutil.which("bgzip"):
        assert subprocess.run(["bgzip", "-dc", path], capture_output=True, check=True).stdout == data
