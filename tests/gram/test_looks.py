"""Looks at all terms by an engine are what they are without one, to the last bit."""

import numpy as np
import pytest

import kernelweave
from kernelweave import RBF, Frozen, Laplacian, Linear, MKLClassifier, Polynomial, Precomputed
from kernelweave.cluster import Serial, Threads
from kernelweave.gram import StreamedGram, TiledGram, looks
from kernelweave.kernels.base import add_all
from kernelweave.views import as_views

RNG = np.random.default_rng(0)
X = as_views(RNG.normal(size=(90, 4)) + 1.0)
#: Few terms of several families, one family of many, and samples that repeat in a column.
TERMS = [
    RBF(0.3),
    Frozen(RBF(0.3) + 0.1 * Linear() + Polynomial(2).on([0, 1])),
    3.0 * Laplacian(0.2).on([0, 3]),
    *(RBF(float(g)).on([1]) for g in np.logspace(-2, 2, 40)),
    Polynomial(2).normalized(),
]


class Counted(Serial):
    """Counts the parts of its rounds."""

    def __init__(self, n_threads=3):
        super().__init__()
        self.rounds, self._n = [], n_threads

    @property
    def n_threads(self):
        return self._n

    def map(self, task, parts, version, told=None):
        self.rounds.append(parts)
        return super().map(task, parts, version, told)


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch):
    monkeypatch.setattr(looks, "WORTH", 1)


def repeated():
    values = np.repeat(RNG.normal(size=(15, 4)), 6, axis=0)
    return as_views(values)


GRAMS = {"tiled": TiledGram.of, "streamed": lambda terms, X: StreamedGram(terms, X, cache_bytes=1)}


@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize("make", [lambda: X, repeated], ids=["different", "repeated"])
@pytest.mark.parametrize("shape", [(90,), (90, 3)], ids=str)
def test_quads_are_those_of_the_matrices_and_the_same_bits_on_any_engine(kind, make, shape):
    views = make()
    coef = RNG.normal(size=shape) * (RNG.random(shape) < 0.6)
    gram = GRAMS[kind](TERMS, views).rescaled(np.linspace(0.5, 2.0, len(TERMS)))
    wanted = gram.quad(coef)
    K = np.array([f * term.compute(views, None) for f, term in zip(gram.factors, TERMS, strict=True)])
    np.testing.assert_allclose(wanted, np.einsum("i...,mij,j...->m...", coef, K, coef), rtol=1e-9, atol=1e-12)
    for engine in (Serial(), Threads(2), Counted(1), Counted(9)):
        with kernelweave.engine(engine):
            assert np.array_equal(gram.quad(coef), wanted)


def test_blocks_are_of_about_the_same_size_and_hold_every_family_once():
    gram, coef = TiledGram.of(TERMS, X), RNG.normal(size=(90, 1))
    for n_threads in (1, 2, 16):
        parts = looks._cut(gram.families, coef, len(TERMS), n_threads)
        assert len({part.place for part in parts}) == len(parts)
        turns = [(k, part.turn, part.turns) for part in parts for k in range(part.first, part.last)]
        for number in range(len(gram.families)):
            own = [(turn, of) for k, turn, of in turns if k == number]
            assert own == [(turn, len(own)) for turn in range(len(own))]
    assert max(part.turns for part in parts) > 1, "one family of many terms is more than a block"


def test_no_task_holds_a_worker_for_long(monkeypatch):
    monkeypatch.setattr(looks, "MOST", 10_000)
    gram, coef = TiledGram.of(TERMS, X), np.ones((90, 1))
    parts = looks._cut(gram.families, coef, len(TERMS), 1)
    assert len(parts) >= len(TERMS) * 90**2 / 2 / 10_000


@pytest.mark.parametrize("kind", GRAMS)
def test_few_terms_and_small_looks_stay_here(kind, monkeypatch):
    gram, coef, engine = GRAMS[kind](TERMS, X), np.ones(90), Counted()
    with kernelweave.engine(engine):
        gram.only([0, 1, 2, 3, 4]).quad(coef)
        assert engine.rounds == []
        gram.only([*range(len(TERMS) - 3)]).quad(coef)
        assert len(engine.rounds) == 1
        monkeypatch.setattr(looks, "WORTH", 10**12)
        gram.quad(coef)
        assert len(engine.rounds) == 1


def test_matrices_that_are_given_do_not_travel():
    K, engine = np.eye(90), Counted()
    ids = as_views(np.arange(90))
    gram = StreamedGram([Precomputed(K), Precomputed(2 * K)], ids)
    with kernelweave.engine(engine):
        assert gram.quad(np.ones(90)).tolist() == [90.0, 180.0]
    assert engine.rounds == []


def test_the_task_is_the_same_one_in_every_round():
    tasks = []

    class Heard(Serial):
        def map(self, task, parts, version, told=None):
            tasks.append(task)
            return super().map(task, parts, version, told)

    with kernelweave.engine(Heard()):
        for gram in (TiledGram.of(TERMS, X), StreamedGram(TERMS, X)):
            tasks.clear()
            gram.quad(np.ones(90))
            gram.rescaled(np.full(len(TERMS), 0.5)).quad(np.ones(90))
            assert tasks[0] is tasks[1]


def test_a_fit_is_the_same_on_every_engine():
    X = RNG.normal(size=(120, 30))
    y = np.sign(X[:, 3] * X[:, 4] + X[:, 5])
    model = MKLClassifier(add_all([RBF(float(g)).on(c) for c in range(30) for g in np.logspace(-2, 1, 12)]), C=1)
    wanted = model.fit(X, y)
    weights, coef, engine = wanted.weights_, wanted.dual_coef_, Counted()
    found = model.fit(X, y, engine=engine)
    assert len(engine.rounds) > 2
    assert np.array_equal(found.weights_, weights)
    assert np.array_equal(found.dual_coef_, coef)
