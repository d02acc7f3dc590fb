"""Sizes that no data ask for are refused at once, with the parameter named; so is text that is no kernel."""

import numpy as np
import pytest

from kernelweave import (
    RBF,
    GappedKmer,
    InputError,
    Laplacian,
    Linear,
    LocalityImproved,
    Mismatch,
    MKLClassifier,
    Oligo,
    Polynomial,
    Spectrum,
    WeightedDegree,
    parse,
    per_feature,
)
from kernelweave.kernels import as_kernel, values
from kernelweave.kernels.base import add_all

X = ["ACGTACGTACGTACGTACGT", "ACGTTCGTACGAACGTACGT", "TTGTACGTACGTACGTACCT", "ACGTACGTAGGTACGTAAAA"]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (WeightedDegree(degree=10**9), "takes degree up to 10,000; got 1000000000"),
        (WeightedDegree(degree=10**5000), "takes degree up to 10,000; got a whole number of 16,610 bits"),
        (WeightedDegree(degree=2, shift=10**9), "takes shift up to 10,000"),
        (WeightedDegree(degree=10**9).split("degree"), "takes degree up to"),
        (Spectrum(k=10**25), "takes k up to 10,000"),
        (Spectrum(k=10**9, min_k=1), "takes k up to 10,000"),
        (GappedKmer(10**6, 5 * 10**5), "takes length up to 10,000"),
        (GappedKmer(9000, 4500), "more than 10"),
        (Mismatch(k=10**9), "takes k up to 10,000"),
        (Mismatch(k=9000, mismatches=4000), "at most 32 letters"),
        (Oligo(k=10**9), "takes k up to 10,000"),
        (Oligo(k=2, width=10**400), "finite width > 0; got a whole number of"),
        (LocalityImproved(length=10**9), "takes length up to 10,000"),
        (LocalityImproved(inner_degree=10**9), "takes inner_degree up to 1,000"),
    ],
)
def test_sizes_of_string_kernels(kernel, message):
    with pytest.raises(InputError, match=message):
        kernel(X)
    with pytest.raises(InputError, match=message):
        MKLClassifier(kernel).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Polynomial(degree=10**9), "degree from 1 to 1,000; got 1000000000"),
        (Polynomial(degree=10**5000), "degree from 1 to 1,000"),
        (Polynomial(coef0="a"), "needs coef0 ≥ 0"),
        (Polynomial(coef0=-1.0), "needs coef0 ≥ 0"),
        (RBF(10**400), "RBF needs gamma > 0"),
        (RBF([1, "a"]), "one gamma ≥ 0 for each"),
        (Laplacian(-1.0), "Laplacian needs gamma > 0"),
    ],
)
def test_sizes_of_vector_kernels(kernel, message):
    with pytest.raises(InputError, match=message):
        kernel(np.eye(2))


def test_longest_words_are_quick_and_right():
    """A degree or shift above the length costs nothing and adds no words; only the weights know of it."""
    length = len(X[0])
    for d in (length, 10_000):
        weights = 2.0 * np.arange(d, 0, -1) / (d * (d + 1))
        np.testing.assert_allclose(
            WeightedDegree(degree=d)(X), WeightedDegree(degree=length, weights=weights[:length])(X), rtol=1e-12
        )
    far = WeightedDegree(degree=2, shift=length - 1)(X)
    np.testing.assert_allclose(WeightedDegree(degree=2, shift=10_000)(X), far, rtol=1e-12)
    np.testing.assert_allclose(Oligo(k=2, width=1e300)(X), Spectrum(k=2)(X))
    # a window beyond both ends is a roof that is nearly flat
    wide, agree = LocalityImproved(length=10_000, inner_degree=1)(X), LocalityImproved(length=0, inner_degree=1)(X)
    np.testing.assert_allclose(wide * 10_001, agree * length, rtol=5e-3)


def test_sums_have_a_limit(monkeypatch):
    with pytest.raises(InputError, match="more than 100,000 terms"):
        add_all([Linear()] * 1_000_000)
    with pytest.raises(InputError, match="lists 1,000,000 terms"):
        as_kernel([Linear()] * 1_000_000)
    with pytest.raises(InputError, match="more than 100,000 terms"):
        parse("+".join(["Linear()"] * 1_000_000))
    monkeypatch.setattr(values, "MAX_TERMS", 50)
    assert len(per_feature(RBF()).terms(_views(np.eye(50)))) == 50
    with pytest.raises(InputError, match="on 51 columns has more than 50 terms"):
        MKLClassifier(per_feature(RBF())).fit(np.eye(51), np.arange(51) % 2)
    with pytest.raises(InputError, match=r"split\('position', 'degree'\) has more than 50 terms"):
        MKLClassifier(WeightedDegree(degree=4).split("position", "degree")).fit(X, [0, 1, 0, 1])
    with pytest.raises(InputError, match="The kernel has more than 50 terms"):
        MKLClassifier(per_feature(RBF()) + per_feature(Linear())).fit(np.eye(30), np.arange(30) % 2)


def _views(X):
    from kernelweave.views import as_views

    return as_views(X)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'a'*RBF(1)", "a product is made of kernels, or of a kernel and a number"),
        ("RBF(1)*None", "a product is made of"),
        ("[2]*RBF(1)", "a product is made of"),
        ("True*RBF(1)", "a product is made of"),
        ("RBF(1) # wide", "Comments are not read"),
        ("RBF(1) # + Linear()", "Comments are not read"),
        ("RBF(gamma=1, gamma=2)", "gamma is given twice"),
        ("RBF(1, gamma=2)", "multiple values"),
        ("Precomputed(name=[1])", r"got name=\[1\]"),
        ("Precomputed(name=1)", "named by a text"),
        ("Linear().on('\ud800')", "half a character"),
        ("Linear().on('\\ud800')", "half a character"),
        ("\ud800", "half a character"),
        ("Linear().on('\\d')", "invalid escape"),
        ("0x" + "f" * 100_000 + " * RBF()", "larger than any that is read"),
        ("9" * 5000 + " * RBF()", "Cannot read"),
        ("9" * 320 + " * RBF()", "larger than any|finite number"),
        ("RBF(gamma=[" + "1," * 1_000_000 + "1])", "lists 1,000,001 items; a term has at most 100,000"),
        ("RBF().on(" + "[" * 5000 + "1" + "]" * 5000 + ")", "Cannot read|nested"),
        ("Frozen(" * 20_000 + "RBF()" + ")" * 20_000, "Cannot read|nested"),
        ("WeightedDegree(degree=2).only(degree='a')", "whole number degree"),
    ],
    ids=lambda text: text[:30].encode("unicode_escape").decode() if isinstance(text, str) else None,
)
def test_text_that_is_no_kernel(text, message):
    with pytest.raises(InputError, match=message):
        parse(text)


def test_hashes_in_quotes_are_letters():
    assert parse("Linear().on('a # b') + Linear()") == Linear().on("a # b") + Linear()
