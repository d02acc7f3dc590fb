"""Samples that lack a view: a rule for every kernel, positive semi-definite, the same in prediction and in files."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from kernelweave import (
    RBF,
    BagOfWords,
    Categorical,
    Frozen,
    Gaussian,
    InputError,
    Linear,
    LowRank,
    MKLClassifier,
    MKLRegressor,
    MultiView,
    Precomputed,
    Spectrum,
    WeightedDegree,
    load,
    parse,
    per_feature,
    save,
)
from kernelweave.presence import absent
from kernelweave.testing import check_kernel
from kernelweave.views import as_views

N = 24


def views(seed=0, share=0.3, n=N):
    """Views of all kinds, of which every sample lacks some."""
    rng = np.random.default_rng(seed)
    holes = rng.random((n, 6)) < share
    numbers = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1]
    words = [" ".join(rng.choice(["cold", "warm", "wet", "dry"], 4)) for _ in range(n)]
    data = {
        "numbers": np.where(holes[:, [0]], np.nan, numbers),
        "dna": [None if gap else "".join(rng.choice(list("ACGT"), 10)) for gap in holes[:, 1]],
        "text": [None if gap else text for gap, text in zip(holes[:, 2], words, strict=True)],
        "colour": [None if gap else str(rng.choice(["red", "blue"])) for gap in holes[:, 3]],
        "id": np.where(holes[:, 4], np.nan, np.arange(n)),
    }
    counts = sparse.random_array((n, 4), density=0.5, rng=rng, format="lil")
    counts[np.flatnonzero(holes[:, 5]), 0] = np.nan
    data["counts"] = sparse.csr_array(counts)
    return data, numbers[:, 0] + 0.1 * rng.normal(size=n) > 0


GIVEN = Precomputed(np.cov(np.random.default_rng(1).normal(size=(60, 80))) + 0.1, name="given")
KERNELS = {
    "numbers": RBF(0.3).standardized().on("numbers"),
    "columns": per_feature(RBF(0.3)).on("numbers"),
    "dna": WeightedDegree(degree=3).on("dna"),
    "parts": Spectrum(k=2).part(0, 6).normalized().on("dna"),
    "degrees": WeightedDegree(degree=3).split("degree").on("dna"),
    "text": BagOfWords().normalized().on("text"),
    "colour": Categorical().on("colour"),
    "id": GIVEN.on("id"),
    "counts": Linear().on("counts"),
    "product": RBF(0.3).on("numbers") * Spectrum(k=2).on("dna"),
    "frozen": 2.0 * Frozen(RBF(0.3).on("numbers") + Linear().on("counts")),
    "around": Gaussian(Spectrum(k=2).normalized()).on("dna"),
    "low rank": LowRank(RBF(0.3), rank=5).on("numbers"),
}


def naive_matrix(kernel, X, rule):
    """The definition, sample by sample: k of those that have the view; a mean, or nothing, for the others."""
    data = as_views(X)
    rows = np.flatnonzero(~absent(data))
    K = np.asarray(kernel.compute(data.rows(rows), None))
    mean = np.full(len(rows), 1.0 / len(rows)) if rule == "expected" else np.zeros(len(rows))
    places = {row: i for i, row in enumerate(rows)}
    phi = np.array([np.eye(len(rows))[places[i]] if i in places else mean for i in range(len(data))])
    return phi @ K @ phi.T


@pytest.mark.parametrize("rule", ["expected", "zero"])
@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ("product", "frozen", "low rank")])
def test_it_is_the_mean_of_features_or_none(name, rule):
    data, _ = views()
    kernel = KERNELS[name]
    column = kernel.columns
    inner = kernel.kernel.learned(as_views(data).select(column).rows(np.flatnonzero(~absent(as_views(data[column])))))
    found = kernel.if_missing(rule).learned(as_views(data))
    if name == "columns":  # one rule for each column
        expected = sum(naive_matrix(RBF(0.3), data["numbers"][:, [c]], rule) for c in range(3))
    else:
        expected = naive_matrix(inner, data[column] if name != "id" else data["id"][:, None], rule)
    np.testing.assert_allclose(found(data), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rule", ["expected", "zero"])
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "low rank"])
def test_it_is_a_kernel(name, rule):
    data, _ = views()
    kernel = KERNELS[name].if_missing(rule)
    check_kernel(kernel.learned(as_views(data)), data)
    check_kernel(kernel.learned(as_views(data)), data, views(seed=5)[0])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 999), st.floats(0.0, 1.0), st.sampled_from(["expected", "zero"]))
def test_whoever_lacks_what_it_is_a_kernel(seed, share, rule):
    data, _ = views(seed, share, 9)
    kernel = sum(KERNELS[name].if_missing(rule) for name in ("numbers", "dna", "counts", "id", "product"))
    known, _ = views(seed + 1, 0.2, 12)
    check_kernel(kernel.learned(as_views(known)), data, known)


def test_no_gap_changes_nothing():
    full, y = views(share=0.0)
    kernel = sum(KERNELS[name] for name in ("numbers", "dna", "text", "id", "counts"))
    plain = MKLClassifier(kernel).fit(full, y).decision_function(full)
    for rule in ("expected", "zero", "error"):
        np.testing.assert_allclose(
            MKLClassifier(kernel.if_missing(rule)).fit(full, y).decision_function(full), plain, atol=1e-3
        )


def test_a_weight_of_two_is_being_there_twice():
    data, _ = views()
    numbers = data["numbers"]
    weight = np.random.default_rng(3).integers(0, 4, N)
    kernel = RBF(0.3).if_missing("expected")
    one = kernel.learned(as_views(numbers), weight.astype(float))
    two = kernel.learned(as_views(np.repeat(numbers, weight, axis=0)))
    np.testing.assert_allclose(one(numbers), two(numbers), rtol=1e-12)


def test_many_samples_are_drawn_from(monkeypatch):
    monkeypatch.setattr("kernelweave.kernels.if_missing.MOST_REFERENCES", 5)
    data, _ = views()
    found = RBF(0.3).if_missing("expected").learned(as_views(data["numbers"]))
    assert len(found.references.views) == 5
    check_kernel(found, data["numbers"])


def shared_out(parts, weights, there):
    """The slow twin of a normalised sum: each sample's weights are divided by their sum over the views that it has."""
    n = len(there)
    out, sums = np.zeros((n, n)), there @ np.asarray(weights)
    for i in range(n):
        for j in range(n):
            both = [w * K[i, j] for w, K, here in zip(weights, parts, there.T, strict=True) if here[i] and here[j]]
            out[i, j] = sum(both) / np.sqrt(sums[i] * sums[j]) if both else 0.0
    return out


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999), st.floats(0.0, 0.9), st.floats(0.01, 100.0))
def test_a_normalised_sum_shares_weights_out_among_the_views_that_are_there(seed, share, weight):
    data, _ = views(seed, share, 9)
    a, b = RBF(0.3).on("numbers"), Spectrum(k=2).normalized().on("dna")
    kernel = Frozen(weight * a + 0.4 * b).if_missing("zero").normalized()
    there = np.column_stack([~absent(as_views(data[name])) for name in ("numbers", "dna")])
    full, _ = views(seed, 0.0, 9)
    rows = [row if here else other for row, here, other in zip(data["dna"], there[:, 1], full["dna"], strict=True)]
    parts = [RBF(0.3)(np.nan_to_num(data["numbers"])), Spectrum(k=2).normalized()(rows)]
    np.testing.assert_allclose(kernel(data), shared_out(parts, [weight, 0.4], there), rtol=1e-9, atol=1e-12)
    check_kernel(kernel, data)


def test_learned_weights_are_shared_out_in_prediction_and_files(tmp_path):
    data, y = views(n=40)
    kernel = (KERNELS["numbers"] + KERNELS["dna"] + KERNELS["colour"]).if_missing("zero")
    learned = MKLClassifier(kernel, norm=2).fit(data, y).kernel_
    model = MKLClassifier(Frozen(learned).normalized()).fit(data, y)
    new, _ = views(seed=9, n=30)
    lacks = np.logical_and.reduce([absent(as_views(new[name])) for name in ("numbers", "dna", "colour")])
    np.testing.assert_allclose(Frozen(learned).normalized().diag(as_views(new)), np.where(lacks, 0.0, 1.0))
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").decision_function(new), model.decision_function(new))
    assert parse(repr(model.kernel)) == model.kernel


# -- in a model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["expected", "zero"])
@pytest.mark.parametrize("name", [*KERNELS, "all"])
def test_a_model_keeps_its_rule(name, rule, tmp_path):
    data, y = views(n=40)
    kernel = sum(KERNELS.values()) if name == "all" else KERNELS[name]
    model = MKLClassifier(kernel.if_missing(rule), C=10.0, norm="fixed").fit(data, y)
    new, _ = views(seed=7, n=40)
    expected = model.decision_function(new)
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw", matrices={"given": GIVEN.K} if name in ("id", "all") else None)
    np.testing.assert_array_equal(again.decision_function(new), expected)
    assert again.base_kernel_ == model.base_kernel_
    assert again.trained_.n_distinct == model.trained_.n_distinct
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(new), expected)
    save(again, tmp_path / "twice.kw")
    one_by_one = [again.decision_function(as_views(new).rows(np.array([i])))[0] for i in range(0, 40, 7)]
    np.testing.assert_allclose(one_by_one, expected[::7], rtol=1e-9, atol=1e-12)
    nothing = {key: [None] * 2 if isinstance(value, list) else value[:2] for key, value in new.items()}
    nothing |= {"numbers": np.full((2, 3), np.nan), "id": np.full(2, np.nan)}
    assert len(set(model.decision_function(nothing).round(12))) <= 2


def test_containers_agree_to_the_bit():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    data, y = views(n=40)
    columns = {f"x{i}": [None if np.isnan(v) else v for v in column] for i, column in enumerate(data["numbers"].T)}
    columns |= {name: data[name] for name in ("dna", "text", "colour")}
    numbers = ["x0", "x1", "x2"]
    kernel = RBF(0.3).standardized().on(numbers) + Spectrum(k=2).on("dna") + BagOfWords().on("text")
    kernel = (kernel + Categorical().on("colour")).if_missing("expected")
    frame = pl.DataFrame(columns)
    ours = {name: np.array(column, float if name in numbers else object) for name, column in columns.items()}
    found = []
    for X in (pd.DataFrame(ours), frame, frame.to_arrow(), frame.with_columns(pl.col(numbers).fill_null(np.nan)), ours):
        if isinstance(X, dict):
            X = MultiView(X)
        found.append(MKLRegressor(kernel).fit(X, y.astype(float)).predict(X))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_searches_and_clones_keep_the_rule():
    data, y = views(n=40)
    kernel = (KERNELS["numbers"] + KERNELS["dna"]).if_missing("zero")
    search = GridSearchCV(MKLClassifier(kernel), {"C": [0.1, 1.0]}, cv=3).fit(MultiView(data), y)
    assert "if_missing('zero')" in repr(search.best_estimator_.base_kernel_)
    learned = RBF(0.3).if_missing("expected").learned(as_views(data["numbers"]))
    np.testing.assert_array_equal(clone(learned)(data["numbers"]), learned(data["numbers"]))


def test_what_is_typed_is_what_prints():
    kernel = (2.0 * RBF(0.5).on("a") + Linear().on("b") * Spectrum(k=2).on("c")).if_missing("zero")
    text = "2.0 * RBF(gamma=0.5).if_missing('zero').on('a') + Linear().if_missing('zero').on('b')"
    assert repr(kernel) == text + " * Spectrum(k=2).if_missing('zero').on('c')"
    assert parse(repr(kernel)) == kernel


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: RBF().if_missing("drop"), "rule of .if_missing"),
        (lambda: RBF().if_missing("zero").if_missing("zero"), "has a rule already"),
        (lambda: RBF().if_missing("expected")([[np.nan], [1.0]]), "what to expect"),
        (lambda: RBF().if_missing("error")([[np.nan], [1.0]]), "Sample 0 lacks"),
        (lambda: MKLClassifier(RBF().if_missing("zero")).fit([[np.nan]] * 4, [0, 1, 0, 1]), "No training sample has"),
        (lambda: MKLClassifier(RBF().if_missing("zero")).fit([[np.nan, 1.0]] * 4, [0, 1, 0, 1]), "NaN"),
    ],
)
def test_errors_say_what_would_work(make, why):
    with pytest.raises(InputError, match=why):
        make()
