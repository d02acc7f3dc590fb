"""Damage of every kind, one upon the other: the right records or a clear error, never fewer records in silence."""

import gzip
import io
import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.errors import DataWarning, InputError
from kernelweave.io import read_fasta
from kernelweave.io.fasta import read_blocks, read_files

RECORDS = st.lists(st.text("ACGT", min_size=1, max_size=20), min_size=1, max_size=8)


def fasta(rows):
    """Records whose ids hold seven digits: a few lost bytes cannot make letters of such a header."""
    return "".join(f">s{i:07d} of {len(rows)}\n{row}\n" for i, row in enumerate(rows)).encode()


def read(data):
    """The records, read at once and by blocks, which must agree; None for an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            sequences, ids = read_fasta(io.BytesIO(data), "dna")
        except InputError:
            with pytest.raises(InputError):
                list(read_blocks(io.BytesIO(data), "dna"))
            return None
        blocks = list(read_blocks(io.BytesIO(data), "dna"))
    assert [row for block in blocks for row in block.sequences] == list(sequences)
    assert [name for block in blocks for name in block.ids] == ids
    return list(zip(ids, sequences, strict=True))


def wrapped(data, width):
    return re.sub(rb"(?m)^([ACGTacgt]+)$", lambda row: b"\n".join(re.findall(b".{1,%d}" % width, row[1])), data)


#: What happens to files on their way and does not matter.
HARMLESS = {
    "CRLF": lambda data, n: re.sub(b"\r?\n", b"\r\n", data),
    "blank lines": lambda data, n: data.replace(b"\n", b"\n" * (1 + n % 3)),
    "no last line end": lambda data, n: data.rstrip(b"\r\n"),
    "blanks at line ends": lambda data, n: re.sub(rb"(?m)(?<=[ACGTacgt])$", b" " * (n % 3), data),
    "lower case": lambda data, n: re.sub(rb"(?m)^[ACGT]+", lambda row: row[0].lower() if n % 2 else row[0], data),
    "line width": lambda data, n: wrapped(data, 1 + n % 9),
    "byte order mark": lambda data, n: data if data.startswith(b"\xef\xbb\xbf") else b"\xef\xbb\xbf" + data,
    "comment": lambda data, n: data if data.startswith(b"\xef\xbb\xbf") else b"# a comment\n" + data,
}
#: How a file may be stored.
STORED = {
    "plain": lambda data, n: data,
    "gzip": lambda data, n: gzip.compress(data, mtime=0),
    "two members": lambda data, n: gzip.compress(data[:n], mtime=0) + gzip.compress(data[n:], mtime=0),
}
STEPS = st.lists(st.tuples(st.sampled_from(sorted(HARMLESS)), st.integers(0, 50)), max_size=4)
STORAGE = st.tuples(st.sampled_from(sorted(STORED)), st.integers(0, 50))


@settings(max_examples=150)
@given(RECORDS, STEPS, STORAGE)
def test_row_64_harmless_changes_change_nothing(rows, steps, storage):
    data = fasta(rows)
    for name, n in steps:
        data = HARMLESS[name](data, n)
    data = STORED[storage[0]](data, storage[1])
    assert read(data) == [(f"s{i:07d}", row) for i, row in enumerate(rows)]


def edited(data, at, kind, byte):
    """One byte changed, lost or added, two swapped, or a piece written twice."""
    at = at % len(data)
    return {
        "change": data[:at] + byte + data[at + 1 :],
        "lose": data[:at] + data[at + 1 :],
        "add": data[:at] + byte + data[at:],
        "swap": data[:at] + data[at + 1 : at + 2] + data[at : at + 1] + data[at + 2 :],
        "repeat": data[: at + 9] + data[at:],
    }[kind]


KINDS = st.sampled_from(["change", "lose", "add", "swap", "repeat"])
BYTES = st.one_of(
    st.binary(min_size=1, max_size=1), st.sampled_from([b">", b"\n", b"\r", b"@", b"#", b";", b"\0", b"-"])
)
EDITS = st.lists(st.tuples(st.integers(0, 400), KINDS, BYTES), min_size=1, max_size=3)


@settings(max_examples=300)
@given(RECORDS, STEPS, EDITS)
def test_row_65_damage_never_loses_a_record_in_silence(rows, steps, edits):
    data = fasta(rows)
    for name, n in steps:
        data = HARMLESS[name](data, n)
    line_ends = 0
    for at, kind, byte in edits:
        at %= len(data) or 1
        line_ends += bool({10, 13} & set(data[at : at + 2])) and kind in ("change", "lose", "swap")
        if line_ends < 2:  # without those before and after a sequence it is part of a header, and no reader can know
            data = edited(data, at, kind, byte) if data else data
    found = read(data)
    assert found is None or len(found) >= len(rows)


@settings(max_examples=100)
@given(RECORDS, EDITS, st.integers(1, 60))
def test_a_damaged_or_cut_archive_is_an_error_or_whole(rows, edits, cut):
    stored = gzip.compress(fasta(rows), mtime=0)
    assert read(stored[:-cut]) is None
    for at, kind, byte in edits:
        stored = edited(stored, at, kind, byte)
    found = read(stored)
    assert found is None or len(found) >= len(rows)


def test_blocks_leave_short_records_out_and_warn_once():
    data = b">a\nACGT\n>b\nA\n>c\nNNNN\n"
    with pytest.warns(DataWarning, match=r"4 of 8 letters \(50.0 %\) are ambiguous") as caught:
        (block,) = read_blocks(io.BytesIO(data), "dna", min_length=2, on_short="skip")
    assert (list(block.sequences), block.ids) == (["ACGT", "NNNN"], ["a", "c"])
    assert len(caught) == 1
    assert list(read_blocks(io.BytesIO(b">a\nA\n"), "dna", min_length=2, on_short="skip")) == []


def test_several_files_are_one_set():
    files = [io.BytesIO(b">a\nACGT\n"), io.BytesIO(b">b\nTTT\n>c\nGG\n")]
    found = read_files(files, labels=["x", "y"])
    assert (list(found.sequences), found.ids, found.labels.tolist()) == (
        ["ACGT", "TTT", "GG"],
        ["a", "b", "c"],
        ["x", "y", "y"],
    )
