"""The bag of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_kmers as naive
from kernelweave import BagOfWords, InputError
from kernelweave.testing import check_kernel

texts = st.lists(st.text("aAbéÉß ,.", min_size=1, max_size=20), min_size=1, max_size=5)


@given(texts, texts, st.sampled_from(["count", "binary", "frequency"]), st.booleans())
def test_it_is_its_naive_twin(X, Y, values, lower):
    kernel = BagOfWords(" .,", values, lower)
    expected = naive.matrix(naive.bag, X, Y, " .,", values, lower)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12)
    own = naive.matrix(naive.bag, X, X, " .,", values, lower)
    np.testing.assert_allclose(kernel(X), own, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(own), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [BagOfWords(), BagOfWords(" ", "binary", False), BagOfWords().normalized()], ids=repr
)
def test_it_is_a_kernel(kernel, rng):
    words = ["to", "be", "or", "not", "To", "naïve", "“quoted”", "don't", "end."]
    X = [" ".join(rng.choice(words, rng.integers(1, 12))) for _ in range(12)]
    check_kernel(kernel, [*X, "...", X[0]])


def test_words_are_cut_at_punctuation():
    assert BagOfWords().cut("To be, or “not”—don't\tbe?") == ["to", "be", "or", "not", "don't", "be"]
    assert BagOfWords(" ", lower=False).cut("To be, or") == ["To", "be,", "or"]


@pytest.mark.parametrize("values", ["count", "binary", "frequency"])
def test_readable_features(values):
    kernel, X = BagOfWords(values=values), ["to be or not to be", "Be!", "--"]
    vectors = [naive.vector_of(kernel, x) for x in X]
    np.testing.assert_allclose(kernel(X), [[naive.dot(a, b) for b in vectors] for a in vectors], rtol=1e-12)


def test_bytes_that_are_no_text():
    assert BagOfWords(alphabet="bytes")([b"a \xff\xfe b", b"\xff\xfe"]).tolist() == [[3, 1], [1, 1]]


def test_errors_teach():
    with pytest.raises(InputError, match="needs a string of delimiters"):
        BagOfWords("")(["a b"])
    with pytest.raises(InputError, match="choose one of count, binary, frequency"):
        BagOfWords(values="tf")(["a b"])
    with pytest.raises(InputError, match="it has no parts"):
        BagOfWords().split("degree")
