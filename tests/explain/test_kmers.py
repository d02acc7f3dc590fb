"""Words and their weights: against their definitions, for every kernel that has words."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_explain as naive
from kernelweave import (
    BagOfWords,
    Frozen,
    GappedKmer,
    InputError,
    Linear,
    Mismatch,
    MKLClassifier,
    MKLRegressor,
    Oligo,
    Spectrum,
    WeightedDegree,
    load,
    save,
)
from kernelweave.explain import kmer_table, word_views
from kernelweave.explain.kmers import KmerTable

unknown_letters = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.DataWarning")


def random_dna(n, length, seed, unknown=0.0):
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("ACGT"), (n, length))
    letters[rng.random((n, length)) < unknown] = "N"
    return ["".join(row) for row in letters]


def fitted(kernel, X, **options):
    y = np.random.default_rng(0).normal(size=len(X))
    return MKLRegressor(kernel, loss="squared", norm="fixed", scaling=None, **options).fit(X, y)


def as_dict(table):
    keys = list(zip(table["position"].tolist(), table["kmer"].tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, table["weight"].tolist(), strict=True))


def same_weights(found, expected):
    for key in set(found) | set(expected):
        assert found.get(key, 0.0) == pytest.approx(expected.get(key, 0.0), abs=1e-10), key


@unknown_letters
@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(0, 2), st.booleans(), st.integers(0, 10**6))
def test_placed_words(degree, shift, weighted, seed):
    rng = np.random.default_rng(seed)
    X = random_dna(6, 7, seed, unknown=0.1)
    starts = rng.random(7) if weighted else None
    kernel = WeightedDegree(degree, shift, rng.random(degree) + 0.1, position_weights=starts, alphabet="dna")
    model = fitted(kernel, X)
    support = [X[i] for i in model.support_]
    expected = naive.placed_weights(
        support, model.dual_coef_[0], kernel.degree_weights(), kernel.distance_weights(), starts
    )
    table = kmer_table(model)
    same_weights(as_dict(table), expected)
    for row in table:
        shown = [
            any(x[j : j + len(row["kmer"])] == row["kmer"] for j in _near(row["position"], shift)) for x in support
        ]
        assert row["count"] == sum(shown)


def _near(position, shift):
    return range(max(0, position - shift), position + shift + 1)


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(k=3),
        Spectrum(k=12),
        Spectrum(k=3, min_k=1),
        Spectrum(k=3, reverse_complement=True),
        Spectrum(k=40, alphabet="dna"),
        Mismatch(k=3),
        GappedKmer(length=4, k=2),
        GappedKmer(length=4, k=3, reverse_complement=True),
        Frozen(Spectrum(k=2) + Spectrum(k=3)),
    ],
    ids=repr,
)
def test_free_words_are_the_features_of_the_kernel(kernel):
    X = random_dna(8, 44, 1)
    model = fitted(kernel, X)
    expected = {}
    for q, c in zip(model.support_, model.dual_coef_[0], strict=True):
        parts = kernel.kernel.kernels if isinstance(kernel, Frozen) else [kernel]
        for part in parts:
            for term, feature, value in part.features(X[q]):
                expected[type(part), term, feature] = expected.get((type(part), term, feature), 0.0) + c * value
    expected = {key: weight for key, weight in expected.items() if abs(weight) > 1e-9}
    found = as_dict(kmer_table(model, min_weight=1e-9))
    assert {position for position, _ in found} == {-1}
    if isinstance(kernel, GappedKmer) and kernel.reverse_complement:
        return  # a choice of columns and its mirror image are one feature here, two in the definition
    assert len(found) == len(expected)
    np.testing.assert_allclose(sorted(found.values()), sorted(expected.values()), rtol=0, atol=1e-10)
    if not isinstance(kernel, (GappedKmer, Frozen)):
        same_weights({word: w for (_, word), w in found.items()}, {word: w for (*_, word), w in expected.items()})


def test_gapped_words_show_their_gaps():
    model = fitted(GappedKmer(length=4, k=2), ["ACGT", "ACCT", "TTTT"])
    words = kmer_table(model)["kmer"].tolist()
    assert {"AC..", "A..T", "..GT"} <= set(words)
    assert all(len(word) == 4 and word.count(".") == 2 for word in words)


def test_words_of_text():
    texts = ["To be, or not to be.", "Not now!", "to be", "now or never"]
    model = fitted(BagOfWords(), texts)
    counts = [
        {"to": 2, "be": 2, "or": 1, "not": 1},
        {"not": 1, "now": 1},
        {"to": 1, "be": 1},
        {"now": 1, "or": 1, "never": 1},
    ]
    expected = {}
    for q, c in zip(model.support_, model.dual_coef_[0], strict=True):
        for word, n in counts[q].items():
            expected[-1, word] = expected.get((-1, word), 0.0) + c * n
    same_weights(as_dict(kmer_table(model)), expected)


def test_words_of_bytes_can_be_written(tmp_path):
    model = fitted(Spectrum(k=2, alphabet="text"), ["größe", "maße", "grösse"])
    words = kmer_table(model)
    assert {"gr", "r\\xc3", "ö", "\\xb6\\xc3"} <= set(words["kmer"])
    words.to_csv(tmp_path / "words.csv")
    assert "r\\xc3" in (tmp_path / "words.csv").read_text(encoding="utf-8")


def test_weights_and_scales_are_inside():
    """A word adds its weight: checked on sequences that differ in it."""
    X = random_dna(30, 6, 3)
    kernel = WeightedDegree(degree=1).split("position") + 3.0 * WeightedDegree(degree=1)
    model = MKLClassifier(kernel, norm=2).fit(X, np.arange(30) % 2)
    weights = as_dict(kmer_table(model))
    f = model.decision_function(["AAAAAA", "AACAAA"])
    assert f[1] - f[0] == pytest.approx(weights[2, "C"] - weights[2, "A"], abs=1e-10)


def test_normalised_words_without_shift_are_exact():
    X = random_dna(30, 6, 3)
    model = MKLClassifier(WeightedDegree(degree=2).normalized()).fit(X, np.arange(30) % 2)
    weights = as_dict(kmer_table(model))
    x = "ACGTCA"
    total = sum(w for (i, word), w in weights.items() if x[i : i + len(word)] == word)
    assert total + model.intercept_[0] == pytest.approx(model.decision_function([x])[0], abs=1e-10)


@pytest.mark.parametrize("kernel", [WeightedDegree(degree=4, shift=1), Spectrum(k=4), Mismatch(k=4)], ids=repr)
def test_top_is_the_head_of_the_whole_table(kernel):
    model = fitted(kernel, random_dna(10, 12, 5))
    whole, some = kmer_table(model), kmer_table(model, top=7)
    for name in whole.columns:
        assert some[name].tolist() == whole[name][:7].tolist()
    assert np.all(np.diff(np.abs(whole["weight"])) <= 0)
    above = kmer_table(model, min_weight=float(np.abs(whole["weight"][20])))
    assert above["kmer"].tolist() == whole["kmer"][np.abs(whole["weight"]) > np.abs(whole["weight"][20])].tolist()


def test_views_and_machines():
    rng = np.random.default_rng(0)
    X = {"left": random_dna(30, 5, 1), "right": random_dna(30, 8, 2), "gc": rng.normal(size=(30, 1))}
    kernel = WeightedDegree(degree=2).on("left") + Spectrum(k=2).on("right") + Linear().on("gc")
    model = MKLClassifier(kernel, norm=2, weights="per_class").fit(X, np.arange(30) % 3)
    assert [(v.view, v.placed, v.terms) for v in word_views(model)] == [("left", True, (0,)), ("right", False, (1,))]
    tables = [kmer_table(model, machine=c) for c in range(3)]
    assert set(tables[0]["view"]) == {"left", "right"}
    assert tables[0]["weight"][0] != tables[1]["weight"][0]
    alone = kmer_table(model, term=1, machine=2)
    assert "view" not in alone.columns
    with pytest.raises(InputError, match="has no words"):
        kmer_table(model, term=2)


def test_a_model_from_a_file_says_the_same(tmp_path):
    X = random_dna(20, 8, 1)
    model = MKLClassifier(WeightedDegree(degree=3) + Spectrum(k=3), norm=2).fit(X, np.arange(20) % 2)
    save(model, tmp_path / "model.kw")
    kept = kmer_table(load(tmp_path / "model.kw"))
    np.testing.assert_allclose(kept["weight"], kmer_table(model)["weight"], atol=1e-12)


def test_files(tmp_path):
    table = kmer_table(fitted(WeightedDegree(degree=3), random_dna(8, 6, 1)), top=5)
    assert isinstance(table, KmerTable)
    assert len(table) == len(list(table)) == 5
    for write, delimiter in ((table.to_csv, ","), (table.to_tsv, "\t")):
        write(tmp_path / "words")
        with open(tmp_path / "words", newline="") as file:
            rows = list(csv.DictReader(file, delimiter=delimiter))
        assert [row["kmer"] for row in rows] == table["kmer"].tolist()
        assert [float(row["weight"]) for row in rows] == table["weight"].tolist()
    assert table["kmer"][0] in str(table)


@pytest.mark.parametrize(
    ("options", "match"),
    [({"top": 0}, "top must be"), ({"min_weight": -1.0}, "min_weight"), ({"machine": 1}, "machine must be")],
)
def test_errors_teach(options, match):
    with pytest.raises(InputError, match=match):
        kmer_table(fitted(WeightedDegree(degree=2), random_dna(8, 6, 0)), **options)


def test_kernels_without_words_say_so():
    X = random_dna(20, 6, 0)
    model = MKLClassifier(Oligo(k=2)).fit(X, np.arange(20) % 2)
    with pytest.raises(InputError, match=r"Oligo.* has no words"):
        kmer_table(model)
    both = MKLClassifier(Oligo(k=2) + Spectrum(k=2), norm=2).fit(X, np.arange(20) % 2)
    assert len(kmer_table(both)) > 0
