from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_strings as naive
from kernelweave._fast import kmers


@st.composite
def sequence_sets(draw):
    """Rows of varying length, some empty, some repetitive, some with ambiguous letters; and bits a letter."""
    bits = draw(st.sampled_from([1, 2, 5, 8]))
    letter = st.integers(0, draw(st.sampled_from([0, min(1, 2**bits - 1), 2**bits - 1])))
    if draw(st.booleans()):
        letter = letter | st.just(naive.AMBIGUOUS)
    letter = letter.filter(lambda c: bits < 8 or c <= naive.AMBIGUOUS)
    rows = draw(st.lists(st.lists(letter, max_size=60), min_size=1, max_size=6))
    return [np.array(row, np.uint8) for row in rows], bits


def numbers(rows, k, bits):
    return [[naive.number(word, bits) for word in naive.kmers(row, k)] for row in rows]


def split(values, starts):
    return [values[a:b].tolist() for a, b in pairwise(starts.tolist())]


def products(features, counts, starts):
    """Inner products of all pairs of sparse rows."""
    rows = [dict(zip(*row, strict=True)) for row in zip(split(features, starts), split(counts, starts), strict=True)]
    return [[sum(count * b.get(word, 0) for word, count in a.items()) for b in rows] for a in rows]


@given(sequence_sets(), st.data())
@settings(deadline=None)
def test_kmers_and_counts(rows_and_bits, data):
    rows, bits = rows_and_bits
    k = data.draw(st.integers(1, 64 // bits))
    codes, offsets = naive.join(rows)
    values, starts = kmers.kmers(codes, offsets, k, bits)
    expected = numbers(rows, k, bits)
    assert split(values, starts) == expected
    features, counts, starts = kmers.count_kmers(values, starts)
    assert split(features, starts) == [sorted(set(row)) for row in expected]
    assert split(counts, starts) == [[row.count(u) for u in sorted(set(row))] for row in expected]

    np.testing.assert_array_equal(
        products(features, counts, starts), [[naive.spectrum(x, y, k) for y in rows] for x in rows]
    )


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 300), max_size=200))
@settings(deadline=None)
def test_sort_numbers(numbers):
    values = np.array(numbers, np.uint64)
    kmers.sort_numbers(values, np.empty_like(values))
    assert values.tolist() == sorted(numbers)


@given(sequence_sets(), sequence_sets(), st.integers(1, 40))
@settings(deadline=None)
def test_long_kmers_are_exact(first, second, k):
    rows, bits = first
    others = [np.where(row == naive.AMBIGUOUS, row, row & (2**bits - 1)) for row in second[0]] + rows[:1]
    values, starts, dictionaries = kmers.fit_long(*naive.join(rows), k, bits)
    words = [naive.kmers(row, k) for row in rows]
    ids = split(values, starts)
    assert [len(row) for row in ids] == [len(row) for row in words]
    number_of = {}
    for word, value in zip(chain(*words), chain(*ids), strict=True):
        assert number_of.setdefault(word, value) == value
    assert len(set(number_of.values())) == len(number_of)

    mapped = split(*kmers.map_long(*naive.join(others), k, bits, dictionaries))
    assert mapped == [[number_of[word] for word in naive.kmers(row, k) if word in number_of] for row in others]


@pytest.mark.parametrize("k", [3, 6, 8])
@pytest.mark.parametrize("presence", [False, True])
def test_other_software_agrees(k, presence):
    reference = naive.oracle()
    codes, offsets = naive.join([naive.letters(s) for s in reference["sequences"]])
    features, counts, starts = kmers.count_kmers(*kmers.kmers(codes, offsets, k, 2))
    if presence:
        counts = np.ones_like(counts)
    name = f"Spectrum(k={k}, presence only)" if presence else f"Spectrum(k={k})"
    np.testing.assert_allclose(products(features, counts, starts), reference["kernels"][name], rtol=0, atol=1e-9)
