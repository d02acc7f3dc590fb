"""Chunking with its normal in every engine: the same products, the same machine."""

import pickle
from collections import defaultdict

import numpy as np
import pytest

from kernelweave import (
    RBF,
    BagOfWords,
    GappedKmer,
    Mismatch,
    MKLClassifier,
    MKLRegressor,
    Spectrum,
    WeightedDegree,
    load,
    save,
)
from kernelweave.dual import DUAL_SOLVERS, Chunking
from kernelweave.engines import ENGINES
from kernelweave.errors import InputError
from kernelweave.gram import Needs, StackedGram, bind
from kernelweave.testing import check_dual_solver
from kernelweave.views import as_views

STORES = [kind.name for kind in ENGINES]
KEYS = ("table", "hash", "sorted", "trie")

#: Kernels, and the stores that can keep their words.
KERNELS = {
    "words": (Spectrum(k=3), STORES),
    "long": (Spectrum(k=33), ["suffix"]),
    "many bits": (Spectrum(k=15), ["hash", "sorted", "trie", "suffix"]),
    "lengths": (Spectrum(k=4, min_k=2, weights=[0.5, 1.0, 2.0]).normalized(), STORES),
    "shares": (Spectrum(k=2, values="frequency"), STORES),
    "binary": (Spectrum(k=2, values="binary"), KEYS),
    "both strands": (Spectrum(k=3, reverse_complement=True), KEYS),
    "errors": (Mismatch(k=4, mismatches=1), KEYS),
    "gaps": (GappedKmer(length=4, k=3), KEYS),
    "places": (WeightedDegree(degree=4), KEYS),
    "deep": (WeightedDegree(degree=20), ["hash", "sorted", "trie"]),
    "normalised": (WeightedDegree(degree=3).normalized(), KEYS),
    "shifts": (WeightedDegree(degree=3, shift=2), KEYS),
    "positions": (WeightedDegree(degree=3).split("position", "degree"), KEYS),
}
CASES = [(name, store) for name, (_, stores) in KERNELS.items() for store in stores]
REFUSED = [(name, store) for name, (_, stores) in KERNELS.items() for store in STORES if store not in stores]


@pytest.fixture(scope="module")
def data():
    """Sequences with a motif, two of them with unknown letters, some alike but for their ends."""
    rng = np.random.default_rng(3)
    y = np.where(np.arange(60) % 2, 1, -1)
    letters = rng.choice(list("ACGT"), (60, 36))
    letters[:20, :34] = letters[0, :34]
    letters[y > 0, 34:] = list("CA")
    letters[4, 7] = letters[50, 35] = "N"
    return ["".join(row) for row in letters], y


def bound(kernel, text, n_jobs=1):
    return bind(kernel, as_views(text), needs=Needs(n_jobs, no_matrix=True))


@pytest.mark.parametrize(("name", "store"), CASES)
def test_products_are_those_of_the_matrix(name, store, data):
    kernel, rng = KERNELS[name][0], np.random.default_rng(0)
    gram = bound(kernel, data[0])
    gram = gram.rescaled(rng.uniform(0.5, 2.0, gram.n_terms))
    weights, rows = rng.uniform(size=gram.n_terms), np.array([7, 50, 4, 20])
    weights[1::3] = 0.0
    K = gram.block(np.arange(gram.n), None, weights)
    for coef in (rng.standard_normal(4), rng.standard_normal((4, 2))):
        found = gram.rows_times_in(store, rows, coef, weights)
        np.testing.assert_allclose(found, K[:, rows] @ coef, rtol=1e-12, atol=1e-12 * np.abs(K).max())
    none = gram.rows_times_in(store, rows[:0], np.zeros(0), weights)
    np.testing.assert_array_equal(none, np.zeros(gram.n))
    again = bound(kernel, data[0], n_jobs=2).rescaled(gram.factors)
    np.testing.assert_array_equal(again.rows_times_in(store, rows, coef, weights), found)


@pytest.mark.parametrize("store", KEYS)
@pytest.mark.parametrize("kernel", [Spectrum(k=3, min_k=1), WeightedDegree(degree=4)], ids=str)
def test_a_step_is_the_papers(kernel, store, data):
    """Algorithm 4.2 as it is written: clear w, add the words of what changed, look up the words of all."""
    text, rows, changes = data[0], (3, 4, 9), (0.5, -1.0, 2.0)
    w = defaultdict(float)
    for row, change in zip(rows, changes, strict=True):
        for _, word, value in kernel.features(text[row]):
            w[word] += change * value
    f = [sum(w.get(word, 0.0) * value for _, word, value in kernel.features(one)) for one in text]
    found = bound(kernel, text).at(np.ones(1)).kept_in(store).rows_times(np.array(rows), np.array(changes))
    np.testing.assert_allclose(found, f, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "store"), CASES)
@pytest.mark.parametrize("kind", [MKLClassifier, MKLRegressor])
def test_every_store_finds_the_same_machine(name, store, kind, data):
    (text, y), kernel = data, KERNELS[name][0]
    if kind is MKLRegressor:
        y = y + 0.01 * np.arange(len(y))
    plain, kept = (
        kind(kernel, norm="fixed", dual=Chunking(working_set=20, store=one), tol=1e-9).fit(text, y)
        for one in ("auto", store)
    )
    assert plain.converged_
    assert kept.converged_
    assert np.isclose(kept.objective_, plain.objective_, rtol=1e-8)
    assert abs(kept.gap_ - plain.gap_) <= 1e-8
    np.testing.assert_allclose(kept.predict(text), plain.predict(text), atol=1e-3)


@pytest.mark.parametrize("solver", ["silp_chunking", "hessian"])
@pytest.mark.parametrize("store", ["sorted", "trie"])
def test_weights_are_learned_with_every_store(store, solver, data):
    kernel, (text, y) = WeightedDegree(degree=4).split("degree") + Spectrum(k=2), data
    models = [MKLClassifier(kernel, solver=solver, dual=Chunking(20, one), tol=1e-5) for one in ("auto", store)]
    plain, kept = (model.fit(text, y) for model in models)
    assert kept.converged_
    assert np.isclose(kept.objective_, plain.objective_, rtol=1e-5)


class OnWords(Chunking):
    """Chunking that fits only where there are words to keep, for the suite's grams of numbers."""

    def fits(self, machine, K=None):
        return super().fits(machine, K) and (K is None or K.gram.held.words)


@pytest.mark.parametrize("store", KEYS)
def test_conformance(store):
    check_dual_solver(OnWords(store=store))
    check_dual_solver(OnWords(working_set=6, store=store))


@pytest.mark.parametrize(("name", "store"), REFUSED)
def test_an_engine_that_cannot_hold_the_words_names_those_that_can(name, store, data):
    kernel, able = KERNELS[name]
    model = MKLClassifier(kernel, norm="fixed", dual=Chunking(store=store))
    with pytest.raises(InputError, match=f"store='{store}' cannot keep the words") as error:
        model.fit(*data)
    offered = str(error.value).rpartition("Use store=")[2]
    assert {one for one in STORES if repr(one) in offered} == set(able)
    assert "'auto'" in offered


def test_kernels_without_words(data):
    text, y = data
    numbers = np.random.default_rng(0).standard_normal((len(y), 2))
    with pytest.raises(InputError, match=r"RBF\(gamma=0.5\) has none that can be listed"):
        MKLClassifier(RBF(0.5), dual=Chunking(store="hash")).fit(numbers, y)
    with pytest.raises(InputError, match="Use store='auto'"):
        MKLClassifier(BagOfWords(), dual=Chunking(store="hash")).fit([f"{one} {one[:3]} a" for one in text], y)
    # beside sequences, numbers are what they always are
    views = {"text": text, "numbers": numbers}
    kernel = WeightedDegree(degree=3).on("text") + Spectrum(k=2).on("text") + RBF(0.5).on("numbers")
    gram = bind(kernel, as_views(views), needs=Needs(no_matrix=True))
    assert isinstance(gram, StackedGram)
    plain, kept = (
        MKLClassifier(kernel, dual=Chunking(20, store), tol=1e-6).fit(views, y) for store in ("auto", "trie")
    )
    assert np.isclose(kept.objective_, plain.objective_, rtol=1e-5)


def test_the_letters_of_bytes_and_proteins():
    """Alphabets of 256 letters have no room for an unknown one; those of proteins have some to spare."""
    rng = np.random.default_rng(1)
    proteins = ["".join(row) for row in rng.choice(list("ARNDCQEGHILKMFPSTWYVX"), (12, 15))]
    files = [bytes(row) for row in rng.integers(250, 256, (12, 15), dtype=np.uint8)]
    known = [bytes(row) for row in rng.integers(250, 255, (12, 15), dtype=np.uint8)]
    rows, coef = np.arange(5), rng.standard_normal(5)
    for kernel, text, stores in (
        (Spectrum(k=2, alphabet="protein"), proteins, STORES),
        (Spectrum(k=2, alphabet="bytes"), files, STORES),
        (Spectrum(k=9, alphabet="bytes"), files, ["suffix"]),
        (WeightedDegree(degree=2, alphabet="protein"), proteins, KEYS),
        (WeightedDegree(degree=2, alphabet="bytes"), known, KEYS),
        (WeightedDegree(degree=2, shift=1, alphabet="bytes"), known, KEYS),
    ):
        gram = bound(kernel, text)
        for store in stores:
            found = gram.rows_times_in(store, rows, coef, np.ones(1))
            np.testing.assert_allclose(found, kernel(text)[:, rows] @ coef, atol=1e-10)


def test_choosing_keeping_and_printing(data, tmp_path):
    with pytest.raises(InputError, match=r"A store is 'auto' or one of .*'trie'.*; got 'tree'"):
        Chunking(store="tree")
    solver = Chunking(working_set=42, store="trie")
    assert repr(solver) == "Chunking(working_set=42, store='trie')"
    assert repr(Chunking(42)) == "Chunking(working_set=42)"
    names = {kind.__name__: kind for kind in DUAL_SOLVERS}
    assert vars(eval(repr(solver), names)) == vars(solver) == vars(pickle.loads(pickle.dumps(solver)))
    model = MKLClassifier(WeightedDegree(degree=3), dual=solver).fit(*data)
    save(model, tmp_path / "model.kw")
    assert vars(load(tmp_path / "model.kw").dual) == vars(solver)
