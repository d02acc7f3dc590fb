"""Positional Markov chains, letter by letter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score

import naive_strings as naive
from kernelweave import InputError, PositionalMarkovChain
from kernelweave.testing import sequence_checks


@pytest.mark.parametrize("check", list(sequence_checks(PositionalMarkovChain(order=2))), ids=lambda check: check[0])
def test_scikit_learn_checks(check):
    check[1]()


@given(
    st.lists(st.text("ACGTN", min_size=5, max_size=5), min_size=4, max_size=8),
    st.integers(0, 4),
    st.sampled_from([0.1, 1.0, 7.0]),
)
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
def test_log_odds_equal_the_definition(sequences, order, pseudocount):
    y = np.arange(len(sequences)) % 2
    model = PositionalMarkovChain(order, pseudocount=pseudocount, alphabet="dna").fit(sequences, y)
    expected = [naive.markov_log_odds(sequences, y, query, order, pseudocount) for query in sequences]
    np.testing.assert_allclose(model.decision_function(sequences), expected, atol=1e-10)


def test_probabilities_and_classes():
    X, y = ["ACAC", "ACAT", "GTGT", "GTGC", "TTTT", "TTTA"], ["a", "a", "b", "b", "c", "c"]
    model = PositionalMarkovChain(order=1).fit(X, y)
    assert model.predict(X).tolist() == y
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.log_probabilities_).sum(axis=-1), 1.0)
    assert model.log_probabilities_.shape == (3, 4, 4, 4)
    assert cross_val_score(model, X, y, cv=2).shape == (2,)


def test_unknown_letters_add_nothing():
    model = PositionalMarkovChain(order=0).fit(["AA", "AC", "GG", "GT"], [0, 0, 1, 1])
    with pytest.warns(UserWarning, match="ambiguous"):
        assert model.decision_function(["NN"])[0] == 0.0


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"order": -1}, ["AC", "GT"], "order must be a whole number"),
        ({"order": 1.5}, ["AC", "GT"], "order must be a whole number"),
        ({"pseudocount": 0.0}, ["AC", "GT"], "pseudocount must be"),
        ({"order": 8, "alphabet": "protein"}, ["ACDEFGHIKL", "ACDEFGHIKM"], "use a smaller order"),
        ({}, ["AC", "GTT"], "equally long"),
    ],
)
def test_what_is_wrong_is_named(options, X, message):
    with pytest.raises(InputError, match=message):
        PositionalMarkovChain(**options).fit(X, [0, 1])


def test_new_sequences_must_have_the_same_length():
    model = PositionalMarkovChain(order=1).fit(["ACAC", "GTGT"], [0, 1])
    with pytest.raises(InputError, match="for 4 letters; got sequences of 3"):
        model.predict(["ACA"])
