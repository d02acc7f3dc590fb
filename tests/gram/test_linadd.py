"""Products without a matrix: the same numbers as the matrices give, for every part, alphabet and container."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave import RBF, MKLClassifier, WeightedDegree
from kernelweave.errors import InputError
from kernelweave.gram import DenseGram, LinaddGram, Needs, StackedGram, TiledGram, bind, for_prediction, tables
from kernelweave.gram.families import families_of
from kernelweave.kernels.pieces import pieces
from kernelweave.sequences import SequenceSet, as_sequences
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


def matrices_up_to(n, monkeypatch):
    """Let `bind` do without matrices for more than n samples."""
    monkeypatch.setattr("kernelweave.gram.plan.LINADD_SAMPLES", n)
    monkeypatch.setattr("kernelweave.gram.plan.EXPLICIT_SAMPLES", n)


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
    monkeypatch.setattr(tables, "FEW_SUPPORT", 0 if request.param == "tables" else 10**9)
    monkeypatch.setattr(tables, "FEW_QUERIES", 0 if request.param == "tables" else 10**9)


@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
@pytest.mark.parametrize("alphabet", LETTERS)
@pytest.mark.parametrize("case", CASES)
def test_promises(case, alphabet, way, rng, monkeypatch):
    X, new = views(rng, 23, alphabet), views(rng, 5, alphabet)
    terms = CASES[case].terms(X)
    check_gram(LinaddGram(terms, X), new)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 1000)  # queries in many small chunks
    monkeypatch.setattr(tables, "MAX_POSITIONS", 3)
    check_gram(LinaddGram(terms, X), new)


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 40), st.sampled_from([0.0, 0.05, 1.0]))
@settings(max_examples=30)
@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
def test_random_windows(seed, degree, length, change):
    rng = np.random.default_rng(seed)
    X = as_views(strings(rng, 40, length, change=change))
    kernel = WD(degree, alphabet="dna").normalized()
    coef = rng.normal(size=40)
    old = tables.FEW_SUPPORT, tables.FEW_QUERIES
    try:
        tables.FEW_SUPPORT = tables.FEW_QUERIES = 0
        got = LinaddGram([kernel], X).apply(coef, np.ones(1))
    finally:
        tables.FEW_SUPPORT, tables.FEW_QUERIES = old
    np.testing.assert_allclose(got, kernel.compute(X, None) @ coef, rtol=1e-9, atol=1e-9)


def test_parts_of_one_kernel_share_a_pass(rng):
    X = views(rng, 9, "dna", unknown=0.0)
    kernel = WD(3).split("position", "degree").on("s") + WD(3).split("degree").on("t") + 2.0 * WD(3).only(2).on("t")
    found = families_of([piece for term in kernel.terms(X) for piece in pieces(term, X)])
    assert [len(family.numbers) for family in found] == [30, 4]
    assert [(family.by_degree, family.by_position) for family in found] == [(True, True), (True, False)]


@pytest.mark.parametrize("kernel", [WD(8), WD(8).normalized().split("degree"), WD(4).split("position")])
def test_threads_waves_and_chunks_give_the_same_bits(kernel, rng, monkeypatch):
    X = as_views(strings(rng, 600, 60, change=1.0))
    coef, terms = rng.normal(size=600), kernel.terms(X)
    monkeypatch.setattr(tables, "FEW_QUERIES", 0)
    monkeypatch.setattr(tables, "FEW_SUPPORT", 0)
    monkeypatch.setattr(tables, "SMALLEST_CHUNK", 50)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 100_000)
    expected = LinaddGram(terms, X).apply(coef, np.ones(len(terms))), LinaddGram(terms, X).quad(coef)
    for n_jobs, wave, remembered in ((1, 0, 10**6), (2, 0, 0), (3, 10**9, 10**6)):
        monkeypatch.setattr(tables, "REMEMBERED", remembered)
        gram = LinaddGram(terms, X, n_jobs=n_jobs, wave_bytes=wave)  # 0: as few ranges at a time as there are threads
        assert np.array_equal(gram.apply(coef, np.ones(len(terms))), expected[0])
        assert np.array_equal(gram.quad(coef), expected[1])


@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
@pytest.mark.parametrize("case", ["one", "several", "degrees", "both", "long words"])
def test_large_sets_are_unpacked_in_chunks(case, rng, monkeypatch):
    X = as_views({name: as_sequences(part.data, "dna").pack() for name, part in views(rng, 60, "dna").parts.items()})
    terms, coef = CASES[case].terms(X), rng.normal(size=60)
    expected = LinaddGram(terms, X).apply_each(coef), LinaddGram(terms, X).diag(np.ones(len(terms)))
    fresh = as_views({name: part.data.rows(slice(0, 60)) for name, part in X.parts.items()})
    expected_sum = LinaddGram(terms, X).apply(coef, np.ones(len(terms)))
    for name, size in {"REMEMBERED": 9, "CHUNK": 9, "FEW_QUERIES": 0, "FEW_SUPPORT": 0, "SMALLEST_CHUNK": 1}.items():
        monkeypatch.setattr(tables, name, size)
    monkeypatch.setattr("kernelweave.kernels.weighted_degree._DIAG_ROWS", 9)
    sizes, codes = [], SequenceSet.as_matrix
    monkeypatch.setattr(SequenceSet, "as_matrix", lambda some: sizes.append(len(some)) or codes(some))
    gram = LinaddGram(terms, fresh)
    np.testing.assert_allclose(gram.diag(np.ones(len(terms))), expected[1], rtol=1e-12)
    np.testing.assert_allclose(gram.apply(coef, np.ones(len(terms))), expected_sum, rtol=1e-9, atol=1e-9)
    assert max(sizes) == 9
    assert not any(part.data._derived for part in fresh.parts.values())


def test_only_the_ranges_that_are_asked_for_are_built(rng, monkeypatch):
    X = as_views(strings(rng, 40, 60, unknown=0.0))
    monkeypatch.setattr(tables, "FEW_QUERIES", 0)
    monkeypatch.setattr(tables, "FEW_SUPPORT", 0)
    monkeypatch.setattr(tables, "MAX_POSITIONS", 5)
    built, build = [], tables.Words.build
    monkeypatch.setattr(tables.Words, "build", lambda words, part: built.append(part) or build(words, part))
    LinaddGram([WD(3).only(position=7), WD(3).only(position=31)], X).quad(rng.normal(size=40))
    assert built == [slice(5, 10), slice(30, 35)]


def test_no_matrix_is_formed(rng, monkeypatch):
    X = as_views(strings(rng, 1500, 30, change=1.0))
    gram = LinaddGram(WD(5).normalized().split("degree").terms(X), X)
    for way in ("_compared", "_compared_each", "_counted"):
        monkeypatch.setattr(tables, way, lambda *_: pytest.fail("compared pairs"))
    monkeypatch.setattr(tables, "FEW_QUERIES", 100)
    gram.apply(rng.normal(size=1500), np.ones(5))
    gram.quad(rng.normal(size=1500))


@pytest.mark.parametrize("kernel", [WD(5).split("degree"), WD(5, shift=1).split("degree"), WD(5)], ids=repr)
def test_few_pairs_are_compared(kernel, rng, monkeypatch):
    X = as_views(strings(rng, 40, 30, change=1.0))
    gram = LinaddGram(kernel.terms(X), X)
    monkeypatch.setattr(tables, "Words", lambda *_, **__: pytest.fail("built tables"))
    assert gram.apply_each(rng.normal(size=40)).shape == (gram.n_terms, 40)


def test_bind_takes_the_way_that_fits(rng, monkeypatch):
    X = as_views({"s": strings(rng, 60, 20, unknown=0.0), "x": rng.normal(size=(60, 2))})
    text, number = WD(4).on("s"), RBF().on("x")
    assert isinstance(bind(text + number, X), DenseGram)
    small = bind(text, X, memory=8 * 60 * 60 - 1)
    assert isinstance(small, LinaddGram), "the matrix does not fit"
    matrices_up_to(50, monkeypatch)
    assert isinstance(bind(text + WD(2).on("s"), X), LinaddGram)
    mixed = bind(text + number + WD(2).on("s"), X)
    assert isinstance(mixed, StackedGram)
    assert [type(part) for part in mixed.grams] == [LinaddGram, TiledGram, LinaddGram]
    monkeypatch.setattr("kernelweave.gram.plan.LINADD_SAMPLES", 100)
    assert isinstance(bind(WD(4, 1).on("s"), X), LinaddGram)
    assert isinstance(bind(WD(4, 1).on("s") + WD(2).on("s"), X), LinaddGram)
    matrices_up_to(50, monkeypatch)
    held = bind(text + number, X, needs=Needs(descends=False))
    assert [type(part) for part in held.grams] == [LinaddGram, DenseGram], "for machines that rest on all samples"
    shifted = bind(WD(4, 1).on("s") + number, X)
    assert [type(part) for part in shifted.grams] == [LinaddGram, TiledGram]
    check_gram(mixed)
    assert isinstance(bind(WD(4, 1, position_weights=np.ones(20)).on("s"), X), DenseGram)
    ready = for_prediction((text, number), X, np.array([2.0, 3.0]))
    assert [type(part) for part in ready.grams] == [LinaddGram, TiledGram]
    assert ready.factors.tolist() == [2.0, 3.0]


def test_a_fit_without_matrices_is_the_same_fit(rng, monkeypatch):
    X = strings(rng, 80, 20, change=0.8, unknown=0.0)
    y = np.array([row[7] in "AC" for row in X])
    kernel = WD(3).normalized().split("degree")
    dense = MKLClassifier(kernel, tol=1e-6).fit(X, y)
    matrices_up_to(10, monkeypatch)
    free = MKLClassifier(kernel, tol=1e-6).fit(X, y)
    assert free.objective_ == pytest.approx(dense.objective_, rel=1e-5)
    np.testing.assert_allclose(free.weights_, dense.weights_, atol=1e-3)
    np.testing.assert_allclose(free.decision_function(X), dense.decision_function(X), atol=1e-3)


def test_new_sequences_of_another_length_are_refused(rng):
    X = as_views(strings(rng, 9, 20, unknown=0.0))
    with pytest.raises(InputError, match="19 letters cannot be compared"):
        LinaddGram([WD(3)], X).apply(np.ones(9), np.ones(1), as_views(["A" * 19]))
