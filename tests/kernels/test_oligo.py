"""Oligo and locality improved kernels against their definitions and other software."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_strings as naive
from kernelweave import InputError, LocalityImproved, Oligo
from kernelweave.sequences import as_sequences
from kernelweave.testing import check_kernel

LETTERS = {"dna": "ACGTN", "protein": "ACDEFGHIKLX", "text": "abc "}


@st.composite
def string_sets(draw, equal):
    name = draw(st.sampled_from(tuple(LETTERS)))
    length = st.just(draw(st.integers(1, 12))) if equal else st.integers(1, 12)
    row = length.flatmap(lambda n: st.text(LETTERS[name], min_size=n, max_size=n))
    return draw(st.lists(row, min_size=2, max_size=5)), name


quiet = pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")


@quiet
@given(string_sets(equal=False), st.integers(1, 4), st.sampled_from([0.1, 2.0, 50.0]))
@settings(max_examples=60)
def test_oligo_equals_the_definition(data, k, width):
    sequences, name = data
    found = as_sequences(sequences, name)
    codes = [found.codes(i) for i in range(len(found))]
    expected = np.array([[naive.oligo(x, y, k, width) for y in codes] for x in codes])
    kernel = Oligo(k, width, alphabet=name)
    np.testing.assert_allclose(kernel(sequences), expected, atol=1e-12)
    np.testing.assert_allclose(kernel(sequences[:1], sequences), expected[:1], atol=1e-12)
    np.testing.assert_allclose(kernel.diag(sequences), np.diagonal(expected), atol=1e-12)


@quiet
@given(string_sets(equal=True), st.integers(0, 4), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=60)
def test_locality_improved_equals_the_definition(data, length, inner, outer):
    sequences, name = data
    codes = as_sequences(sequences, name).as_matrix()
    expected = np.array([[naive.locality(x, y, length, inner, outer) for y in codes] for x in codes])
    kernel = LocalityImproved(length, inner, outer, alphabet=name)
    np.testing.assert_allclose(kernel(sequences), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(sequences), np.diagonal(expected), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", [Oligo(), Oligo(2, 100.0), LocalityImproved(), LocalityImproved(0, 1, 2)], ids=repr)
def test_promises(kernel, rng):
    sequences = ["".join(row) for row in rng.choice(list("ACGT"), (12, 20))]
    check_kernel(kernel, sequences)
    check_kernel(kernel.normalized(), sequences)


def test_oligo_of_other_software():
    # it walks both lists of words at once and passes over some pairs; where it finds all, it agrees
    reference = naive.oracle()
    matrix = np.array(reference["kernels"]["Oligo(k=3, width=2.0)"])
    ours = Oligo(3, 2.0)(reference["sequences"])
    assert (matrix <= ours + 1e-9).all()
    assert (np.abs(matrix - ours) < 1e-6).sum() == 48


def test_locality_improved_of_other_software():
    reference = naive.oracle()
    name = "LocalityImproved(window length 3, inner degree 2, outer degree 2)"
    codes = np.array([naive.letters(s) for s in reference["sequences"]])
    theirs = [[naive.locality_elsewhere(x, y, 3, 2, 2) for y in codes] for x in codes]
    np.testing.assert_allclose(theirs, reference["kernels"][name], rtol=1e-9)
    # within the sequences, where no window meets an end, both count the same
    inside = np.array([[inner_windows(x, y) for y in codes] for x in codes])
    ours = LocalityImproved(3, 3, 1)(reference["sequences"]) * (4 / 7) ** 3
    borders = np.array([[border_windows(x, y) for y in codes] for x in codes])
    np.testing.assert_allclose(ours, inside + borders, rtol=1e-9)


def roof(x, y, i):
    return (sum((4 - abs(j)) * naive.agreement(x, y, i + j) for j in range(-3, 4)) / 28) ** 3


def inner_windows(x, y):
    """What both count, taken from the other software's sum."""
    late = sum(
        ((4 * naive.agreement(x, y, c) + sum(
            (j + 1) * naive.agreement(x, y, c - 3 + j) + (3 - j) * naive.agreement(x, y, c + j + 1)
            for j in range(3) if c + j + 1 < len(x)
        )) / 28) ** 3
        for c in range(len(x) - 3, len(x))
    )  # fmt: skip
    return naive.locality_elsewhere(x, y, 3, 2, 0) - late


def border_windows(x, y):
    return sum(roof(x, y, i) for i in (0, 1, 2, len(x) - 3, len(x) - 2, len(x) - 1))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Oligo(0), "whole number k"),
        (Oligo(3, 0.0), "width > 0"),
        (Oligo(3, np.nan), "width > 0"),
        (Oligo(33), "up to 32 letters of DNA"),
        (LocalityImproved(-1), "length ≥ 0"),
        (LocalityImproved(3, 0), "inner_degree ≥ 1"),
        (LocalityImproved(3, 1, 1.5), "outer_degree"),
    ],
)
def test_bad_parameters_are_named(kernel, message):
    with pytest.raises(InputError, match=message):
        kernel(["ACGT", "AAGT"])


def test_lengths():
    with pytest.raises(InputError, match="equally long"):
        LocalityImproved()(["ACGT", "ACG"])
    assert Oligo(2)(["ACGT", "AC"]).shape == (2, 2)
    with pytest.raises(InputError, match="Byte 255"):
        Oligo(alphabet="bytes")([b"a\xff", b"ab"])
