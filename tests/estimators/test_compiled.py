"""Compiled models: the same decisions from tables, for every kind of term, machine and number of threads."""

import pickle

import numpy as np
import pytest

from kernelweave import (
    RBF,
    GappedKmer,
    InputError,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    Spectrum,
    WeightedDegree,
    load,
    save,
)
from kernelweave.errors import MemoryBudgetError
from kernelweave.estimators import fitted
from kernelweave.gram import feature_map, tables
from kernelweave.sequences import SequenceSet, as_sequences

WD = WeightedDegree


def strings(rng, n, length=14, letters="ACGT", unknown=0.02):
    rows = rng.choice(list(letters), (n, length))
    rows[rng.random((n, length)) < unknown] = "N" if letters == "ACGT" else "X"
    return ["".join(row) for row in rows]


def labels(rows, n_classes=2):
    return np.array([sum(map(ord, row[4:7])) % n_classes for row in rows])


CASES = {
    "one": WD(4),
    "degrees": WD(5).normalized().split("degree"),
    "positions": WD(3).split("position"),
    "shift": WD(3, shift=2).normalized() + WD(2),
    "long words": WD(40),
    "features": Spectrum(k=3).normalized() + 0.5 * Spectrum(k=2),
    "mixed": WD(4) + Spectrum(k=3) + WD(3).normalized(),
    "other": WD(4, alphabet="dna") * Spectrum(k=2, alphabet="dna") + WD(2),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = strings(rng, 70)
    return X, strings(rng, 40)


@pytest.mark.parametrize("case", CASES)
def test_the_same_decisions(case, data):
    X, new = data
    model = MKLClassifier(CASES[case], norm=2, tol=1e-2).fit(X, labels(X))
    plain = model.decision_function(new)
    assert model.compile() is model
    assert model.fitted_.prepared.nbytes > 0 or case == "other"
    np.testing.assert_allclose(model.decision_function(new), plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weights", ["shared", "per_class"])
def test_several_machines_and_views(weights, data):
    rng = np.random.default_rng(6)
    table = {"s": strings(rng, 60), "p": strings(rng, 60, 9, "ACDEFGHIKLMNPQRSTVWY"), "x": rng.normal(size=(60, 2))}
    new = {"s": strings(rng, 30), "p": strings(rng, 30, 9, "ACDEFGHIKLMNPQRSTVWY"), "x": rng.normal(size=(30, 2))}
    kernel = WD(3).on("s") + WD(3, alphabet="protein").on("p") + RBF(0.5).on("x") + Spectrum(k=2).on("s")
    model = MKLClassifier(kernel, weights=weights, norm=2, tol=1e-2).fit(table, labels(table["s"], 3))
    plain = model.decision_function(new)
    assert plain.shape == (30, 3)
    np.testing.assert_allclose(model.compile().decision_function(new), plain, rtol=1e-9, atol=1e-9)
    assert np.array_equal(model.predict(new), model.classes_[plain.argmax(axis=1)])


@pytest.mark.parametrize("machine", [MKLRegressor(WD(3), tol=1e-2), MKLOneClass(WD(3), tol=1e-2)])
def test_other_machines(machine, data):
    X, new = data
    model = machine.fit(X, labels(X).astype(float))
    plain = model.predict(new)
    np.testing.assert_allclose(model.compile().predict(new), plain, rtol=1e-9, atol=1e-9)


def test_threads_and_chunks_give_the_same_bits(data, monkeypatch):
    X, new = data
    model = MKLClassifier(WD(4).normalized() + Spectrum(k=3), norm=2, tol=1e-2).fit(X, labels(X)).compile()
    expected = model.decision_function(new)
    monkeypatch.setattr(tables, "SMALLEST_CHUNK", 3)
    monkeypatch.setattr(feature_map, "BLOCK_LETTERS", 30)
    for n_jobs in (1, 2, 5):
        assert np.array_equal(model.set_params(n_jobs=n_jobs).compile().decision_function(new), expected)


def test_large_sets_are_never_unpacked(data, tmp_path, monkeypatch):
    X, new = data
    model = MKLClassifier(WD(4).normalized() + WD(3, shift=1).normalized(), norm=2, tol=1e-2).fit(X, labels(X))
    expected = model.compile().decision_function(new)
    as_sequences(new, "dna").save(tmp_path / "new.kwseq")
    mapped = SequenceSet.open(tmp_path / "new.kwseq")
    monkeypatch.setattr(tables, "REMEMBERED", 10)
    monkeypatch.setattr(tables, "CHUNK", 7)
    sizes = []
    codes = SequenceSet.as_matrix
    monkeypatch.setattr(SequenceSet, "as_matrix", lambda some: sizes.append(len(some)) or codes(some))
    monkeypatch.setattr("kernelweave.kernels.weighted_degree._DIAG_ROWS", 7)
    np.testing.assert_allclose(model.decision_function(mapped), expected, rtol=1e-12)
    assert max(sizes) == 7
    assert not mapped._derived, "nothing of a large set is remembered"


def test_large_predictions_compile_by_themselves(data, monkeypatch):
    X, new = data
    model = MKLClassifier(WD(4), tol=1e-2).fit(X, labels(X))
    plain = model.decision_function(new)
    assert model.fitted_.prepared is None
    monkeypatch.setattr(tables, "FEW_SUPPORT", 5)
    monkeypatch.setattr(tables, "FEW_QUERIES", 5)
    np.testing.assert_allclose(model.decision_function(new), plain, rtol=1e-9, atol=1e-9)
    assert model.fitted_.prepared is not None
    kept = model.fitted_.prepared
    model.decision_function(new)
    assert model.fitted_.prepared is kept
    assert model.fit(X, labels(X)).fitted_.prepared is None, "a new fit needs new tables"
    monkeypatch.setattr(fitted, "KEPT_BYTES", 1000)
    np.testing.assert_allclose(model.decision_function(new), plain, rtol=1e-9, atol=1e-9)
    assert model.fitted_.prepared is None, "too large to be kept unasked"


def test_tables_do_not_travel(data, tmp_path):
    X, new = data
    model = MKLClassifier(WD(4), tol=1e-2).fit(X, labels(X))
    size = len(pickle.dumps(model))
    expected = model.compile().decision_function(new)
    assert len(pickle.dumps(model)) == size
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(twin.decision_function(new), expected, rtol=1e-9, atol=1e-9)
    save(model, tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    np.testing.assert_allclose(loaded.decision_function(new), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(loaded.compile().decision_function(new), expected, rtol=1e-9, atol=1e-9)


def test_what_does_not_fit_is_refused(data):
    X, _ = data
    model = MKLClassifier(WD(4), tol=1e-2).fit(X, labels(X)).set_params(memory=1000)
    with pytest.raises(MemoryBudgetError, match="the budget is 1 kB"):
        model.compile()


def test_compiled_models_refuse_what_others_refuse(data):
    X, _ = data
    model = MKLClassifier(WD(4), tol=1e-2).fit(X, labels(X)).compile()
    with pytest.raises(InputError, match="13 letters cannot be compared"):
        model.decision_function(["A" * 13])


def test_tables_that_every_sample_needs_are_kept_from_the_fit_on(data):
    X, new = data
    model = MKLClassifier(GappedKmer(4, 3, alphabet="dna", filter="truncated"), norm="fixed").fit(X, labels(X))
    kept = model.fitted_.prepared
    assert kept is not None
    expected = model.fitted_.values(model.fitted_.prepare(), model.fitted_.views(new))[:, 0]
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-9, atol=1e-12)
    assert model.fitted_.prepared is kept
    again = model.set_params(C=0.1).fit(X, labels(X))
    assert again.fitted_.prepared is not kept, "a new fit needs new tables"
    assert again.decision_function(new).tolist() != expected.tolist()
