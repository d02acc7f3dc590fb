"""What terms, letters and words add to a prediction, and what changes with a letter: all adds up."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import naive_explain as naive
from kernelweave import (
    RBF,
    BagOfWords,
    Frozen,
    GappedKmer,
    InputError,
    LocalityImproved,
    Mismatch,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    Oligo,
    Spectrum,
    WeightedDegree,
)
from kernelweave.explain import contributions, kmer_table, mutation_map, scan_map
from kernelweave.testing.windows import windows

X, Y = windows(40)
NEW = [*windows(6, seed=9)[0], "NACGTTNACGTA"]
STARTS = np.random.default_rng(0).random(12)
KERNELS = [
    WeightedDegree(degree=4),
    WeightedDegree(degree=3, shift=2).normalized(),
    WeightedDegree(degree=3, shift=2, position_weights=STARTS),
    WeightedDegree(degree=3, position_weights=STARTS),
    WeightedDegree(degree=4).normalized().split("degree", "position"),
    WeightedDegree(degree=4, shift=1).split("degree"),
    Spectrum(k=3),
    Spectrum(k=3, reverse_complement=True, values="binary").normalized(),
    Spectrum(k=3, min_k=1, values="frequency").split("degree"),
    Spectrum(k=11, alphabet="text"),
    Mismatch(k=3),
    GappedKmer(length=4, k=3),
    GappedKmer(length=4, k=3, reverse_complement=True).normalized(),
    BagOfWords(values="binary"),
    Frozen(WeightedDegree(degree=2) + Spectrum(k=2)).normalized() + Oligo(k=2) + LocalityImproved(length=1),
]


@pytest.fixture(params=["compared", "looked up"])
def way(request, monkeypatch):
    """Both ways of finding placed words, whatever is quicker here."""
    module = sys.modules[contributions.__module__]
    monkeypatch.setattr(module, "FEW_SAMPLES", 100 if request.param == "compared" else 0)


@pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.DataWarning")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:60])
def test_everything_adds_up(kernel, way):
    model = MKLClassifier(kernel, norm=2).fit(X, Y)
    f, why = model.decision_function(NEW), contributions(model, NEW)
    np.testing.assert_allclose(why.decision, f, rtol=0, atol=1e-9)
    np.testing.assert_allclose(why.terms.sum(axis=1) + why.intercept, f, rtol=0, atol=1e-9)
    rest = why.intercept + why.unplaced
    np.testing.assert_allclose(why.positions.sum(axis=1) + rest, f, rtol=0, atol=1e-9)
    sums = [why.kmers(i)["weight"].sum() for i in range(len(NEW))]
    np.testing.assert_allclose(sums + rest, f, rtol=0, atol=1e-9)
    assert why.terms.shape == (len(NEW), len(model.term_names_))
    assert why.positions.shape == (len(NEW), 12)
    assert not why.unplaced.any() or "Oligo" in repr(kernel)


def test_letters_share_the_words_that_cover_them(way):
    kernel = WeightedDegree(degree=4, shift=1)
    model = MKLClassifier(kernel, scaling=None).fit(X, Y)
    support = [X[i] for i in model.support_]
    weights = naive.placed_weights(support, model.dual_coef_[0], kernel.degree_weights(), kernel.distance_weights())
    why = contributions(model, NEW[:3])
    for x, letters in zip(NEW[:3], why.positions, strict=True):
        np.testing.assert_allclose(letters, naive.letter_shares(weights, x), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kernel", [WeightedDegree(degree=3), Spectrum(k=3)], ids=repr)
def test_words_of_a_sample_are_those_of_the_machine(kernel):
    model = MKLClassifier(kernel).fit(X, Y)
    table = kmer_table(model)
    known = dict(zip(zip(table["position"], table["kmer"], strict=True), table["weight"], strict=True))
    why = contributions(model, NEW[:2])
    for row in why.kmers(1):
        position = -1 if isinstance(kernel, Spectrum) else row["position"]
        assert NEW[1][row["position"] :].startswith(row["kmer"])
        assert row["weight"] == pytest.approx(known[position, row["kmer"]], abs=1e-10)
    assert why.kmers(-1, top=3)["kmer"].tolist() == why.kmers(1)["kmer"][:3].tolist()


def test_gapped_words_stand_where_they_compare():
    model = MKLRegressor(GappedKmer(length=3, k=2), loss="squared").fit(["ACG", "TTT", "ATG"], [1.0, 0.0, 0.5])
    why = contributions(model, ["AAG"])
    assert why.kmers(0)["kmer"].tolist() == ["A.G"]
    np.testing.assert_allclose(why.positions[0, [0, 2]], why.kmers(0)["weight"][0] / 2)
    assert why.positions[0, 1] == 0.0


def test_text_is_shared_by_bytes():
    texts = ["Größe zählt, Größe!", "Maß halten", "nichts zählt", "İstanbul zählt"]
    model = MKLRegressor(BagOfWords(), loss="squared", C=10.0).fit(texts, [1.0, -1.0, 0.5, 2.0])
    new = ["zählt Größe? İstanbul!", "MASS Maß"]
    why = contributions(model, new)
    np.testing.assert_allclose(why.positions.sum(axis=1) + why.intercept, model.predict(new), atol=1e-9)
    words = dict(zip(why.kmers(0)["kmer"], why.kmers(0)["position"], strict=True))
    assert words == {"zählt": 0, "Größe": len("zählt ".encode()), "İstanbul": len("zählt Größe? ".encode())}


def test_sequences_of_any_length():
    model = MKLClassifier(Spectrum(k=3)).fit(X, Y)
    new = ["GATTACA", "AC", "ACGTACGTACGTACGT"]
    why = contributions(model, new)
    assert why.positions.shape == (3, 16)
    assert not why.positions[1].any()
    assert len(why.kmers(1)) == 0
    np.testing.assert_allclose(why.positions.sum(axis=1) + why.intercept, model.decision_function(new), atol=1e-9)


def test_other_machines():
    regressor = MKLRegressor(WeightedDegree(degree=2)).fit(X, np.random.default_rng(0).normal(size=40))
    why = contributions(regressor, NEW[:3])
    np.testing.assert_allclose(why.positions.sum(axis=1) + why.intercept, regressor.predict(NEW[:3]), atol=1e-9)
    alone = MKLOneClass(WeightedDegree(degree=2)).fit(X)
    np.testing.assert_allclose(contributions(alone, NEW[:3]).decision, alone.decision_function(NEW[:3]), atol=1e-8)
    many = MKLClassifier(WeightedDegree(degree=2)).fit(X, np.arange(40) % 3)
    for c in range(3):
        why = contributions(many, NEW[:3], machine=c)
        found = why.positions.sum(axis=1) + why.intercept
        np.testing.assert_allclose(found, many.decision_function(NEW[:3])[:, c], atol=1e-9)


def test_vectors_only_have_terms():
    A = np.random.default_rng(0).normal(size=(30, 2))
    model = MKLClassifier(RBF(0.1) + RBF(1.0), norm=2).fit(A, A[:, 0] > 0)
    why = contributions(model, A[:5])
    np.testing.assert_allclose(why.terms.sum(axis=1) + why.intercept, model.decision_function(A[:5]), atol=1e-9)
    np.testing.assert_allclose(why.unplaced, why.terms.sum(axis=1))
    with pytest.raises(InputError, match="No term of this model has words"):
        _ = why.positions


def views(n, seed, make):
    rng = np.random.default_rng(seed)
    columns = {"left": windows(n, seed)[0], "right": windows(n, seed + 1)[0], "gc": rng.normal(size=n)}
    return make({name: list(column) for name, column in columns.items()})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_several_views(make):
    table = views(40, 0, make)
    kernel = WeightedDegree(degree=2).on("left") + Spectrum(k=2).on("right") + RBF(1.0).on("gc")
    model = MKLClassifier(kernel, norm=2).fit(table, Y)
    new = views(4, 7, make)
    why, f = contributions(model, new), model.decision_function(new)
    assert set(why.by_view) == {"left", "right"}
    total = sum(part.sum(axis=1) for part in why.by_view.values()) + why.unplaced + why.intercept
    np.testing.assert_allclose(total, f, atol=1e-9)
    assert set(why.kmers(0)["view"]) == {"left", "right"}
    with pytest.raises(InputError, match="by_view"):
        _ = why.positions
    first = new[:1]
    change = mutation_map(model, first, view="right")
    mutant = views(4, 7, dict)
    text = mutant["right"][0]
    mutant["right"][0] = text[:4] + "T" + text[5:]
    expected = model.decision_function(make(mutant))[0] - f[0]
    assert change.values[4, 3] == pytest.approx(expected, abs=1e-10)
    with pytest.raises(InputError, match=r"view=.*'left'"):
        mutation_map(model, first)


# -- mutations -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.DataWarning")
@pytest.mark.parametrize(
    "kernel",
    [
        WeightedDegree(degree=3, shift=1).normalized(),
        Spectrum(k=3, values="binary").normalized(),
        Oligo(k=2) * WeightedDegree(degree=2),
    ],
    ids=repr,
)
def test_every_mutant_is_judged(kernel):
    model = MKLClassifier(kernel).fit(X, Y)
    x = "N" + NEW[0][1:]
    found = mutation_map(model, x)
    assert found.values.shape == (12, 4)
    assert found.sequence == x
    assert found.decision == pytest.approx(model.decision_function([x])[0], abs=1e-12)
    mutants = [x[:i] + c + x[i + 1 :] for i in range(12) for c in found.letters]
    expected = model.decision_function(mutants) - model.decision_function([x])
    np.testing.assert_allclose(found.values.ravel(), expected, rtol=0, atol=1e-10)
    assert all(found.values[i, found.letters.index(c)] == 0.0 for i, c in enumerate(x) if c != "N")


def test_a_window_of_a_long_sequence():
    model = MKLClassifier(WeightedDegree(degree=3)).fit(X, Y)
    genome = "".join(NEW[:6])
    window, alone = scan_map(model, genome, 17), mutation_map(model, genome[17:29])
    np.testing.assert_array_equal(window.values, alone.values)
    assert (window.start, window.sequence) == (17, genome[17:29])
    with pytest.raises(InputError, match="from 0 to 60"):
        scan_map(model, genome, 61)
    with pytest.raises(InputError, match="as text"):
        scan_map(model, [genome], 0)


def test_errors_teach():
    model = MKLClassifier(WeightedDegree(degree=3)).fit(X, Y)
    with pytest.raises(InputError, match="machine must be"):
        contributions(model, NEW, machine=1)
    with pytest.raises(InputError, match="machine must be"):
        mutation_map(model, NEW[0], machine=1)
    with pytest.raises(InputError, match="One sequence at a time"):
        mutation_map(model, NEW[:2])
    with pytest.raises(InputError, match="no sample 7"):
        contributions(model, NEW).kmers(7)
    numbers = MKLClassifier(RBF(1.0)).fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    with pytest.raises(InputError, match="no letters to change"):
        mutation_map(numbers, [[1.0]])
