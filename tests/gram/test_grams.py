"""Every gram gives the products of the matrices that its terms compute."""

import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import strategies
from kernelweave import RBF, InputError, Laplacian, Linear, LowRank, Mismatch, Precomputed, Spectrum, WeightedDegree
from kernelweave.errors import MemoryBudgetError
from kernelweave.gram import (
    GRAMS,
    CachedGram,
    DenseGram,
    DiagonalGram,
    Needs,
    StackedGram,
    StreamedGram,
    TiledGram,
    bind,
    estimate,
    for_prediction,
)
from kernelweave.kernels.vocabulary import KeyVocabulary
from kernelweave.testing import check_gram
from kernelweave.views import as_views

X = as_views(np.random.default_rng(0).normal(size=(23, 4)))
TERMS = [RBF(0.3), Linear().on([0, 1]), Laplacian(1.0), RBF(2.0) * Linear()]
NEW = as_views(np.random.default_rng(1).normal(size=(5, 4)))


def small_cache(terms, X):
    return CachedGram(terms, X, cache_bytes=8 * len(X) * len(terms) * 3)


#: How to make one of each kind; a new kind without an entry fails.
MAKERS = {
    DenseGram: [DenseGram.compute],
    CachedGram: [CachedGram, small_cache],
    StreamedGram: [StreamedGram, lambda terms, X: StreamedGram(terms, X, cache_bytes=1, n_jobs=2)],
    DiagonalGram: [lambda terms, X: DiagonalGram(X)],
    StackedGram: [
        lambda terms, X: StackedGram([DenseGram.compute(terms[:1], X), CachedGram(terms[1:], X)]),
        lambda terms, X: StackedGram([DenseGram.compute(terms[:3], X), DiagonalGram(X)]),
        lambda terms, X: StackedGram([DenseGram.compute(terms[:2], X), DenseGram.compute(terms[2:], X)]),
    ],
    TiledGram: [lambda terms, X: TiledGram.of([*terms[:3], RBF(2.0)], X, dtype=np.float64)],
}
#: Grams of string kernels, and of vectors, have tests of their own beside this file.
GRAMS_OF_STRINGS = tuple(kind for kind in GRAMS if kind.special)
CASES = [
    pytest.param(kind, i, id=f"{kind.__name__}-{i}")
    for kind in GRAMS
    if kind not in GRAMS_OF_STRINGS
    for i in range(len(MAKERS.get(kind, [0])))
]


@pytest.mark.parametrize(("kind", "which"), CASES)
def test_every_gram_keeps_its_promises(kind, which):
    gram = MAKERS[kind][which](TERMS, X)
    check_gram(gram, NEW)
    if gram.n_terms > 1:
        check_gram(gram.rescaled(np.array([1.0, 2.0, 0.5, 3.0])).only([1, 3]))


@settings(max_examples=25)
@given(strategies.evaluable, strategies.samples(), st.sampled_from([DenseGram.compute, small_cache]))
def test_any_expression_bound(kernel, X, make):
    views = as_views(X)
    check_gram(make(kernel.terms(views), views))


def bases(array):
    while array is not None:
        yield array
        array = getattr(array, "base", None)


def test_single_precision_and_files(tmp_path):
    check_gram(DenseGram.compute(TERMS, X, dtype=np.float32), NEW, rtol=1e-6)
    mapped = DenseGram.compute(TERMS, X, directory=tmp_path)
    assert any(isinstance(base, mmap.mmap) for base in bases(mapped.matrix_of(0)))
    check_gram(mapped, NEW)
    assert list(tmp_path.iterdir()) == [], "the file is gone once it is mapped"


def test_threads_give_the_same_bits():
    big = as_views(np.random.default_rng(0).normal(size=(300, 3)))
    one, two = (DenseGram.compute(TERMS[:1] + TERMS[2:], big, n_jobs=n) for n in (1, 2))
    assert all(np.array_equal(one.matrix_of(m), two.matrix_of(m)) for m in range(3))


def test_a_stored_matrix_is_used_where_it_lies():
    K = np.eye(6)
    gram = bind(Precomputed(K) + Precomputed(2 * K), as_views(np.arange(6)))
    assert np.shares_memory(gram.matrix_of(0), K)
    check_gram(gram)


def test_the_cache_keeps_its_budget():
    gram = small_cache(TERMS, X)
    gram.quad(np.ones(23))
    assert len(gram._rows) <= gram.capacity == 3


def test_a_cached_row_is_computed_once(monkeypatch):
    gram = CachedGram(TERMS, X)
    gram.rows_each(np.arange(5))
    monkeypatch.setattr(type(gram.X), "rows", lambda self, index: pytest.fail(f"computed {index} again"))
    gram.rows_each(np.arange(5))


def test_bind_fits_the_budget(tmp_path):
    kernel = sum(TERMS)
    whole = int(estimate(kernel, X)[1])
    assert isinstance(bind(kernel, X, memory=whole), DenseGram)
    assert bind(kernel, X, memory=whole).matrix_of(0).dtype == np.float64
    assert bind(kernel, X, memory=whole - 1).matrix_of(0).dtype == np.float32
    big = as_views(np.arange(2000.0)[:, None])
    assert isinstance(bind(kernel.kernels[3] + Linear(), big, memory="10MB"), CachedGram)
    with pytest.raises(MemoryBudgetError, match=r"2 terms on 2,000 samples take 102 MB .* budget is 100 kB"):
        bind(kernel.kernels[3] + Linear(), big, memory="100 kB")
    few = as_views(np.arange(2000.0)[:, None] % 10)
    assert isinstance(bind(kernel.kernels[0] + Linear(), few, memory="39MB"), DenseGram), "of ten samples, and the sum"
    assert isinstance(bind(kernel.kernels[0] + Linear(), few, memory="31MB"), CachedGram), "the sum is whole"
    alone = bind(RBF(0.3) * RBF(0.4), few, memory="38MB")
    assert alone.matrix_of(0).shape == (2000, 2000), "a term alone has no sum beside it"


def test_prediction_holds_nothing():
    terms = [RBF(0.3), Laplacian(1.0), Linear().on([0, 1]), LowRank(RBF(2.0), rank=5).spanning(X)]
    gram = for_prediction(terms, X, np.ones(4))
    coef = np.ones(23)
    expected = [term.compute(NEW, X) @ coef for term in terms]
    np.testing.assert_allclose(gram.apply_each(coef, NEW), expected)
    rows, table = gram.grams
    assert not rows.holds
    assert not table.embedding.made
    tiled = for_prediction(terms[:2], X, np.ones(2))
    np.testing.assert_allclose(tiled.apply_each(coef, NEW), expected[:2], rtol=1e-12)
    assert not tiled.holds


@pytest.mark.parametrize("make", [DenseGram.compute, CachedGram])
def test_infinite_values_are_named(make):
    huge = as_views(np.array([[1e140], [2e140], [3e140]]))
    with pytest.raises(InputError, match=r"Linear\(\) \* Linear\(\) takes infinite values"):
        make([Linear() * Linear()], huge).quad(np.ones(3))


def test_a_broken_gram_is_found():
    class Wrong(DenseGram):
        def quad(self, coef):
            return 1.001 * super().quad(coef)

    with pytest.raises(AssertionError, match="quad is not"):
        check_gram(Wrong.compute(TERMS, X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_and_blocks_are_the_naive_ones(dtype, rng):
    from kernelweave._fast.dense import gather, rows_times

    K = rng.normal(size=(11, 11)).astype(dtype)
    for q in range(7):
        rows, cols, coef = rng.permutation(11)[:q], rng.permutation(11)[:5], rng.normal(size=q)
        np.testing.assert_allclose(rows_times(K, rows, coef), naive.rows_times(K, rows, coef), atol=1e-14)
        np.testing.assert_allclose(
            gather(K, rows, cols, 0.7).reshape(q, 5), naive.gather(K, rows, cols, 0.7).reshape(q, 5)
        )


@pytest.mark.parametrize("n_picked", [1, 3, 4, 6, 9])  # they are read four at a time, and the rest one by one
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_stacks_are_the_naive_ones(dtype, n_picked, rng):
    from kernelweave._fast.dense import mix, products, quads

    A = rng.normal(size=(10, 9, 9)).astype(dtype)
    stack = A + A.transpose(0, 2, 1)
    coefs, weights = np.where(rng.random((2, 9)) < 0.6, rng.normal(size=(2, 9)), 0.0), rng.random(n_picked)
    picked, at, coef = rng.permutation(10)[:n_picked], np.array([8, 2]), coefs[0]
    atol = 1e-14 if dtype == np.float64 else 1e-6
    expected = [[c @ stack[m].astype(float) @ c for c in coefs] for m in picked]
    np.testing.assert_allclose(quads(stack, picked, np.flatnonzero(coefs.any(axis=0)), coefs), expected, atol=1e-12)
    expected = [[stack[m, r].astype(float) @ coef for r in at] for m in picked]
    np.testing.assert_allclose(products(stack, picked, at, coef), expected, atol=1e-12)
    expected = sum(w * stack[m] for m, w in zip(picked, weights, strict=True))
    np.testing.assert_allclose(mix(stack, picked, weights), expected, atol=atol)


def test_estimates_are_what_is_held(rng):
    big = as_views(np.column_stack([rng.normal(size=80), np.arange(80) % 5]))
    kernel = RBF(0.3).on(0) + RBF(2.0).on(0) + Laplacian(1.0).on(1)
    gathered = 8 * (0.45 * 80) ** 2  # by the dual solver, beside the matrices and their sum
    again = 1.2 * 8 * 80 * 80  # values that are evaluated anew at the end, and which of them are finite
    whole, single = 8 * 80 * 80 * 4 + int(gathered), 80 * 80 * (4 * 3 + 8) + int(again)
    few = 8 * (2 * 80 * 80 + 25 + 80 * 80) + int(gathered)
    assert estimate(kernel, big, whole) == ("matrices in double precision", whole)
    how, need = estimate(kernel, big, whole - 1)
    gram = bind(kernel, big, memory=whole - 1)
    assert (how, need) == ("matrices in double precision", few), "where repeated samples count once"
    assert sum(stack.matrices.nbytes for stack in gram.stacks) + 8 * 80 * 80 == need - int(gathered)
    every = as_views(rng.normal(size=(80, 2)))
    assert estimate(kernel, every, whole - 1) == ("matrices in single precision", single)
    large = as_views(rng.normal(size=(400, 2)))
    assert estimate(RBF(0.3), large, 8 * 400 * 64 * 2)[0] == "rows on demand, the latest kept"


def test_estimates_without_a_matrix(rng):
    X = as_views({"s": ["".join(row) for row in rng.choice(list("ACGT"), (70, 20))], "x": rng.normal(size=(70, 1))})
    words = WeightedDegree(degree=3).on("s")
    gram = bind(words, X, needs=Needs(no_matrix=True))
    how, need = estimate(words, X, needs=Needs(no_matrix=True))
    assert how == "no matrix"
    assert need == 100 * 70 + gram.bytes.held + gram.bytes.coordinates(70)
    assert estimate(words, X, 8 * 70 * 70 - 1)[0] == "no matrix"
    beside, both = estimate(words + RBF().on("x"), X, 8 * 70 * 70 - 1)
    assert beside == "no matrix"
    assert both == 100 * 70 + 8 * 70 * 70 - 1, "what is active is kept to the budget"


def test_estimates_compute_nothing(rng, monkeypatch):
    X = as_views({"s": ["".join(row) for row in rng.choice(list("ACGT"), (60, 20))], "x": rng.normal(size=(60, 1))})
    words, shifted = (WeightedDegree(degree=3, shift=shift).on("s") for shift in (0, 2))
    monkeypatch.setattr("kernelweave.gram.plan.EXPLICIT_SAMPLES", 10)
    monkeypatch.setattr("kernelweave.gram.plan.LINADD_SAMPLES", 10)
    monkeypatch.setattr(DenseGram, "compute", lambda *args, **options: pytest.fail("computed"))
    monkeypatch.setattr(KeyVocabulary, "fit", lambda *args: pytest.fail("listed"))
    held = "matrices in double precision"
    assert estimate(shifted + RBF().on("x"), X)[0] == "no matrix"
    assert estimate(shifted + RBF().on("x"), X, needs=Needs(descends=False))[0] == held
    assert estimate(words + RBF().on("x"), X, needs=Needs(descends=False))[0] == held
    assert estimate(words, X, needs=Needs(descends=False))[0] == estimate(shifted, X)[0] == "no matrix"
    assert estimate(Spectrum(5).on("s") + Mismatch(4).on("s"), X)[0] == "no matrix"
    with pytest.raises(MemoryBudgetError, match=r"words of 60 samples .* budget is 10 MB"):
        estimate(Mismatch(12, 4).on("s"), X, "10 MB")
