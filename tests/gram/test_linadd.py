"""Products without a matrix: the same numbers as the matrices give, for every part, alphabet and container."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelweave.gram as grams
from kernelweave import RBF, MKLClassifier, WeightedDegree
from kernelweave.errors import InputError
from kernelweave.gram import CachedGram, DenseGram, LinaddGram, StackedGram, bind, for_prediction, linadd
from kernelweave.gram.families import families_of
from kernelweave.testing import check_gram
from kernelweave.views import as_views

LETTERS = {"dna": "ACGT", "protein": "ACDEFGHIKLMNPQRSTVWY", "text": "abcdef .,"}
UNKNOWN = {"dna": "N", "protein": "X"}
WD = WeightedDegree


def strings(rng, n, length, alphabet="dna", change=0.4, unknown=0.03):
    """A family of sequences that share long stretches, some letters of them unknown."""
    letters = list(LETTERS[alphabet])
    rows = np.where(rng.random((n, length)) < change, rng.choice(letters, (n, length)), rng.choice(letters, length))
    rows[rng.random((n, length)) < unknown] = UNKNOWN.get(alphabet, letters[0])
    return ["".join(row) for row in rows]


def views(rng, n, alphabet, **options):
    return as_views({"s": strings(rng, n, 11, alphabet, **options), "t": strings(rng, n, 35, alphabet, **options)})


CASES = {
    "one": WD(4).on("s"),
    "several": WD(4).normalized().on("s") + WD(5, shift=2).on("t") + WD(3).on("s").normalized() + 0.5 * WD(3).on("t"),
    "degrees": WD(4).split("degree").on("s"),
    "positions": WD(4).normalized().split("position").on("s"),
    "both": WD(3).normalized().split("position", "degree").on("s"),
    "shifted degrees": WD(3, shift=3).normalized().split("degree").on("t"),
    "position weights": WD(3, position_weights=np.arange(11.0)).split("degree").on("s")
    + WD(3, position_weights=np.arange(11.0)).on("s"),
    "mixed": WD(3).on("s") + WD(3).only(degree=2).on("s") + WD(3).only(position=2).on("s") + WD(3).on("s"),
    "long words": WD(40).on("t") + WD(33).only(degree=2).normalized().on("t"),
    "own weights": WD(3, weights=[0.0, 1.0, 0.0]).on("t") + WD(2, weights=[0.0, 0.0]).on("t"),
}


@pytest.fixture(params=["tables", "pairs"])
def way(request, monkeypatch):
    """Both ways of adding up, whatever is quicker here."""
    monkeypatch.setattr(linadd, "FEW_SUPPORT", 0 if request.param == "tables" else 10**9)
    monkeypatch.setattr(linadd, "FEW_QUERIES", 0 if request.param == "tables" else 10**9)


@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
@pytest.mark.parametrize("alphabet", LETTERS)
@pytest.mark.parametrize("case", CASES)
def test_promises(case, alphabet, way, rng, monkeypatch):
    X, new = views(rng, 23, alphabet), views(rng, 5, alphabet)
    terms = CASES[case].terms(X)
    check_gram(LinaddGram(terms, X), new)
    monkeypatch.setattr(linadd, "BLOCK_BYTES", 1000)  # queries in many small chunks
    monkeypatch.setattr(linadd, "MAX_POSITIONS", 3)
    check_gram(LinaddGram(terms, X, n_jobs=2), new)


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 40), st.sampled_from([0.0, 0.05, 1.0]))
@settings(max_examples=30)
@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
def test_random_windows(seed, degree, length, change):
    rng = np.random.default_rng(seed)
    X = as_views(strings(rng, 40, length, change=change))
    kernel = WD(degree, alphabet="dna").normalized()
    coef = rng.normal(size=40)
    old = linadd.FEW_SUPPORT, linadd.FEW_QUERIES
    try:
        linadd.FEW_SUPPORT = linadd.FEW_QUERIES = 0
        got = LinaddGram([kernel], X).apply(coef, np.ones(1))
    finally:
        linadd.FEW_SUPPORT, linadd.FEW_QUERIES = old
    np.testing.assert_allclose(got, kernel.compute(X, None) @ coef, rtol=1e-9, atol=1e-9)


def test_parts_of_one_kernel_share_a_pass(rng):
    X = views(rng, 9, "dna", unknown=0.0)
    kernel = WD(3).split("position", "degree").on("s") + WD(3).split("degree").on("t") + 2.0 * WD(3).only(2).on("t")
    found = families_of(kernel.terms(X))
    assert [len(family.numbers) for family in found] == [30, 4]
    assert [(family.by_degree, family.by_position) for family in found] == [(True, True), (True, False)]


def test_threads_give_the_same_bits(rng):
    X = as_views(strings(rng, 600, 60, change=1.0))
    coef = rng.normal(size=600)
    for kernel in (WD(8), WD(8).split("degree"), WD(4).split("position")):
        terms = kernel.terms(X)
        one, two = (LinaddGram(terms, X, n_jobs=n) for n in (1, 2))
        assert np.array_equal(one.apply(coef, np.ones(len(terms))), two.apply(coef, np.ones(len(terms))))
        assert np.array_equal(one.quad(coef), two.quad(coef))


def test_no_matrix_is_formed(rng, monkeypatch):
    X = as_views(strings(rng, 1500, 30, change=1.0))
    gram = LinaddGram(WD(5).normalized().split("degree").terms(X), X)
    monkeypatch.setattr(linadd, "block_of", lambda *_: pytest.fail("compared pairs"))
    monkeypatch.setattr(linadd, "FEW_QUERIES", 100)
    gram.apply(rng.normal(size=1500), np.ones(5))
    gram.quad(rng.normal(size=1500))


def test_bind_takes_the_way_that_fits(rng, monkeypatch):
    X = as_views({"s": strings(rng, 60, 20, unknown=0.0), "x": rng.normal(size=(60, 2))})
    text, number = WD(4).on("s"), RBF().on("x")
    assert isinstance(bind(text + number, X), DenseGram)
    small = bind(text, X, memory=8 * 60 * 60 - 1)
    assert isinstance(small, LinaddGram), "the matrix does not fit"
    monkeypatch.setattr(grams, "LINADD_SAMPLES", 50)
    assert isinstance(bind(text + WD(2).on("s"), X), LinaddGram)
    mixed = bind(text + number + WD(2).on("s"), X)
    assert isinstance(mixed, StackedGram)
    assert [type(part) for part in mixed.grams] == [LinaddGram, DenseGram, LinaddGram]
    check_gram(mixed)
    assert isinstance(bind(WD(4, 1, position_weights=np.ones(20)).on("s"), X), DenseGram)
    ready = for_prediction((text, number), X, np.array([2.0, 3.0]))
    assert [type(part) for part in ready.grams] == [LinaddGram, CachedGram]
    assert ready.factors.tolist() == [2.0, 3.0]


def test_a_fit_without_matrices_is_the_same_fit(rng, monkeypatch):
    X = strings(rng, 80, 20, change=0.8, unknown=0.0)
    y = np.array([row[7] in "AC" for row in X])
    kernel = WD(3).normalized().split("degree")
    dense = MKLClassifier(kernel, tol=1e-6).fit(X, y)
    monkeypatch.setattr(grams, "LINADD_SAMPLES", 10)
    free = MKLClassifier(kernel, tol=1e-6).fit(X, y)
    assert free.objective_ == pytest.approx(dense.objective_, rel=1e-5)
    np.testing.assert_allclose(free.weights_, dense.weights_, atol=1e-3)
    np.testing.assert_allclose(free.decision_function(X), dense.decision_function(X), atol=1e-3)


def test_new_sequences_of_another_length_are_refused(rng):
    X = as_views(strings(rng, 9, 20, unknown=0.0))
    with pytest.raises(InputError, match="19 letters cannot be compared"):
        LinaddGram([WD(3)], X).apply(np.ones(9), np.ones(1), as_views(["A" * 19]))
