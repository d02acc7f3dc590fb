"""The mismatch kernel on many letters: words with letters left out instead of all neighbours, and the same values."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_kmers as naive
from kernelweave import Mismatch, MKLClassifier, Spectrum
from kernelweave.kernels.mismatch import shared_neighbours
from kernelweave.kernels.profiles import wildcard_weights
from kernelweave.sequences import PROTEIN, Alphabet
from kernelweave.testing import check_kernel
from kernelweave.views import as_views

pytestmark = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.errors.DataWarning")
EIGHT = Alphabet("abcdefgh", name="eight")


@pytest.mark.parametrize(
    ("k", "m", "size"), [(3, 1, 3), (4, 1, 3), (4, 2, 3), (5, 2, 2), (3, 1, 5), (4, 3, 3), (2, 0, 4)]
)
def test_shared_neighbours_are_those_one_can_count(k, m, size):
    for d in range(k + 1):
        a, b = (0,) * k, (1,) * d + (0,) * (k - d)
        counted = sum(
            sum(x != y for x, y in zip(word, a, strict=True)) <= m
            and sum(x != y for x, y in zip(word, b, strict=True)) <= m
            for word in product(range(size), repeat=k)
        )
        assert shared_neighbours(k, m, size, d) == counted


@pytest.mark.parametrize(("k", "m", "size"), [(5, 1, 20), (5, 2, 20), (6, 2, 20), (5, 1, 4), (8, 3, 26)])
def test_weights_of_left_out_letters_make_up_every_pair(k, m, size):
    """In how many ways letters can be left out so that two words agree, counted on words that differ in d places."""
    weights = wildcard_weights(Mismatch(k, m).profile(size))
    for d in range(k + 1):
        ways = [
            sum(sum(left_out) == j and all(left_out[:d]) for left_out in product((0, 1), repeat=k)) for j in range(k)
        ]
        assert sum(w * n for w, n in zip(weights, ways, strict=False)) == shared_neighbours(k, m, size, d)


@pytest.mark.parametrize(
    ("kernel", "growth"), [(Mismatch(5, 1), 16), (Mismatch(5, 2), 31), (Mismatch(4, 1), 11)], ids=repr
)
def test_proteins_have_few_features_for_a_word(kernel, growth):
    assert sum(vocabulary.growth for _, vocabulary in kernel.parts(PROTEIN)) == growth
    assert all(weight > 0 for weight, _ in kernel.parts(PROTEIN)), "features with a negative weight are no features"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_it_is_its_naive_twin(data):
    k, m = data.draw(st.sampled_from([(3, 1), (4, 1), (5, 2)]))
    rows = st.lists(st.text("abch?", min_size=1, max_size=9), min_size=1, max_size=2)
    X, Y = data.draw(rows), data.draw(rows)
    kernel = Mismatch(k, m, Alphabet("abcdefgh", name="eight", ambiguous="?"))
    if k < 5:  # the twin goes through all words
        expected = naive.matrix(naive.mismatch, X, Y, kernel.alphabet, k, m)
    else:
        expected = [[_by_pairs(x, y, k, m, 8) for y in Y] for x in X]
    np.testing.assert_array_equal(kernel(X, Y), expected)
    np.testing.assert_array_equal(kernel.diag(X), np.diagonal(kernel(X)))


def _by_pairs(x, y, k, m, size):
    """Sum over pairs of k-mers of the neighbours that both have."""
    words = [[s[i : i + k] for i in range(len(s) - k + 1) if "?" not in s[i : i + k]] for s in (x, y)]
    apart = [sum(a != b for a, b in zip(u, v, strict=True)) for u in words[0] for v in words[1]]
    return sum(shared_neighbours(k, m, size, d) for d in apart)


def test_pairs_are_the_twin_of_the_twin():
    rows = ["abcabh", "hhcab", "abcda"]
    expected = naive.matrix(naive.mismatch, rows, rows, EIGHT, 3, 1)
    np.testing.assert_array_equal([[_by_pairs(x, y, 3, 1, 8) for y in rows] for x in rows], expected)


def test_it_is_a_kernel_and_learns_without_a_matrix(rng):
    letters = list(PROTEIN.letters)
    X = ["".join(rng.choice(letters, rng.integers(3, 60))) for _ in range(60)]
    y = np.arange(60) % 2
    X = [x + "WCHKMW" if label else x + "GGSTPP" for x, label in zip(X, y, strict=True)]
    kernel = Mismatch(5, 1, "protein").normalized()
    check_kernel(kernel, as_views(X))
    held = MKLClassifier(kernel + Spectrum(2, alphabet="protein"), dual="smo").fit(X, y)
    free = MKLClassifier(kernel + Spectrum(2, alphabet="protein"), dual="active_set").fit(X, y)
    np.testing.assert_allclose(free.objective_, held.objective_, rtol=2e-3)
