"""The weighted degree kernel against its definition, other software, and itself in parts."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_strings as naive
from kernelweave import InputError, WeightedDegree, parse
from kernelweave.kernels import Only, Split
from kernelweave.sequences import ALPHABETS, Alphabet, as_sequences
from kernelweave.testing import check_kernel
from kernelweave.views import as_views

LETTERS = {"dna": "ACGTN", "rna": "ACGUN", "protein": "ACDEFGHIKLMNPQRSTVWYX", "text": "abc éß", "bytes": "\x01a\xfe"}


@st.composite
def string_sets(draw, max_length=14, alphabets=tuple(LETTERS)):
    """Equally long sequences of one alphabet: random, or a family that shares long stretches."""
    name = draw(st.sampled_from(alphabets))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    letters, length, n = list(LETTERS[name]), draw(st.integers(1, max_length)), draw(st.integers(3, 7))
    if name == "text":
        letters = letters[:4]  # one byte each, so that all are equally long
    change = draw(st.sampled_from([0.0, 0.2, 1.0]))
    rows = np.where(rng.random((n, length)) < change, rng.choice(letters, (n, length)), rng.choice(letters, length))
    return ["".join(row) for row in rows], name, rng


def read(sequences, alphabet):
    return as_sequences(sequences, alphabet).as_matrix()


quiet = pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")


@quiet
@given(string_sets(), st.integers(1, 6), st.integers(0, 3), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=80)
def test_equals_the_definition(data, degree, shift, own_weights, own_starts, own_delta):
    sequences, name, rng = data
    length = len(sequences[0])
    weights, starts, delta = rng.random(degree), rng.random(length), rng.random(shift + 1)
    kernel = WeightedDegree(
        degree,
        shift,
        weights if own_weights else None,
        starts if own_starts else None,
        delta if own_delta else None,
        alphabet=name,
    )
    weights = weights if own_weights else naive.beta_default(degree)
    starts = starts if own_starts else np.ones(length)
    delta = delta if own_delta else [1 / (2 * (s + 1)) for s in range(shift + 1)]
    codes = read(sequences, name)
    expected = [[naive.wd_moved(x, y, weights, delta, starts) for y in codes] for x in codes]
    np.testing.assert_allclose(kernel(sequences), expected, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(sequences), np.diagonal(expected), atol=1e-12)
    np.testing.assert_allclose(kernel(sequences[:2], sequences), expected[:2], atol=1e-12)


@quiet
@given(string_sets(), st.integers(1, 5), st.sampled_from([("degree",), ("position",), ("position", "degree")]))
@settings(max_examples=40)
def test_parts_add_up_to_the_whole(data, degree, by):
    sequences, name, rng = data
    kernel = WeightedDegree(degree, position_weights=rng.random(len(sequences[0])), alphabet=name)
    for whole in (kernel, kernel.normalized(), WeightedDegree(degree, alphabet=name)):
        parts = whole.split(*by).terms(as_views(sequences))
        assert all(isinstance(part, Only) for part in parts)
        np.testing.assert_allclose(sum(part(sequences) for part in parts), whole(sequences), atol=1e-12)
        np.testing.assert_allclose(sum(part.diag(sequences) for part in parts), whole.diag(sequences), atol=1e-12)
        for part in parts:
            assert parse(repr(part)) == part


@quiet
@given(string_sets(8, ("dna", "text")), st.integers(1, 4))
@settings(max_examples=30)
def test_features_define_the_kernel(data, degree):
    sequences, name, _ = data
    kernel = WeightedDegree(degree, alphabet=name)
    vectors = [{feature: value for _, feature, value in kernel.features(s)} for s in sequences]
    expected = [[sum(value * b.get(f, 0.0) for f, value in a.items()) for b in vectors] for a in vectors]
    np.testing.assert_allclose(kernel(sequences), expected, atol=1e-12)


def windows(rng, n=9, length=20):
    return ["".join(row) for row in rng.choice(list("ACGT"), (n, length))]


KERNELS = [
    WeightedDegree(),
    WeightedDegree(3, 2),
    WeightedDegree(3).normalized(),
    WeightedDegree(2, weights=[0.0, 1.0], position_weights=np.arange(20.0)),
    WeightedDegree(2, 2, position_weights=np.arange(20.0), shift_weights=[0.5, 0.2, 0.1]),
    WeightedDegree(3).split("degree"),
    WeightedDegree(3).normalized().split("position"),
    WeightedDegree(2).split("position", "degree"),
    WeightedDegree(3, 4).split("degree"),
    WeightedDegree(3).only(degree=2, position=4),
    WeightedDegree(3).only(position=4).normalized(),
    0.5 * WeightedDegree(3) + WeightedDegree(1) * WeightedDegree(2),
    WeightedDegree(3, alphabet=Alphabet("ACGT")),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:60])
def test_promises(kernel, rng):
    check_kernel(kernel, windows(rng))


def test_other_software_agrees():
    reference = naive.oracle()
    sequences, checked = reference["sequences"], 0
    for name, matrix in reference["kernels"].items():
        match = re.match(r"WeightedDegree\(degree=(\d+)(?:, shift=(\d+))?\)", name)
        if match:
            shift = int(match[2] or 0)
            delta = [0.5, *(1 / (2 * s) for s in range(1, shift + 1))]
            kernel = WeightedDegree(int(match[1]), shift, shift_weights=delta)
            np.testing.assert_allclose(kernel(sequences), matrix, rtol=0, atol=1e-9, err_msg=name)
            checked += 1
    assert checked == 7


def test_an_example_by_hand():
    # three letters agree, two pairs: weights 2/3 and 1/3
    np.testing.assert_allclose(WeightedDegree(2)(["ACGT", "ACGA"])[0, 1], 3 * 2 / 3 + 2 / 3)
    np.testing.assert_allclose(WeightedDegree(1, 1)(["AC", "CA"])[0, 1], 2 * 0.25)
    np.testing.assert_allclose(WeightedDegree(2).normalized()(["ACGT", "AGGT"]).diagonal(), 1.0)


def test_splits_are_typed_back_and_pass_through_columns(rng):
    table = {"left": windows(rng), "right": windows(rng)}
    kernel = WeightedDegree(3).normalized().on("left").split("degree") + WeightedDegree(2).on("right")
    assert repr(kernel) == (
        "WeightedDegree(degree=3).normalized().split('degree').on('left') + WeightedDegree(degree=2).on('right')"
    )
    assert parse(repr(kernel)) == kernel
    terms = kernel.terms(as_views(table))
    assert [repr(term) for term in terms][:2] == [
        "WeightedDegree(degree=3).normalized().only(degree=1).on('left')",
        "WeightedDegree(degree=3).normalized().only(degree=2).on('left')",
    ]
    assert len(terms) == 4
    check_kernel(kernel, table)
    assert isinstance(parse("WeightedDegree(degree=2).split('degree')"), Split)
    assert parse("WeightedDegree(alphabet=DNA)") == WeightedDegree(alphabet=ALPHABETS["dna"])


def test_terms_near_the_end_are_left_out(rng):
    terms = WeightedDegree(9).split("position", "degree").terms(as_views(windows(rng, length=5)))
    assert len(terms) == 5 + 4 + 3 + 2 + 1
    assert len(WeightedDegree(9).split("degree").terms(as_views(windows(rng, length=5)))) == 5


def test_the_machine_decides_the_alphabet():
    proteins = ["MKVLAANT", "NNACDEFG", "ACGTNNAC"]
    new = ["ACGTNACG", "NNACGTAC"]  # by themselves, these look like DNA, where N matches nothing
    kernel = WeightedDegree(3).normalized()
    np.testing.assert_allclose(kernel(new, proteins), WeightedDegree(3, alphabet="protein").normalized()(new, proteins))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (WeightedDegree(0), "whole number degree ≥ 1; got 0"),
        (WeightedDegree(2.5), "whole number degree"),
        (WeightedDegree(3, -1), "whole number shift ≥ 0"),
        (WeightedDegree(3, weights=[1, 2]), "weights must be 3 numbers, one per degree"),
        (WeightedDegree(2, weights=[1, -2]), "finite and ≥ 0"),
        (WeightedDegree(2, position_weights=[1, 2]), "position_weights must be 4 numbers"),
        (WeightedDegree(2, 1, shift_weights=[1]), "shift_weights must be 2 numbers"),
        (WeightedDegree(2).only(degree=3), "degrees 1 to 2"),
        (WeightedDegree(2).only(position=4), "no position 4"),
        (WeightedDegree(2, 1).only(position=0), "belongs to two positions"),
        (WeightedDegree(alphabet="klingon"), "There is no alphabet 'klingon'"),
        (WeightedDegree(alphabet="rna").on("a"), "nothing to choose"),
    ],
)
def test_bad_parameters_are_named(kernel, message):
    with pytest.raises(InputError, match=message):
        kernel(["ACGT", "AAGT"])


def test_bad_data_are_named(rng):
    with pytest.raises(InputError, match=r"equally long here; got 2 lengths: 4 \(2x\), 3 \(1x\).*Spectrum"):
        WeightedDegree()(["ACGT", "ACG", "AAAA"])
    with pytest.raises(InputError, match="4 letters cannot be compared place by place with sequences of 3"):
        WeightedDegree()(["ACGT"], ["ACG"])
    with pytest.raises(InputError, match="holds float64 numbers"):
        WeightedDegree()(rng.normal(size=(3, 2)))
    with pytest.raises(InputError, match="Byte 255"):
        WeightedDegree(alphabet="bytes")([b"a\xff", b"ab"])


@pytest.mark.parametrize("by", [(), ("k",), ("degree", "degree")])
def test_splits_that_make_no_sense(by):
    with pytest.raises(InputError, match="cannot be split"):
        WeightedDegree().split(*by)


def test_normalise_first_then_split():
    with pytest.raises(InputError, match=r"normalized\(\)\.split\('degree'\)"):
        WeightedDegree(3).split("degree").normalized()
    with pytest.raises(InputError, match="no parts"):
        (WeightedDegree(3) * WeightedDegree(2)).split("degree")
    with pytest.raises(InputError, match="shift=0"):
        list(WeightedDegree(3, 1).features("ACGT"))
