"""Damaged and crafted packed files: a clear error or the same letters, never a crash, never other letters."""

import json
import pickle
import subprocess
import sys
import threading
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.errors import InputError
from kernelweave.sequences import Alphabet, SequenceSet, SequenceWriter, as_sequences, mapped
from kernelweave.sequences.header import BLOCK, HEADER_SIZE, Header, _digest, aligned, read_header, table_digest
from kernelweave.sequences.store import BlockSums

pytestmark = pytest.mark.filterwarnings("ignore:.*are ambiguous:kernelweave.errors.DataWarning")

#: Flipped bits of every kind of file, and of a file that is fitted.
FLIPS, FIT_FLIPS = 300, 40
THREE = Alphabet("ABC", "three", ambiguous="?")
KINDS = {
    "DNA, equal": (["ACGTACGTA", "TTNTNNTTT", "GGGGGGGGC"], "dna", {}),
    "DNA, varying": (["ACGTA", "", "NN", "TTTGTGTGTGTNACG"], "dna", {}),
    "DNA, some skipped": (["ACGTA", "A", "NNA", "T"], "dna", {"on_short": "skip", "min_length": 2}),
    "protein, equal": (["MEEPQ", "SXSXM"], "protein", {}),
    "protein, varying": (["MEEPQ", "SX", "", "WWWWWWWWWWWWWWWW"], "protein", {}),
    "text": (["héllo", "日本"], "text", {}),
    "bytes": ([bytes(range(256)), b"\xff\xff\0"], "bytes", {}),
    "three letters": (["ABCAB", "C?", "?"], THREE, {}),
    "no letters": (["", ""], "dna", {}),
}


def write(path, kind):
    rows, alphabet, rules = KINDS[kind]
    with SequenceWriter(path, alphabet, **{"on_short": "zero"} | rules) as out:
        out.write(rows)
    return path.read_bytes()


def content(path):
    """All that a set says, read in several ways."""
    found = SequenceSet.open(path)
    ways = [
        list(found),
        [found[i] for i in range(len(found))],
        list(found[::-1])[::-1],
        list(pickle.loads(pickle.dumps(found))),
    ]
    assert all(way == ways[0] for way in ways)
    return ways[0], found.alphabet, found.offsets.tolist(), found.unknown.tolist(), found.notes, found.packed


def outcome(path, data, whole):
    """Put bytes where the file is; "error" or "equal", and an assertion where it is neither."""
    path.write_bytes(data)
    try:
        assert content(path) == whole
    except InputError as error:
        said = str(error)
    else:
        return "equal"
    assert any(word in said for word in ("damaged", "truncated", "not a packed", "version"))
    return "error"


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def some_flips(data, rng, count):
    """Bits of the used part of the header, and of all that follows it, at random."""
    used = 8 * (32 + int.from_bytes(data[12:16], "little"))
    return np.concatenate([rng.integers(0, used, count // 4), rng.integers(8 * HEADER_SIZE, 8 * len(data), count)])


@pytest.mark.parametrize("kind", KINDS)
def test_any_flipped_bit_is_an_error_or_changes_nothing(kind, tmp_path, rng):
    path = tmp_path / "x.kwseq"
    data = write(path, kind)
    whole, found = content(path), {"error": 0, "equal": 0}
    for bit in some_flips(data, rng, FLIPS):
        found[outcome(path, flipped(data, int(bit)), whole)] += 1
    # where there are no letters, nothing is read that could be wrong
    assert found["equal"] == 0 or kind == "no letters"
    assert found["error"] > 0
    assert outcome(path, data, whole) == "equal"


def test_every_bit_of_a_header_counts(tmp_path):
    data = write(tmp_path / "x.kwseq", "three letters")
    assert read_header(data[:HEADER_SIZE], len(data), "x").alphabet == THREE
    for bit in range(8 * HEADER_SIZE):
        with pytest.raises(InputError):
            read_header(flipped(data[:HEADER_SIZE], bit), len(data), "x")


@pytest.mark.parametrize("kind", ["DNA, equal", "DNA, varying", "protein, varying"])
def test_any_cut_is_an_error(kind, tmp_path):
    path = tmp_path / "x.kwseq"
    data = write(path, kind)
    for size in range(len(data) - 1, -1, -1):
        with open(path, "r+b") as file:
            file.truncate(size)
        with pytest.raises(InputError, match=r"truncated|not a packed"):
            SequenceSet.open(path)


def test_many_changed_bytes(tmp_path, rng):
    path = tmp_path / "x.kwseq"
    data = write(path, "DNA, varying")
    whole = content(path)
    for _ in range(200):
        changed = bytearray(data)
        low = int(rng.integers(HEADER_SIZE, len(data)))
        high = min(len(data), low + int(rng.integers(1, 40)))
        changed[low:high] = rng.integers(0, 256, high - low, dtype=np.uint8).tobytes()
        assert outcome(path, bytes(changed), whole) == ("error" if changed != data else "equal")
    assert outcome(path, data[:HEADER_SIZE] + bytes(len(data) - HEADER_SIZE), whole) == "error"


FITS = """
import sys, warnings
import numpy as np
import kernelweave as kw
from kernelweave.sequences import SequenceSet

path, bits = sys.argv[1], [int(bit) for bit in sys.argv[2:]]
data = open(path, "rb").read()

def fit():
    X = SequenceSet.open(path)
    y = np.arange(len(X)) % 2
    model = kw.MKLClassifier(kw.Spectrum(k=2) + kw.Oligo(k=2), max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y).decision_function(X).tobytes()

whole = fit()
for bit in bits:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    open(path, "wb").write(changed)
    try:
        print("equal" if fit() == whole else "different", flush=True)
    except kw.InputError:
        print("error", flush=True)
    except Exception as error:
        print(repr(error), flush=True)
"""


@pytest.mark.parametrize("alphabet", ["dna", "protein"])
def test_a_fit_of_a_damaged_file_is_an_error(alphabet, tmp_path, rng):
    path, letters = tmp_path / "x.kwseq", {"dna": "ACGT", "protein": "ACDEFGHIKLMNPQRSTVWY"}[alphabet]
    rows = ["".join(rng.choice(list(letters), size)) for size in rng.integers(5, 40, 24)]
    with SequenceWriter(path, alphabet) as out:
        out.write(rows)
    bits = rng.integers(8 * HEADER_SIZE, 8 * path.stat().st_size, FIT_FLIPS)
    done = subprocess.run(
        [sys.executable, "-c", FITS, str(path), *map(str, bits)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.split("\n") == ["error"] * FIT_FLIPS + [""]


# -- files whose digests are right, and whose numbers are not --------------------------------------------------------


def forge(path, alphabet, n, length, packed, sections, said=None):
    """Write a file with these sections, and right digests; `said` changes what the header says."""
    body = b""
    for name in ("data", "offsets", "unknown", "skipped"):
        body += bytes(sections.get(name, b""))
        body += bytes(aligned(len(body)) - len(body))
    table = b"".join(zlib.crc32(body[at : at + BLOCK]).to_bytes(4, "little") for at in range(0, len(body), BLOCK))
    sizes = {name: len(bytes(sections.get(name, b""))) for name in ("data", "offsets", "unknown", "skipped")}
    notes = dict.fromkeys(("n_letters", "n_lower", "n_ambiguous", "n_u", "n_short"), 0)
    raw = Header(alphabet, n, length, packed, sizes, notes, table_digest(table)).to_bytes()
    size = int.from_bytes(raw[12:16], "little")
    fields = json.loads(raw[32 : 32 + size]) | (said or {})
    text = fields["text"] if "text" in fields else json.dumps(fields).encode()
    head, text = raw[:12] + len(text).to_bytes(4, "little"), text.ljust(HEADER_SIZE - 32, b"\0")
    path.write_bytes(head + _digest(head + text) + text + body + table)
    return path


def numbers(*values):
    return np.array(values, "<i8").tobytes()


DNA, PROTEIN = as_sequences(["A"], "dna").alphabet, as_sequences(["W"], "protein").alphabet
CRAFTED = {
    "offsets beyond": (DNA, 2, None, True, {"data": b"ab", "offsets": numbers(0, 4, 1 << 40)}),
    "offsets fall": (DNA, 2, None, True, {"data": b"ab", "offsets": numbers(0, 8, 4)}),
    "offsets below 0": (DNA, 2, None, True, {"data": b"ab", "offsets": numbers(0, -4, 8)}),
    "offsets wrap": (DNA, 3, None, True, {"data": b"ab", "offsets": numbers(0, 2**63 - 1, -(2**63), 8)}),
    "offsets start late": (DNA, 2, None, True, {"data": b"ab", "offsets": numbers(1, 4, 8)}),
    "offsets of fewer bytes": (DNA, 2, None, True, {"data": b"abc", "offsets": numbers(0, 4, 8)}),
    "offsets of more bytes": (DNA, 3, None, True, {"data": b"ab", "offsets": numbers(0, 1, 2, 3)}),
    "offsets of letters beyond": (PROTEIN, 2, None, False, {"data": b"\0\1", "offsets": numbers(0, 1, 3)}),
    "offsets too few": (DNA, 3, None, True, {"data": b"ab", "offsets": numbers(0, 4, 8)}),
    "offsets missing": (DNA, 2, None, True, {"data": b"ab"}),
    "offsets too many": (DNA, 2, 4, True, {"data": b"ab", "offsets": numbers(0, 4, 8)}),
    "unknown beyond": (DNA, 2, 4, True, {"data": b"ab", "unknown": numbers(8)}),
    "unknown below 0": (DNA, 2, 4, True, {"data": b"ab", "unknown": numbers(-1, 3)}),
    "unknown falls": (DNA, 2, 4, True, {"data": b"ab", "unknown": numbers(4, 3)}),
    "unknown twice": (DNA, 2, 4, True, {"data": b"ab", "unknown": numbers(3, 3)}),
    "unknown of letters": (PROTEIN, 1, 2, False, {"data": b"\0\1", "unknown": numbers(1)}),
    "unknown cut": (DNA, 2, 4, True, {"data": b"ab", "unknown": b"1234567"}),
    "skipped cut": (DNA, 2, 4, True, {"data": b"ab", "skipped": b"1234567"}),
    "letter 20 of 20": (PROTEIN, 1, 2, False, {"data": b"\0\x14"}),
    "letter 254": (PROTEIN, 1, 2, False, {"data": b"\xfe\0"}),
    "letter 3 of 3": (THREE, 1, 4, True, {"data": b"\x03"}),
    "too few letters": (DNA, 3, 4, True, {"data": b"ab"}),
    "packed protein": (PROTEIN, 2, 4, True, {"data": b"ab"}),
    "rows of nothing": (DNA, 1 << 50, 0, True, {}),
    "a length of no rows": (DNA, 0, 1 << 50, True, {}),
}
SAID = {
    "n is a fraction": {"n": 2.0},
    "n is negative": {"n": -2},
    "n is huge": {"n": 10**400},
    "n is true": {"n": True},
    "length is text": {"length": "4"},
    "packed is a number": {"packed": 1},
    "no such alphabet": {"alphabet": "klingon"},
    "an alphabet of nothing": {"alphabet": {"letters": ""}},
    "an alphabet of half pairs": {
        "alphabet": {"letters": "ACGT", "name": "x", "complement": None, "ambiguous": "", "aliases": "U"}
    },
    "sizes are a list": {"sizes": [1, 2, 3, 4]},
    "sizes lie": {"sizes": {"data": 2, "offsets": 0, "unknown": 1 << 40, "skipped": 0}},
    "a field more": {"extra": 1},
    "notes are negative": {"notes": {"n_letters": -1, "n_lower": 0, "n_ambiguous": 0, "n_u": 0, "n_short": 0}},
    "the digest is a number": {"digest": 7},
    "not JSON": {"text": b"{"},
    "not text": {"text": b"\xff\xfe"},
    "a list": {"text": b"[]"},
    "deep": {"text": b"[" * 8000},
    "too many digits": {"text": b'{"n":' + b"9" * 8000 + b"}"},
}


@pytest.mark.parametrize("case", CRAFTED.values(), ids=CRAFTED)
def test_crafted_numbers_are_refused(case, tmp_path):
    path = forge(tmp_path / "x.kwseq", *case)
    with pytest.raises(InputError, match="damaged"):
        content(path)


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_crafted_headers_are_refused(said, tmp_path):
    case = (DNA, 2, 4, True, {"data": b"ab"})
    assert len(content(forge(tmp_path / "x.kwseq", *case))[0]) == 2
    with pytest.raises(InputError, match=r"damaged|truncated"):
        SequenceSet.open(forge(tmp_path / "x.kwseq", *case, said))


def test_forged_files_are_read_where_they_are_true(tmp_path):
    case = {"data": b"\x1b\x00", "offsets": numbers(0, 4, 5), "unknown": numbers(3)}
    found = SequenceSet.open(forge(tmp_path / "x.kwseq", DNA, 2, None, True, case))
    assert list(found) == ["ACGN", "A"]
    found.verify()


def test_an_older_format_says_what_to_do(tmp_path):
    path = tmp_path / "x.kwseq"
    data = bytearray(write(path, "DNA, equal"))
    data[8] = 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"format version 1.*kernelweave convert"):
        SequenceSet.open(path)


# -- blocks ----------------------------------------------------------------------------------------------------------


def naive_crc(data):
    """CRC-32 from its definition, a bit at a time."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


@pytest.fixture(scope="module")
def several_blocks(tmp_path_factory):
    """A packed file of rows of 141 letters in three blocks, and its rows."""
    path = tmp_path_factory.mktemp("blocks") / "x.kwseq"
    codes = np.random.default_rng(0).integers(0, 4, (4500, 141), dtype=np.uint8)
    rows = np.frombuffer(b"ACGT", np.uint8)[codes].view("S141").ravel()
    as_sequences(rows, "dna").save(path)
    return path, [row.decode() for row in rows]


def test_the_table_of_digests_is_what_it_is_said_to_be(several_blocks):
    data = several_blocks[0].read_bytes()
    body = data[HEADER_SIZE : HEADER_SIZE + aligned(4500 * 36)]
    expected = [naive_crc(body[at : at + BLOCK]) for at in range(0, len(body), BLOCK)]
    assert len(expected) == 3
    assert np.frombuffer(data[HEADER_SIZE + len(body) :], "<u4").tolist() == expected


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 2 * BLOCK + 5), max_size=6), st.integers(0, 255))
def test_sums_do_not_depend_on_the_pieces(sizes, start):
    data = np.arange(start, start + sum(sizes), dtype=np.int64).astype(np.uint8).tobytes()
    sums, at = BlockSums(), 0
    for size in sizes:
        sums.update(memoryview(data)[at : at + size])
        at += size
    expected = [zlib.crc32(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
    assert sums.table() == np.array(expected, "<u4").tobytes()


@pytest.fixture
def counted(monkeypatch):
    """The blocks that are compared with their digests, in order."""
    done, holds = [], mapped.MappedFile._holds
    monkeypatch.setattr(mapped.MappedFile, "_holds", lambda self, number: done.append(number) or holds(self, number))
    return done


def test_a_block_is_checked_when_it_is_first_read_and_once(several_blocks, counted):
    path, rows = several_blocks
    found = SequenceSet.open(path)
    assert (len(found), found.length, found.n_letters) == (4500, 141, 4500 * 141)
    half, last = found[:2250], found[4499:]
    assert counted == []
    assert found[3] == rows[3]
    assert counted == [0]
    assert list(half[:10]) == rows[:10]
    assert list(found.rows([4, 4400, 5])) == [rows[4], rows[4400], rows[5]]
    assert counted == [0, 2]
    assert list(half) == rows[:2250]
    assert list(last) == rows[4499:]
    assert list(found) == rows
    assert found.packed_rows().shape == (4500, 36)
    assert list(pickle.loads(pickle.dumps(found))) == rows
    assert counted == [0, 2, 1]


def test_a_file_that_is_opened_twice_is_checked_once(several_blocks, counted, monkeypatch):
    path, rows = several_blocks
    monkeypatch.setattr(mapped, "_SETTLED", -(1 << 62))
    first = SequenceSet.open(path)
    assert list(first) == rows
    again = SequenceSet.open(path)
    assert list(again) == rows
    assert counted == [0, 1, 2]
    again.verify()
    assert counted == [0, 1, 2, 0, 1, 2], "whoever asks for it gets it"
    path.touch()
    assert list(SequenceSet.open(path)) == rows
    assert len(counted) == 9


def test_a_file_that_was_just_written_is_not_shared(several_blocks):
    path = several_blocks[0]
    path.touch()
    assert SequenceSet.open(path).source is not SequenceSet.open(path).source


@pytest.mark.parametrize("at", [0, 70_000, 140_000])
def test_only_what_is_read_is_judged(at, several_blocks, tmp_path):
    data, rows = several_blocks[0].read_bytes(), several_blocks[1]
    path = tmp_path / "x.kwseq"
    path.write_bytes(flipped(data, 8 * (HEADER_SIZE + at)))
    found = SequenceSet.open(path)
    bad = at // BLOCK
    for number in range(3):
        row = (number * BLOCK + BLOCK // 4) // 36
        if number != bad:
            assert found[row] == rows[row]
            assert list(found.rows([row, row + 5])) == [rows[row], rows[row + 5]]
            continue
        for use in (
            found.__getitem__,
            lambda r: found.rows([0 if bad else 4499, r]),
            lambda r: found[r : r + 1].unpack(),
        ):
            with pytest.raises(InputError, match=f"digest of bytes {HEADER_SIZE + bad * BLOCK} to .* differs"):
                use(row)
    for use in (list, pickle.dumps, SequenceSet.packed_rows, SequenceSet.verify, lambda s: s.save(tmp_path / "y")):
        with pytest.raises(InputError, match="damaged"):
            use(found)
    assert not (tmp_path / "y").exists()


def test_threads_share_what_is_checked(several_blocks):
    path, rows = several_blocks
    found, seen = SequenceSet.open(path), []

    def read(start):
        seen.append(list(found[start : start + 1500]) == rows[start : start + 1500])

    threads = [threading.Thread(target=read, args=(start,)) for start in (0, 1500, 3000, 700)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4
    assert found.source.seen.all()


def test_a_file_that_is_cut_after_it_was_opened(several_blocks, tmp_path):
    path = tmp_path / "x.kwseq"
    path.write_bytes(several_blocks[0].read_bytes())
    found = SequenceSet.open(path)
    with open(path, "r+b") as file:
        file.truncate(9000)
    with pytest.raises(InputError, match="cut since it was opened"):
        found[4000]


def test_unknown_letters_of_small_alphabets_are_letters_in_the_file(tmp_path):
    path = tmp_path / "x.kwseq"
    old = as_sequences(["AB?C", "?A"], THREE, packed=True)
    as_before = replace_buffer(old, np.array([0b00011110, 0b11000000], np.uint8))
    for either in (old, as_before):
        either.save(path)
        assert list(SequenceSet.open(path)) == ["AB?C", "?A"]


def replace_buffer(sequences, buffer):
    """The same set, whose unknown letters stand in other bits."""
    return SequenceSet(
        sequences.alphabet, buffer, len(sequences), None, sequences.offsets, True, sequences.unknown, sequences.notes
    )


def test_notes_are_kept(tmp_path):
    data = as_sequences(["ACGTN", "acgun"], "dna")
    data.notes = replace(data.notes, skipped=(3, 4, 9))
    data.save(tmp_path / "x.kwseq")
    assert SequenceSet.open(tmp_path / "x.kwseq").notes == data.notes
