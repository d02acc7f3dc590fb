import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.errors import InputError
from kernelweave.sequences import Alphabet, SequenceSet, SequenceWriter, as_sequences
from kernelweave.sequences.store import HEADER_SIZE

pytestmark = pytest.mark.filterwarnings("ignore:.*are ambiguous:kernelweave.errors.DataWarning")

SETS = {
    "equal": (["ACGT", "TTNT"], "dna"),
    "varying": (["ACGTA", "", "NN", "TTT"], "dna"),
    "one": (["A"], "rna"),
    "empty letters": (["", ""], "dna"),
    "protein": (["MEEPQ", "SX"], "protein"),
    "text": (["héllo", "日本"], "text"),
    "bytes": ([bytes(range(256))], "bytes"),
    "custom": (["ABBA", "B"], Alphabet("AB", ambiguous="?")),
}


@pytest.mark.parametrize(("rows", "alphabet"), SETS.values(), ids=SETS)
def test_saved_sets_come_back(tmp_path, rows, alphabet):
    found = as_sequences(rows, alphabet, on_short="zero")
    path = tmp_path / "a file é.kwseq"
    found.save(path)
    again = SequenceSet.open(path)
    assert again == found
    assert again.alphabet == found.alphabet
    assert again.notes == found.notes
    assert again.packed == found.alphabet.packable
    again.verify()
    assert os.listdir(tmp_path) == [path.name]


@settings(deadline=None)
@given(st.lists(st.lists(st.text("ACGTNacgtu", max_size=9), max_size=5), max_size=5))
def test_writing_in_pieces_equals_reading_at_once(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("pieces") / "x.kwseq"
    with SequenceWriter(path, "dna", on_short="zero") as out:
        for piece in pieces:
            out.write(piece)
    rows = [row for piece in pieces for row in piece]
    assert len(out) == len(rows)
    found = SequenceSet.open(path)
    found.verify()
    assert list(found) == [row.upper().replace("U", "T") for row in rows]
    if rows:
        assert found.notes == as_sequences(rows, "dna", on_short="zero").notes


def test_skipped_rows_are_remembered(tmp_path):
    path = tmp_path / "x.kwseq"
    with SequenceWriter(path, "dna", on_short="skip", min_length=2) as out:
        out.write(["ACGT", "A"])
        out.write(["", "TT"])
    assert SequenceSet.open(path).notes.skipped == (1, 2)
    assert list(SequenceSet.open(path)) == ["ACGT", "TT"]


def test_an_error_leaves_no_file(tmp_path):
    path = tmp_path / "x.kwseq"
    out = SequenceWriter(path, "dna")
    out.write(["ACGT", "AC"])
    with pytest.raises(InputError, match="Sequence 2, position 2"), out:
        out.write(["A-"])
    assert os.listdir(tmp_path) == []
    with pytest.raises(InputError, match="does not exist"):
        SequenceWriter(tmp_path / "none" / "x", "dna")
    with pytest.raises(InputError, match="has 20"):
        SequenceWriter(path, "protein", packed=True)
    assert os.listdir(tmp_path) == []


def test_an_error_keeps_the_old_file(tmp_path):
    path = tmp_path / "x.kwseq"
    as_sequences(["ACGT"], "dna").save(path)
    with pytest.raises(InputError), SequenceWriter(path, "dna") as out:
        out.write(["A-"])
    assert list(SequenceSet.open(path)) == ["ACGT"]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "x.kwseq"
    as_sequences(["ACGTA", "", "NN", "TTT"], "dna", on_short="zero").save(path)
    return path


def test_any_cut_is_noticed(saved):
    data = saved.read_bytes()
    for size in (0, 7, 100, HEADER_SIZE - 1, HEADER_SIZE, len(data) - 1):
        saved.write_bytes(data[:size])
        with pytest.raises(InputError, match=r"truncated|not a packed"):
            SequenceSet.open(saved)
    saved.write_bytes(data + b"x")
    with pytest.raises(InputError, match="damaged"):
        SequenceSet.open(saved)


def test_any_changed_byte_is_noticed(saved):
    data = saved.read_bytes()
    for at in [*range(0, 400, 3), *range(HEADER_SIZE - 2, len(data))]:
        changed = bytearray(data)
        changed[at] ^= 1
        saved.write_bytes(changed)
        with pytest.raises(InputError, match=r"damaged|not a packed|version"):
            SequenceSet.open(saved).verify()


def test_newer_versions_and_other_files(saved, tmp_path):
    data = bytearray(saved.read_bytes())
    data[8] = 9
    saved.write_bytes(data)
    with pytest.raises(InputError, match="format version 9"):
        SequenceSet.open(saved)
    saved.write_bytes(b">a\nACGT\n" * 2000)
    with pytest.raises(InputError, match=r"not a packed sequence file.*pack_fasta"):
        SequenceSet.open(saved)
    with pytest.raises(FileNotFoundError):
        SequenceSet.open(tmp_path / "none")
    with pytest.raises(InputError, match="in memory"):
        as_sequences(["A"], "dna").verify()


def test_opening_does_not_read_the_letters(tmp_path):
    path = tmp_path / "big.kwseq"
    codes = np.random.default_rng(0).integers(0, 4, (20_000, 141), dtype=np.uint8)
    rows = np.frombuffer(b"ACGT", np.uint8)[codes].view("S141").ravel()
    as_sequences(rows, "dna").save(path)
    tracemalloc.start()
    found = SequenceSet.open(path)
    part = found[10_000:10_010]
    assert list(part) == [row.decode() for row in rows[10_000:10_010]]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000 < found.nbytes
    base = part.buffer
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
