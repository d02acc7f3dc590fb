from itertools import chain

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_sequences as naive
from kernelweave._fast import fasta, packing
from kernelweave.sequences.layout import IDENTITY, offsets_of, pack_codes, row_starts

ROWS = st.lists(st.lists(st.integers(0, 3), max_size=11), max_size=6)


def flat(rows):
    return np.array([code for row in rows for code in row], np.uint8), offsets_of(np.array([len(r) for r in rows], int))


@settings(deadline=None)
@given(st.binary(max_size=50))
def test_histogram_counts_like_its_twin(text):
    assert packing.histogram(np.frombuffer(text, np.uint8)).tolist() == naive.histogram(text)


@settings(deadline=None)
@given(ROWS)
def test_pack_and_unpack_equal_their_twins(rows):
    codes, offsets = flat(rows)
    packed = pack_codes(codes, IDENTITY, offsets)
    assert packed.tobytes() == naive.pack(rows)
    out = np.empty(codes.size, np.uint8)
    packing.unpack(packed, row_starts(offsets), offsets, out)
    lengths = [len(row) for row in rows]
    assert out.tolist() == codes.tolist() == list(chain.from_iterable(naive.unpack(packed.tobytes(), lengths)))


@settings(deadline=None)
@given(ROWS, st.data())
def test_gather_copies_rows(rows, data):
    codes, offsets = flat(rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)) if rows else []
    new = offsets_of(np.array([len(rows[i]) for i in chosen], int))
    out = np.empty(int(new[-1]), np.uint8)
    packing.gather(codes, offsets[np.array(chosen, int)], out, new)
    assert out.tolist() == list(chain.from_iterable(rows[i] for i in chosen))


@settings(deadline=None)
@given(ROWS)
def test_reverse_rows_turns_every_row(rows):
    codes, offsets = flat(rows)
    out = np.empty(codes.size, np.uint8)
    packing.reverse_rows(codes, IDENTITY, offsets, out)
    assert out.tolist() == list(chain.from_iterable(row[::-1] for row in rows))


@settings(deadline=None)
@given(
    st.lists(st.binary(min_size=0, max_size=12).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"")), max_size=6)
)
def test_ids_are_hashed_and_joined_like_their_twins(headers):
    block = b"".join(b">" + header for header in headers) + b">"
    stops = np.cumsum([len(header) + 1 for header in headers], dtype=np.int64)
    heads = np.array([[stop - len(header), stop] for header, stop in zip(headers, stops, strict=True)], np.int64)
    heads = heads.reshape(-1, 2)
    letters = np.frombuffer(block, np.uint8)
    words = [header.strip(b" \t").replace(b"\t", b" ").split(b" ")[0] for header in headers]
    assert fasta.hash_ids(letters, heads).tolist() == [naive.fnv(word) for word in words]
    out = np.empty(len(block) + len(headers), np.uint8)
    size = fasta.join_heads(letters, heads, True, out)
    assert out[:size].tobytes() == b"".join(word + b"\n" for word in words)
    size = fasta.join_heads(letters, heads, False, out)
    assert out[:size].tobytes() == b"".join(header.strip(b" \t") + b"\n" for header in headers)
