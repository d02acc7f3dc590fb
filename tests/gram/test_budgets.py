"""What is held for a while keeps to its share of the budget."""

import numpy as np
import pytest

from kernelweave import RBF, Linear, MKLClassifier, Spectrum, WeightedDegree, clock
from kernelweave._fast import kmers
from kernelweave.dual import ActiveSet, Chunking
from kernelweave.errors import MemoryBudgetError, TimeLimitError
from kernelweave.gram import SPARE_BYTES, Bytes, CachedGram, LinaddGram, Needs, StackedGram, bind, estimate
from kernelweave.gram.tables import table_bytes
from kernelweave.views import as_views


def numbers(n, rng):
    return as_views(rng.normal(size=(n, 3)))


def windows(n, rng, letters="ACGT", length=40):
    return ["".join(rng.choice(list(letters), length)) for _ in range(n)]


def held(gram):
    return sum(row.nbytes for row in gram._rows.values())


def test_grams_of_some_terms_share_one_cache(rng):
    X, terms = numbers(50, rng), [RBF(0.1), RBF(1.0), Linear()]
    gram = CachedGram(terms, X, cache_bytes=8 * 50 * 3 * 10)
    pair, one, scaled = gram.only([2, 0]), gram.only([1]), gram.rescaled(np.full(3, 2.0))
    nested = pair.only([1])
    coef = np.zeros(50)
    coef[:9] = rng.normal(size=9)
    for some, picked, factor in ((gram, [0, 1, 2], 1), (pair, [2, 0], 1), (one, [1], 1), (scaled, [0, 1, 2], 2)):
        expected = [factor * terms[m].compute(X, None) @ coef for m in picked]
        for _ in range(2):  # computed, then read
            np.testing.assert_allclose(some.apply_each(coef), expected)
    np.testing.assert_allclose(nested.apply_each(coef)[0], terms[0].compute(X, None) @ coef)
    assert all(some._rows is gram._rows for some in (pair, one, scaled, nested))
    assert 0 < held(gram) <= gram.cache_bytes


def test_blocks_of_more_rows_than_the_cache_holds(rng):
    X, terms, weights = numbers(50, rng), [RBF(0.1), Linear()], np.array([0.3, 2.0])
    gram = CachedGram(terms, X, cache_bytes=8 * 50 * 2 * 4).rescaled(np.array([1.0, 0.5]))
    rows, cols = np.arange(3, 30), np.array([7, 1, 40])
    expected = 0.3 * terms[0].compute(X, None) + terms[1].compute(X, None)
    np.testing.assert_allclose(gram.block(rows, cols, weights), expected[np.ix_(rows, cols)])
    np.testing.assert_allclose(gram.block(rows, None, weights), expected[rows])
    assert held(gram) <= gram.cache_bytes


@pytest.mark.parametrize("budget", [2 * 10**7, 5 * 10**7, 10**8, 5 * 10**8])
@pytest.mark.parametrize("n_terms", [1, 3])
def test_no_plan_says_more_than_is_allowed(n_terms, budget, rng):
    X = numbers(6000, rng)
    kernel = sum([RBF(float(g)) for g in range(2, n_terms + 1)], RBF(1.0))
    try:
        _, need = estimate(kernel, X, memory=budget)
    except MemoryBudgetError:
        least = 2 * 8 * 6000 * n_terms * 64
        assert budget < 2 * least
    else:
        assert need <= max(budget, SPARE_BYTES)


@pytest.mark.parametrize(("letters", "degree", "shift"), [("ACGT", 4, 0), ("ACGT", 12, 0), ("ACGT", 8, 2)])
def test_tables_take_what_is_estimated(letters, degree, shift, rng):
    X = as_views(windows(1500, rng, letters))
    gram = LinaddGram([WeightedDegree(degree=degree, shift=shift)], X)
    family, coef = gram.families[0], rng.normal(size=1500)
    n_words = 1500 * len(family.moves())
    taken, expected = gram.tables(family, coef, np.ones(1)).nbytes, table_bytes(n_words, len(letters), 40, degree)
    assert 0.85 * expected <= taken <= 1.15 * expected


def test_tables_keep_to_the_budget(rng):
    X = as_views(windows(1500, rng))
    kernel = WeightedDegree(degree=12)
    roomy, narrow = (bind(kernel, X, memory=m, needs=Needs(no_matrix=True)) for m in (10**9, 8 * 10**6))
    assert narrow.wave_bytes == 2 * 10**6
    assert narrow.bytes.held < 0.75 * roomy.bytes.held
    coef = rng.normal(size=1500)
    assert np.array_equal(narrow.apply(coef, np.ones(1)), roomy.apply(coef, np.ones(1)))


def test_words_that_outgrow_the_budget_are_optimised_in_chunks(rng, monkeypatch):
    used = []
    monkeypatch.setattr(Chunking, "step", lambda self, *args: used.append(1) or super(Chunking, self).step(*args))
    seqs = windows(400, rng)
    y = np.array([s[3:6] < "GAA" for s in seqs])
    monkeypatch.setattr("kernelweave.dual.active_set.SPARE_BYTES", 10**5)
    monkeypatch.setattr(Bytes, "coordinates", lambda self, n: 10.0**6 * n)
    model = MKLClassifier(WeightedDegree(degree=4), dual=ActiveSet(), memory="20MB").fit(seqs, y)
    assert used
    assert model.converged_


def test_a_matrix_of_sums_is_that_of_the_terms(rng):
    X = numbers(20, rng)
    parts = [bind(kernel, X) for kernel in (RBF(0.1), Linear(), RBF(2.0))]
    K, factor = StackedGram(parts).rescaled(np.array([1.0, 2.0, 3.0])).matrix(np.array([0.5, 1.0, 0.2]))
    expected = 0.5 * RBF(0.1).compute(X, None) + 2 * Linear().compute(X, None) + 0.6 * RBF(2.0).compute(X, None)
    np.testing.assert_allclose(factor * K, expected)


@pytest.mark.parametrize("kernel", [Spectrum(k=40), WeightedDegree(degree=5)])
def test_listing_words_looks_at_the_clock_on_the_way(kernel, rng, monkeypatch):
    monkeypatch.setattr(kmers, "LONG_BLOCK", 100)
    gram, looks = bind(kernel, as_views(windows(30, rng, length=60)), needs=Needs(no_matrix=True)), []

    def late():
        looks.append(1)
        if len(looks) == 12:
            raise TimeLimitError("over")

    monkeypatch.setattr(clock, "check", late)
    with pytest.raises(TimeLimitError, match="over"):
        gram.coordinates(np.arange(30))
