"""Pieces of expressions: their sum is the expression, and nothing else needs to look inside."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelweave as kw
from kernelweave import Frozen, Linear, Mismatch, MKLClassifier, Spectrum, WeightedDegree, per_feature
from kernelweave.kernels import Kernel, Wrapper
from kernelweave.kernels.pieces import pieces, readers
from kernelweave.views import as_views
from strategies import evaluable, samples

NAMES = ["a", "b"]


def summed(kernel, X, Y=None):
    """The sum of all pieces, each by its definition."""
    total = np.zeros((len(X), len(X if Y is None else Y)))
    for piece in pieces(kernel, X):
        some = piece.degree is not None or piece.position is not None
        core = piece.core.only(piece.degree, piece.position) if some else piece.core
        part = piece.scale * core.compute(X.through(piece.path), None if Y is None else Y.through(piece.path))
        part = part * piece.inverse_norms(X)[:, None]
        total += part * piece.inverse_norms(X if Y is None else Y)
    return total


@given(evaluable, samples())
def test_pieces_of_numbers_add_up(kernel, X):
    X = as_views(X)
    np.testing.assert_allclose(summed(kernel, X), kernel.compute(X, None), rtol=1e-9, atol=1e-9)
    for term in kernel.terms(X):
        np.testing.assert_allclose(summed(term, X), term.compute(X, None), rtol=1e-9, atol=1e-9)


words = st.one_of(
    st.builds(Spectrum, st.integers(1, 3), st.sampled_from(["count", "binary", "frequency"])),
    st.builds(Mismatch, st.just(3), st.integers(0, 1)),
    st.builds(WeightedDegree, st.integers(1, 4), st.integers(0, 2)),
)
parts = st.one_of(
    st.integers(1, 3).map(lambda d: Spectrum(3, min_k=1).only(degree=d)),
    st.integers(1, 3).map(lambda d: WeightedDegree(3).normalized().only(degree=d, position=2)),
    st.just(Spectrum(3, min_k=1).split("degree")),
    st.just(Spectrum(3, min_k=2).normalized().split("degree")),
    st.just(WeightedDegree(3).split("position")),
    words,
)


def _wrapped(kernels):
    return st.one_of(
        st.tuples(kernels, kernels).map(lambda p: p[0] + p[1]),
        st.tuples(kernels, kernels).map(lambda p: p[0] * p[1]),
        st.tuples(st.floats(0.1, 3.0), kernels).map(lambda p: p[0] * p[1]),
        kernels.map(Frozen),
    )


on_one = st.tuples(parts, st.sampled_from([*NAMES, ["a"]])).map(lambda p: p[0].on(p[1]))
on_each = words.map(per_feature) | words.map(lambda kernel: per_feature(kernel).on(NAMES))
texts = st.recursive(on_one | on_each, _wrapped, max_leaves=5)


@st.composite
def two_columns(draw):
    letters = st.text("ACGT", min_size=6, max_size=6)
    n = draw(st.integers(2, 5))
    data = {name: draw(st.lists(letters, min_size=n, max_size=n)) for name in NAMES}
    return data if draw(st.booleans()) else pd.DataFrame(data)


@settings(max_examples=60, deadline=None)
@given(texts, two_columns(), two_columns())
def test_pieces_of_sequences_add_up(kernel, X, Y):
    X, Y = as_views(X), as_views(Y)
    kernel.check(X)
    np.testing.assert_allclose(summed(kernel, X), kernel.compute(X, None), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(summed(kernel, Y, X), kernel.compute(Y, X), rtol=1e-9, atol=1e-9)
    together = sum(term.compute(X, None) for term in kernel.terms(X))
    np.testing.assert_allclose(together, kernel.compute(X, None), rtol=1e-9, atol=1e-9)


def test_readers_are_the_ends_with_their_columns():
    X = as_views({"a": ["AC", "GT"], "b": ["CC", "GG"], "c": np.ones((2, 1))})
    kernel = 2.0 * (Spectrum(1).on("a") * Linear().on("c")).normalized() + Frozen(per_feature(Spectrum(2)).on(NAMES))
    found = [(path, repr(leaf)) for path, leaf in readers(kernel, X)]
    assert found == [
        (("a",), "Spectrum(k=1)"),
        (("c",), "Linear()"),
        ((NAMES, "a"), "Spectrum(k=2)"),
        ((NAMES, "b"), "Spectrum(k=2)"),
    ]
    assert [leaf for _, leaf in readers(kernel, X)][:2] == list(kernel.leaves())[:2]


@dataclass(eq=False, repr=False)
class Squared(Wrapper):
    """The square of a kernel: a wrapper of a user's own, which does not say what it is a sum of."""

    kernel: Kernel

    def compute(self, X, Y):
        return self.kernel.compute(X, Y) ** 2

    def compute_diag(self, X):
        return self.kernel.compute_diag(X) ** 2

    def __repr__(self, N_CHAR_MAX=700):
        return f"Squared({self.kernel!r})"


def test_a_wrapper_of_ones_own_is_one_piece(rng):
    s, y = sequences(rng)
    kernel = 0.5 * Squared(Spectrum(2)) + Spectrum(1)
    views = as_views(s)
    assert [piece.core for piece in pieces(kernel, views)] == [Squared(Spectrum(2)), Spectrum(1)]
    assert [leaf for _, leaf in readers(kernel, views)] == [Spectrum(2), Spectrum(1)]
    assert pieces(kernel, views)[0].core.gram_kind == "dense"
    MKLClassifier(kernel).fit(s, y).predict(s)


def sequences(rng, n=30, length=12):
    y = np.repeat([0, 1], n // 2)
    letters = rng.integers(0, 4, (n, length))
    letters[y == 1, 2:6] = 2
    return ["".join("ACGT"[c] for c in row) for row in letters], y


split = 2.0 * Spectrum(k=3, min_k=1).split("degree")


@pytest.mark.parametrize(
    "kernel",
    [
        split,
        Frozen(Spectrum(k=3, min_k=1).split("degree")),
        split + WeightedDegree(2),
        Frozen(split + Spectrum(4)),
        2.0 * Spectrum(k=3, min_k=1).normalized().split("degree"),
    ],
    ids=repr,
)
def test_split_kernels_inside_others_predict(kernel, rng, tmp_path):
    s, y = sequences(rng)
    model = MKLClassifier(kernel).fit(s, y)
    K = sum(
        weight / scale * term(s, [s[i] for i in model.support_])
        for weight, scale, term in zip(model.weights_, model.scales_, model.fitted_.terms, strict=True)
    )
    expected = K @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(s), expected, rtol=1e-6, atol=1e-6)
    kw.save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(kw.load(tmp_path / "model.kw").decision_function(s), model.decision_function(s))


@pytest.mark.parametrize("make", [dict, pd.DataFrame], ids=["dict", "table"])
@pytest.mark.parametrize("frozen", [False, True])
def test_one_term_per_column_of_sequences(make, frozen, rng, tmp_path):
    (a, y), (b, _) = sequences(rng), sequences(rng)
    b = [b[i] for i in rng.permutation(len(b))]
    X = make({"left": a, "right": b})
    each = per_feature(Spectrum(3))
    model = MKLClassifier(Frozen(each) if frozen else each).fit(X, y)
    names = ["Spectrum(k=3).on('left')", "Spectrum(k=3).on('right')"]
    assert model.term_names_ == (["Frozen(per_feature(Spectrum(k=3)))"] if frozen else names)
    one_by_one = MKLClassifier(sum(Spectrum(3).on(name) for name in ("left", "right"))).fit(X, y)
    if not frozen:
        np.testing.assert_allclose(model.decision_function(X), one_by_one.decision_function(X), atol=1e-6)
    kw.save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(kw.load(tmp_path / "model.kw").predict(X), model.predict(X))
    assert model.score(X, y) > 0.9
