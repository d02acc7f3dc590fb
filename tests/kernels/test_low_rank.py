"""`LowRank`: landmarks span a kernel, belong to the fitted model, and give it a certificate of its own."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import kernelweave as kw
from kernelweave import RBF, InputError, Linear, LowRank, MKLClassifier, MKLRegressor, Spectrum, parse, per_feature
from kernelweave.errors import ModelFormatError
from kernelweave.io.archive import read_archive, write_archive
from kernelweave.kernels import landmarks
from kernelweave.kernels.low_rank import notes_of
from kernelweave.testing import check_kernel
from kernelweave.views import as_views


@pytest.fixture
def data(rng):
    X = rng.normal(size=(200, 4))
    X[7] = X[3]
    return X, (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int)


def texts(rng, n=60):
    return ["".join(row) for row in rng.choice(list("ACGT"), (n, 12))]


def naive(kernel, L, A, B):
    """k(A, L) k(L, L)⁺ k(L, B), as it is defined."""
    return kernel(A, L) @ np.linalg.pinv(kernel(L), rcond=1e-12) @ kernel(L, B)


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(0.1) + Linear(), RBF(0.1) * Linear(), RBF(1.0).on([0, 2])])
def test_the_kernel_is_what_landmarks_say(kernel, data, rng):
    X, new = data[0], rng.normal(size=(9, 4))
    found = LowRank(kernel, rank=25).spanning(as_views(X))
    L = X[found.landmarks.rows]
    assert len(L) == 25
    np.testing.assert_allclose(found(new, X), naive(kernel, L, new, X), atol=1e-7)
    np.testing.assert_allclose(found(X, L), kernel(X, L), atol=1e-8, err_msg="exact between anything and a landmark")
    check_kernel(found, X, new)
    K = kernel(X)
    assert np.linalg.eigvalsh(K - found(X))[0] > -1e-8 * K.max(), "never more than the kernel itself"
    assert found.landmarks.lost == pytest.approx(1.0 - np.trace(found(X)) / np.trace(K), abs=1e-9)


def test_strings(rng):
    X = texts(rng)
    found = LowRank(Spectrum(k=3), rank=20).spanning(as_views(X))
    check_kernel(found, X, texts(rng, 5))
    part = LowRank(Spectrum(k=2), rank=10).part(0, 6)
    assert parse(repr(part)) == part


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 2**16))
def test_as_many_landmarks_as_there_are_dimensions(n, distinct, seed):
    rng = np.random.default_rng(seed)
    X = as_views(rng.normal(size=(distinct, 3))[rng.integers(0, distinct, n)])
    found = LowRank(Linear(), rank=50).spanning(X)
    rank = np.linalg.matrix_rank(X.matrix(), tol=1e-5)
    assert len(found.landmarks) == rank
    np.testing.assert_allclose(found.compute(X, None), Linear().compute(X, None), atol=1e-9)


def test_nothing_to_span():
    X = as_views(np.zeros((6, 2)))
    found = LowRank(Linear(), rank=3).spanning(X)
    assert len(found.landmarks) == 0
    assert found.compute(X, None).tolist() == np.zeros((6, 6)).tolist()
    assert found.embed(X).shape == (6, 0)
    assert found.embedded_values(X, np.zeros((0, 2))).shape == (6, 2)
    constant = LowRank(RBF(1.0), rank=3).spanning(X)
    assert len(constant.landmarks) == 1


def test_random_pivots_are_better_than_random_samples(rng):
    X = np.vstack([rng.normal(size=(980, 2)) * 0.1, rng.normal(size=(20, 2)) * 5.0])  # few samples far from the others
    kernel, views = RBF(1.0), as_views(X)
    lost = [LowRank(kernel, rank=30, random_state=s).spanning(views).landmarks.lost for s in range(5)]
    plain = []
    for s in range(5):
        L = X[np.random.default_rng(s).choice(1000, 30, replace=False)]
        plain.append(1.0 - np.trace(naive(kernel, L, X, X)) / 1000)
    assert np.mean(lost) < 0.3 * np.mean(plain)


def test_the_seed_decides(data):
    X = as_views(data[0])
    rows = [LowRank(RBF(0.3), rank=10, random_state=s).spanning(X).landmarks.rows.tolist() for s in (0, 0, 1)]
    assert rows[0] == rows[1] != rows[2]


def test_many_samples_are_looked_at_in_part(data, monkeypatch):
    monkeypatch.setattr(landmarks, "MIN_CANDIDATES", 50)
    X = as_views(data[0])
    found = LowRank(RBF(0.3), rank=2).spanning(X)
    whole = 1.0 - np.trace(found.compute(X, None)) / 200
    assert found.landmarks.lost == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"rank": 2.5}, {"rank": True}, {"random_state": -1}, {"rank": 10**9}])
def test_parameters_are_checked(wrong):
    with pytest.raises(InputError, match="LowRank needs a whole number"):
        LowRank(RBF(), **wrong)


def test_without_landmarks_it_says_where_they_come_from(data):
    with pytest.raises(InputError, match="has no landmarks yet"):
        LowRank(RBF(0.3))(data[0])
    with pytest.raises(InputError, match="made of a kernel"):
        LowRank(3)


def test_it_is_a_value(data):
    kernel = 2.0 * LowRank(RBF(0.3) + Linear(), rank=7, random_state=2).on([0, 1]) + Linear()
    assert repr(kernel) == ("2.0 * LowRank(RBF(gamma=0.3) + Linear(), rank=7, random_state=2).on([0, 1]) + Linear()")
    assert parse(repr(kernel)) == kernel == clone(kernel)
    found = LowRank(RBF(0.3), rank=7).spanning(as_views(data[0]))
    assert found == LowRank(RBF(0.3), rank=7)
    assert clone(found).landmarks is None, "a clone is as before the fit"
    assert pickle.loads(pickle.dumps(found))(data[0]).tolist() == found(data[0]).tolist()
    assert LowRank(RBF(0.3)).get_params()["kernel__gamma"] == 0.3


def fitted_twice(kernel, X, y):
    """A model with LowRank, and one with the same kernel as a matrix."""
    model = MKLClassifier(kernel, tol=1e-6).fit(X, y)
    return model, MKLClassifier(lambda A, B: model.fitted_.terms[0](A, B), tol=1e-6).fit(X, y)


def test_the_certificate_is_that_of_the_kernel_as_stated(data):
    X, y = data
    model, plain = fitted_twice(LowRank(RBF(0.3), rank=30), X, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    assert model.notes_ == notes_of(model.fitted_.terms)
    assert "30 landmarks, trace error" in model.notes_[0]
    assert model.kernel.landmarks is None, "what the user gave is as it was"
    whole = MKLClassifier(RBF(0.3), scaling=None, tol=1e-6).fit(X, y)
    exact = MKLClassifier(LowRank(RBF(0.3), rank=500), scaling=None, tol=1e-6).fit(X, y)
    assert exact.objective_ == pytest.approx(whole.objective_, rel=1e-4), "with all samples it is the kernel itself"


@pytest.mark.parametrize(
    "kernel",
    [
        LowRank(RBF(0.3), rank=20) + Linear(),
        LowRank(RBF(0.3) * Linear().on("a"), rank=15).on(["a", "b"]) + RBF(1.0).on("c"),
        per_feature(LowRank(RBF(1.0), rank=5)),
        LowRank(RBF(0.3), rank=20).normalized() + LowRank(RBF(3.0), rank=30, random_state=4),
    ],
)
def test_models_are_kept_to_the_last_bit(kernel, data, tmp_path, rng):
    X, y = pd.DataFrame(data[0], columns=list("abcd")), data[1]
    new = pd.DataFrame(rng.normal(size=(20, 4)), columns=list("abcd"))
    model = MKLClassifier(kernel).fit(X, y)
    kw.save(model, tmp_path / "m.kw")
    for twin in (kw.load(tmp_path / "m.kw"), pickle.loads(pickle.dumps(model))):
        assert (twin.decision_function(new) == model.decision_function(new)).all()
        assert twin.term_names_ == model.term_names_
        assert twin.notes_ == model.notes_


def test_columns_keep_their_numbers_in_a_file(data, tmp_path):
    model = MKLClassifier(LowRank(RBF(1.0).on(2), rank=5).on([1, 2])).fit(*data)
    kw.save(model, tmp_path / "m.kw")
    assert (kw.load(tmp_path / "m.kw").decision_function(data[0]) == model.decision_function(data[0])).all()


def test_models_on_strings_are_kept(rng, tmp_path):
    X = texts(rng, 80)
    y = np.array([x.count("A") > 2 for x in X])
    model = MKLClassifier(LowRank(Spectrum(k=2), rank=12) + LowRank(Spectrum(k=1), rank=3).part(0, 6)).fit(X, y)
    kw.save(model, tmp_path / "m.kw")
    new = texts(rng, 9)
    assert (kw.load(tmp_path / "m.kw").decision_function(new) == model.decision_function(new)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("landmarks"), "nothing uses its array"),
        (lambda m: m.update(landmarks={}), "not a list"),
        (lambda m: m["landmarks"][0].update(lost=3.0), "no share"),
        (lambda m: m["landmarks"][0].update(term=1), "no landmarks for its term"),
        (lambda m: m.update(kernel=m["kernel"].replace("20", "5"), terms=[t.replace("20", "5") for t in m["terms"]]),
         "more than"),
    ],
)  # fmt: skip
def test_damaged_landmarks_are_refused(change, message, data, tmp_path):
    path = tmp_path / "m.kw"
    kw.save(MKLClassifier(LowRank(RBF(0.3), rank=20) + Linear()).fit(*data), path)
    with open(path, "rb") as file:
        manifest, arrays = read_archive(file, 10**9)
    change(manifest)
    with open(path, "w+b") as file:
        write_archive(file, manifest, arrays)
    with pytest.raises(ModelFormatError, match=message):
        kw.load(path)


def test_several_classes_weights_and_regression(data, rng):
    X = data[0]
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = MKLClassifier(LowRank(RBF(0.3), rank=40) + Linear()).fit(X, y)
    assert model.score(X, y) > 0.85
    weight = rng.integers(1, 3, len(X))
    kernel = LowRank(RBF(0.3), rank=500)  # all samples are landmarks, so that repeating some changes none
    weighted = MKLRegressor(kernel, loss="squared", scaling=None).fit(X, X[:, 1] ** 2, sample_weight=weight)
    repeated = np.repeat(np.arange(len(X)), weight)
    twice = MKLRegressor(kernel, loss="squared", scaling=None).fit(X[repeated], X[repeated, 1] ** 2)
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-3)


def test_notes_of_many_terms_are_one(data):
    model = MKLClassifier(per_feature(LowRank(RBF(1.0), rank=5)) + per_feature(LowRank(RBF(0.1), rank=4))).fit(*data)
    assert model.notes_[-1].startswith("8 terms have 4 to 5 landmarks, trace errors ")
