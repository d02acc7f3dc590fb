"""The bag of words."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

import naive_kmers as naive
from kernelweave import BagOfWords, InputError, MKLClassifier, load, save
from kernelweave.explain import contributions
from kernelweave.gram import FeatureGram
from kernelweave.testing import check_gram, check_kernel
from kernelweave.views import as_views

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


# -- rare words, and words in a row ------------------------------------------------------------------------------------

MAIL = ["win a prize now", "are you home now", "win win win", "home, home on the range", "", "a prize for you"]


def learned(kernel, X):
    return kernel.learned(as_views(X))


@given(texts, texts, texts, st.sampled_from(["count", "binary", "frequency"]), st.integers(1, 3))
def test_rare_words_and_words_in_a_row_are_their_naive_twin(known, X, Y, values, ngrams):
    kernel = learned(BagOfWords(" .,", values, ngrams=ngrams, idf=True), known)
    counted = {w: sum(w in set(kernel.cut(text)) for text in known) for text in known for w in kernel.cut(text)}
    worth = {w: 1 + np.log((1 + len(known)) / (1 + n)) for w, n in counted.items()}

    def phi(text):
        words = [w for w in re.split("[ .,]", text.lower()) if w]
        runs = [" ".join(words[i : i + n]) for n in range(1, ngrams + 1) for i in range(len(words) - n + 1)]
        times = {w: runs.count(w) for w in runs}
        value = {"count": lambda n: n, "binary": lambda n: 1, "frequency": lambda n: n / len(runs)}[values]
        unseen = 1 + np.log((1 + len(known)) / 2)
        return {w: value(n) * worth.get(w, unseen) for w, n in times.items()}

    expected = [[naive.dot(phi(x), phi(y)) for y in Y] for x in X]
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-10)
    np.testing.assert_allclose(kernel.diag(X), [naive.dot(phi(x), phi(x)) for x in X], rtol=1e-10)
    vectors = [naive.vector_of(kernel, x) for x in X]
    np.testing.assert_allclose(kernel(X), [[naive.dot(a, b) for b in vectors] for a in vectors], rtol=1e-10)


@pytest.mark.parametrize("values", ["count", "binary", "frequency"])
def test_what_is_learned_is_a_kernel(values):
    kernel = learned(BagOfWords(values=values, ngrams=2, idf=True, alphabet="categories"), MAIL)
    check_kernel(kernel, MAIL)
    check_kernel(kernel.normalized(), MAIL, ["win a range", "a new word"])
    check_gram(FeatureGram([kernel.normalized()], as_views(MAIL)), as_views(["win a range", "a new word"]))


def test_the_cosine_is_that_of_tfidf():
    X = [text for text in MAIL if text]
    T = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"[^ ,]+").fit_transform(X)
    kernel = learned(BagOfWords(ngrams=2, idf=True), X).normalized()
    np.testing.assert_allclose(kernel(X), (T @ T.T).toarray(), atol=1e-12)


def test_a_weight_of_two_is_a_text_that_came_twice():
    weight = np.array([2, 1, 3, 1, 0, 2])
    one = BagOfWords(idf=True, alphabet="categories").learned(as_views(MAIL), weight.astype(float))
    two = learned(BagOfWords(idf=True, alphabet="categories"), np.repeat(np.array(MAIL, object), weight))
    np.testing.assert_allclose(one(MAIL), two(MAIL), rtol=1e-12)


@pytest.mark.parametrize("values", ["count", "binary", "frequency"])
def test_a_model_keeps_what_is_rare(values, tmp_path):
    X, y = MAIL[:4] + MAIL[5:], [1, 0, 1, 0, 1]
    kernel = BagOfWords(values=values, ngrams=2, idf=True).normalized() + BagOfWords(idf=True)
    model = MKLClassifier(kernel, C=10.0, norm="fixed").fit(X, y)
    new = ["win the prize", "nobody is home", "unheard of"]
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert again.base_kernel_ == model.base_kernel_
    assert repr(model.base_kernel_) == repr(model.kernel)
    np.testing.assert_array_equal(clone(model.kernel_)(new), model.kernel_(new))
    found = contributions(model, new)
    summed = found.intercept + found.positions.sum(axis=1) + found.unplaced
    np.testing.assert_allclose(summed, model.decision_function(new), atol=1e-12)


def test_errors_teach():
    with pytest.raises(InputError, match="what is rare"):
        BagOfWords(idf=True)(["a b"])
    with pytest.raises(InputError, match="ngrams"):
        BagOfWords(ngrams=0)(["a b"])
    with pytest.raises(InputError, match="needs a string of delimiters"):
        BagOfWords("")(["a b"])
    with pytest.raises(InputError, match="choose one of count, binary, frequency"):
        BagOfWords(values="tf")(["a b"])
    with pytest.raises(InputError, match="it has no parts"):
        BagOfWords().split("degree")
