"""Columns in units of their own spread: learned from training samples, printed, and with a rule for gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import naive
from kernelweave import RBF, BagOfWords, InputError, Laplacian, Linear, MKLClassifier, Polynomial, load, parse, save
from kernelweave.kernels import per_feature
from kernelweave.testing import check_kernel
from kernelweave.views import as_views


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * [0.01, 1.0, 1e5] + [0.0, 5.0, 1e6]


def with_gaps(X, share=0.3, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def learned(kernel, X):
    return kernel.learned(as_views(X))


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Polynomial(2), Laplacian(), RBF([0.1, 0.2, 0.3])], ids=repr)
def test_it_is_the_kernel_of_scaled_columns(kernel):
    X, new = table(), table(seed=9)
    scaler = StandardScaler().fit(X)
    found = learned(kernel.standardized(), X)
    # three digits are kept of each spread
    np.testing.assert_allclose(found(new, X), kernel(*map(scaler.transform, (new, X))), rtol=0.1, atol=0.1)
    units = found.units
    exact = kernel(*((Z - units.centres) / units.spreads for Z in (new, X)))
    np.testing.assert_allclose(found(new, X), exact, rtol=1e-12)
    check_kernel(found, X)


def test_what_was_learned_prints_and_learns_no_more():
    X = table()
    found = learned(RBF(0.5).standardized().on([0, 2]) + Linear(), X)
    assert found == parse(repr(found))
    assert learned(found, 10 * X) is found
    assert repr(RBF(0.5).standardized("robust")) == "RBF(gamma=0.5).standardized(by='robust')"
    np.testing.assert_allclose(found.kernels[0].kernel.spreads, X[:, [0, 2]].std(axis=0), rtol=5e-3)
    robust = learned(RBF(0.5).standardized("robust"), np.vstack([X, [[1e9] * 3]]))
    np.testing.assert_allclose(robust.spreads, X.std(axis=0), rtol=0.5)


def test_it_goes_to_every_kernel_inside():
    kernel = (RBF(0.5).on("a") * Linear().on("b") + 2.0 * RBF(1.0).normalized()).standardized()
    expected = "RBF(gamma=0.5).standardized().on('a') * Linear().standardized().on('b')"
    assert repr(kernel) == expected + " + 2.0 * RBF(gamma=1.0).standardized().normalized()"
    each = learned(per_feature(RBF(0.5)).standardized(), table())
    assert [len(term.kernel.spreads) for term in each.kernels] == [1, 1, 1]
    check_kernel(each, table())


def test_sparse_columns_are_not_moved():
    S = sparse.random_array((30, 4), density=0.3, rng=np.random.default_rng(0), format="csr")
    found = learned(Linear().standardized(), S)
    assert found.centres is None
    np.testing.assert_allclose(found(S), naive.linear(*[S.toarray() / found.spreads] * 2), rtol=1e-12)


def test_constant_and_empty_columns_have_spread_one():
    X = np.column_stack([np.ones(5), np.full(5, np.nan), np.arange(5.0)])
    assert learned(RBF(1.0).standardized(missing="expected"), X).spreads[:2] == [1.0, 1.0]


# -- gaps --------------------------------------------------------------------------------------------------------------


def naive_expected(A, B, gamma, draws):
    """The mean of the kernel over draws that fill the gaps, on either side by themselves."""
    out = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            left, right = (np.where(np.isnan(x), z, x) for x, z in zip((a, b), draws, strict=True))
            out[i, j] = np.exp(-gamma * np.square(left - right).sum(axis=1)).mean()
    return out


def test_expected_is_the_mean_over_a_normal_column():
    rng = np.random.default_rng(0)
    A, B = with_gaps(rng.normal(size=(4, 2)), 0.5), with_gaps(rng.normal(size=(5, 2)), 0.5, seed=2)
    kernel = RBF(0.7).standardized(missing="expected", centres=[0.0, 0.0], spreads=[1.0, 1.0])
    draws = rng.normal(size=(2, 40_000, 2))
    np.testing.assert_allclose(kernel(A, B), naive_expected(A, B, 0.7, draws), atol=0.01)


def test_at_the_centre_for_other_kernels():
    X = with_gaps(table())
    found = learned(Polynomial(2).standardized(missing="expected"), X)
    filled = np.where(np.isnan(X), found.centres, X)
    np.testing.assert_allclose(found(X), found(filled), rtol=1e-12)


def test_at_the_centre_where_that_is_asked_for():
    X = with_gaps(table())
    found = learned((RBF(0.5) + Linear()).standardized(missing="centre"), X)
    filled = np.where(np.isnan(X), found.kernels[0].centres, X)
    np.testing.assert_allclose(found(X), found(filled), rtol=1e-12)


@pytest.mark.parametrize("by", ["std", "robust"])
def test_a_weight_of_two_is_being_there_twice(by):
    X = with_gaps(table())
    weight = np.random.default_rng(3).integers(0, 4, len(X))
    kernel = Linear().standardized(by, missing="centre")
    assert kernel.learned(as_views(X), weight.astype(float)) == learned(kernel, np.repeat(X, weight, axis=0))


def test_unlike_is_zero_to_all_and_to_itself():
    X = with_gaps(table())
    found, holes = learned(RBF(0.5).standardized(missing="unlike"), X), np.isnan(X).any(axis=1)
    K = found(X)
    assert not K[holes].any()
    np.testing.assert_allclose(K[np.ix_(~holes, ~holes)], found(X[~holes]), rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 999),
    st.floats(0.0, 1.0),
    st.sampled_from(["centre", "expected", "unlike"]),
    st.floats(0.01, 10.0),
    st.booleans(),
)
def test_any_gaps_leave_it_a_kernel(seed, share, missing, gamma, alone):
    X = with_gaps(table(12, seed), share, seed)
    kernel = per_feature(RBF(gamma)) if alone else RBF(gamma) + Linear() * RBF(gamma)
    check_kernel(learned(kernel.standardized(missing=missing), X), X)


def test_gaps_are_refused_without_a_rule():
    X, y = with_gaps(table()), np.arange(40) % 2
    with pytest.raises(ValueError, match="NaN"):
        MKLClassifier(RBF(1.0).standardized()).fit(X, y)
    with pytest.raises(InputError, match="infinity"):
        learned(RBF(1.0).standardized(missing="expected"), np.array([[np.inf], [1.0]]))


# -- in a model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["error", "centre", "expected", "unlike"])
@pytest.mark.parametrize("kind", ["array", "table", "dict"])
def test_a_model_learns_keeps_and_applies_units(kind, missing, tmp_path):
    X = table(80)
    y = (X[:, 0] / 0.01 + (X[:, 2] - 1e6) / 1e5 > 0).astype(int)
    X = X if missing == "error" else with_gaps(X, 0.05)
    if kind == "table":
        X = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"])
    elif kind == "dict":
        X = {"one": X}
    kernel = (RBF(0.3) + Linear()).standardized(missing=missing)
    model = MKLClassifier(kernel.on("one") if kind == "dict" else kernel, C=10.0).fit(X, y)
    assert model.score(X, y) > (0.75 if missing == "unlike" else 0.9)
    assert "spreads=[" in repr(model.base_kernel_)
    assert "spreads" not in repr(model.kernel)
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    assert again.base_kernel_ == model.base_kernel_
    assert again.kernel == model.kernel
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_widths_are_learned_in_units():
    X = table(60)
    y = np.where(X[:, 2] > 1e6, 1, -1)
    model = MKLClassifier(RBF("learn").standardized(), C=10.0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert "gamma=[" in model.term_names_[0]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: BagOfWords().standardized(), "Only kernels on numbers"),
        (lambda: RBF().standardized().standardized(), "already"),
        (lambda: RBF().standardized(by="range"), "by of .standardized"),
        (lambda: RBF().standardized(missing="drop"), "missing of .standardized"),
        (lambda: RBF().standardized(spreads=[0.0]), "one spread > 0"),
        (lambda: RBF().standardized(centres=[1.0]), "one spread > 0"),
        (lambda: RBF().standardized(centres=[1.0, 2.0], spreads=[1.0]), "one spread > 0"),
        (lambda: RBF().standardized()([[1.0]]), "has no spreads yet"),
        (lambda: RBF().standardized(spreads=[1.0])([[1.0, 2.0]]), "of 1 columns, but there are 2"),
    ],
)
def test_errors_say_what_would_work(make, why):
    with pytest.raises(InputError, match=why):
        make()
