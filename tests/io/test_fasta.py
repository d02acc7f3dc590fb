import gzip
import io
import os
import re
import subprocess
import sys
import threading
import tracemalloc
import warnings
import zlib

import dnaio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_sequences as naive
from kernelweave.errors import DataWarning, InputError, InputTypeError
from kernelweave.io import (
    header_labels,
    iter_fasta,
    match_labels,
    pack_fasta,
    read_fasta,
    read_labelled_fasta,
    unique_ids,
)
from kernelweave.io.records import read_batches
from kernelweave.io.streams import BGZIP_END, Source, _Again
from kernelweave.sequences import PROTEIN, SequenceSet, as_sequences

RECORDS = st.lists(st.text("ACGT", min_size=1, max_size=20), min_size=1, max_size=12)
GOOD = b">a\nACGT\nAC\n>b second\nTTTT\n"


def fasta(sequences, width=7):
    """FASTA bytes; every id holds a digit, so that a lost '>' cannot pass for letters."""
    lines = [f">s{i}\n" + "\n".join(re.findall(f".{{1,{width}}}", row)) + "\n" for i, row in enumerate(sequences)]
    return "".join(lines).encode()


def fastq(sequences):
    return "".join(f"@s{i}\n{row}\n+\n{'I' * len(row)}\n" for i, row in enumerate(sequences)).encode()


def bgzip(data, size=9):
    """Blocks as bgzip writes them: gzip members that say their own size, and an empty one at the end."""
    out = b""
    for start in range(0, len(data), size):
        piece = data[start : start + size]
        packer = zlib.compressobj(wbits=-15)
        body = packer.compress(piece) + packer.flush()
        head = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x06\x00BC\x02\x00" + (len(body) + 25).to_bytes(2, "little")
        out += head + body + zlib.crc32(piece).to_bytes(4, "little") + len(piece).to_bytes(4, "little")
    return out + BGZIP_END


def read(data, alphabet="dna", **rules):
    sequences, ids = read_fasta(io.BytesIO(data), alphabet, **rules)
    return list(sequences), ids


# -- clean files -------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    RECORDS, st.integers(1, 30), st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"]), st.booleans(), st.integers(1, 40)
)
def test_clean_files_read_like_dnaio_and_the_twin(rows, width, line_end, compress, block_size):
    data = fasta(rows, width).replace(b"\n", line_end)
    expected = [(record.name, record.sequence) for record in dnaio.FastaReader(io.BytesIO(data))]
    stored = gzip.compress(data, mtime=0) if compress else data
    assert naive.fasta(data) == expected
    assert list(iter_fasta(io.BytesIO(stored))) == expected
    assert read(stored) == (rows, [f"s{i}" for i in range(len(rows))])
    found = []
    for batch in read_batches(Source(io.BytesIO(stored)), block_size):  # records cut by blocks anywhere
        assert batch.first == len(found)
        text = batch.text.tobytes().decode()
        sequences = [text[a:b] for a, b in zip(batch.offsets, batch.offsets[1:], strict=False)]
        found += zip(batch.headers(), sequences, strict=True)
    assert found == expected


@settings(deadline=None)
@given(RECORDS, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.integers(0, 3))
def test_fastq_reads_like_dnaio(rows, line_end, blank_lines):
    expected = [(record.name, record.sequence) for record in dnaio.FastqReader(io.BytesIO(fastq(rows)))]
    data = (fastq(rows) + b"\n" * blank_lines).replace(b"\n", line_end)
    assert list(iter_fasta(io.BytesIO(data))) == expected
    assert list(iter_fasta(io.BytesIO(data.rstrip()))) == expected


@pytest.mark.parametrize(
    "data",
    [
        GOOD,
        b"\xef\xbb\xbf" + GOOD,
        GOOD[:-1],
        b"\n\r\n \n" + GOOD,
        b"# a comment\n;another\n" + GOOD,
        GOOD.replace(b"\n", b" \t\n"),
        GOOD.replace(b"\n", b"\n\n\n"),
        gzip.compress(GOOD, mtime=0),
        gzip.compress(b"\xef\xbb\xbf" + GOOD, mtime=0),
        gzip.compress(GOOD[:9], mtime=0) + gzip.compress(GOOD[9:], mtime=0),
        gzip.compress(GOOD, mtime=0) + bytes(512),
        bgzip(GOOD),
        b"@a\nACGTAC\n+\nIIIIII\n@b second\nTTTT\n+\nIIII\n",
    ],
)
@pytest.mark.parametrize("name", ["x.fa", "x.gz", "ein name é.txt"])
def test_row_68_what_a_file_is_shows_in_its_bytes_not_its_name(tmp_path, data, name):
    path = tmp_path / name
    path.write_bytes(data)
    sequences, ids = read_fasta(path)
    assert (list(sequences), ids) == (["ACGTAC", "TTTT"], ["a", "b"])
    assert [record.header for record in iter_fasta(str(path))] == ["a", "b second"]
    assert [record.id for record in iter_fasta(str(path))] == ["a", "b"]


def test_gzip_without_isal(monkeypatch):
    monkeypatch.setitem(sys.modules, "isal", None)
    stored = gzip.compress(GOOD, mtime=0)
    assert read(stored)[0] == ["ACGTAC", "TTTT"]
    for size in range(2, len(stored)):
        with pytest.raises(InputError):
            read(stored[:size])


@pytest.mark.parametrize("start", ["", "\n", "#c\n"])
def test_row_67_headers_keep_utf8_and_escape_the_rest(start):
    assert read(start.encode() + ">gène 日本\nAC\n".encode())[1] == ["gène"]
    assert read(start.encode() + b">g\xe8ne\nAC\n")[1] == ["g\\xe8ne"]
    assert read(b"\n@g\xc3\xa8ne\nAC\n+\nII\n")[1] == ["gène"]
    assert read(b"@g\xe8ne\nAC\n+\nII\n")[1] == ["g\\xe8ne"]


def test_row_77_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "x.fa").write_bytes(GOOD)
    assert read_fasta("~/x.fa")[1] == ["a", "b"]
    assert len(pack_fasta("~/x.fa", "~/x.kwseq").sequences) == 2
    assert (tmp_path / "x.kwseq").exists()


def test_row_72_a_record_longer_than_many_blocks():
    row = "ACGT" * 5000
    source = Source(io.BytesIO(fasta([row, "AC", row], 60)))
    texts = [batch.text.tobytes() for batch in read_batches(source, 64)]
    assert b"".join(texts) == (row + "AC" + row).encode()


# -- damaged files -----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=300)
@given(RECORDS, st.data())
def test_one_wrong_byte_never_loses_a_record(rows, data):
    good = fasta(rows)
    at, byte = data.draw(st.integers(0, len(good) - 1)), data.draw(st.integers(0, 255))
    bad = good[:at] + bytes([byte]) + good[at + 1 :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            found, ids = read(bad)
        except InputError:
            return
    assert len(found) == len(ids) >= len(rows)


@settings(deadline=None, max_examples=200)
@given(RECORDS, st.sampled_from([gzip.compress, bgzip]), st.data())
def test_row_68_a_cut_gzip_file_is_an_error(rows, compress, data):
    stored = compress(fasta(rows))
    with pytest.raises(InputError):
        read(stored[: data.draw(st.integers(0, len(stored) - 1))])


def test_row_68_a_bgzip_file_cut_between_blocks_is_an_error(tmp_path):
    path = tmp_path / "x.fa.gz"
    path.write_bytes(bgzip(GOOD)[: -len(BGZIP_END)])
    with pytest.raises(InputError, match=r"x.fa.gz is truncated: the last block"):
        read_fasta(path)

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    assert list(read_fasta(Pipe(bgzip(GOOD)))[0]) == ["ACGTAC", "TTTT"]
    with pytest.raises(InputError, match="the last block"):
        read_fasta(Pipe(path.read_bytes()))


@settings(deadline=None, max_examples=200)
@given(RECORDS, st.sampled_from([gzip.compress, bgzip]), st.data())
def test_row_68_a_changed_gzip_file_is_an_error_or_reads_the_same(rows, compress, data):
    stored = bytearray(compress(fasta(rows)))
    stored[data.draw(st.integers(0, len(stored) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = read(bytes(stored))
    except InputError:
        return
    assert found == (rows, [f"s{i}" for i in range(len(rows))])  # the name and time of a member are not checked


@settings(deadline=None, max_examples=200)
@given(RECORDS, st.data())
def test_a_cut_fastq_file_is_an_error_unless_cut_between_records(rows, data):
    good = fastq(rows)
    size = data.draw(st.integers(0, len(good)))
    whole = [len(fastq(rows[:n])) for n in range(1, len(rows) + 1)]
    try:
        found, _ = read(good[:size])
    except InputError:
        assert size not in whole
        return
    assert size in whole or size + 1 in whole
    assert found == rows[: len(found)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b" \n\n", "no records"),
        (b"# only a comment\n", "no records"),
        (b"ACGT\nACGT\n", "a record starts with '>' or '@', this file with 'ACGT"),
        (b"id,sequence\n1,ACGT\n", "read_table"),
        (bytes(range(256)), "binary"),
        (b">a\nACGT\n>b\0\nACGT\n", "binary"),
        (b"#a\nACGT\n>b\nACGT\n", "a record starts with"),
        (b">a\nACGT\n#b\nACGT\n", r"record 1 \('a'\), position 5: '#'"),
        (b">a\nACGT\n>b\n", r"record 2 \('b'\) is empty"),
        (b">a\nACGT\n>b\nAC GT\n", r"record 2 \('b'\), position 3: ' '"),
        (b">a\nMEEPQSDP\n", "looks like protein"),
        (b"@a\nACGT\n+\nIII\n", "after record 0"),
        (b"BZh91AY", "bzip2"),
        (b"PK\x03\x04", "zip archive"),
        (b"\xff\xfe>\0a\0", "UTF-16"),
        (gzip.compress(GOOD, mtime=0)[:-4], "truncated"),
        (gzip.compress(GOOD, mtime=0)[:-8] + bytes(8), "damaged"),
        (gzip.compress(GOOD, mtime=0) + b"not gzip at all", "damaged|truncated"),
    ],
)
def test_row_65_bad_files_are_named(tmp_path, data, message):
    path = tmp_path / "the file.fa"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        read_fasta(path, "dna")
    assert str(path) in str(caught.value)
    with pytest.raises(InputError, match=message):
        pack_fasta(path, tmp_path / "out.kwseq", alphabet="dna")
    assert os.listdir(tmp_path) == ["the file.fa"]


def test_missing_files_and_text_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_fasta(tmp_path / "none.fa")
    with pytest.raises(InputTypeError, match="mode 'rb'"):
        read_fasta(io.StringIO(">a\nACGT\n"))


def test_row_69_a_drive_that_drops_names_file_and_byte():
    class Drops(io.BytesIO):
        name = "far.fa"

        def read(self, size=-1):
            if self.tell() >= 16:
                raise OSError(5, "Input/output error")
            return super().read(16)

    with pytest.raises(OSError, match=r"far.fa: reading failed at byte 16") as caught:
        read_fasta(Drops(fasta(["ACGT"] * 9)))
    assert caught.value.errno == 5


def test_row_66_duplicate_ids_warn_and_are_numbered_in_outputs_only(tmp_path):
    path = tmp_path / "x.fa"
    path.write_bytes(b">a 1\nAC\n>b\nACG\n>a 2\nACGT\n")
    with pytest.warns(DataWarning, match="1 of 3 ids repeat"):
        _, ids = read_fasta(path)
    assert ids == ["a", "b", "a"]
    assert unique_ids(["a", "b", "a", "a", "a_2", "a"]) == ["a", "b", "a_3", "a_4", "a_2", "a_5"]
    with pytest.warns(DataWarning, match="1 of 3"):
        pack_fasta(path, tmp_path / "x.kwseq")


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "a_2", "a_2_2", "b", ""])))
def test_unique_ids_are_unique(ids):
    found = unique_ids(ids)
    assert len(set(found)) == len(ids)
    assert [new for new, old in zip(found, ids, strict=True) if new == old or not new.startswith(old)] == [
        name for i, name in enumerate(ids) if name not in ids[:i]
    ]


# -- pipes -------------------------------------------------------------------------------------------------------------

PROGRAM = """
from kernelweave.io import read_fasta
print(read_fasta("-", "dna")[1])
try:
    read_fasta("-")
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("data", [GOOD, gzip.compress(GOOD, mtime=0)])
def test_row_70_standard_input_works_once(data):
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=data, capture_output=True, check=True)
    first, second = done.stdout.decode().splitlines()
    assert first == "['a', 'b']"
    assert second.startswith("standard input is empty (it can be read only once)")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a Unix thing")
def test_row_70_named_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(gzip.compress(GOOD, mtime=0)))
    writer.start()
    assert read_fasta(path)[1] == ["a", "b"]
    writer.join()


def test_bytes_put_back_come_first():
    stream = io.BufferedReader(_Again(io.BytesIO(b"cdef"), b"ab"), 1)
    assert stream.read(3) == b"abc"
    assert stream.read() == b"def"


# -- packing and labels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alphabet", ["dna", "protein", "text"])
def test_packing_equals_reading(tmp_path, alphabet):
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGT"), size=rng.integers(1, 200))) for _ in range(300)]
    for part in (0, 1):
        (tmp_path / f"{part}.fa").write_bytes(
            fasta(rows[150 * part : 150 * part + 150]).replace(b"s", b"abc"[part : part + 1])
        )
    seen = []
    packed = pack_fasta(
        [tmp_path / "0.fa", tmp_path / "1.fa"],
        tmp_path / "x.kwseq",
        alphabet=alphabet,
        labels=(1, -1),
        keep_ids=True,
        progress=lambda n, share: seen.append((n, share)),
    )
    assert packed.sequences == as_sequences(rows, alphabet)
    assert packed.ids == [f"a{i}" for i in range(150)] + [f"b{i}" for i in range(150)]
    assert packed.labels.tolist() == [1] * 150 + [-1] * 150
    assert seen[-1] == (300, 1.0)
    again = SequenceSet.open(tmp_path / "x.kwseq")
    again.verify()
    assert list(again) == rows


def test_row_71_packing_takes_bounded_memory(tmp_path):
    rng = np.random.default_rng(0)
    peaks = []
    for n in (60_000, 240_000):
        codes = rng.integers(0, 4, (n, 141), dtype=np.uint8)
        rows = np.frombuffer(b"ACGT", np.uint8)[codes].view("S141").ravel().tolist()
        path = tmp_path / "x.fa"
        path.write_bytes(b"".join(b">s%d\n%b\n" % (i, row) for i, row in enumerate(rows)))
        del rows, codes
        tracemalloc.start()
        pack_fasta(path, tmp_path / "x.kwseq", alphabet="dna")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 16 * 240_000  # the hashes of the ids grow, and nothing else


def test_short_records_are_left_out_with_their_ids_and_labels(tmp_path):
    path = tmp_path / "x.fa"
    path.write_bytes(b">a label=1\nACGT\n>b label=2\nA\n>c label=3\nTTT\n")
    found = read_labelled_fasta(path, min_length=2, on_short="skip")
    assert (list(found.sequences), found.ids, found.labels.tolist()) == (["ACGT", "TTT"], ["a", "c"], [1, 3])
    assert found.sequences.notes.skipped == (1,)


def test_labels_from_two_files_and_from_headers(tmp_path):
    first, second = tmp_path / "pos.fa", tmp_path / "neg.fa"
    first.write_bytes(b">a\nACGT\n>b\nTT\n")
    second.write_bytes(b">c\nGG\n")
    found = read_labelled_fasta(first, second)
    assert (list(found.sequences), found.labels.tolist()) == (["ACGT", "TT", "GG"], [1, 1, -1])
    both = tmp_path / "both.fa"
    both.write_bytes(b">a chr1 label=+1\nACGT\n>b|label=-1|x\nTT\n")
    assert read_labelled_fasta(both).labels.tolist() == [1, -1]
    both.write_bytes(b">pos_1\nACGT\n>neg_2\nTT\n")
    assert read_labelled_fasta(both, label=r"^(pos|neg)_").labels.tolist() == ["pos", "neg"]
    with pytest.raises(InputError, match=r"'pos_1' has no label: a field label="):
        read_labelled_fasta(both)
    with pytest.raises(InputError, match="2 labels for 1 files"):
        pack_fasta(both, tmp_path / "x.kwseq", labels=(1, -1))
    with pytest.raises(InputError, match="No sequence file"):
        pack_fasta([], tmp_path / "x.kwseq")


@pytest.mark.parametrize(
    ("pattern", "message"), [("(", "not a regular expression"), ("a.b", "0 groups"), ("(a)(b)", "2")]
)
def test_patterns_need_one_group(pattern, message):
    with pytest.raises(InputError, match=message):
        header_labels(pattern)


def test_labels_by_id():
    assert match_labels(["b", "a"], ["a", "x", "b"], [1, 2, 3]).tolist() == [3, 1]
    with pytest.raises(InputError, match=r"7 of 7 sequences have no label.*'0', '1', '2', '3', '4', ..."):
        match_labels([str(i) for i in range(7)], ["x"], [1])
    with pytest.raises(InputError, match="1 ids have more than one label: 'a'"):
        match_labels(["a"], ["a", "a"], [1, 2])
    with pytest.raises(InputError, match="2 label ids but 1 labels"):
        match_labels(["a"], ["a", "b"], [1])


def test_alphabet_is_guessed():
    assert read_fasta(io.BytesIO(b">a\nMEEPQSDPSVEPPLSQETFSDLWKLL\n"))[0].alphabet == PROTEIN
    assert read_fasta(io.BytesIO(GOOD))[0].packed
    assert not read_fasta(io.BytesIO(GOOD), packed=False)[0].packed
