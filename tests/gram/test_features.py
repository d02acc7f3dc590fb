"""Grams of explicit features: products through the normal are those of the matrices."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave import BagOfWords, Frozen, GappedKmer, InputError, Linear, Mismatch, MKLClassifier, Spectrum
from kernelweave.gram import FeatureGram, StackedGram, bind, for_prediction
from kernelweave.testing import check_gram
from kernelweave.views import as_views

pytestmark = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.errors.DataWarning")
SUM = Spectrum(4, min_k=1, alphabet="dna")


def sequences(seed, n, letters="ACGTN"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), rng.integers(1, 60))) for _ in range(n)]


X, NEW = as_views(sequences(0, 41)), as_views(sequences(1, 7))
TERMS = [
    SUM,
    SUM.normalized(),
    *SUM.split("degree").terms(X)[1:3],
    *SUM.normalized().split("degree").terms(X)[:2],
    2.0 * Spectrum(15, "binary", alphabet="dna"),
    Spectrum(5, "frequency", alphabet="dna"),
    Spectrum(40, alphabet="dna").normalized(),
    Spectrum(11, reverse_complement=True, alphabet="dna").normalized(),
    Mismatch(3, 1, "dna"),
    Mismatch(11, 1, "dna").normalized(),
    GappedKmer(6, 4, True, "dna").normalized(),
    Frozen(Spectrum(2, alphabet="dna") + 0.5 * Mismatch(3, 1, "dna")).normalized(),
    BagOfWords("ANT"),
]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_it_keeps_its_promises(n_jobs):
    check_gram(FeatureGram(TERMS, X, n_jobs), NEW)


@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_every_term_alone(term):
    check_gram(FeatureGram([term], X), NEW)


@settings(max_examples=25)
@given(st.lists(st.text("abé ", min_size=1, max_size=12), min_size=3, max_size=8), st.integers(1, 12))
def test_random_texts(texts, k):
    kernel = Spectrum(k, min_k=1, alphabet="text")
    check_gram(FeatureGram([kernel, kernel.normalized(), BagOfWords(" ")], as_views(texts)), as_views(["é a", "bb"]))


def test_columns_of_a_table():
    table = as_views({"a": sequences(2, 12), "b": sequences(3, 12)})
    terms = [Spectrum(3).on("a"), Spectrum(3).normalized().on("b"), Mismatch(4).on("a").normalized()]
    new = as_views({"a": sequences(4, 3), "b": sequences(5, 3)})
    check_gram(FeatureGram(terms, table), new)


def test_new_samples_are_read_in_blocks(monkeypatch):
    gram, coef, weights = FeatureGram(TERMS, X), np.linspace(-1, 1, 41), np.ones(len(TERMS))
    expected = gram.apply(coef, weights, NEW)
    monkeypatch.setattr("kernelweave.gram.feature_map.BLOCK_LETTERS", 40)
    np.testing.assert_allclose(gram.apply(coef, weights, NEW), expected, rtol=1e-12)


def test_threads_give_the_same_bits():
    big, coef = as_views(sequences(6, 700, "ACGT")), np.random.default_rng(0).normal(size=(700, 2))
    terms = [Spectrum(6).normalized(), GappedKmer(6, 4)]
    one, two = (FeatureGram(terms, big, n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.apply_each(coef), two.apply_each(coef))
    assert np.array_equal(one.apply_each(coef, NEW), two.apply_each(coef, NEW))
    rows, ones = np.arange(300), np.ones(2)
    assert np.array_equal(one.block(rows, None, ones), two.block(rows, None, ones))


def test_bind_forms_no_matrix_where_none_fits():
    kernel = Spectrum(4) + Spectrum(5).normalized()
    assert type(bind(kernel, X)).__name__ == "DenseGram"
    gram = bind(kernel, X, memory=1000)
    assert isinstance(gram, FeatureGram)
    check_gram(gram, NEW)
    mixed = as_views({"seq": sequences(0, 30), "x": np.random.default_rng(0).normal(size=(30, 2))})
    gram = bind(Spectrum(4).on("seq") + Linear().on("x"), mixed, memory=14_000)
    assert isinstance(gram, StackedGram)
    check_gram(gram)


def test_prediction_holds_normals_only():
    support = as_views(sequences(0, 10))
    gram = for_prediction(TERMS, support, np.full(len(TERMS), 0.5))
    assert isinstance(gram, FeatureGram)
    expected = [0.5 * term.compute(NEW, support) @ np.ones(10) for term in TERMS]
    np.testing.assert_allclose(gram.apply_each(np.ones(10), NEW), expected, rtol=1e-9)
    assert all(one._rows is None for one in gram.maps)


def test_it_travels():
    gram = FeatureGram(TERMS[:3], X)
    coef = np.ones(41)
    again = pickle.loads(pickle.dumps(gram))
    np.testing.assert_array_equal(again.apply_each(coef), gram.apply_each(coef))


def test_a_machine_on_features_is_the_machine_on_matrices():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    texts = ["".join(rng.choice(list("ACGT"), 50)) + "TATAAT" * label for label in y]
    kernel = Spectrum(4, min_k=2).normalized().split("degree") + Mismatch(4).normalized()
    held, free = (MKLClassifier(kernel=kernel, memory=memory, tol=1e-4).fit(texts, y) for memory in (None, 1000))
    assert abs(held.objective_ - free.objective_) < 1e-6 * held.objective_
    np.testing.assert_allclose(free.decision_function(texts), held.decision_function(texts), atol=1e-4)


def test_no_rows_at_all():
    gram, none = FeatureGram(TERMS[:2], X), np.zeros(0, np.int64)
    np.testing.assert_array_equal(gram.rows_times(none, np.zeros(0), np.ones(2)), np.zeros(41))
    assert gram.block(none, None, np.ones(2)).shape == (0, 41)
    assert gram.block(np.arange(20), none, np.ones(2)).shape == (20, 0)


def test_other_kernels_have_no_features():
    with pytest.raises(InputError, match="no explicit features"):
        FeatureGram([Linear()], X)
